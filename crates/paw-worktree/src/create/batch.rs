//! Several worktrees at once. Git cannot register two at a time, but files can be written side by side.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use super::{Created, Half, Order};
use crate::error::WorktreeError;
use crate::service::Worktrees;

impl Worktrees {
    /// Makes all that can be made and answers for each, in the order of the orders. `on_answer` is told of each
    /// answer as it comes.
    pub(crate) fn complete_all(
        &self,
        orders: impl Iterator<Item = Result<Order, WorktreeError>>,
        on_answer: &(dyn Fn() + Sync),
    ) -> Vec<Result<Created, WorktreeError>> {
        let orders: Vec<_> = orders.collect();
        let answers: Mutex<Vec<Option<Result<Created, WorktreeError>>>> =
            Mutex::new(orders.iter().map(|_| None).collect());
        let answer = |at: usize, result: Result<Created, WorktreeError>| {
            let mut answers = answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            answers[at] = Some(result);
            drop(answers);
            on_answer();
        };
        let (registered, waiting) = mpsc::channel::<(usize, Half)>();
        let waiting = Mutex::new(waiting);
        // Registered worktrees whose files still need room on the disk.
        let unfilled = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..side_by_side().min(orders.len()) {
                scope.spawn(|| {
                    while let Some((at, half)) = next(&waiting) {
                        answer(at, self.complete(half, &mut |_| {}));
                        unfilled.fetch_sub(1, Ordering::Relaxed);
                    }
                });
            }
            for (at, order) in orders.into_iter().enumerate() {
                let pending = unfilled.load(Ordering::Relaxed) + 1;
                match order.and_then(|order| self.register(&order, pending)) {
                    Ok(half) => {
                        unfilled.fetch_add(1, Ordering::Relaxed);
                        // The receiver lives as long as this scope.
                        drop(registered.send((at, half)));
                    }
                    Err(error) => answer(at, Err(error)),
                }
            }
            drop(registered);
        });
        let answers = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        answers.into_iter().flatten().collect()
    }
}

fn next(waiting: &Mutex<mpsc::Receiver<(usize, Half)>>) -> Option<(usize, Half)> {
    waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv().ok()
}

/// Two even on one processor, because a checkout waits for the disk half of the time; more than eight only wait for it.
fn side_by_side() -> usize {
    thread::available_parallelism().map_or(2, NonZero::get).clamp(2, 8)
}
