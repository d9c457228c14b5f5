//! The running turns, and how to end them.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paw_host::clock;
use paw_worktree::{ConversationId, ConversationStatus, WorktreeId};
use tokio_util::sync::CancellationToken;

use crate::shared::Shared;

/// How long to wait for a turn to end. Its processes are killed long before.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Why a turn was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEndReason {
    /// Its client disconnected.
    Abandoned,
    /// Its conversation was closed.
    Closed,
    /// Its worktree is being removed.
    Removed,
    /// The daemon is stopping.
    Stopping,
}

/// All turns of this daemon.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    running: Mutex<BTreeMap<ConversationId, RunningTurn>>,
    changed: Condvar,
}

#[derive(Debug)]
struct RunningTurn {
    worktree: WorktreeId,
    reason: Option<TurnEndReason>,
    token: CancellationToken,
}

impl Turns {
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Ends the turn of a conversation and waits for its end.
    pub(crate) fn end(&self, id: &ConversationId, reason: TurnEndReason) {
        self.end_and_wait(reason, |known, _| known == id);
    }

    /// Ends the turns in a worktree and waits for their end.
    pub(crate) fn end_all_of(&self, worktree: &WorktreeId, reason: TurnEndReason) {
        self.end_and_wait(reason, |_, entry| entry.worktree == *worktree);
    }

    /// Ends all turns. Does not wait.
    pub(crate) fn stop(&self) {
        cancel(&mut self.lock(), TurnEndReason::Stopping, |_, _| true);
    }

    fn end_and_wait(&self, reason: TurnEndReason, wanted: impl Fn(&ConversationId, &RunningTurn) -> bool) {
        let mut running = self.lock();
        cancel(&mut running, reason, &wanted);
        let still = |running: &mut BTreeMap<_, _>| running.iter().any(|(id, entry)| wanted(id, entry));
        let outcome = self.changed.wait_timeout_while(running, TIMEOUT, still);
        if outcome.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
            tracing::warn!("a turn did not end within {}s", TIMEOUT.as_secs());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConversationId, RunningTurn>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cancel(
    running: &mut BTreeMap<ConversationId, RunningTurn>,
    reason: TurnEndReason,
    wanted: impl Fn(&ConversationId, &RunningTurn) -> bool,
) {
    for (id, entry) in running.iter_mut() {
        if wanted(id, entry) {
            entry.reason.get_or_insert(reason);
            entry.token.cancel();
        }
    }
}

/// The right to run a turn of a conversation. When dropped, the conversation becomes idle.
#[derive(Debug)]
pub(super) struct TurnGuard {
    shared: Arc<Shared>,
    id: ConversationId,
    token: CancellationToken,
}

impl TurnGuard {
    /// `None` while another turn is running.
    pub(super) fn take(shared: &Arc<Shared>, id: &ConversationId, worktree: &WorktreeId) -> Option<Self> {
        let mut running = shared.turns.lock();
        if running.contains_key(id) {
            return None;
        }
        let token = CancellationToken::new();
        let entry = RunningTurn { worktree: worktree.clone(), reason: None, token: token.clone() };
        running.insert(id.clone(), entry);
        Some(Self { shared: Arc::clone(shared), id: id.clone(), token })
    }

    /// Cancelled when the turn has to end.
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub(super) fn reason(&self) -> TurnEndReason {
        self.shared
            .turns
            .lock()
            .get(&self.id)
            .and_then(|entry| entry.reason)
            .unwrap_or(TurnEndReason::Abandoned)
    }

    /// Stores the CLI's id of the conversation, to resume it.
    pub(super) fn remember(&self, session: &str) {
        let kept = self.shared.worktrees.registry().set_cli_session(&self.id, session, clock::now());
        if let Err(error) = kept {
            tracing::warn!("cannot store the session id of conversation {}: {error}", self.id);
        }
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        let registry = self.shared.worktrees.registry();
        if let Err(error) = registry.set_conversation_status(&self.id, ConversationStatus::Idle, clock::now())
        {
            tracing::warn!("conversation {}: {error}", self.id);
        }
        self.token.cancel();
        self.shared.turns.lock().remove(&self.id);
        self.shared.turns.changed.notify_all();
    }
}
