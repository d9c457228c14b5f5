//! A run from where it stands to its end, or to where it has to stop: the executor writes, our tests judge, we commit.

mod ask_executor;

use paw_core::PawError;

use crate::engine::{Action, Event, Stage};
use crate::executor::{Executor, Workplace};
use crate::work::finish::{Final, FinalCommands};
use crate::work::publish::Opened;
use crate::work::{Committed, Judged, NoCommit, Phase, Work, WorkError};

/// What is going on, for whoever watches.
#[derive(Debug)]
pub enum Told<'a> {
    /// An executor is about to work.
    Asked {
        phase: Phase,
        attempt: u32,
    },
    /// A line of what it says.
    Said(&'a str),
    /// It left processes running; they were ended.
    LeftRunning(usize),
    /// It could not work, and is asked again after a while.
    Waiting {
        why: &'a str,
        seconds: u64,
    },
    Testing,
    /// Nobody knows whether the tests run what was written. Said once.
    NotMeasured(&'a str),
    Judged(&'a Judged),
    Committed(&'a Committed),
    NotCommitted(&'a NoCommit),
    Finalized(&'a Final),
    Pushed {
        remote: &'a str,
    },
    NotPushed,
    PullRequest(&'a Opened),
}

/// What somebody may be asked on the way.
#[derive(Debug)]
pub enum Question<'a> {
    Commit { subject: &'a str, diff: &'a str },
    Push,
    PullRequest,
}

/// Whoever watches a run, and may be asked.
pub trait Audience {
    fn tell(&mut self, work: &Work, told: Told<'_>) -> Result<(), PawError>;

    /// Whether it may go on. Nobody to ask is a yes: that was settled before the run began.
    fn ask(&mut self, work: &Work, question: Question<'_>) -> Result<bool, PawError>;

    /// Whether diffs are to be shown before commits.
    fn wants_preview(&self) -> bool;
}

/// Who writes tests and code, and where.
pub struct Hands<'a> {
    pub executor: &'a Executor,
    pub place: &'a mut dyn Workplace,
}

impl std::fmt::Debug for Hands<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hands").field("executor", &self.executor).finish_non_exhaustive()
    }
}

/// Drives a run until it is over or paused; its stage says which.
pub fn drive(
    work: &mut Work,
    hands: &mut Hands<'_>,
    commands: &FinalCommands,
    audience: &mut dyn Audience,
) -> Result<(), WorkError> {
    work.measure_by(commands);
    let _watch = work.watch_for_pause();
    loop {
        match work.heed_pause() {
            Err(WorkError::Paused(_)) => return Ok(()),
            heeded => heeded?,
        }
        let done = match work.run.action() {
            Action::WriteTests { .. } | Action::WriteCode => ask_executor::turn(work, hands, audience),
            Action::RunTests => test(work, audience),
            Action::Commit => commit(work, audience),
            Action::Finalize => finalize(work, commands, audience),
            Action::Push => push(work, audience),
            Action::OpenPullRequest => pull_request(work, audience),
            Action::Wait(time) => {
                work.pause.sleep(time);
                Ok(())
            }
            Action::Preflight | Action::MakeBranch | Action::Stop => return Ok(()),
        };
        match done {
            // It is written down, and whoever looks at the run will see it.
            Err(WorkError::Paused(_)) if matches!(work.run.stage, Stage::Paused { .. }) => return Ok(()),
            // Not proven: somebody changed something between the tests and the commit, and the phase goes on.
            Ok(()) | Err(WorkError::NotProven(_)) => {}
            Err(error) => match work.heed_pause() {
                // Ctrl+C has ended what failed, too.
                Err(WorkError::Paused(_)) => return Ok(()),
                heeded => return heeded.and(Err(error)),
            },
        }
    }
}

fn test(work: &mut Work, audience: &mut dyn Audience) -> Result<(), WorkError> {
    audience.tell(work, Told::Testing)?;
    let judged = work.complete()?;
    if let Some(why) = &judged.unmeasured {
        audience.tell(work, Told::NotMeasured(why))?;
    }
    Ok(audience.tell(work, Told::Judged(&judged))?)
}

fn commit(work: &mut Work, audience: &mut dyn Audience) -> Result<(), WorkError> {
    if audience.wants_preview() {
        let (subject, diff) = (work.subject()?, work.diff()?);
        if !audience.ask(work, Question::Commit { subject: &subject, diff: &diff })? {
            work.happen(Event::Pause)?;
            return Ok(());
        }
    }
    match work.commit(None)? {
        Ok(committed) => Ok(audience.tell(work, Told::Committed(&committed))?),
        Err(refused) => Ok(audience.tell(work, Told::NotCommitted(&refused))?),
    }
}

fn finalize(work: &mut Work, commands: &FinalCommands, audience: &mut dyn Audience) -> Result<(), WorkError> {
    audience.tell(work, Told::Testing)?;
    let last = work.finalize(commands)?;
    Ok(audience.tell(work, Told::Finalized(&last))?)
}

fn push(work: &mut Work, audience: &mut dyn Audience) -> Result<(), WorkError> {
    if !audience.ask(work, Question::Push)? {
        audience.tell(work, Told::NotPushed)?;
        work.happen(Event::NoPullRequest)?;
        return Ok(());
    }
    match work.push()? {
        Some(remote) => Ok(audience.tell(work, Told::Pushed { remote: &remote })?),
        None => Ok(()),
    }
}

fn pull_request(work: &mut Work, audience: &mut dyn Audience) -> Result<(), WorkError> {
    let opened = if audience.ask(work, Question::PullRequest)? {
        work.open_pull_request()?
    } else {
        let commands = work.manual_commands(false);
        work.happen(Event::NoPullRequest)?;
        Opened::ByHand { why: "you said no".into(), commands }
    };
    Ok(audience.tell(work, Told::PullRequest(&opened))?)
}
