//! The messages that the monitor publishes. Pure.

use paw_agent::hooks::notes::RoleViolation;
use paw_agent::hooks::transcript::TranscriptUsage;
use paw_agent::screen::ApprovalRequest;
use paw_agent::state::{AgentActivity, ObservedState};
use paw_broker::message::{FeedbackMessage, Message, QuestionMessage, StatusMessage, StatusSource};
use paw_core::{AgentId, text};
use serde_json::json;

use super::verdict::describe;
use crate::role_gating;
use crate::stall::Stall;

/// The longest excerpt of a CLI's text in a message.
const LONGEST: usize = 300;
/// The longest command in a status.
const WHOLE: usize = 4_000;

/// The state of an agent, for the table of agents. Without a message, the agent's last own message stays in the table.
pub(super) fn status(
    agent: &AgentId,
    cli: &str,
    known: &ObservedState,
    usage: Option<&TranscriptUsage>,
) -> Message {
    let (word, message) = match &known.state {
        AgentActivity::Starting | AgentActivity::Working => ("working", None),
        AgentActivity::Idle | AgentActivity::Exited | AgentActivity::Unknown => ("idle", None),
        AgentActivity::WaitingApproval(ask) => {
            ("waiting", Some(format!("waiting for approval: {}", plain(&describe(ask)))))
        }
        AgentActivity::WaitingInput => {
            ("waiting", Some(format!("waiting for an answer in its pane: {}", plain(&known.reason))))
        }
        AgentActivity::RateLimited { resets } => {
            let until = resets.as_deref().map(|resets| format!(" until {}", plain(resets)));
            ("waiting", Some(format!("rate-limited{}", until.unwrap_or_default())))
        }
    };
    let mut status = StatusMessage::new(agent.clone(), word);
    status.cli = Some(cli.to_owned());
    status.phase = Some(known.state.name().to_owned());
    status.message = message;
    status.set_source(StatusSource::Monitor);
    if let AgentActivity::WaitingApproval(ask) = &known.state {
        let what = text::truncate_chars(&describe(ask), WHOLE).into_owned();
        status.extra.payload.insert("waits_for".to_owned(), what.into());
    }
    if let Some(usage) = usage {
        let TranscriptUsage { context_tokens, total_tokens, cost_usd_micros } = usage;
        let usage = json!({"context_tokens": context_tokens, "total_tokens": total_tokens,
            "cost_usd_micros": cost_usd_micros});
        status.extra.payload.insert("usage".to_owned(), usage);
    }
    if let AgentActivity::RateLimited { resets: Some(resets) } = &known.state {
        status.extra.payload.insert("resets".to_owned(), plain(resets).into());
    }
    status.into()
}

/// Asks about an approval that is not given automatically: the supervisor, or the user if the supervisor itself waits.
pub(super) fn escalation(agent: &AgentId, ask: &ApprovalRequest, why: &str) -> Message {
    if agent.as_str() == AgentId::SUPERVISOR { supervisor_waits(ask, why) } else { question(agent, ask, why) }
}

fn question(agent: &AgentId, ask: &ApprovalRequest, why: &str) -> Message {
    let what = plain(&describe(ask));
    let text = format!(
        "[approval] {agent} wants: {what} (not approved automatically: {}). Show it: git paw sweep capture {agent}. \
         Approve it once: git paw sweep approve {agent}",
        plain(why)
    );
    QuestionMessage::new(agent.clone(), text).into()
}

fn supervisor_waits(ask: &ApprovalRequest, why: &str) -> Message {
    let what = plain(&describe(ask));
    let text = format!(
        "[approval] the supervisor wants: {what} (not approved automatically: {}). Answer it: git paw approve \
         supervisor, or git paw deny supervisor",
        plain(why)
    );
    FeedbackMessage::new(person(), AgentId::supervisor(), vec![text]).into()
}

fn person() -> AgentId {
    AgentId::new(AgentId::OPERATOR).unwrap_or_else(|_| AgentId::supervisor())
}

/// Reports a stall to the supervisor; a stall of the supervisor itself goes to the user.
pub(super) fn stalled(agent: &AgentId, stall: &Stall) -> Message {
    let whom = if agent.as_str() == AgentId::SUPERVISOR { person() } else { AgentId::supervisor() };
    FeedbackMessage::new(whom, agent.clone(), vec![format!("[stall] {agent}: {stall}")]).into()
}

/// Reports a role violation to the supervisor, and to the agent unless its CLI was refused.
pub(super) fn out_of_role(agent: &AgentId, breach: &RoleViolation) -> Vec<Message> {
    let command = plain(&breach.command);
    let (did, for_agent) = if breach.refused {
        ("wanted to run", None)
    } else {
        let text = format!("[scope] {}; do not do it again", role_gating::breach_reason(&command));
        ("ran", Some(FeedbackMessage::new(agent.clone(), AgentId::supervisor(), vec![text]).into()))
    };
    let text = format!("[scope] {agent} {did} {command}, which is not an agent's job");
    for_agent
        .into_iter()
        .chain([FeedbackMessage::new(AgentId::supervisor(), agent.clone(), vec![text]).into()])
        .collect()
}

fn plain(words: &str) -> String {
    text::reveal(&text::truncate_chars(words, LONGEST))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_agent::screen::{ApprovalKind, ApprovalSubject};
    use paw_agent::state::ObservationSource;

    use super::*;

    fn agent() -> AgentId {
        AgentId::new("feat-x").unwrap()
    }

    fn ask(command: &str) -> ApprovalRequest {
        ApprovalRequest {
            kind: ApprovalKind::Command,
            subject: ApprovalSubject::Command(command.into()),
            keys: None,
        }
    }

    fn status_of(state: AgentActivity) -> StatusMessage {
        let known = ObservedState {
            state,
            since: Timestamp::UNIX_EPOCH,
            source: ObservationSource::Hooks,
            reason: String::new(),
        };
        match status(&agent(), "claude", &known, None) {
            Message::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_status_has_a_message_only_if_the_agent_needs_the_user() {
        for state in [AgentActivity::Idle, AgentActivity::Working, AgentActivity::Exited] {
            let status = status_of(state);
            assert_eq!((status.message, status.modified_files), (None, None));
        }
        let waiting = status_of(AgentActivity::WaitingApproval(ask("cargo publish")));
        assert_eq!(
            (waiting.status.as_str(), waiting.phase.as_deref()),
            ("waiting", Some("waiting_approval"))
        );
        assert_eq!(waiting.message.as_deref(), Some("waiting for approval: cargo publish"));
    }

    #[test]
    fn stalls_go_to_the_supervisor_and_its_own_stalls_to_the_user() {
        for (agent, whom) in [("feat-x", AgentId::SUPERVISOR), (AgentId::SUPERVISOR, AgentId::OPERATOR)] {
            let Message::Feedback(sent) = stalled(&AgentId::new(agent).unwrap(), &Stall::Dead) else {
                panic!()
            };
            assert_eq!((sent.agent_id.as_str(), sent.from.as_str()), (whom, agent));
        }
    }

    #[test]
    fn approvals_of_agents_go_to_the_supervisor_and_its_own_to_the_user() {
        let asked = escalation(&agent(), &ask("cargo publish"), "because");
        assert!(matches!(&asked, Message::Question(asked) if asked.is_approval()), "{asked:?}");
        let Message::Feedback(told) = escalation(&AgentId::supervisor(), &ask("touch x"), "because") else {
            panic!()
        };
        assert_eq!(told.agent_id, AgentId::operator());
    }

    #[test]
    fn role_violations_go_to_the_supervisor_and_to_an_agent_that_was_not_refused() {
        for (refused, whom) in [(false, vec!["feat-x", "supervisor"]), (true, vec!["supervisor"])] {
            let sent = out_of_role(&agent(), &RoleViolation { command: "openspec archive".into(), refused });
            let sent: Vec<_> = sent.iter().map(|message| message.subject().as_str()).collect();
            assert_eq!(sent, whom);
        }
    }

    #[test]
    fn an_approval_question_escapes_control_characters() {
        let Message::Question(asked) = question(&agent(), &ask("echo \u{1b}[2J"), "because") else {
            panic!()
        };
        assert!(
            asked.question.contains("echo \\u{1b}[2J (not approved automatically: because)"),
            "{}",
            asked.question
        );
    }
}
