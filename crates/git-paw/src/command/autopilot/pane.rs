//! Runs the executor in a window of the session.

use std::path::PathBuf;

use clap::Args;
use paw_autopilot::pane::{PaneSession, PaneText, serve_run};
use paw_core::PawError;
use paw_screen::text::Text;

use crate::context::Context;
use crate::output::Style;

/// Run executors in this pane for a run
#[derive(Debug, Args)]
pub(crate) struct ExecutorPaneArgs {
    /// The socket of the run
    socket: PathBuf,
}

pub(crate) fn run(args: &ExecutorPaneArgs, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    serve_run(&args.socket, &mut |shown| match shown {
        PaneText::Attempt(title) => output.say(&output.paint(Style::Bold, Text::line(title).as_str())),
        PaneText::Line(text) | PaneText::End(text) => output.say(Text::new(text).as_str()),
        PaneText::Ended(how) => {
            output.say(&output.paint(Style::Dim, &format!("── {}; running the tests", Text::line(how))))
        }
    })
}

/// The session of this repository, if it is running.
pub(super) fn find(context: &Context) -> Result<Option<PaneSession>, PawError> {
    context.find_session()?.map_or(Ok(None), |session| PaneSession::of(&session))
}

pub(super) fn require(context: &Context) -> Result<PaneSession, PawError> {
    find(context)?.ok_or_else(|| {
        PawError::SessionError("--pane needs a running session in this repository".to_owned())
            .hint("run 'git paw start' first, or omit --pane")
    })
}
