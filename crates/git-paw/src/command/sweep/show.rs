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
use paw_view::{AgentView, SessionView};
use serde_json::{Value, json};

use super::elsewhere::{self, HOST, PROBLEM};
use crate::context::Context;

fn swept(context: &Context) -> Result<Vec<AgentSnapshot>, PawError> {
    sweep::sweep(&context.require_session()?, clock::now())
}

pub(super) fn snapshot(lines: usize, context: &Context) -> Result<(), PawError> {
    let session = context.require_session()?;
    let row = |one: AgentSnapshot| json!({"agent": one.id, "state": one.known.state.name(), "screen": one.tail(lines)});
    let mut rows: Vec<Value> = sweep::sweep(&session, clock::now())?.into_iter().map(row).collect();
    rows.extend(elsewhere::ask(&session, &["snapshot", "--lines", &lines.to_string()], context));
    if context.output.wants_json() {
        return context.output.document(&rows);
    }
    for row in &rows {
        let place = row[HOST].as_str().map(|host| format!(" on {host}")).unwrap_or_default();
        let state = row["state"].as_str().unwrap_or("unknown");
        context.output.say(&format!("=== {}{place} ({state})", word(row, "agent")))?;
        let shown = row[PROBLEM].as_str().or(row["screen"].as_str()).unwrap_or_default();
        shown.lines().try_for_each(|line| context.output.say(Text::line(line).as_str()))?;
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
    let verb = if only_stuck { "detect-stuck" } else { "status" };
    let seen_there = elsewhere::ask(&session, &[verb], context);
    let row = |agent: &AgentView| {
        let member = agent.member.as_ref()?;
        let Some(seen) = agent.observed.as_ref().filter(|_| member.host.is_none()) else {
            let seen = seen_there.iter().find(|row| row["agent"].as_str() == Some(agent.id.as_str()))?;
            return Some(with_view(seen.clone(), agent, &view));
        };
        let row = json!({
            "agent": agent.id, "branch": member.branch, "cli": member.cli, "worktree": member.worktree_path,
            "pane": member.pane, "state": seen.state, "waits_for": seen.waits_for,
            "known_by": seen.source, "reason": seen.reason, "since": seen.since,
            "process": member.process, "worktree_state": member.worktree,
        });
        (!only_stuck || seen.state.is_stuck()).then(|| with_view(row, agent, &view))
    };
    let rows: Vec<Value> = view.agents.iter().filter_map(row).collect();
    if context.output.wants_json() {
        return context.output.document(&rows);
    }
    if rows.is_empty() {
        return context.output.say("no agents need attention");
    }
    let row = |row: &Value| {
        let reason = match (row[PROBLEM].as_str(), row["waits_for"].as_str()) {
            (Some(problem), _) => problem.to_owned(),
            (None, Some(what)) => format!("{}: {what}", word(row, "reason")),
            (None, None) => word(row, "reason"),
        };
        let cli = row[HOST]
            .as_str()
            .map_or_else(|| word(row, "cli"), |host| format!("{}@{host}", word(row, "cli")));
        [
            word(row, "agent"),
            word(row, "state"),
            cli,
            word(row, "known_by"),
            Text::line(&reason).as_str().to_owned(),
        ]
    };
    context.output.table(["AGENT", "STATE", "CLI", "SOURCE", "REASON"], rows.iter().map(row).collect())
}

/// The row of an agent with what the messages of all machines say about it.
fn with_view(mut row: Value, agent: &AgentView, view: &SessionView) -> Value {
    if let Some(member) = &agent.member {
        row["branch"] = json!(member.branch);
        row["cli"] = json!(member.cli);
    }
    for (key, value) in [
        ("status", json!(agent.status().1)),
        ("files", json!(agent.files())),
        ("last_message", json!(agent.last_message)),
        ("checks", json!(agent.checks)),
        ("verification", json!(agent.verification())),
        ("needs", json!(view.need_of(agent))),
    ] {
        row[key] = value;
    }
    row
}

/// A value as a cell of a table.
fn word(row: &Value, key: &str) -> String {
    match &row[key] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn worktrees(context: &Context) -> Result<(), PawError> {
    let session = context.require_session()?;
    let mut rows = Vec::new();
    for one in swept(context)? {
        let git = Git::at(&one.worktree);
        let mut row = json!({
            "agent": one.id, "branch": one.branch, "worktree": one.worktree, "changed": null, "commit": null,
        });
        if one.worktree.is_dir() {
            let changed =
                git.differences()?.into_iter().filter(|found| found.kind != DifferenceKind::Ignored);
            row["changed"] = json!(changed.count());
            let commit = git.run(["log", "-1", "--format=%h %s"])?;
            row["commit"] = json!(String::from_utf8_lossy(&commit).trim());
        }
        rows.push(row);
    }
    rows.extend(elsewhere::ask(&session, &["worktrees"], context));
    if context.output.wants_json() {
        return context.output.document(&rows);
    }
    let row = |row: &Value| {
        let commit = row[PROBLEM].as_str().or(row["commit"].as_str()).unwrap_or("worktree not found");
        let branch = row[HOST].as_str();
        let branch =
            branch.map_or_else(|| word(row, "branch"), |host| format!("{}@{host}", word(row, "branch")));
        [word(row, "agent"), branch, word(row, "changed"), Text::line(commit).as_str().to_owned()]
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
