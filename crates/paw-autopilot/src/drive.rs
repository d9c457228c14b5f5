//! Drives a run to its end or to a pause: the executor writes, git paw tests and commits.

mod ask_executor;

use paw_core::PawError;
use paw_host::clock::Stopwatch;

use crate::engine::{RunAction, RunEvent, RunStage, Spending};
use crate::executor::{Executor, ExecutorBackend};
use crate::work::finish::{FinalCommands, FinalResult};
use crate::work::publish::PullRequestResult;
use crate::work::{ActiveRun, AttemptResult, CommitRefusal, SubtaskCommit, TddPhase, WorkError};

/// What happens in a run, for its observer.
#[derive(Debug)]
pub enum DriveEvent<'a> {
    /// The executor starts an attempt.
    AttemptStarted {
        phase: TddPhase,
        attempt: u32,
    },
    /// A line of executor output.
    ExecutorOutput(&'a str),
    /// The executor left processes running; they were killed.
    LeftRunning(usize),
    /// The executor failed temporarily and is retried.
    Waiting {
        why: &'a str,
        seconds: u64,
    },
    Testing,
    /// Coverage of the changed lines is unknown. Sent once per run.
    NotMeasured(&'a str),
    Judged(&'a AttemptResult),
    Committed(&'a SubtaskCommit),
    NotCommitted(&'a CommitRefusal),
    Finalized(&'a FinalResult),
    Pushed {
        remote: &'a str,
    },
    NotPushed,
    PullRequest(&'a PullRequestResult),
}

/// A question for the user.
#[derive(Debug)]
pub enum DriveQuestion<'a> {
    Commit { subject: &'a str, diff: &'a str },
    Push,
    PullRequest,
}

/// Watches a run and answers its questions.
pub trait DriveObserver {
    fn notify(&mut self, work: &ActiveRun, event: DriveEvent<'_>) -> Result<(), PawError>;

    /// Whether to proceed. Unattended observers answer yes.
    fn confirm(&mut self, work: &ActiveRun, question: DriveQuestion<'_>) -> Result<bool, PawError>;

    /// Whether to show the diff before each commit.
    fn wants_preview(&self) -> bool;
}

/// The executor, and where it runs.
pub struct ExecutorSetup<'a> {
    pub executor: &'a Executor,
    pub backend: &'a mut dyn ExecutorBackend,
}

impl std::fmt::Debug for ExecutorSetup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutorSetup").field("executor", &self.executor).finish_non_exhaustive()
    }
}

/// Drives a run until it has ended or is paused; its stage tells which.
pub fn drive(
    work: &mut ActiveRun,
    setup: &mut ExecutorSetup<'_>,
    commands: &FinalCommands,
    observer: &mut dyn DriveObserver,
) -> Result<(), WorkError> {
    let _watch = work.watch_for_pause();
    loop {
        match work.check_pause() {
            Err(WorkError::Paused(_)) => return Ok(()),
            checked => checked?,
        }
        let done = match work.run.action() {
            RunAction::WriteTests { .. } | RunAction::WriteCode => ask_executor::turn(work, setup, observer),
            RunAction::RunTests => test(work, observer),
            RunAction::Commit => commit(work, observer),
            RunAction::Finalize => finalize(work, commands, observer),
            RunAction::Push => push(work, observer),
            RunAction::OpenPullRequest => pull_request(work, observer),
            RunAction::Wait(time) => {
                work.pause.sleep(time);
                Ok(())
            }
            RunAction::Preflight | RunAction::MakeBranch | RunAction::Stop => return Ok(()),
        };
        match done {
            // The pause is recorded in the run.
            Err(WorkError::Paused(_)) if matches!(work.run.stage, RunStage::Paused { .. }) => return Ok(()),
            // Not proven: a file changed between the tests and the commit, so the phase continues.
            Ok(()) | Err(WorkError::NotProven(_)) => {}
            Err(error) => match work.check_pause() {
                // The failure may be a result of Ctrl+C.
                Err(WorkError::Paused(_)) => return Ok(()),
                checked => return checked.and(Err(error)),
            },
        }
    }
}

fn test(work: &mut ActiveRun, observer: &mut dyn DriveObserver) -> Result<(), WorkError> {
    observer.notify(work, DriveEvent::Testing)?;
    let judged = within_budget(work, ActiveRun::complete)?;
    if let Some(why) = &judged.unmeasured {
        observer.notify(work, DriveEvent::NotMeasured(why))?;
    }
    Ok(observer.notify(work, DriveEvent::Judged(&judged))?)
}

/// Runs a step of our own within the time that the run has left, and counts its time.
fn within_budget<T>(
    work: &mut ActiveRun,
    step: impl FnOnce(&mut ActiveRun) -> Result<T, WorkError>,
) -> Result<T, WorkError> {
    work.limit_tests();
    let watch = Stopwatch::start();
    let done = step(work);
    // A run that is paused or done spends nothing.
    if !matches!(work.run.action(), RunAction::Stop) {
        work.spend(Spending { time: watch.elapsed(), cost: 0 })?;
    }
    done
}

fn commit(work: &mut ActiveRun, observer: &mut dyn DriveObserver) -> Result<(), WorkError> {
    if observer.wants_preview() {
        let (subject, diff) = (work.subject()?, work.diff()?);
        if !observer.confirm(work, DriveQuestion::Commit { subject: &subject, diff: &diff })? {
            work.apply(RunEvent::Pause)?;
            return Ok(());
        }
    }
    match work.commit(None)? {
        Ok(committed) => Ok(observer.notify(work, DriveEvent::Committed(&committed))?),
        Err(refused) => Ok(observer.notify(work, DriveEvent::NotCommitted(&refused))?),
    }
}

fn finalize(
    work: &mut ActiveRun,
    commands: &FinalCommands,
    observer: &mut dyn DriveObserver,
) -> Result<(), WorkError> {
    observer.notify(work, DriveEvent::Testing)?;
    let last = within_budget(work, |work| work.finalize(commands))?;
    Ok(observer.notify(work, DriveEvent::Finalized(&last))?)
}

fn push(work: &mut ActiveRun, observer: &mut dyn DriveObserver) -> Result<(), WorkError> {
    if !observer.confirm(work, DriveQuestion::Push)? {
        observer.notify(work, DriveEvent::NotPushed)?;
        work.apply(RunEvent::NoPullRequest)?;
        return Ok(());
    }
    match work.push()? {
        Some(remote) => Ok(observer.notify(work, DriveEvent::Pushed { remote: &remote })?),
        None => Ok(()),
    }
}

fn pull_request(work: &mut ActiveRun, observer: &mut dyn DriveObserver) -> Result<(), WorkError> {
    let opened = if observer.confirm(work, DriveQuestion::PullRequest)? {
        work.open_pull_request()?
    } else {
        let commands = work.manual_commands(false);
        work.apply(RunEvent::NoPullRequest)?;
        PullRequestResult::ByHand { why: "declined".into(), commands }
    };
    Ok(observer.notify(work, DriveEvent::PullRequest(&opened))?)
}
