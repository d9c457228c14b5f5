//! The work of the scripted agent: say what it is going to touch, touch it, listen, give way, commit.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use paw_broker::Message;
use paw_broker::client::Client;
use paw_broker::message::{Intent, IntentFile, Status};
use paw_core::PawError;
use paw_host::clock::{self, Stopwatch};
use paw_host::files::{self, Access};
use paw_host::git::Git;

use super::Task;
use crate::context::Context;
use crate::output::Style;

const README: &str = "README.md";
/// No warning takes this long, on any machine.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn run(task: Task, pace_ms: u64, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let say = |mark: Style, line: String| {
        thread::sleep(Duration::from_millis(pace_ms));
        output.say(&format!("{} {line}", output.paint(mark, "●")))
    };
    let git = Git::at(&context.cwd);
    let client = context.broker_client()?;
    let (file, text) = task.file();
    say(Style::Bold, format!("task: {file}"))?;
    let intent = Intent::new(client.agent().clone(), vec![IntentFile::whole(file)], "the demo");
    client.say(&intent.into(), clock::now())?;
    say(Style::Dim, format!("writing {file}"))?;
    let access = if file.starts_with("src/") { Access::Executable } else { Access::Usual };
    files::write_atomic(&context.cwd.join(file), text.as_bytes(), access)?;
    if let Some(title) = task.title() {
        say(Style::Dim, format!("changing the title in {README}"))?;
        let before = files::load_text(&context.cwd.join(README))?.unwrap_or_default();
        let rest = before.split_once('\n').map_or("", |(_, rest)| rest);
        files::write_atomic(&context.cwd.join(README), format!("{title}{rest}").as_bytes(), Access::Usual)?;
        let warning = wait_for_warning(&client)?;
        say(Style::Doubtful, format!("warned: {warning}"))?;
        if task == Task::Farewell {
            say(Style::Dim, format!("leaving {README} to the other"))?;
            git.run(["checkout", "--quiet", "--", README])?;
        }
    }
    let working =
        Status { message: Some("committing".into()), ..Status::new(client.agent().clone(), "working") };
    client.say(&working.into(), clock::now())?;
    git.run(["add", "--all"])?;
    git.run(["commit", "--quiet", "--message", &format!("Add {file}")])?;
    say(Style::Good, format!("done: {}", git.line(["log", "-1", "--format=%h %s"])?))
}

/// What the radar has to say about what was just changed.
fn wait_for_warning(client: &Client) -> Result<String, PawError> {
    let watch = Stopwatch::start();
    let mut warning = None;
    client.follow(0, |inbox| {
        let feedback = inbox.messages.iter().find_map(|stored| match &stored.message {
            Message::Feedback(feedback) => {
                Some(feedback.errors.join(" ")).filter(|text| text.contains(README))
            }
            _ => None,
        });
        warning = feedback;
        if warning.is_some() || watch.remaining(PATIENCE).is_zero() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    warning
        .ok_or_else(|| PawError::SessionError("two agents changed one line and nobody was warned".to_owned()))
}
