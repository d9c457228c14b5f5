//! The verbs of `git paw sweep` that only look.

use std::time::Duration;

use paw_agent::state::State;
use paw_broker::Message;
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_host::git::{DifferenceKind, Git};
use paw_screen::text::Text;
use paw_supervisor::sweep::{self, Swept};
use paw_supervisor::tower::verdict;
use serde_json::{Value, json};

use crate::context::Context;

fn swept(context: &Context) -> Result<Vec<Swept>, PawError> {
    sweep::sweep(&context.require_session()?, clock::now())
}

pub(super) fn snapshot(lines: usize, context: &Context) -> Result<(), PawError> {
    let swept = swept(context)?;
    if context.output.wants_json() {
        let rows: Vec<_> = swept
            .iter()
            .map(|one| json!({"agent": one.id, "state": one.known.state.name(), "screen": one.tail(lines)}))
            .collect();
        return context.output.document(&rows);
    }
    for one in &swept {
        context.output.say(&format!("=== {} ({})", one.id, one.known.state))?;
        screen(one, lines, context)?;
    }
    Ok(())
}

pub(super) fn capture(agent: &str, lines: usize, context: &Context) -> Result<(), PawError> {
    let one = sweep::require(swept(context)?, agent)?;
    if context.output.wants_json() {
        let document = json!({"agent": one.id, "state": one.known.state.name(), "screen": one.tail(lines)});
        return context.output.document(&document);
    }
    screen(&one, lines, context)
}

/// An agent wrote it; nothing in it may reach the terminal as a control character.
fn screen(one: &Swept, lines: usize, context: &Context) -> Result<(), PawError> {
    one.tail(lines).lines().try_for_each(|line| context.output.say(Text::line(line).as_str()))
}

/// The agents that `is_shown`.
pub(super) fn status(context: &Context, is_shown: impl Fn(&Swept) -> bool) -> Result<(), PawError> {
    let swept: Vec<_> = swept(context)?.into_iter().filter(is_shown).collect();
    if context.output.wants_json() {
        let rows: Vec<_> = swept.iter().map(document).collect();
        return context.output.document(&rows);
    }
    if swept.is_empty() {
        return context.output.say("nobody");
    }
    let rows = swept.iter().map(|one| {
        let (state, reason) = (one.known.state.to_string(), reason(one));
        [one.id.to_string(), state, one.cli.clone(), one.known.source.to_string(), reason]
    });
    context.output.table(["AGENT", "STATE", "CLI", "KNOWN BY", "WHY"], rows.collect())
}

fn reason(one: &Swept) -> String {
    let text = match &one.known.state {
        State::WaitingApproval(ask) => format!("{}: {}", one.known.reason, verdict::what(ask)),
        _ => one.known.reason.clone(),
    };
    Text::line(&text).as_str().to_owned()
}

fn document(one: &Swept) -> Value {
    let asked = match &one.known.state {
        State::WaitingApproval(ask) => Some(verdict::what(ask)),
        _ => None,
    };
    json!({
        "agent": one.id, "branch": one.branch, "cli": one.cli, "worktree": one.worktree,
        "pane": one.seen.as_ref().map(|seen| &seen.pane), "state": one.known.state.name(), "waits_for": asked,
        "known_by": one.known.source.to_string(), "reason": one.known.reason,
    })
}

pub(super) fn worktrees(context: &Context) -> Result<(), PawError> {
    let mut rows = Vec::new();
    for one in swept(context)? {
        let git = Git::at(&one.worktree);
        if !one.worktree.is_dir() {
            rows.push((one, None));
            continue;
        }
        let changed = git.differences()?.into_iter().filter(|found| found.kind != DifferenceKind::Ignored);
        let commit = git.run(["log", "-1", "--format=%h %s"])?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        rows.push((one, Some((changed.count(), commit))));
    }
    if context.output.wants_json() {
        let row = |(one, facts): &(Swept, Option<(usize, String)>)| {
            json!({
                "agent": one.id, "branch": one.branch, "worktree": one.worktree,
                "changed": facts.as_ref().map(|(changed, _)| changed),
                "commit": facts.as_ref().map(|(_, commit)| commit),
            })
        };
        return context.output.document(&rows.iter().map(row).collect::<Vec<_>>());
    }
    let row = |(one, facts): &(Swept, Option<(usize, String)>)| {
        let (changed, commit) = match facts {
            Some((changed, commit)) => (changed.to_string(), Text::line(commit).as_str().to_owned()),
            None => ("-".to_owned(), "its worktree is gone".to_owned()),
        };
        [one.id.to_string(), one.branch.clone(), changed, commit]
    };
    context.output.table(["AGENT", "BRANCH", "CHANGED", "LAST COMMIT"], rows.iter().map(row).collect())
}

/// What waits for the supervisor; the rest of its inbox is news about others.
pub(super) fn inbox(since: u64, context: &Context) -> Result<(), PawError> {
    let client = context.broker_client()?;
    let mut waiting = Vec::new();
    let mut page = client.inbox_of(&AgentId::supervisor(), since, Duration::ZERO)?;
    loop {
        waiting.extend(page.messages.drain(..).filter(|stored| {
            matches!(
                stored.message,
                Message::Question(_) | Message::Blocked(_) | Message::Feedback(_) | Message::VerifyNow(_)
            )
        }));
        if !page.more {
            break;
        }
        page = client.inbox_of(&AgentId::supervisor(), page.last_seq, Duration::ZERO)?;
    }
    if context.output.wants_json() {
        let message =
            |stored: &paw_broker::Stored| json!({"seq": stored.seq, "message": stored.message.to_json()});
        let messages: Vec<_> = waiting.iter().map(message).collect();
        return context.output.document(&json!({"messages": messages, "last_seq": page.last_seq}));
    }
    for stored in &waiting {
        context.output.say(&format!("{:>5}  {}", stored.seq, stored.message))?;
    }
    Ok(())
}
