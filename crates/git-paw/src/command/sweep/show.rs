//! The verbs of `git paw sweep` that only read.

use std::time::Duration;

use paw_broker::Message;
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_host::git::{DifferenceKind, Git};
use paw_screen::text::Text;
use paw_session::messages;
use paw_supervisor::proof;
use paw_supervisor::sweep::{self, AgentSnapshot};
use paw_view::{AgentView, Observation, SessionMember, SessionView};
use serde_json::{Value, json};

use crate::context::Context;

fn swept(context: &Context) -> Result<Vec<AgentSnapshot>, PawError> {
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
    let one = sweep::require_agent(swept(context)?, agent)?;
    if context.output.wants_json() {
        let document = json!({"agent": one.id, "state": one.known.state.name(), "screen": one.tail(lines)});
        return context.output.document(&document);
    }
    screen(&one, lines, context)
}

/// Prints an agent's screen without control characters.
fn screen(one: &AgentSnapshot, lines: usize, context: &Context) -> Result<(), PawError> {
    one.tail(lines).lines().try_for_each(|line| context.output.say(Text::line(line).as_str()))
}

/// Prints the state of all agents, or only of the stuck ones.
pub(super) fn status(context: &Context, only_stuck: bool) -> Result<(), PawError> {
    let session = context.require_session()?;
    let mut view = sweep::load_view(&session, clock::now())?;
    if context.output.wants_json() {
        session.add_messages(&mut view);
        proof::add_tips(&mut view, &session.repo, &context.dirs);
    }
    let members = view.agents.iter().filter_map(|agent| {
        let row = Row { agent, member: agent.member.as_ref()?, seen: agent.observed.as_ref()? };
        (!only_stuck || row.seen.state.is_stuck()).then_some(row)
    });
    let rows: Vec<Row<'_>> = members.collect();
    if context.output.wants_json() {
        return context.output.document(&rows.iter().map(|row| document(row, &view)).collect::<Vec<_>>());
    }
    if rows.is_empty() {
        return context.output.say("no agents need attention");
    }
    let rows = rows.iter().map(|Row { agent, member, seen }| {
        let (state, source) = (seen.state.to_string(), seen.source.to_string());
        [agent.id.to_string(), state, member.cli.clone(), source, reason(seen)]
    });
    context.output.table(["AGENT", "STATE", "CLI", "SOURCE", "REASON"], rows.collect())
}

/// An agent of the session with its observed state.
struct Row<'a> {
    agent: &'a AgentView,
    member: &'a SessionMember,
    seen: &'a Observation,
}

fn reason(seen: &Observation) -> String {
    let text = match &seen.waits_for {
        Some(what) => format!("{}: {what}", seen.reason),
        None => seen.reason.clone(),
    };
    Text::line(&text).as_str().to_owned()
}

fn document(row: &Row<'_>, view: &SessionView) -> Value {
    let Row { agent, member, seen } = row;
    json!({
        "agent": agent.id, "branch": member.branch, "cli": member.cli, "worktree": member.worktree_path,
        "pane": member.pane, "state": seen.state, "waits_for": seen.waits_for,
        "known_by": seen.source, "reason": seen.reason, "since": seen.since,
        "process": member.process, "worktree_state": member.worktree, "status": agent.status().1,
        "files": agent.files(), "last_message": agent.last_message, "checks": agent.checks,
        "verification": agent.verification(), "needs": view.need_of(agent),
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
        let row = |(one, facts): &(AgentSnapshot, Option<(usize, String)>)| {
            json!({
                "agent": one.id, "branch": one.branch, "worktree": one.worktree,
                "changed": facts.as_ref().map(|(changed, _)| changed),
                "commit": facts.as_ref().map(|(_, commit)| commit),
            })
        };
        return context.output.document(&rows.iter().map(row).collect::<Vec<_>>());
    }
    let row = |(one, facts): &(AgentSnapshot, Option<(usize, String)>)| {
        let (changed, commit) = match facts {
            Some((changed, commit)) => (changed.to_string(), Text::line(commit).as_str().to_owned()),
            None => ("-".to_owned(), "worktree not found".to_owned()),
        };
        [one.id.to_string(), one.branch.clone(), changed, commit]
    };
    context.output.table(["AGENT", "BRANCH", "CHANGED", "LAST COMMIT"], rows.iter().map(row).collect())
}

/// Prints the messages that wait for the supervisor, without status messages and without questions that were answered.
pub(super) fn inbox(since: u64, context: &Context) -> Result<(), PawError> {
    let client = context.broker_client()?;
    let mut view = SessionView::new(0);
    match context.find_session()? {
        Some(session) => {
            view = sweep::load_view(&session, clock::now())?;
            session.add_messages(&mut view);
        }
        None => messages::load(&context.require_repo()?.common_dir, None, &mut view)?,
    }
    let open: Vec<u64> = view.open_questions().map(|question| question.seq).collect();
    let mut waiting = Vec::new();
    let mut page = client.inbox_of(&AgentId::supervisor(), since, Duration::ZERO)?;
    loop {
        waiting.extend(page.messages.drain(..).filter(|stored| match stored.message {
            Message::Question(_) => open.contains(&stored.seq),
            Message::Blocked(_) | Message::Feedback(_) | Message::VerifyNow(_) => true,
            _ => false,
        }));
        if !page.more {
            break;
        }
        page = client.inbox_of(&AgentId::supervisor(), page.last_seq, Duration::ZERO)?;
    }
    if context.output.wants_json() {
        let message = |stored: &paw_broker::StoredMessage| json!({"seq": stored.seq, "message": stored.message.to_json()});
        let messages: Vec<_> = waiting.iter().map(message).collect();
        return context.output.document(&json!({"messages": messages, "last_seq": page.last_seq}));
    }
    for stored in &waiting {
        context.output.say(&format!("{:>5}  {}", stored.seq, stored.message))?;
    }
    Ok(())
}
