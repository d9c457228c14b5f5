//! Transitions of a run.

use super::budget::{MAX_RETRIES, backoff};
use super::event::{RunAction, RunEvent, UnexpectedEvent};
use super::state::{PauseReason, Run, RunStage, StepOutcome};
use crate::evidence::red::RedJudgement;
use crate::evidence::{GreenProof, Objection, RedProof};

impl Run {
    /// Applies an event and returns the next action. An event that is not valid in this stage is refused and changes
    /// nothing.
    pub fn step(&mut self, event: RunEvent) -> Result<RunAction, UnexpectedEvent> {
        let refused = UnexpectedEvent { event: event.name(), stage: self.stage.name() };
        if self.is_over() || (matches!(self.stage, RunStage::Paused { .. }) && event != RunEvent::Abort) {
            return Err(refused);
        }
        match event {
            RunEvent::Abort => return Ok(self.enter(RunStage::Aborted)),
            RunEvent::Pause => return Ok(self.pause(PauseReason::Asked)),
            RunEvent::HeadMoved { what } => return Ok(self.pause(PauseReason::HeadMoved { what })),
            RunEvent::ProtectedChanged { what } => {
                return Ok(self.pause(PauseReason::Protected { what }));
            }
            RunEvent::Closed { what } => return Ok(self.pause(PauseReason::Closed { what })),
            RunEvent::Spent(more) => {
                self.spent = self.spent.and(more);
                return Ok(match self.request.budget.exceeded(self.spent) {
                    Some(what) => self.pause(PauseReason::Budget { what }),
                    None => self.action(),
                });
            }
            _ => {}
        }
        match (self.stage.clone(), event) {
            (RunStage::Preflight, RunEvent::PreflightPassed) => Ok(self.enter(RunStage::Branch)),
            (RunStage::Preflight, RunEvent::PreflightFailed { problems }) => {
                Ok(self.pause(PauseReason::Preflight { problems }))
            }
            (RunStage::Branch, RunEvent::BranchRefused { why }) => {
                Ok(self.pause(PauseReason::Branch { why }))
            }
            (RunStage::Branch, RunEvent::BranchMade { branch, head }) => {
                if Some(&branch) == self.request.default_branch.as_ref() {
                    return Ok(self.pause(PauseReason::DefaultBranch { branch }));
                }
                (self.branch, self.head) = (Some(branch), Some(head));
                Ok(self.next_step())
            }
            (RunStage::Red { .. } | RunStage::Green { .. }, RunEvent::ExecutorFailed { why, temporary }) => {
                Ok(self.executor_failed(why, temporary))
            }
            (RunStage::Green { .. }, RunEvent::NotMeasured { why }) => {
                Ok(self.pause(PauseReason::Coverage { why }))
            }
            (RunStage::Red { step, attempt, passed_at_once }, RunEvent::RedJudged(red)) => {
                Ok(self.red(step, attempt, passed_at_once, red))
            }
            (RunStage::Green { step, attempt, red }, RunEvent::GreenJudged(judged)) => {
                Ok(self.green(step, attempt, red, judged))
            }
            (RunStage::Commit { step, .. }, RunEvent::Committed { branch, sha }) => {
                if branch != self.branch || Some(&sha) == self.head.as_ref() {
                    let what = format!("the commit {sha} is not where it should be");
                    return Ok(self.pause(PauseReason::HeadMoved { what }));
                }
                self.steps[step].outcome = StepOutcome::Committed { sha: sha.clone() };
                self.head = Some(sha);
                Ok(self.next_step())
            }
            (RunStage::Commit { .. }, RunEvent::CommitRefused { why }) => {
                Ok(self.pause(PauseReason::Commit { why }))
            }
            (RunStage::Finalize, RunEvent::FinalPassed) => Ok(if self.request.push {
                self.enter(RunStage::Push)
            } else {
                self.enter(RunStage::Done { pull_request: None })
            }),
            (RunStage::Finalize, RunEvent::FinalFailed { why }) => Ok(self.pause(PauseReason::Final { why })),
            (RunStage::Push, RunEvent::Pushed) if self.request.pull_request => {
                Ok(self.enter(RunStage::PullRequest))
            }
            (RunStage::Push, RunEvent::Pushed) => Ok(self.enter(RunStage::Done { pull_request: None })),
            (RunStage::Push, RunEvent::PushFailed { why }) => Ok(self.pause(PauseReason::Push { why })),
            (RunStage::PullRequest, RunEvent::PullRequestMade { url }) => {
                Ok(self.enter(RunStage::Done { pull_request: Some(url) }))
            }
            (RunStage::Push | RunStage::PullRequest, RunEvent::NoPullRequest) => {
                Ok(self.enter(RunStage::Done { pull_request: None }))
            }
            _ => Err(refused),
        }
    }

    /// The next action in the current stage.
    pub fn action(&self) -> RunAction {
        match &self.stage {
            RunStage::Preflight => RunAction::Preflight,
            RunStage::Branch => RunAction::MakeBranch,
            RunStage::Red { attempt: 0, .. } | RunStage::Green { attempt: 0, .. } => RunAction::RunTests,
            RunStage::Red { passed_at_once, .. } => RunAction::WriteTests { insist: *passed_at_once },
            RunStage::Green { .. } => RunAction::WriteCode,
            RunStage::Finalize => RunAction::Finalize,
            // Commit and push only from the run's own branch.
            RunStage::Commit { .. } | RunStage::Push | RunStage::PullRequest if !self.has_own_branch() => {
                RunAction::Stop
            }
            RunStage::Commit { .. } => RunAction::Commit,
            RunStage::Push => RunAction::Push,
            RunStage::PullRequest => RunAction::OpenPullRequest,
            RunStage::Done { .. } | RunStage::Paused { .. } | RunStage::Aborted => RunAction::Stop,
        }
    }

    fn has_own_branch(&self) -> bool {
        self.branch.is_some() && self.branch != self.request.default_branch
    }

    fn enter(&mut self, stage: RunStage) -> RunAction {
        self.stage = stage;
        self.action()
    }

    pub(super) fn pause(&mut self, reason: PauseReason) -> RunAction {
        let at = std::mem::replace(&mut self.stage, RunStage::Aborted);
        self.enter(RunStage::Paused { reason, at: Box::new(at) })
    }

    /// Enters the next open subtask, or the final checks.
    pub(super) fn next_step(&mut self) -> RunAction {
        self.failures = 0;
        match self.steps.iter().position(|step| step.outcome == StepOutcome::Open) {
            Some(step) => self.enter(RunStage::Red { step, attempt: 1, passed_at_once: false }),
            None => self.enter(RunStage::Finalize),
        }
    }

    fn executor_failed(&mut self, why: String, temporary: bool) -> RunAction {
        self.failures += 1;
        if temporary && self.failures <= MAX_RETRIES {
            RunAction::Wait(backoff(self.failures))
        } else {
            self.pause(PauseReason::Executor { why })
        }
    }

    fn red(&mut self, step: usize, attempt: u32, passed_at_once: bool, red: RedJudgement) -> RunAction {
        self.failures = 0;
        match red {
            RedJudgement::Proven(red) => self.enter(RunStage::Green { step, attempt: 1, red }),
            RedJudgement::AlreadyGreen if passed_at_once => {
                self.steps[step].outcome = StepOutcome::AlreadyImplemented;
                self.next_step()
            }
            RedJudgement::AlreadyGreen => {
                self.enter(RunStage::Red { step, attempt: attempt.max(1), passed_at_once: true })
            }
            RedJudgement::Refused(_) if attempt < self.request.max_attempts => {
                self.enter(RunStage::Red { step, attempt: attempt + 1, passed_at_once })
            }
            RedJudgement::Refused(objections) => self.pause(PauseReason::MaxAttempts { objections }),
        }
    }

    fn green(
        &mut self,
        step: usize,
        attempt: u32,
        red: RedProof,
        judged: Result<GreenProof, Vec<Objection>>,
    ) -> RunAction {
        self.failures = 0;
        match judged {
            Ok(green) => self.enter(RunStage::Commit { step, red, green }),
            Err(_) if attempt < self.request.max_attempts => {
                self.enter(RunStage::Green { step, attempt: attempt + 1, red })
            }
            Err(objections) => self.pause(PauseReason::MaxAttempts { objections }),
        }
    }
}

impl RunStage {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Preflight => "checking",
            Self::Branch => "creating its branch",
            Self::Red { .. } => "writing tests",
            Self::Green { .. } => "writing code",
            Self::Commit { .. } => "committing",
            Self::Finalize => "running its final checks",
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
