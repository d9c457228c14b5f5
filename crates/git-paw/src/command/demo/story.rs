//! What is shown: each part does something through our own commands, checks that it happened, and says so.

use std::time::Duration;

use paw_broker::{Message, Stored};
use paw_core::{AgentId, PawError};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access};
use serde_json::Value;

use super::scene::{self, CLI, Scene};
use crate::command::demo_agent::Task;
use crate::context::Context;
use crate::output::Style;

/// Nothing here needs this long, on any machine.
const PATIENCE: Duration = Duration::from_mins(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Three agents work at once; two of them touch the same line and are warned.
pub(super) fn agents_at_work(scene: &Scene, watched: bool, context: &Context) -> Result<(), PawError> {
    let say = |line: &str| context.output.say(line);
    let branches: Vec<_> = Task::ALL.iter().map(|task| task.branch_name()).collect();
    scene.run(&["start", "--cli", CLI, "--branches", &branches.join(",")])?;
    let status: Value = serde_json::from_str(&scene.run(&["status", "--json"])?).map_err(scene::failed)?;
    let worktrees = status["worktrees"].as_array().map_or(0, Vec::len);
    if status["status"] != "active" || worktrees != Task::ALL.len() {
        return Err(scene::failed(format!("the session is not what was asked for: {status}")));
    }
    say(&format!("git paw start: {worktrees} agents, each with a worktree and a pane, and a dashboard"))?;
    if watched {
        scene.attach()?;
    }
    let messages = wait_for(scene, "every agent has committed", |messages| {
        Task::ALL.iter().all(|task| has_committed(messages, *task))
    })?;
    for task in Task::ALL {
        let branch = task.branch_name();
        let commit = scene.git().line(["log", "-1", "--format=%h %s", &format!("main..{branch}")])?;
        let name = context.output.paint(Style::Good, &format!("{branch}:"));
        say(&format!("{name} {commit}"))?;
    }
    if scene.git().line(["rev-list", "--count", "main"])? != "1" {
        return Err(scene::failed("main was touched"));
    }
    say("three agents worked at once, each in its own worktree; main was not touched")?;
    let warned: Vec<_> =
        [Task::Greeting, Task::Farewell].iter().filter_map(|task| warning(&messages, *task)).collect();
    let [first, second] = warned.as_slice() else {
        return Err(scene::failed("two agents changed the same line and were not both warned"));
    };
    say("two of them changed the same line, and were warned before they committed:")?;
    for (agent, text) in [first, second] {
        say(&format!("   {agent}: {text}"))?;
    }
    Ok(())
}

/// The broker ends and comes back; agents go on and nothing that was said is lost.
pub(super) fn pause_and_resume(scene: &Scene, context: &Context) -> Result<(), PawError> {
    let before = (scene.pane_processes()?, scene.messages()?.len());
    scene.run(&["pause"])?;
    scene.run(&["say", "question", "Is anybody there?"])?;
    scene.run(&["start"])?;
    let after = (scene.pane_processes()?, scene.messages()?.len());
    if before.0 != after.0 || after.1 <= before.1 {
        return Err(scene::failed(format!("a pause changed something: {before:?}, {after:?}")));
    }
    context.output.say("git paw pause, then start: the agents never noticed, and no message was lost")
}

/// The session goes, with all worktrees; what was not saved comes back.
pub(super) fn purge_and_undo(scene: &Scene, context: &Context) -> Result<(), PawError> {
    let status: Value = serde_json::from_str(&scene.run(&["status", "--json"])?).map_err(scene::failed)?;
    let path = status["worktrees"][0]["worktree_path"].as_str().unwrap_or_default().to_owned();
    let idea = std::path::Path::new(&path).join("idea.txt");
    files::write_atomic(&idea, b"half a thought\n", Access::Usual)?;
    scene.run(&["purge", "--force"])?;
    if idea.exists() {
        return Err(scene::failed(format!("{path} is still there")));
    }
    context
        .output
        .say("git paw purge --force: session and worktrees are gone, an unsaved file among them")?;
    let kept: Value = serde_json::from_str(&scene.run(&["undo", "--json"])?).map_err(scene::failed)?;
    let of_branch = |rescue: &&Value| rescue["branch"] == status["worktrees"][0]["branch"];
    let rescue = kept["rescues"].as_array().and_then(|rescues| rescues.iter().find(of_branch));
    let Some(id) = rescue.and_then(|rescue| rescue["id"].as_str()) else {
        return Err(scene::failed(format!("nothing was kept: {kept}")));
    };
    scene.run(&["undo", "restore", id, "--into", &path])?;
    let text = files::load_text(&idea)?.unwrap_or_default();
    if text.trim() != "half a thought" {
        return Err(scene::failed("the unsaved file was lost"));
    }
    context.output.say(&format!("git paw undo restore: idea.txt says \"{}\" again", text.trim_end()))
}

fn has_committed(messages: &[Stored], task: Task) -> bool {
    let agent = scene::agent(task).ok();
    messages.iter().any(|stored| {
        matches!(&stored.message, Message::Artifact(artifact) if Some(&artifact.agent_id) == agent.as_ref())
    })
}

/// What the agent was warned of.
fn warning(messages: &[Stored], task: Task) -> Option<(AgentId, String)> {
    let agent = scene::agent(task).ok()?;
    messages.iter().find_map(|stored| match &stored.message {
        Message::Feedback(feedback) if feedback.agent_id == agent => {
            Some((agent.clone(), feedback.errors.join(" ")))
        }
        _ => None,
    })
}

/// Looks at the session's messages until they show `what`.
fn wait_for(scene: &Scene, what: &str, is_so: impl Fn(&[Stored]) -> bool) -> Result<Vec<Stored>, PawError> {
    let watch = Stopwatch::start();
    loop {
        let messages = scene.messages()?;
        if is_so(&messages) {
            return Ok(messages);
        }
        if watch.remaining(PATIENCE).is_zero() {
            return Err(scene::failed(format!("waited {} s, and it is not so: {what}", PATIENCE.as_secs())));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
