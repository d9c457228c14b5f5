//! `git paw dashboard`, and the session's own process with its screen.

mod patrol;
mod questions;
mod session;
mod tower;

use clap::Args;
use jiff::tz::TimeZone;
use paw_broker::endpoint::Endpoint;
use paw_broker::identity::Keyring;
use paw_broker::log::SqliteLog;
use paw_core::PawError;
use paw_core::config::PawConfig;
use paw_core::paths::PawDir;
use paw_host::sqlite::Durability;
use paw_screen::dashboard::{Home, Look, Options};
use paw_screen::run::{Wires, on_terminal};
use paw_screen::source::remote::{self, Remote};
use paw_screen::source::{answer_on_bus, follow_bus};
use tokio::sync::mpsc;

pub(crate) use session::Session;

use crate::context::Context;

/// Watch a running session from any terminal
///
/// Agents, conflicts, messages and open questions, live. `?` shows the keys, `q` closes this view; the session goes on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw dashboard")]
pub(crate) struct DashboardArgs {}

/// News that wait for a busy screen.
const FEEDS: usize = 1024;
/// Answers on their way.
const ANSWERS: usize = 16;

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    let config = context.load_config()?.resolve()?;
    let dir = PawDir::of(&repo.common_dir);
    if Endpoint::load(&dir)?.is_none() {
        return Err(PawError::SessionError(
            "no broker is running here\nhint: git paw serve starts one".to_owned(),
        ));
    }
    let log = SqliteLog::open(&dir.log(), Durability::Process).map_err(failed)?;
    let token = Keyring::new(&log, dir.path()).operator().map_err(failed)?;
    let remote = Remote { common_dir: repo.common_dir.clone(), token: Some(token) };
    let client = context.broker_client()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| PawError::DashboardError(error.to_string()))?;
    runtime
        .block_on(async {
            let (feeds, news) = mpsc::channel(FEEDS);
            let (answers, carried) = mpsc::channel(ANSWERS);
            tokio::spawn(remote::follow(remote, Vec::new(), feeds.clone()));
            tokio::spawn(remote::answer(client, carried, feeds));
            let wires = Wires { feeds: news, answers };
            on_terminal(options(Home::Attached, &config), wires, std::future::pending()).await
        })
        .map_err(failed)?;
    runtime.shutdown_background();
    Ok(())
}

/// The pane of a session: broker, watcher, radar and learnings, and over them the screen.
pub(crate) fn run_session(context: &Context) -> Result<(), PawError> {
    let session = Session::start(context)?;
    let (feeds, news) = mpsc::channel(FEEDS);
    let (answers, carried) = mpsc::channel(ANSWERS);
    let (bus, runtime) = (session.bus(), session.runtime());
    let header = session.header();
    let members = session.members();
    let shown = runtime.block_on(async {
        let _ = feeds.send(header).await;
        tokio::spawn(follow_bus(bus.clone(), members, feeds.clone()));
        tokio::spawn(answer_on_bus(bus, carried, feeds));
        let wires = Wires { feeds: news, answers };
        on_terminal(options(Home::Session, session.config()), wires, session.ended()).await
    });
    session.stop();
    shown.map(drop).map_err(failed)
}

fn options(home: Home, config: &PawConfig) -> Options {
    let log = &config.dashboard.broker_log;
    Options {
        home,
        look: Look::of_environment(|name| std::env::var(name).ok()),
        max_messages: usize::try_from(log.max_messages).unwrap_or(usize::MAX),
        show_messages: log.default_visible || config.dashboard.show_message_log,
        message_lines: log.height_lines,
        zone: TimeZone::system(),
    }
}

fn failed(error: impl std::fmt::Display) -> PawError {
    PawError::DashboardError(error.to_string())
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
