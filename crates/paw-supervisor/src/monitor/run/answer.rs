//! Answers an approval prompt in an agent's pane.

use jiff::{SignedDuration, Timestamp};
use paw_agent::screen::{ApprovalRequest, ApprovalSubject};
use paw_broker::message::Message;
use paw_core::{AgentId, Receipt};
use paw_host::tmux::Tmux;

use super::MonitorSettings;
use super::monitored_agent::MonitoredAgent;
use crate::approval::log::VerdictLog;
use crate::approval::{self, ApprovalVerdict};
use crate::monitor::prompt::{PromptHandling, PromptStep};
use crate::monitor::{messages, press, verdict};
use crate::unattended::attendant_lock;

/// How long to wait for the answer of a hook.
const HOOK: SignedDuration = SignedDuration::from_secs(10);
/// How long to wait for a prompt that is still being drawn, or for its transcript to be written.
const DRAWN: SignedDuration = SignedDuration::from_secs(2);

/// Answers a prompt that is safe and escalates any other, each once.
pub(super) fn answer(
    settings: &MonitorSettings,
    receipt: &Receipt,
    id: &AgentId,
    agent: &mut MonitoredAgent,
    tmux: &Tmux,
    ask: &ApprovalRequest,
    now: Timestamp,
) -> Option<Message> {
    let what = verdict::describe(ask);
    let next = agent.prompt.next_step(&what, agent.tracker.progress(), now);
    if next == PromptStep::Nothing || !attendant_lock::is_supervised(receipt, &settings.repo.common_dir) {
        return None;
    }
    // Its hook uses the same rules. A key pressed in addition to its answer would go to the next prompt.
    let hooked = agent.tracker.has_answering_hook();
    let patience = match &ask.subject {
        _ if hooked => HOOK,
        ApprovalSubject::Unreadable(_) => DRAWN,
        ApprovalSubject::Command(_) | ApprovalSubject::File(_) => SignedDuration::ZERO,
    };
    if agent.tracker.shown_for(now) < patience {
        return None;
    }
    let (configured, mut place) = approval::load_rules(&agent.worktree, &settings.dirs).ok()?;
    let configured = configured.in_session(receipt);
    let is_supervisor = id.as_str() == AgentId::SUPERVISOR;
    if !configured.rules.is_on() && !is_supervisor {
        agent.prompt.set(&what, PromptHandling::Escalated, now);
        return None;
    }
    let directory = agent.directory_of(ask, &place.worktree);
    if directory.is_none() && !is_supervisor && agent.tracker.shown_for(now) < DRAWN {
        return None;
    }
    let decision = match next {
        PromptStep::AnswerIgnored => {
            ApprovalVerdict::Ask { reason: "the prompt is still shown after it was answered".to_owned() }
        }
        _ if hooked => ApprovalVerdict::Ask { reason: "its hook did not answer".to_owned() },
        _ if !press::has_approval_keys(ask) => {
            ApprovalVerdict::Ask { reason: "its prompt has an unknown layout".to_owned() }
        }
        _ if is_supervisor => verdict::judge_supervisor_ask(ask, &configured, &mut place, directory),
        _ => match directory {
            Some(directory) => {
                place.cwd = directory;
                verdict::judge_ask(ask, &configured.rules, &place)
            }
            None => ApprovalVerdict::Ask {
                reason: "its CLI does not report where the command would run".to_owned(),
            },
        },
    };
    let log = VerdictLog::of(&settings.repo.common_dir);
    let written = verdict::record(&log, receipt, id, ask, &decision, now);
    let pane = agent.pane.as_deref()?;
    if decision.is_allow() && written.is_ok() {
        if let Err(error) =
            press::press_approval_keys(tmux, pane, agent.tracker.cli(), ask, &settings.repo.common_dir)
        {
            tracing::warn!(target: "paw::monitor", "cannot answer the prompt of {id}: {error}");
        }
        // Press only once, even after an error: a prompt still shown later is for the user.
        agent.prompt.set(&what, PromptHandling::Answered, now);
        return None;
    }
    agent.prompt.set(&what, PromptHandling::Escalated, now);
    Some(messages::escalation(id, ask, decision.reason()))
}
