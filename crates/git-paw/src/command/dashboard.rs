//! `git paw dashboard`, and the session's long-running process with its dashboard.

use clap::Args;
use jiff::tz::TimeZone;
use paw_broker::endpoint::Endpoint;
use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::PawError;
use paw_core::config::PawConfig;
use paw_core::paths::PawDir;
use paw_runtime::SessionProcess;
use paw_screen::dashboard::run::{DashboardChannels, run_on_terminal};
use paw_screen::dashboard::{DashboardHost, DashboardOptions, Theme};
use paw_screen::source::remote::{self, RemoteBroker};
use paw_screen::source::{answer_on_bus, follow_bus};
use paw_view::{SessionView, ViewEvent};
use tokio::sync::mpsc;

use crate::context::Context;

/// Watch a running session from any terminal
///
/// Shows agents, conflicts, messages and open questions live. Press `?` for the keys and `q` to close; the session keeps
/// running.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw dashboard")]
pub(crate) struct DashboardArgs {}

/// Capacity of the queue of updates.
const UPDATES: usize = 1024;
/// Capacity of the queue of answers.
const ANSWERS: usize = 16;

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    let config = context.load_config()?.resolve()?;
    let dir = PawDir::of(&repo.common_dir);
    if Endpoint::load(&dir)?.is_none() {
        return Err(PawError::SessionError("no broker is running for this repository".to_owned())
            .hint("start one with 'git paw serve'"));
    }
    let log = log::open(&dir.log())?;
    let token = Keyring::new(&log, dir.path()).operator()?;
    let remote = RemoteBroker { common_dir: repo.common_dir.clone(), token: Some(token) };
    let client = context.broker_client()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let cannot_start = |error| PawError::internal(format!("cannot start the dashboard: {error}"));
    let runtime = runtime.map_err(cannot_start)?;
    let (sender, updates) = mpsc::channel(UPDATES);
    let (answers, carried) = mpsc::channel(ANSWERS);
    remote::follow(remote, sender.clone()).map_err(cannot_start)?;
    runtime.block_on(async {
        tokio::spawn(remote::answer(client, carried, sender));
        let channels = DashboardChannels { updates, answers };
        let options = options(DashboardHost::Attached, &config);
        run_on_terminal(options, empty_view(&config), channels, std::future::pending()).await
    })?;
    runtime.shutdown_background();
    Ok(())
}

/// The dashboard pane of a session: the session's process and, on top of it, the screen.
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
        let channels = DashboardChannels { updates, answers };
        run_on_terminal(options(DashboardHost::Session, session.config()), view, channels, session.ended())
            .await
    });
    session.stop();
    Ok(shown.map(drop)?)
}

fn empty_view(config: &PawConfig) -> SessionView {
    let kept = config.dashboard.broker_log.max_messages;
    SessionView::new(usize::try_from(kept).unwrap_or(usize::MAX).max(1))
}

fn options(host: DashboardHost, config: &PawConfig) -> DashboardOptions {
    let log = &config.dashboard.broker_log;
    DashboardOptions {
        host,
        theme: Theme::of_environment(|name| std::env::var(name).ok()),
        show_messages: log.default_visible || config.dashboard.show_message_log,
        message_lines: log.height_lines,
        zone: TimeZone::system(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashboard_opens_the_message_panel_if_either_key_is_set() {
        for (default_visible, show_message_log, open) in
            [(true, false, true), (false, false, false), (false, true, true), (true, true, true)]
        {
            let mut config = PawConfig::default();
            config.dashboard.broker_log.default_visible = default_visible;
            config.dashboard.show_message_log = show_message_log;
            assert_eq!(options(DashboardHost::Attached, &config).show_messages, open);
        }
    }
}
