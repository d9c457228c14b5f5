//! `git paw dashboard`, and the session's own process with its screen.

use clap::Args;
use jiff::tz::TimeZone;
use paw_broker::endpoint::Endpoint;
use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::PawError;
use paw_core::config::PawConfig;
use paw_core::paths::PawDir;
use paw_runtime::SessionProcess;
use paw_screen::dashboard::{Home, Look, Options};
use paw_screen::run::{Wires, on_terminal};
use paw_screen::source::remote::{self, Remote};
use paw_screen::source::{answer_on_bus, follow_bus};
use paw_view::{SessionView, ViewEvent};
use tokio::sync::mpsc;

use crate::context::Context;

/// Watch a running session from any terminal
///
/// Agents, conflicts, messages and open questions, live. `?` shows the keys, `q` closes this view; the session goes on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw dashboard")]
pub(crate) struct DashboardArgs {}

/// Updates that wait for a busy screen.
const UPDATES: usize = 1024;
/// Answers on their way.
const ANSWERS: usize = 16;

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    let config = context.load_config()?.resolve()?;
    let dir = PawDir::of(&repo.common_dir);
    if Endpoint::load(&dir)?.is_none() {
        return Err(
            PawError::SessionError("no broker is running here".to_owned()).hint("git paw serve starts one")
        );
    }
    let log = log::open(&dir.log())?;
    let token = Keyring::new(&log, dir.path()).operator()?;
    let remote = Remote { common_dir: repo.common_dir.clone(), token: Some(token) };
    let client = context.broker_client()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let cannot_start = |error| PawError::internal(format!("cannot start the dashboard: {error}"));
    let runtime = runtime.map_err(cannot_start)?;
    let (sender, updates) = mpsc::channel(UPDATES);
    let (answers, carried) = mpsc::channel(ANSWERS);
    remote::follow(remote, sender.clone()).map_err(cannot_start)?;
    runtime.block_on(async {
        tokio::spawn(remote::answer(client, carried, sender));
        let wires = Wires { updates, answers };
        let options = options(Home::Attached, &config);
        on_terminal(options, empty_view(&config), wires, std::future::pending()).await
    })?;
    runtime.shutdown_background();
    Ok(())
}

/// The pane of a session: broker, watcher, radar and learnings, and over them the screen.
pub(crate) fn run_session(context: &Context) -> Result<(), PawError> {
    let session = SessionProcess::start(context.session_settings()?)?;
    let (sender, updates) = mpsc::channel(UPDATES);
    let (answers, carried) = mpsc::channel(ANSWERS);
    let (bus, runtime) = (session.bus(), session.runtime());
    let mut view = empty_view(session.config());
    view.apply(ViewEvent::Session(Box::new(session.facts())));
    view.apply(ViewEvent::Members(session.members()));
    let shown = runtime.block_on(async {
        tokio::spawn(follow_bus(bus.clone(), sender.clone()));
        tokio::spawn(answer_on_bus(bus, carried, sender));
        let wires = Wires { updates, answers };
        on_terminal(options(Home::Session, session.config()), view, wires, session.ended()).await
    });
    session.stop();
    Ok(shown.map(drop)?)
}

fn empty_view(config: &PawConfig) -> SessionView {
    let kept = config.dashboard.broker_log.max_messages;
    SessionView::new(usize::try_from(kept).unwrap_or(usize::MAX).max(1))
}

fn options(home: Home, config: &PawConfig) -> Options {
    let log = &config.dashboard.broker_log;
    Options {
        home,
        look: Look::of_environment(|name| std::env::var(name).ok()),
        show_messages: log.default_visible || config.dashboard.show_message_log,
        message_lines: log.height_lines,
        zone: TimeZone::system(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_panel_of_messages_is_open_where_either_key_says_so() {
        for (default_visible, show_message_log, open) in
            [(true, false, true), (false, false, false), (false, true, true), (true, true, true)]
        {
            let mut config = PawConfig::default();
            config.dashboard.broker_log.default_visible = default_visible;
            config.dashboard.show_message_log = show_message_log;
            assert_eq!(options(Home::Attached, &config).show_messages, open);
        }
    }
}
