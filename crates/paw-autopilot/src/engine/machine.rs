//! One step of a run.

use super::budget::{PATIENCE, backoff};
use super::event::{Action, Event, Refused};
use super::state::{Pause, Run, Stage, StepOutcome};
use crate::evidence::red::Red;
use crate::evidence::{GreenProof, Objection, RedProof};

impl Run {
    /// What an event leads to. One that cannot happen now is refused and changes nothing.
    pub fn step(&mut self, event: Event) -> Result<Action, Refused> {
        let refused = Refused { event: event.name(), stage: self.stage.name() };
        if self.is_over() || (matches!(self.stage, Stage::Paused { .. }) && event != Event::Abort) {
            return Err(refused);
        }
        match event {
            Event::Abort => return Ok(self.enter(Stage::Aborted)),
            Event::Pause => return Ok(self.pause(Pause::Asked)),
            Event::HeadMoved { what } => return Ok(self.pause(Pause::HeadMoved { what })),
            Event::Closed { what } => return Ok(self.pause(Pause::Closed { what })),
            Event::Spent(more) => {
                self.spent = self.spent.and(more);
                return Ok(match self.order.budget.exceeded(self.spent) {
                    Some(what) => self.pause(Pause::Budget { what }),
                    None => self.action(),
                });
            }
            _ => {}
        }
        match (self.stage.clone(), event) {
            (Stage::Preflight, Event::PreflightPassed) => Ok(self.enter(Stage::Branch)),
            (Stage::Preflight, Event::PreflightFailed { problems }) => {
                Ok(self.pause(Pause::Preflight { problems }))
            }
            (Stage::Branch, Event::BranchRefused { why }) => Ok(self.pause(Pause::Branch { why })),
            (Stage::Branch, Event::BranchMade { branch, head }) => {
                if Some(&branch) == self.order.default_branch.as_ref() {
                    return Ok(self.pause(Pause::DefaultBranch { branch }));
                }
                (self.branch, self.head) = (Some(branch), Some(head));
                Ok(self.next_step())
            }
            (Stage::Red { .. } | Stage::Green { .. }, Event::ExecutorFailed { why, temporary }) => {
                Ok(self.executor_failed(why, temporary))
            }
            (Stage::Green { .. }, Event::NotMeasured { why }) => Ok(self.pause(Pause::Coverage { why })),
            (Stage::Red { step, attempt, passed_at_once }, Event::RedJudged(red)) => {
                Ok(self.red(step, attempt, passed_at_once, red))
            }
            (Stage::Green { step, attempt, red }, Event::GreenJudged(judged)) => {
                Ok(self.green(step, attempt, red, judged))
            }
            (Stage::Commit { step, .. }, Event::Committed { branch, sha }) => {
                if branch != self.branch || Some(&sha) == self.head.as_ref() {
                    let what = format!("the commit {sha} is not where it should be");
                    return Ok(self.pause(Pause::HeadMoved { what }));
                }
                self.steps[step].outcome = StepOutcome::Committed { sha: sha.clone() };
                self.head = Some(sha);
                Ok(self.next_step())
            }
            (Stage::Commit { .. }, Event::CommitRefused { why }) => Ok(self.pause(Pause::Commit { why })),
            (Stage::Finalize, Event::FinalPassed) => Ok(if self.order.push {
                self.enter(Stage::Push)
            } else {
                self.enter(Stage::Done { pull_request: None })
            }),
            (Stage::Finalize, Event::FinalFailed { why }) => Ok(self.pause(Pause::Final { why })),
            (Stage::Push, Event::Pushed) if self.order.pull_request => Ok(self.enter(Stage::PullRequest)),
            (Stage::Push, Event::Pushed) => Ok(self.enter(Stage::Done { pull_request: None })),
            (Stage::Push, Event::PushFailed { why }) => Ok(self.pause(Pause::Push { why })),
            (Stage::PullRequest, Event::PullRequestMade { url }) => {
                Ok(self.enter(Stage::Done { pull_request: Some(url) }))
            }
            (Stage::Push | Stage::PullRequest, Event::NoPullRequest) => {
                Ok(self.enter(Stage::Done { pull_request: None }))
            }
            _ => Err(refused),
        }
    }

    /// What is to be done now, without anything having happened.
    pub fn action(&self) -> Action {
        match &self.stage {
            Stage::Preflight => Action::Preflight,
            Stage::Branch => Action::MakeBranch,
            Stage::Red { attempt: 0, .. } | Stage::Green { attempt: 0, .. } => Action::RunTests,
            Stage::Red { passed_at_once, .. } => Action::WriteTests { insist: *passed_at_once },
            Stage::Green { .. } => Action::WriteCode,
            Stage::Finalize => Action::Finalize,
            // Nothing reaches git without a branch of its own.
            Stage::Commit { .. } | Stage::Push | Stage::PullRequest if !self.has_own_branch() => Action::Stop,
            Stage::Commit { .. } => Action::Commit,
            Stage::Push => Action::Push,
            Stage::PullRequest => Action::OpenPullRequest,
            Stage::Done { .. } | Stage::Paused { .. } | Stage::Aborted => Action::Stop,
        }
    }

    fn has_own_branch(&self) -> bool {
        self.branch.is_some() && self.branch != self.order.default_branch
    }

    fn enter(&mut self, stage: Stage) -> Action {
        self.stage = stage;
        self.action()
    }

    pub(super) fn pause(&mut self, reason: Pause) -> Action {
        let at = std::mem::replace(&mut self.stage, Stage::Aborted);
        self.enter(Stage::Paused { reason, at: Box::new(at) })
    }

    /// The first subtask that is still open, or the end of them.
    pub(super) fn next_step(&mut self) -> Action {
        self.failures = 0;
        match self.steps.iter().position(|step| step.outcome == StepOutcome::Open) {
            Some(step) => self.enter(Stage::Red { step, attempt: 1, passed_at_once: false }),
            None => self.enter(Stage::Finalize),
        }
    }

    fn executor_failed(&mut self, why: String, temporary: bool) -> Action {
        self.failures += 1;
        if temporary && self.failures <= PATIENCE {
            Action::Wait(backoff(self.failures))
        } else {
            self.pause(Pause::Executor { why })
        }
    }

    fn red(&mut self, step: usize, attempt: u32, passed_at_once: bool, red: Red) -> Action {
        self.failures = 0;
        match red {
            Red::Proven(red) => self.enter(Stage::Green { step, attempt: 1, red }),
            Red::AlreadyGreen if passed_at_once => {
                self.steps[step].outcome = StepOutcome::AlreadyImplemented;
                self.next_step()
            }
            Red::AlreadyGreen => {
                self.enter(Stage::Red { step, attempt: attempt.max(1), passed_at_once: true })
            }
            Red::Refused(_) if attempt < self.order.max_attempts => {
                self.enter(Stage::Red { step, attempt: attempt + 1, passed_at_once })
            }
            Red::Refused(objections) => self.pause(Pause::MaxAttempts { objections }),
        }
    }

    fn green(
        &mut self,
        step: usize,
        attempt: u32,
        red: RedProof,
        judged: Result<GreenProof, Vec<Objection>>,
    ) -> Action {
        self.failures = 0;
        match judged {
            Ok(green) => self.enter(Stage::Commit { step, red, green }),
            Err(_) if attempt < self.order.max_attempts => {
                self.enter(Stage::Green { step, attempt: attempt + 1, red })
            }
            Err(objections) => self.pause(Pause::MaxAttempts { objections }),
        }
    }
}

impl Stage {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Preflight => "checking",
            Self::Branch => "making its branch",
            Self::Red { .. } => "writing tests",
            Self::Green { .. } => "writing code",
            Self::Commit { .. } => "committing",
            Self::Finalize => "making its final checks",
            Self::Push => "pushing",
            Self::PullRequest => "opening a pull request",
            Self::Done { .. } => "done",
            Self::Paused { .. } => "paused",
            Self::Aborted => "aborted",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
