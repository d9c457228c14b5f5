//! The process of a session without a broker: it watches the panes and delivers prompts.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use paw_core::paths::PawDir;
use paw_core::{PawError, Receipt, SessionStatus};
use paw_host::clock::Stopwatch;
use paw_host::files::Lock;
use paw_host::git::Repo;
use paw_host::signals::ShutdownSignals;
use paw_host::tmux::Tmux;
use paw_session::Receipts;
use paw_session::recover::RunningSessions;

use crate::SessionSettings;
use crate::pane_services::PaneServices;

/// How often to check that the session is still running.
const CHECK: Duration = Duration::from_secs(10);
/// A session that is not found for this long has ended. At its start it takes a while to appear.
const GONE: Duration = Duration::from_mins(1);
/// How long to wait for the lock: another command may hold it for a moment to look whether the process is running.
const LOCK: Duration = Duration::from_secs(2);

/// A running process of a session without a broker.
#[derive(Debug)]
pub struct BrokerlessSession {
    _lock: Lock,
    panes: PaneServices,
    receipts: Receipts,
    receipt: Receipt,
    ended: Receiver<()>,
}

impl BrokerlessSession {
    pub fn start(settings: &SessionSettings, receipt: Receipt) -> Result<Self, PawError> {
        let (end, ended) = mpsc::channel();
        ShutdownSignals::on_first(move || {
            let _ = end.send(());
        })?;
        let lock = take_lock(&settings.repo)?;
        let panes = PaneServices::start(settings, &receipt, None);
        let receipts = Receipts::at(settings.dirs.sessions_dir());
        Ok(Self { _lock: lock, panes, receipts, receipt, ended })
    }

    /// Runs until a signal ends it, or until the session has ended.
    pub fn run(self) {
        let mut seen = Stopwatch::start();
        while self.ended.recv_timeout(CHECK) == Err(RecvTimeoutError::Timeout) {
            if self.is_running() {
                seen = Stopwatch::start();
            } else if seen.elapsed() >= GONE {
                break;
            }
        }
        drop(self.panes);
    }

    /// Whether tmux has the session, and no command has ended it.
    fn is_running(&self) -> bool {
        let Ok(Some(receipt)) = self.receipts.load(&self.receipt.session_name) else { return false };
        let running = RunningSessions::load(&Tmux::on_socket(receipt.tmux_socket.clone()));
        running.is_ok_and(|running| running.status(&receipt) == SessionStatus::Active)
    }
}

fn take_lock(repo: &Repo) -> Result<Lock, PawError> {
    let watch = Stopwatch::start();
    loop {
        if let Some(lock) = Lock::try_take(&PawDir::of(&repo.common_dir).process_lock())? {
            return Ok(lock);
        }
        if watch.elapsed() > LOCK {
            return Err(PawError::SessionError("the session's process is already running".to_owned()));
        }
        thread::sleep(Duration::from_millis(20));
    }
}
