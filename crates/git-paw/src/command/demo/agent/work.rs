//! The work of the scripted agent: announce files, change them, resolve a conflict, commit, fix failures.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use paw_broker::Message;
use paw_broker::client::BrokerClient;
use paw_broker::message::{BlockedMessage, IntentFile, IntentMessage, StatusMessage};
use paw_core::{AgentId, PawError};
use paw_host::clock::{self, Stopwatch};
use paw_host::files::{self, Access};
use paw_host::git::Git;

use super::{DemoTask, hooks, input};
use crate::context::Context;
use crate::output::Style;

const README: &str = "README.md";
/// Longer than any warning takes, on any machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Prints a line with a mark, after the configured delay.
pub(super) fn say(mark: Style, line: &str, pace_ms: u64, context: &Context) -> Result<(), PawError> {
    thread::sleep(Duration::from_millis(pace_ms));
    context.output.say(&format!("{} {line}", context.output.paint(mark, "●")))
}

pub(super) fn run(task: DemoTask, pace_ms: u64, context: &Context) -> Result<(), PawError> {
    let say = |mark: Style, line: String| say(mark, &line, pace_ms, context);
    let git = Git::at(&context.cwd);
    let client = context.broker_client()?;
    hooks::report("UserPromptSubmit", context)?;
    let file = task.file();
    say(Style::Bold, format!("task: {file}"))?;
    let intent = IntentMessage::new(client.agent().clone(), vec![IntentFile::whole(file)], "the demo");
    client.publish(&intent.into(), clock::now())?;
    for command in task.commands() {
        if hooks::may_run(command, context)? {
            say(Style::Success, format!("approved automatically: {command}"))?;
        } else if input::ask(command)? {
            say(Style::Success, format!("approved by the user: {command}"))?;
        } else {
            say(Style::Warning, format!("denied by the user: {command}"))?;
        }
        hooks::report("UserPromptSubmit", context)?;
    }
    say(Style::Dim, format!("writing {file}"))?;
    write(task, false, context)?;
    if let Some(title) = task.title() {
        say(Style::Dim, format!("changing the title in {README}"))?;
        let before = files::load_text(&context.cwd.join(README))?.unwrap_or_default();
        let rest = before.split_once('\n').map_or("", |(_, rest)| rest);
        files::write_atomic(&context.cwd.join(README), format!("{title}{rest}").as_bytes(), Access::Usual)?;
        let warning = wait_for(&client, |text| text.contains(README))?;
        let Some(warning) = warning else {
            return Err(PawError::SessionError(
                "two agents changed the same line, but no warning arrived".to_owned(),
            ));
        };
        say(Style::Warning, format!("warned: {warning}"))?;
        if task == DemoTask::Farewell {
            say(Style::Dim, format!("leaving {README} to the other agent"))?;
            git.run(["checkout", "--quiet", "--", README])?;
            let greeting = AgentId::slug(&DemoTask::Greeting.branch()?);
            let blocked = BlockedMessage::new(client.agent().clone(), "the words of the greeting", greeting);
            client.publish(&blocked.into(), clock::now())?;
        }
    }
    let working = StatusMessage {
        message: Some("committing".into()),
        ..StatusMessage::new(client.agent().clone(), "working")
    };
    client.publish(&working.into(), clock::now())?;
    let commit = commit(&git, &format!("Add {file}"))?;
    hooks::report("Stop", context)?;
    say(Style::Success, format!("done: {commit}"))
}

/// Reads the gate failures and fixes them.
pub(super) fn fix(task: DemoTask, pace_ms: u64, context: &Context) -> Result<(), PawError> {
    let say = |mark: Style, line: String| say(mark, &line, pace_ms, context);
    hooks::report("UserPromptSubmit", context)?;
    let client = context.broker_client()?;
    let errors = wait_for(&client, |text| text.contains("[testing]"))?.unwrap_or_default();
    let first = errors.lines().next().unwrap_or("nothing");
    say(Style::Warning, format!("to fix: {first}"))?;
    write(task, true, context)?;
    let commit = commit(&Git::at(&context.cwd), &format!("Fix {}", task.file()))?;
    hooks::report("Stop", context)?;
    say(Style::Success, format!("done: {commit}"))
}

fn write(task: DemoTask, fixed: bool, context: &Context) -> Result<(), PawError> {
    let file = task.file();
    let access = if file.starts_with("src/") { Access::Executable } else { Access::Usual };
    Ok(files::write_atomic(&context.cwd.join(file), task.text(fixed).as_bytes(), access)?)
}

fn commit(git: &Git, message: &str) -> Result<String, PawError> {
    git.run(["add", "--all"])?;
    git.run(["commit", "--quiet", "--message", message])?;
    Ok(git.line(["log", "-1", "--format=%h %s"])?)
}

/// Waits for feedback whose text matches.
fn wait_for(client: &BrokerClient, matches: impl Fn(&str) -> bool) -> Result<Option<String>, PawError> {
    let watch = Stopwatch::start();
    let mut found = None;
    client.follow(0, |inbox| {
        found = found.take().or_else(|| {
            inbox.messages.iter().find_map(|stored| match &stored.message {
                Message::Feedback(feedback) => Some(feedback.errors.join(" ")).filter(|text| matches(text)),
                _ => None,
            })
        });
        let enough = found.is_some() || watch.remaining(TIMEOUT).is_zero();
        if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}
