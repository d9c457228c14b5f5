//! Creating several worktrees. Git registers one at a time; the checkouts run in parallel.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use super::{CreatePlan, CreatedWorktree, RegisteredWorktree};
use crate::error::WorktreeError;
use crate::service::Worktrees;

impl Worktrees {
    /// Creates every worktree it can, and returns one result per plan, in the same order. `on_result` is called after
    /// each result.
    pub(crate) fn create_all(
        &self,
        plans: impl Iterator<Item = Result<CreatePlan, WorktreeError>>,
        on_result: &(dyn Fn() + Sync),
    ) -> Vec<Result<CreatedWorktree, WorktreeError>> {
        let plans: Vec<_> = plans.collect();
        let results: Mutex<Vec<Option<Result<CreatedWorktree, WorktreeError>>>> =
            Mutex::new(plans.iter().map(|_| None).collect());
        let record = |at: usize, result: Result<CreatedWorktree, WorktreeError>| {
            let mut results = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            results[at] = Some(result);
            drop(results);
            on_result();
        };
        let (sender, receiver) = mpsc::channel::<(usize, RegisteredWorktree)>();
        let receiver = Mutex::new(receiver);
        // The bytes that registered worktrees still need for their files.
        let unfilled = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..parallel_checkouts().min(plans.len()) {
                scope.spawn(|| {
                    while let Some((at, registered)) = next(&receiver) {
                        let filled = registered.required_bytes;
                        record(at, self.complete(registered, &mut |_| {}));
                        unfilled.fetch_sub(filled, Ordering::Relaxed);
                    }
                });
            }
            for (at, plan) in plans.into_iter().enumerate() {
                let reserved = unfilled.load(Ordering::Relaxed);
                match plan.and_then(|plan| self.register(&plan, reserved)) {
                    Ok(registered) => {
                        unfilled.fetch_add(registered.required_bytes, Ordering::Relaxed);
                        // Cannot fail: the receiver outlives this scope.
                        drop(sender.send((at, registered)));
                    }
                    Err(error) => record(at, Err(error)),
                }
            }
            drop(sender);
        });
        let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        results.into_iter().flatten().collect()
    }
}

fn next(
    receiver: &Mutex<mpsc::Receiver<(usize, RegisteredWorktree)>>,
) -> Option<(usize, RegisteredWorktree)> {
    receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv().ok()
}

/// At least two, because a checkout waits for the disk half of the time. More than eight would only wait for the disk.
fn parallel_checkouts() -> usize {
    thread::available_parallelism().map_or(2, NonZero::get).clamp(2, 8)
}
