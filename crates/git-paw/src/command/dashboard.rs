//! `git paw dashboard`, and the dashboard in a session's pane. Both are clients of the session's process.

mod changes;
mod members;
mod preview;
mod requests;
mod tips;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::tz::TimeZone;
use paw_broker::endpoint::Endpoint;
use paw_broker::identity::Keyring;
use paw_broker::{SessionId, StoredMessage, log};
use paw_core::config::PawConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, PawError, SessionStatus};
use paw_host::clock::Stopwatch;
use paw_host::git::Repo;
use paw_host::process::own_program;
use paw_screen::dashboard::run::{DashboardChannels, DashboardExit, run_on_terminal};
use paw_screen::dashboard::{DashboardHost, DashboardOptions, Theme};
use paw_screen::source::{self, LostConnection, RemoteBroker};
use paw_session::lifecycle::Session;
use paw_session::lifecycle::process::EnsuredProcess;
use paw_session::messages;
use paw_supervisor::proof;
use paw_view::{SessionView, ViewEvent};
use tokio::sync::{mpsc, oneshot};

use crate::context::Context;
use requests::RequestContext;
use tips::TipWatch;

/// Watch and steer a running session from any terminal
///
/// Shows agents, what waits for you, conflicts and messages live. From here you approve, answer, look at an agent's changes,
/// go to its pane, verify and merge. Press `?` for the keys and `q` to close; the session keeps running.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw dashboard")]
pub(crate) struct DashboardArgs {}

/// Capacity of the queue of updates.
const UPDATES: usize = 1024;
/// Capacity of the queues of requests and answers.
const REQUESTS: usize = 64;

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    context.require_user("open the dashboard")?;
    let session = context.find_session()?;
    if let Some(session) = &session {
        context.ensure_process(session);
    }
    let repo = context.require_repo()?;
    if Endpoint::load(&PawDir::of(&repo.common_dir))?.is_none() {
        return Err(PawError::SessionError("no broker is running for this repository".to_owned())
            .hint("start one with 'git paw serve'"));
    }
    while let Some(agent) = show(&repo, session.as_ref(), DashboardHost::Attached, context)? {
        context.require_session()?.attach_to(&agent)?;
    }
    Ok(())
}

/// The dashboard pane of a session. It closes when the session is paused or stopped.
pub(crate) fn run_in_session(context: &Context) -> Result<(), PawError> {
    context.require_user("open the dashboard")?;
    let session = context.require_session()?;
    context.ensure_process(&session);
    show(&session.repo, Some(&session), DashboardHost::Session, context)?;
    match session.reload()?.map(|session| session.receipt.status) {
        Some(SessionStatus::Active) => Ok(()),
        Some(status) => {
            context.output.say(&format!("The session is {status}. Resume it with: git paw start"))
        }
        None => context.output.say("The session was removed."),
    }
}

/// Shows the dashboard until it is closed. Returns the agent whose pane the user wants to see.
fn show(
    repo: &Repo,
    session: Option<&Session>,
    host: DashboardHost,
    context: &Context,
) -> Result<Option<AgentId>, PawError> {
    let config = context.load_config()?.resolve()?;
    let dir = PawDir::of(&repo.common_dir);
    let log = log::open(&dir.log())?;
    let token = Keyring::new(&log, dir.path()).operator()?;
    let mut view = load_view(&config, repo, session)?;
    proof::add_tips(&mut view, repo, &context.dirs);
    let since = Some(view.last_seq).filter(|seq| *seq > 0);
    let remote = RemoteBroker { common_dir: repo.common_dir.clone(), token: Some(token), since };
    let client = context.broker_client()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let cannot_start = |error| PawError::internal(format!("cannot start the dashboard: {error}"));
    let runtime = runtime.map_err(cannot_start)?;
    let (sender, updates) = mpsc::channel(UPDATES);
    let (answers, carried) = mpsc::channel(REQUESTS);
    let (requests, asked) = mpsc::channel(REQUESTS);
    let program = own_program()?;
    let (end, ended) = oneshot::channel();
    let mut reviver = Reviver {
        session: session.cloned(),
        program: program.clone(),
        end: Some(end).filter(|_| host == DashboardHost::Session),
        started: None,
    };
    let tips = TipWatch::start(&view, repo, session, context, sender.clone()).map_err(cannot_start)?;
    let on_message = move |stored: &StoredMessage| tips.on_message(&stored.message);
    let on_lost = move |reason| reviver.on_lost(reason);
    source::follow(remote, sender.clone(), on_message, on_lost).map_err(cannot_start)?;
    let (dirs, feed) = (context.dirs.clone(), sender.clone());
    let _watcher = session.and_then(|session| members::watch(session, &dirs, feed.clone()));
    let (session, own_client) = (session.cloned(), client.clone());
    requests::serve(
        RequestContext { session, dirs, client: own_client, program, updates: feed, answers },
        asked,
    )
    .map_err(cannot_start)?;
    let exit = runtime.block_on(async {
        tokio::spawn(source::answer(client, carried, sender));
        let channels = DashboardChannels { updates, requests };
        let ended = async {
            match ended.await {
                Ok(()) => {}
                Err(_) => std::future::pending().await,
            }
        };
        run_on_terminal(options(host, &config), view, channels, ended).await
    })?;
    runtime.shutdown_background();
    Ok(match exit {
        DashboardExit::Attach(agent) => Some(agent),
        DashboardExit::Closed | DashboardExit::Stopped | DashboardExit::TerminalGone => None,
    })
}

/// The session's agents, and its messages so far.
fn load_view(config: &PawConfig, repo: &Repo, session: Option<&Session>) -> Result<SessionView, PawError> {
    let mut view = empty_view(config);
    if let Some(session) = session {
        view.apply(ViewEvent::Snapshot(Box::new(session.snapshot()?)));
    }
    let id = session.map(|session| SessionId::new(&session.receipt.session_id()));
    messages::load(&repo.common_dir, id.as_ref(), &mut view)?;
    Ok(view)
}

/// The shortest time between two restarts of the session's process, so that one that cannot run is not restarted forever.
const RESTART_INTERVAL: Duration = Duration::from_secs(5);

/// Restarts the session's process when the connection to it is lost.
struct Reviver {
    session: Option<Session>,
    program: PathBuf,
    /// Closes the dashboard.
    end: Option<oneshot::Sender<()>>,
    started: Option<Stopwatch>,
}

impl Reviver {
    fn on_lost(&mut self, reason: String) -> LostConnection {
        let Some(session) = &self.session else { return LostConnection::Wait(reason) };
        match session.reload() {
            Ok(Some(now)) if now.receipt.status == SessionStatus::Active => {
                if self.started.is_some_and(|started| !started.remaining(RESTART_INTERVAL).is_zero()) {
                    return LostConnection::Wait(reason);
                }
                match now.ensure_process(&self.program) {
                    Ok(EnsuredProcess::Started) => {
                        self.started = Some(Stopwatch::start());
                        LostConnection::Restarted
                    }
                    Ok(_) => LostConnection::Wait(reason),
                    Err(error) => LostConnection::Wait(error.to_string()),
                }
            }
            Ok(_) => {
                if let Some(end) = self.end.take() {
                    let _ = end.send(());
                }
                LostConnection::Wait("the session is not running".to_owned())
            }
            Err(error) => LostConnection::Wait(error.to_string()),
        }
    }
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
