//! What the tower tells others. Pure.

use paw_agent::hooks::notes::Breach;
use paw_agent::screen::Ask;
use paw_agent::state::{Known, State};
use paw_broker::message::{Feedback, Message, Question, Status};
use paw_core::{AgentId, text};

use super::verdict::what;
use crate::role;
use crate::stall::Stall;

/// Who says it, as a field beside what is said.
const SOURCE: &str = "tower";
/// How much of a stranger's words is passed on.
const LONGEST: usize = 300;

/// What an agent is doing, for the table of agents. What it said last of finished work stays there.
pub(super) fn status(agent: &AgentId, cli: &str, known: &Known) -> Message {
    let (word, message) = match &known.state {
        State::Starting | State::Working => ("working", None),
        State::Idle | State::Exited | State::Unknown => ("idle", None),
        State::WaitingApproval(ask) => {
            ("waiting", Some(format!("waits for an approval: {}", plain(&what(ask)))))
        }
        State::WaitingInput => ("waiting", Some("waits for an answer in its pane".to_owned())),
        State::RateLimited { resets } => {
            let until = resets.as_deref().map(|resets| format!(" until {}", plain(resets)));
            ("waiting", Some(format!("has used up what it may{}", until.unwrap_or_default())))
        }
    };
    let mut status = Status::new(agent.clone(), word);
    status.cli = Some(cli.to_owned());
    status.phase = Some(known.state.name().to_owned());
    status.message = message;
    status.extra.payload.insert("source".to_owned(), SOURCE.into());
    if let State::RateLimited { resets: Some(resets) } = &known.state {
        status.extra.payload.insert("resets".to_owned(), plain(resets).into());
    }
    status.into()
}

/// An approval that only a person can give.
pub(super) fn question(agent: &AgentId, ask: &Ask, why: &str) -> Message {
    let what = plain(&what(ask));
    let text = format!(
        "[approval] {agent} wants: {what} (not answered for you: {}). Look: git paw sweep capture {agent}. \
         Yes, once: git paw sweep approve {agent}",
        plain(why)
    );
    Question::new(agent.clone(), text).into()
}

/// Trouble, for whoever supervises; that of the supervisor itself is for the person at the keyboard.
pub(super) fn stalled(agent: &AgentId, stall: &Stall) -> Message {
    let person = || AgentId::new(AgentId::OPERATOR).unwrap_or_else(|_| AgentId::supervisor());
    let whom = if agent.as_str() == AgentId::SUPERVISOR { person() } else { AgentId::supervisor() };
    Feedback::new(whom, agent.clone(), vec![format!("[stall] {agent}: {stall}")]).into()
}

/// An agent that does what is not its job: told to itself, unless its CLI was refused, and to whoever supervises.
pub(super) fn out_of_role(agent: &AgentId, breach: &Breach) -> Vec<Message> {
    let command = plain(&breach.command);
    let (did, for_agent) = if breach.refused {
        ("wanted to run", None)
    } else {
        let text = format!("[scope] {}; do not do it again", role::reason(&command));
        ("has run", Some(Feedback::new(agent.clone(), AgentId::supervisor(), vec![text]).into()))
    };
    let text = format!("[scope] {agent} {did} {command}, which is not an agent's job");
    for_agent
        .into_iter()
        .chain([Feedback::new(AgentId::supervisor(), agent.clone(), vec![text]).into()])
        .collect()
}

fn plain(words: &str) -> String {
    text::reveal(&text::truncate_chars(words, LONGEST))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_agent::screen::{AskKind, AskSubject};
    use paw_agent::state::Source;

    use super::*;

    fn agent() -> AgentId {
        AgentId::new("feat-x").unwrap()
    }

    fn ask(command: &str) -> Ask {
        Ask { kind: AskKind::Command, subject: AskSubject::Command(command.into()), keys: None }
    }

    fn said(state: State) -> Status {
        let known =
            Known { state, since: Timestamp::UNIX_EPOCH, source: Source::Told, reason: String::new() };
        match status(&agent(), "claude", &known) {
            Message::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_others_have_said_of_finished_work_is_left_alone_unless_somebody_is_needed() {
        for state in [State::Idle, State::Working, State::Exited] {
            let said = said(state);
            assert_eq!((said.message, said.modified_files), (None, None));
        }
        let waiting = said(State::WaitingApproval(ask("cargo publish")));
        assert_eq!(
            (waiting.status.as_str(), waiting.phase.as_deref()),
            ("waiting", Some("waiting_approval"))
        );
        assert_eq!(waiting.message.as_deref(), Some("waits for an approval: cargo publish"));
    }

    #[test]
    fn trouble_is_told_to_the_supervisor_and_its_own_to_the_person() {
        for (agent, whom) in [("feat-x", AgentId::SUPERVISOR), (AgentId::SUPERVISOR, AgentId::OPERATOR)] {
            let Message::Feedback(told) = stalled(&AgentId::new(agent).unwrap(), &Stall::Dead) else {
                panic!()
            };
            assert_eq!((told.agent_id.as_str(), told.from.as_str()), (whom, agent));
        }
    }

    #[test]
    fn an_agent_out_of_its_role_is_told_unless_it_was_refused_and_its_supervisor_always() {
        for (refused, whom) in [(false, vec!["feat-x", "supervisor"]), (true, vec!["supervisor"])] {
            let told = out_of_role(&agent(), &Breach { command: "openspec archive".into(), refused });
            let told: Vec<_> = told.iter().map(|message| message.subject().as_str()).collect();
            assert_eq!(told, whom);
        }
    }

    #[test]
    fn a_question_says_what_and_why_and_nothing_that_a_terminal_obeys() {
        let Message::Question(asked) = question(&agent(), &ask("echo \u{1b}[2J"), "because") else {
            panic!()
        };
        assert!(
            asked.question.contains("echo \\u{1b}[2J (not answered for you: because)"),
            "{}",
            asked.question
        );
    }
}
