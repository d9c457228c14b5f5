//! The chapters of the demo. Each runs git paw commands, checks the result and prints it. A failed check ends the demo.

use paw_broker::StoredMessage;
use paw_core::paths::ReportDir;
use paw_core::text::short_commit;
use paw_core::{AgentId, PawError};
use paw_host::files::{self, Access};
use serde_json::Value;

use super::agent::{DANGEROUS, DemoTask, HARMLESS, USEFUL};
use super::facts::{self, CheckedFacts, not_seen, wait_until};
use super::message_log;
use super::scratch_repo::{self, CLI, ScratchRepo};
use crate::context::Context;
use crate::output::Style;

/// The chapters with agents and supervisor.
pub(super) fn session(
    scratch: &ScratchRepo,
    watched: bool,
    context: &Context,
) -> Result<CheckedFacts, PawError> {
    start(scratch, watched, context)?;
    let mut seen = vec!["three agents and a supervisor in panes, each agent in its own worktree"];
    for chapter in [decisions, go_there, conflict, gates, merge] {
        seen.push(chapter(scratch, context)?);
    }
    Ok(seen)
}

/// The chapters after the agents have finished.
pub(super) fn afterwards(
    scratch: &ScratchRepo,
    mut seen: CheckedFacts,
    context: &Context,
) -> Result<CheckedFacts, PawError> {
    for chapter in [autopilot, pause_and_resume, purge_and_undo] {
        seen.push(chapter(scratch, context)?);
    }
    Ok(seen)
}

pub(super) fn sum_up(seen: &CheckedFacts, context: &Context) -> Result<(), PawError> {
    facts::list(seen, context)?;
    let say = |line: &str| context.output.say(line);
    say("try next, in your own repository:")?;
    for (command, what) in [
        ("git paw init", "configure the AI CLI, the test command and messages"),
        ("git paw start --supervisor", "the same with real agents"),
        ("git paw next", "go to the agent that has waited longest for you"),
        ("git paw attach AGENT", "go to any agent"),
        ("git paw diff AGENT", "see what it has changed"),
        ("git paw add BRANCH --prompt TEXT", "hand out the next task"),
        ("git paw start --unattended --merge", "the same while you are away"),
        ("git paw autopilot --dry-run", "see what autopilot would do with your next task"),
        ("git paw demo --keep", "run the demo again and keep its session"),
    ] {
        say(&format!("  {command:<36} {what}"))?;
    }
    Ok(())
}

fn start(scratch: &ScratchRepo, watched: bool, context: &Context) -> Result<(), PawError> {
    let branches: Vec<_> = DemoTask::ALL.iter().map(|task| task.branch_name()).collect();
    let task = "Do what your branch is named after, and test it.";
    let branches = branches.join(",");
    scratch.run(&["start", "--supervisor", "--cli", CLI, "--branches", &branches, "--prompt", task])?;
    let status: Value = scratch.json(&["status", "--json"])?;
    let worktrees = status["worktrees"].as_array().map_or(0, Vec::len);
    if status["status"] != "active" || worktrees != DemoTask::ALL.len() || status["supervisor"].is_null() {
        return Err(not_seen("a session of three agents and a supervisor", status));
    }
    context.output.say(&format!(
        "git paw start --supervisor: {worktrees} agents, each with a worktree and a pane, a supervisor and a dashboard"
    ))?;
    if watched {
        context.output.say(
            "docs/guide will wait for you: n, then a or d in the dashboard answers it; ? lists the keys",
        )?;
        scratch.attach()?;
    }
    Ok(())
}

/// Two agents change the same line and are warned before they commit.
fn conflict(scratch: &ScratchRepo, context: &Context) -> Result<&'static str, PawError> {
    let fact = "two agents that changed one line were warned, with file and line, before they committed";
    let messages = wait_for(scratch, fact, |messages| {
        DemoTask::ALL.iter().all(|task| message_log::first_commit(messages, *task).is_some())
    })?;
    context.output.say("two agents changed the same line and were warned before they committed:")?;
    for task in [DemoTask::Greeting, DemoTask::Farewell] {
        let warning =
            message_log::warning(&messages, task).ok_or_else(|| not_seen(fact, task.branch_name()))?;
        if message_log::first_commit(&messages, task).is_none_or(|commit| commit < warning.seq) {
            return Err(not_seen(fact, format!("{} committed before it was warned", task.branch_name())));
        }
        context.output.say(&format!("   {}: {}", scratch_repo::agent(task)?, warning.text))?;
    }
    Ok("a conflict reported, with file and line, before it was committed")
}

/// A harmless command runs; the user decides about the others: one in a terminal, one with keys of the dashboard. A user who
/// watches the demo may have done so already.
fn decisions(scratch: &ScratchRepo, context: &Context) -> Result<&'static str, PawError> {
    let fact = "a harmless command approved automatically, another one by the user, and one denied";
    let guide = DemoTask::Guide.branch_name();
    wait_until(fact, || Ok(reason_of(scratch, HARMLESS, "harmless")?.is_some()))?;
    let reason = reason_of(scratch, HARMLESS, "harmless")?.unwrap_or_default();
    let approved = context.output.paint(Style::Success, "approved:");
    context.output.say(&format!("{approved} {HARMLESS} ({reason})"))?;
    if wait_for_question(scratch, USEFUL, fact)? {
        let said = scratch.run(&["approve", guide, "--yes"])?;
        context.output.say(&format!("git paw approve {guide}: {}", said.trim_end()))?;
    }
    if wait_for_question(scratch, DANGEROUS, fact)? {
        context.output.say("git paw next --list, who needs you:")?;
        let waiting = scratch.run(&["next", "--list"])?;
        waiting.lines().try_for_each(|line| context.output.say(&format!("   {line}")))?;
        // `n` selects the agent, `d` shows the whole command and what the rules say.
        scratch.press(&["n", "d"])?;
        wait_until(fact, || {
            let shown = scratch.dashboard()?;
            Ok(shown.contains("wants") && shown.contains(DANGEROUS) && shown.contains("not allowed"))
        })?;
        scratch.press(&["d"])?;
        context.output.say(&format!(
            "keys n, d, d in the dashboard: shows the whole command, denies it: {DANGEROUS}"
        ))?;
    }
    wait_until(fact, || is_decided(scratch, DANGEROUS))?;
    Ok(
        "a harmless command approved automatically, another one by the user, and a dangerous one denied in the dashboard",
    )
}

/// Waits until the user is asked about a command. Returns whether the answer is still missing.
fn wait_for_question(scratch: &ScratchRepo, command: &str, fact: &str) -> Result<bool, PawError> {
    let mut is_open = false;
    wait_until(fact, || {
        let needs: Value = scratch.json(&["next", "--json"])?;
        let is_it = |need: &Value| need["kind"] == "approval" && need["text"] == command;
        is_open = needs["needs"].as_array().is_some_and(|needs| needs.iter().any(is_it));
        Ok(is_open || is_decided(scratch, command)?)
    })?;
    Ok(is_open)
}

/// Whether the user has decided about a command.
fn is_decided(scratch: &ScratchRepo, command: &str) -> Result<bool, PawError> {
    for words in ["approved by ", "approved manually", "denied by "] {
        if reason_of(scratch, command, words)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The reason of a verdict on a command that starts with these words.
fn reason_of(scratch: &ScratchRepo, command: &str, words: &str) -> Result<Option<String>, PawError> {
    let verdicts: Value = scratch.json(&["approvals", "--json"])?;
    let of_command =
        verdicts["verdicts"].as_array().into_iter().flatten().filter(|row| row["command"] == command);
    let mut reasons = of_command.filter_map(|row| row["reason"].as_str());
    Ok(reasons.find(|reason| reason.starts_with(words)).map(str::to_owned))
}

/// Enter in the dashboard shows the pane of the selected agent.
fn go_there(scratch: &ScratchRepo, context: &Context) -> Result<&'static str, PawError> {
    let fact = "the pane of an agent, zoomed with Enter in the dashboard";
    // The answer is on its way; until it arrives, the prompt is shown.
    wait_until(fact, || Ok(!scratch.dashboard()?.contains(" wants")))?;
    scratch.press(&["Enter"])?;
    let agents = DemoTask::ALL.map(scratch_repo::agent).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut shown = None;
    wait_until(fact, || {
        for agent in agents.iter().chain([&AgentId::supervisor()]) {
            if scratch.is_zoomed(agent.as_str())? {
                shown = Some(agent.to_string());
            }
        }
        Ok(shown.is_some())
    })?;
    scratch.leave_zoom()?;
    let shown = shown.unwrap_or_default();
    context
        .output
        .say(&format!("key Enter in the dashboard, or git paw attach {shown}: its pane, zoomed"))?;
    Ok("the pane of an agent, one key away from the dashboard")
}

/// Two branches pass their gates. The third fails, is fixed, and passes.
fn gates(scratch: &ScratchRepo, context: &Context) -> Result<&'static str, PawError> {
    let fact = "two branches passed their gates, and one failed, was fixed and passed";
    let messages = wait_for(scratch, fact, |messages| {
        DemoTask::ALL.iter().all(|task| message_log::verified(messages, *task).is_some())
    })?;
    for task in DemoTask::ALL {
        let branch = task.branch_name();
        let verified = message_log::verified(&messages, task).ok_or_else(|| not_seen(fact, branch))?;
        let failure = message_log::gate_failure(&messages, task);
        let as_told = match &failure {
            Some(failure) => task == DemoTask::Farewell && failure.seq < verified.seq,
            None => task != DemoTask::Farewell,
        };
        if !as_told {
            return Err(not_seen(fact, format!("{branch}: {failure:?}")));
        }
        let how = match failure {
            Some(failure) => format!("failed its gates ({}), fixed, verified", reason(&failure.text)),
            None => "verified".to_owned(),
        };
        let commit = short_commit(&verified.text);
        let name = context.output.paint(Style::Success, &format!("{branch}:"));
        context.output.say(&format!("{name} {how} at {commit}"))?;
    }
    Ok("two branches passed their gates; one failed, was fixed after feedback, and passed")
}

/// The reason that the gate printed.
fn reason(text: &str) -> &str {
    text.lines().find_map(|line| line.trim().strip_prefix("FAILED: ")).unwrap_or("tests fail")
}

/// All branches are merged, in dependency order.
fn merge(scratch: &ScratchRepo, context: &Context) -> Result<&'static str, PawError> {
    let fact = "every branch was merged, in dependency order";
    let merged = message_log::merged(&wait_for(scratch, fact, message_log::is_over)?);
    let place = |task: DemoTask| merged.iter().position(|branch| branch == task.branch_name());
    let [greeting, farewell, guide] = DemoTask::ALL.map(place);
    if guide.is_none() || farewell.is_none() || greeting.is_none() || greeting > farewell {
        return Err(not_seen(fact, merged.join(", ")));
    }
    let files = scratch.git().run(["ls-tree", "-r", "--name-only", "main"])?;
    let files = String::from_utf8_lossy(&files);
    if !DemoTask::ALL.iter().all(|task| files.lines().any(|file| file == task.file())) {
        return Err(not_seen(fact, files));
    }
    context
        .output
        .say(&format!("git paw merge --rebase: {}, each tested on top of main", merged.join(", ")))?;
    Ok("a merge in dependency order that never broke main")
}

/// Autopilot does one more task test-first.
fn autopilot(scratch: &ScratchRepo, context: &Context) -> Result<&'static str, PawError> {
    let fact = "a task done by autopilot: a failing test, code that makes it pass, a commit";
    let run = [
        "autopilot",
        "4",
        "--executor",
        CLI,
        "--runner",
        "sh check.sh",
        "--no-confirm",
        "--no-push",
        "--json",
    ];
    let done: Value = scratch.json(&run)?;
    let report = done["report"].as_str().unwrap_or_default();
    let log = files::load_text(&ReportDir::of(scratch.root().join(report)).log())?.unwrap_or_default();
    let proven = |phase: &str| {
        let is_it = |line: &str| {
            serde_json::from_str(line)
                .is_ok_and(|line: Value| line["phase"] == phase && line["status"] == "ok")
        };
        log.lines().position(is_it)
    };
    let [red, green, commit] = ["red", "green", "commit"].map(proven);
    if red.is_none() || red >= green || green >= commit || done["manifest"]["totalCommits"] != 1 {
        return Err(not_seen(fact, done));
    }
    let branch = done["manifest"]["branch"].as_str().unwrap_or_default();
    let commit = scratch.git().line(["log", "-1", "--format=%h %s", branch])?;
    scratch.git().run(["checkout", "--quiet", "main"])?;
    context
        .output
        .say("git paw autopilot 4: RED a test fails, GREEN code makes it pass, COMMIT what was proven:")?;
    context.output.say(&format!("   {branch}: {commit}"))?;
    Ok("a task done test-first by autopilot: RED, GREEN, COMMIT")
}

/// The broker stops and starts again; agents keep running and no message is lost.
fn pause_and_resume(scratch: &ScratchRepo, context: &Context) -> Result<&'static str, PawError> {
    let before = (scratch.pane_processes()?, scratch.messages()?.len());
    scratch.run(&["pause"])?;
    scratch.run(&["say", "question", "Is the broker running?"])?;
    scratch.run(&["start"])?;
    let after = (scratch.pane_processes()?, scratch.messages()?.len());
    if before.0 != after.0 || after.1 <= before.1 {
        return Err(not_seen("a pause that does not disturb the agents", format!("{before:?}, {after:?}")));
    }
    context.output.say("git paw pause, then start: the agents kept running, and no message was lost")?;
    Ok("a pause during which agents kept running and no message was lost")
}

/// The session and its worktrees are removed; unsaved work is restored.
fn purge_and_undo(scratch: &ScratchRepo, context: &Context) -> Result<&'static str, PawError> {
    let fact = "unsaved work restored after a purge";
    let status: Value = scratch.json(&["status", "--json"])?;
    let path = status["worktrees"][0]["worktree_path"].as_str().unwrap_or_default().to_owned();
    let idea = std::path::Path::new(&path).join("idea.txt");
    files::write_atomic(&idea, b"half a thought\n", Access::Usual)?;
    let branch = status["worktrees"][0]["branch"].as_str().unwrap_or_default();
    let diff: Value = scratch.json(&["diff", branch, "--json"])?;
    if !diff["files"].as_array().is_some_and(|files| files.iter().any(|file| file["path"] == "idea.txt")) {
        return Err(not_seen("an unsaved file in 'git paw diff'", diff));
    }
    context.output.say(&format!("git paw diff {branch}: idea.txt, which is not committed"))?;
    scratch.run(&["purge", "--force"])?;
    if idea.exists() {
        return Err(not_seen(fact, format!("{path} still exists")));
    }
    context.output.say("git paw purge --force: removed session and worktrees, including an unsaved file")?;
    let kept: Value = scratch.json(&["undo", "--json"])?;
    let of_branch = |rescue: &&Value| rescue["branch"] == status["worktrees"][0]["branch"];
    let rescue = kept["rescues"].as_array().and_then(|rescues| rescues.iter().find(of_branch));
    let Some(id) = rescue.and_then(|rescue| rescue["id"].as_str()) else {
        return Err(not_seen(fact, kept));
    };
    scratch.run(&["undo", "restore", id, "--into", &path])?;
    let text = files::load_text(&idea)?.unwrap_or_default();
    if text.trim() != "half a thought" {
        return Err(not_seen(fact, text));
    }
    context.output.say(&format!("git paw undo restore: idea.txt contains \"{}\" again", text.trim_end()))?;
    Ok("unsaved work restored after a purge")
}

/// Polls the session's messages until they prove a fact.
fn wait_for(
    scratch: &ScratchRepo,
    fact: &str,
    holds: impl Fn(&[StoredMessage]) -> bool,
) -> Result<Vec<StoredMessage>, PawError> {
    let mut messages = Vec::new();
    wait_until(fact, || {
        messages = scratch.messages()?;
        Ok(holds(&messages))
    })?;
    Ok(messages)
}
