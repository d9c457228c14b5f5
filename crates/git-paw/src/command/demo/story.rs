//! What is shown: each chapter does something through our own commands, checks that it happened, and says so. A fact that
//! is not seen ends the demo with its name.

use std::time::Duration;

use paw_broker::Stored;
use paw_core::PawError;
use paw_core::paths::ReportDir;
use paw_core::text::short_commit;
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access};
use serde_json::Value;

use super::agent::Task;
use super::facts;
use super::scene::{self, CLI, Scene};
use crate::context::Context;
use crate::output::Style;

/// Nothing here needs this long, on any machine.
const PATIENCE: Duration = Duration::from_mins(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What was seen so far, in a few words each.
pub(super) type Seen = Vec<&'static str>;

/// A fact that was not seen.
fn unseen(fact: &str, found: impl std::fmt::Display) -> PawError {
    PawError::SessionError(format!("not seen: {fact} ({found})"))
}

/// What agents and supervisor do in one session.
pub(super) fn session(scene: &Scene, watched: bool, context: &Context) -> Result<Seen, PawError> {
    start(scene, watched, context)?;
    let mut seen = vec!["three agents and a supervisor in panes, each agent in a worktree of its own"];
    for chapter in [collision, approvals, gates, merge] {
        seen.push(chapter(scene, context)?);
    }
    Ok(seen)
}

/// What can be done when the agents have done their work.
pub(super) fn afterwards(scene: &Scene, mut seen: Seen, context: &Context) -> Result<Seen, PawError> {
    for chapter in [autopilot, pause_and_resume, purge_and_undo] {
        seen.push(chapter(scene, context)?);
    }
    Ok(seen)
}

pub(super) fn sum_up(seen: &Seen, context: &Context) -> Result<(), PawError> {
    let say = |line: &str| context.output.say(line);
    say("")?;
    say(&format!("you have seen, all of it checked ({} facts):", seen.len()))?;
    for fact in seen {
        say(&format!("  {} {fact}", context.output.paint(Style::Good, "✓")))?;
    }
    say("try next, in a repository of yours:")?;
    for (command, what) in [
        ("git paw init", "a configuration to fill in: CLIs, gates, specs"),
        ("git paw start --supervisor", "the same with real agents, and you at the keyboard"),
        ("git paw start --unattended --merge", "the same while you are away"),
        ("git paw autopilot --dry-run", "what autopilot would do with your next task"),
        ("git paw demo --keep", "this one again, to look around in it"),
    ] {
        say(&format!("  {command:<36} {what}"))?;
    }
    Ok(())
}

fn start(scene: &Scene, watched: bool, context: &Context) -> Result<(), PawError> {
    let branches: Vec<_> = Task::ALL.iter().map(|task| task.branch_name()).collect();
    scene.run(&["start", "--supervisor", "--cli", CLI, "--branches", &branches.join(",")])?;
    let status: Value = scene.json(&["status", "--json"])?;
    let worktrees = status["worktrees"].as_array().map_or(0, Vec::len);
    if status["status"] != "active" || worktrees != Task::ALL.len() || status["supervisor"].is_null() {
        return Err(unseen("a session of three agents and a supervisor", status));
    }
    context.output.say(&format!(
        "git paw start --supervisor: {worktrees} agents, each with a worktree and a pane, a supervisor and a dashboard"
    ))?;
    if watched {
        scene.attach()?;
    }
    Ok(())
}

/// Two agents touch the same line, and are warned before they commit.
fn collision(scene: &Scene, context: &Context) -> Result<&'static str, PawError> {
    let fact = "two agents that changed one line were warned, with file and line, before they committed";
    let messages = wait_for(scene, fact, |messages| {
        Task::ALL.iter().all(|task| facts::first_commit(messages, *task).is_some())
    })?;
    context.output.say("two agents changed the same line, and were warned before they committed:")?;
    for task in [Task::Greeting, Task::Farewell] {
        let warning = facts::warning(&messages, task).ok_or_else(|| unseen(fact, task.branch_name()))?;
        if facts::first_commit(&messages, task).is_none_or(|commit| commit < warning.seq) {
            return Err(unseen(fact, format!("{} committed before it was warned", task.branch_name())));
        }
        context.output.say(&format!("   {}: {}", scene::agent(task)?, warning.text))?;
    }
    Ok("a collision warned of, with file and line, before it happened")
}

/// What agents want to run is judged: the harmless is approved, anything else waits for a person.
fn approvals(scene: &Scene, context: &Context) -> Result<&'static str, PawError> {
    let fact = "a harmless command was approved and another one held back, with a question to the supervisor";
    let [harmless, harmful] = [Task::Greeting, Task::Guide].map(|task| task.command().unwrap_or_default());
    wait_for(scene, fact, |messages| facts::approval_asked(messages, harmful))?;
    let verdicts: Value = scene.json(&["approvals", "--json"])?;
    for (command, verdict) in [(harmless, "allow"), (harmful, "ask")] {
        let found = verdicts["verdicts"]
            .as_array()
            .and_then(|rows| rows.iter().find(|row| row["command"] == command && row["verdict"] == verdict));
        let Some(row) = found else { return Err(unseen(fact, &verdicts)) };
        let (style, word) =
            if verdict == "allow" { (Style::Good, "approved:") } else { (Style::Doubtful, "held back:") };
        let reason = row["reason"].as_str().unwrap_or_default();
        context.output.say(&format!("{} {command} ({reason})", context.output.paint(style, word)))?;
    }
    Ok("a harmless command approved, a dangerous one held back")
}

/// The work of two passes its gates; that of the third fails, is mended, and passes.
fn gates(scene: &Scene, context: &Context) -> Result<&'static str, PawError> {
    let fact = "two branches passed their gates, and one failed, was mended and passed";
    let messages = wait_for(scene, fact, |messages| {
        Task::ALL.iter().all(|task| facts::verified(messages, *task).is_some())
    })?;
    for task in Task::ALL {
        let branch = task.branch_name();
        let verified = facts::verified(&messages, task).ok_or_else(|| unseen(fact, branch))?;
        let failure = facts::gate_failure(&messages, task);
        let as_told = match &failure {
            Some(failure) => task == Task::Farewell && failure.seq < verified.seq,
            None => task != Task::Farewell,
        };
        if !as_told {
            return Err(unseen(fact, format!("{branch}: {failure:?}")));
        }
        let how = match failure {
            Some(failure) => format!("failed its gates ({}), mended it, verified", reason(&failure.text)),
            None => "verified".to_owned(),
        };
        let commit = short_commit(&verified.text);
        let name = context.output.paint(Style::Good, &format!("{branch}:"));
        context.output.say(&format!("{name} {how} at {commit}"))?;
    }
    Ok("gates passed by two, and failed by one, which mended it after feedback")
}

/// What a check printed about its failure.
fn reason(text: &str) -> &str {
    text.lines().find_map(|line| line.trim().strip_prefix("FAILED: ")).unwrap_or("tests fail")
}

/// Main gets everything, whoever was waited for first.
fn merge(scene: &Scene, context: &Context) -> Result<&'static str, PawError> {
    let fact = "every branch was merged, those that others waited for first";
    let merged = facts::merged(&wait_for(scene, fact, facts::is_over)?);
    let place = |task: Task| merged.iter().position(|branch| branch == task.branch_name());
    let [greeting, farewell, guide] = Task::ALL.map(place);
    if guide.is_none() || farewell.is_none() || greeting.is_none() || greeting > farewell {
        return Err(unseen(fact, merged.join(", ")));
    }
    let files = scene.git().run(["ls-tree", "-r", "--name-only", "main"])?;
    let files = String::from_utf8_lossy(&files);
    if !Task::ALL.iter().all(|task| files.lines().any(|file| file == task.file())) {
        return Err(unseen(fact, files));
    }
    context
        .output
        .say(&format!("git paw merge --rebase: {}, each tested on top of main", merged.join(", ")))?;
    Ok("a merge in the order of who waited for whom, main never broken")
}

/// One more task, done test-first by a program.
fn autopilot(scene: &Scene, context: &Context) -> Result<&'static str, PawError> {
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
    let done: Value = scene.json(&run)?;
    let report = done["report"].as_str().unwrap_or_default();
    let log = files::load_text(&ReportDir::of(scene.root().join(report)).log())?.unwrap_or_default();
    let proven = |phase: &str| {
        let is_it = |line: &str| {
            serde_json::from_str(line)
                .is_ok_and(|line: Value| line["phase"] == phase && line["status"] == "ok")
        };
        log.lines().position(is_it)
    };
    let [red, green, commit] = ["red", "green", "commit"].map(proven);
    if red.is_none() || red >= green || green >= commit || done["manifest"]["totalCommits"] != 1 {
        return Err(unseen(fact, done));
    }
    let branch = done["manifest"]["branch"].as_str().unwrap_or_default();
    let commit = scene.git().line(["log", "-1", "--format=%h %s", branch])?;
    scene.git().run(["checkout", "--quiet", "main"])?;
    context
        .output
        .say("git paw autopilot 4: RED a test fails, GREEN code makes it pass, COMMIT what was proven:")?;
    context.output.say(&format!("   {branch}: {commit}"))?;
    Ok("a task done test-first by autopilot: RED, GREEN, COMMIT")
}

/// The broker ends and comes back; agents go on and nothing that was said is lost.
fn pause_and_resume(scene: &Scene, context: &Context) -> Result<&'static str, PawError> {
    let before = (scene.pane_processes()?, scene.messages()?.len());
    scene.run(&["pause"])?;
    scene.run(&["say", "question", "Is anybody there?"])?;
    scene.run(&["start"])?;
    let after = (scene.pane_processes()?, scene.messages()?.len());
    if before.0 != after.0 || after.1 <= before.1 {
        return Err(unseen("a pause that disturbs nobody", format!("{before:?}, {after:?}")));
    }
    context.output.say("git paw pause, then start: the agents never noticed, and no message was lost")?;
    Ok("a pause that no agent noticed, without a lost message")
}

/// The session goes, with all worktrees; what was not saved comes back.
fn purge_and_undo(scene: &Scene, context: &Context) -> Result<&'static str, PawError> {
    let fact = "unsaved work that comes back after a purge";
    let status: Value = scene.json(&["status", "--json"])?;
    let path = status["worktrees"][0]["worktree_path"].as_str().unwrap_or_default().to_owned();
    let idea = std::path::Path::new(&path).join("idea.txt");
    files::write_atomic(&idea, b"half a thought\n", Access::Usual)?;
    scene.run(&["purge", "--force"])?;
    if idea.exists() {
        return Err(unseen(fact, format!("{path} is still there")));
    }
    context
        .output
        .say("git paw purge --force: session and worktrees are gone, an unsaved file among them")?;
    let kept: Value = scene.json(&["undo", "--json"])?;
    let of_branch = |rescue: &&Value| rescue["branch"] == status["worktrees"][0]["branch"];
    let rescue = kept["rescues"].as_array().and_then(|rescues| rescues.iter().find(of_branch));
    let Some(id) = rescue.and_then(|rescue| rescue["id"].as_str()) else {
        return Err(unseen(fact, kept));
    };
    scene.run(&["undo", "restore", id, "--into", &path])?;
    let text = files::load_text(&idea)?.unwrap_or_default();
    if text.trim() != "half a thought" {
        return Err(unseen(fact, text));
    }
    context.output.say(&format!("git paw undo restore: idea.txt says \"{}\" again", text.trim_end()))?;
    Ok("unsaved work that came back after a purge")
}

/// Looks at the session's messages until they show a fact.
fn wait_for(scene: &Scene, fact: &str, is_so: impl Fn(&[Stored]) -> bool) -> Result<Vec<Stored>, PawError> {
    let watch = Stopwatch::start();
    loop {
        let messages = scene.messages()?;
        if is_so(&messages) {
            return Ok(messages);
        }
        if watch.remaining(PATIENCE).is_zero() {
            return Err(unseen(fact, format!("waited {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
