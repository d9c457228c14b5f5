//! Answering what an agent asks in its pane.

use jiff::{SignedDuration, Timestamp};
use paw_agent::screen::{Ask, AskSubject};
use paw_broker::message::Message;
use paw_core::{AgentId, Receipt};
use paw_host::tmux::Tmux;

use super::Settings;
use super::sheet::Sheet;
use crate::approval::log::VerdictLog;
use crate::approval::{self, Verdict};
use crate::tower::ask::{Done, Next};
use crate::tower::{press, verdict, words};
use crate::unattended::attendant_lock;

/// A hook that has said nothing for so long will not.
const HOOK: SignedDuration = SignedDuration::from_secs(10);
/// A prompt that cannot be read may be half drawn, and what is told beside it on its way.
const DRAWN: SignedDuration = SignedDuration::from_secs(2);

/// Answers a prompt that is harmless, and passes any other on, each once.
pub(super) fn answer(
    settings: &Settings,
    receipt: &Receipt,
    id: &AgentId,
    sheet: &mut Sheet,
    tmux: &Tmux,
    ask: &Ask,
    now: Timestamp,
) -> Option<Message> {
    let what = verdict::what(ask);
    let next = sheet.standing.see(&what, now);
    if next == Next::Nothing || !attendant_lock::is_supervised(receipt, &settings.repo.common_dir) {
        return None;
    }
    // Its hook judges by the same rules. A key beside its answer would land in whatever comes next.
    let hooked = sheet.agent.has_answering_hook();
    let patience = match &ask.subject {
        _ if hooked => HOOK,
        AskSubject::Unreadable(_) => DRAWN,
        AskSubject::Command(_) | AskSubject::File(_) => SignedDuration::ZERO,
    };
    if sheet.agent.shown_for(now) < patience {
        return None;
    }
    let (configured, mut place) = approval::gather(&sheet.worktree, &settings.dirs).ok()?;
    if !configured.rules.is_on() {
        sheet.standing.note(&what, Done::PassedOn, now);
        return None;
    }
    let directory = sheet.directory_of(ask, &place.worktree);
    if directory.is_none() && sheet.agent.shown_for(now) < DRAWN {
        return None;
    }
    let said = match next {
        Next::NotTaken => {
            Verdict::Ask { reason: "it was answered, and the prompt is still there".to_owned() }
        }
        _ if hooked => Verdict::Ask { reason: "its hook has not answered".to_owned() },
        _ if !press::is_possible(ask) => {
            Verdict::Ask { reason: "its prompt is not the usual one".to_owned() }
        }
        _ => match directory {
            Some(directory) => {
                place.cwd = directory;
                verdict::weigh(ask, &configured.rules, &place)
            }
            None => Verdict::Ask { reason: "its CLI does not say where it would run".to_owned() },
        },
    };
    let log = VerdictLog::of(&settings.repo.common_dir);
    let written = verdict::record(&log, receipt, id, ask, &said, now);
    let pane = sheet.pane.as_deref()?;
    if said.is_allow() && written.is_ok() {
        if let Err(error) = press::press(tmux, pane, sheet.agent.cli(), ask) {
            tracing::warn!(target: "paw::tower", "{id} is not answered: {error}");
        }
        // Once, whatever became of it: a prompt that stands there later is for a person.
        sheet.standing.note(&what, Done::Answered, now);
        return None;
    }
    sheet.standing.note(&what, Done::PassedOn, now);
    Some(words::question(id, ask, said.reason()))
}
