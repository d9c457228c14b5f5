//! Prints the progress of a run, one line per event.

use std::io::IsTerminal as _;

use paw_autopilot::drive::{DriveEvent, DriveObserver, DriveQuestion};
use paw_autopilot::engine::{RunStage, StepOutcome};
use paw_autopilot::runners::TestVerdict;
use paw_autopilot::work::finish::FinalResult;
use paw_autopilot::work::publish::PullRequestResult;
use paw_autopilot::work::{ActiveRun, CoverageGate, TddPhase};
use paw_core::PawError;
use paw_core::text::{self, plural, plural_irregular};
use serde_json::{Value, json};

use super::format::{coverage, judged, line};
use super::{AutopilotArgs, paused};
use crate::context::Context;
use crate::output::{Output, Style};
use crate::prompt::{PromptQuestion, Prompter as _, TerminalPrompter};

pub(super) struct ProgressPrinter {
    output: Output,
    confirm: bool,
    preview: bool,
    /// Whether the executor's output is shown.
    live: bool,
    resumed: bool,
    pushed_after_asking: bool,
}

impl ProgressPrinter {
    pub(super) fn new(args: &AutopilotArgs, context: &Context) -> Self {
        Self {
            output: context.output,
            confirm: !args.no_confirm,
            preview: args.preview,
            live: args.executor_mode,
            resumed: args.resume,
            pushed_after_asking: false,
        }
    }

    /// With --json, stdout is one document and progress goes to stderr.
    fn say(&self, line: &str) -> Result<(), PawError> {
        if self.output.wants_json() {
            self.output.note(line);
            return Ok(());
        }
        self.output.say(line)
    }

    pub(super) fn begun(&self, work: &ActiveRun) -> Result<(), PawError> {
        self.header(work)?;
        if matches!(work.run.stage, RunStage::Paused { .. }) {
            return Ok(());
        }
        if !self.resumed {
            let clean = if work.notes.dirty { "changes left alone" } else { "clean tree" };
            self.say(&format!("→ Checks preflight: ✓ {clean}, ✓ {} detected", work.tester().name()))?;
            let old = work.failing_before();
            if old > 0 {
                self.say(&format!("  {} before anything was changed", plural(old, "failing test")))?;
            }
            self.coverage_gate(work)?;
            let branch = work.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
            return self.say(&format!("→ Creates branch: {branch}"));
        }
        match (work.run.current(), &work.run.stage) {
            (Some(step), RunStage::Green { .. }) => {
                self.say(&format!("→ Resuming subtask {} GREEN phase", step.id))
            }
            (Some(step), _) => self.say(&format!("→ Resuming subtask {} RED phase", step.id)),
            (None, _) => self.say("→ Resuming the final checks"),
        }
    }

    /// Where the run works: project, tag and branch.
    fn header(&self, work: &ActiveRun) -> Result<(), PawError> {
        let branch = work.run.branch.as_ref().map(|branch| format!("  Branch: {branch}")).unwrap_or_default();
        let (project, tag) = (line(&work.context.name()), &work.run.request.tag);
        self.say(&self.output.paint(Style::Bold, &format!("Project: {project}  Tag: {tag}{branch}")))
    }

    fn coverage_gate(&self, work: &ActiveRun) -> Result<(), PawError> {
        match work.coverage_gate().map(CoverageGate::words) {
            Some(Ok(words)) => self.say(&format!("  coverage gate: {}", line(&words))),
            Some(Err(why)) => self.say(&format!("  no coverage gate: {}", line(why))),
            None => Ok(()),
        }
    }

    pub(super) fn in_pane(&self, place: &str) -> Result<(), PawError> {
        self.say(&format!("→ The executor works in {place}"))
    }

    pub(super) fn ended(&self, work: &ActiveRun) -> Result<(), PawError> {
        if self.output.wants_json() {
            return self.output.document(&document(work));
        }
        match &work.run.stage {
            RunStage::Done { pull_request } => {
                let url = pull_request.as_ref().map(|url| format!(" PR: {url}")).unwrap_or_default();
                let mark = self.output.paint(Style::Success, "✓");
                self.say(&format!("{mark} Task {} complete.{url}", work.run.request.task))?;
                self.say(&format!("  Run report: {}", work.report_path()))?;
                match &work.run.branch {
                    Some(branch) if !work.run.request.push => self
                        .say(&format!("  To merge it into the main branch: git paw merge --only {branch}")),
                    _ => Ok(()),
                }
            }
            RunStage::Paused { .. } => paused::lines(work).iter().try_for_each(|line| self.say(line)),
            _ => Ok(()),
        }
    }

    fn finalized(&self, work: &ActiveRun, last: &FinalResult) -> Result<(), PawError> {
        let done = work.run.steps.iter().filter(|step| step.outcome != StepOutcome::Open).count();
        self.say(&format!("→ Final: all {} complete", plural(done, "subtask")))?;
        let (good, bad) = (self.output.paint(Style::Success, "✓"), self.output.paint(Style::Error, "✗"));
        match (&last.tests.verdict, &last.failed) {
            (TestVerdict::Passed, _) => self.say(&format!("  {good} Run full test suite → all pass"))?,
            (_, None) => {
                self.say(&format!("  {good} Run full test suite → nothing fails that passed before"))?;
            }
            (_, Some(why)) => self.say(&format!("  {bad} Run full test suite → {}", line(why)))?,
        }
        match last.coverage.as_deref().and_then(coverage) {
            Some((met, words)) => {
                let mark = if met { &good } else { &bad };
                self.say(&format!("  {mark} Coverage check → {words}"))?;
            }
            None if last.failed.is_none() => {
                let how = last.unmeasured.as_deref().unwrap_or("the report has no numbers");
                self.say(&format!("  - Coverage check → not measured ({})", line(how)))?;
            }
            None => {}
        }
        if let Some(sha) = &last.formatted {
            self.say(&format!("  ✓ Format → commit {}", sha.chars().take(7).collect::<String>()))?;
        }
        if !last.uncommitted.is_empty() {
            let files = last.uncommitted.iter().map(|path| line(path)).collect::<Vec<_>>().join(", ");
            self.say(&format!("  not committed, not part of any proof: {files}"))?;
        }
        Ok(())
    }

    fn pull_request(&self, work: &ActiveRun, opened: &PullRequestResult) -> Result<(), PawError> {
        match opened {
            PullRequestResult::Made { url } => {
                let number = url.rsplit('/').next().unwrap_or_default();
                let title = paw_autopilot::artifacts::pull_request::title(&work.run);
                self.say(&format!("  PR: opens #{} \"{}\"", line(number), line(&title)))
            }
            PullRequestResult::ByHand { why, commands } => {
                self.say(&format!("  PR: not opened ({}); to open it:", line(why)))?;
                commands.iter().try_for_each(|command| self.say(&format!("    {command}")))
            }
        }
    }
}

impl DriveObserver for ProgressPrinter {
    fn notify(&mut self, work: &ActiveRun, event: DriveEvent<'_>) -> Result<(), PawError> {
        match event {
            DriveEvent::AttemptStarted { phase: TddPhase::Red, attempt: 1 } => {
                let Some(step) = work.run.current() else { return Ok(()) };
                if let RunStage::Red { passed_at_once: true, .. } = work.run.stage {
                    return Ok(());
                }
                self.say(&format!("→ Subtask {}: \"{}\"", step.id, line(&step.title)))
            }
            DriveEvent::AttemptStarted { phase, attempt } => {
                self.output.progress(&format!("  {} attempt {attempt}", phase.as_str()));
                Ok(())
            }
            DriveEvent::ExecutorOutput(words) if self.live => self.say(&format!("> {}", line(words))),
            // The following pause reports a refused commit.
            DriveEvent::ExecutorOutput(_) | DriveEvent::NotCommitted(_) => Ok(()),
            DriveEvent::Testing => {
                if std::io::stderr().is_terminal() {
                    self.output.progress(&format!("  running {}", work.tester().name()));
                }
                Ok(())
            }
            DriveEvent::NotMeasured(why) => {
                self.say(&format!("  coverage of changed lines: not measured ({})", line(why)))
            }
            DriveEvent::LeftRunning(number) => self.say(&format!(
                "  ended {} left running by the executor",
                plural_irregular(number, "process", "processes")
            )),
            DriveEvent::Waiting { why, seconds } => {
                self.say(&format!("  the executor is not available ({}); retrying in {seconds}s", line(why)))
            }
            DriveEvent::Judged(attempt) => {
                if let Some(words) = judged(work, attempt) {
                    self.say(&words)?;
                }
                if attempt.tests.flaky.is_empty() {
                    return Ok(());
                }
                let names: Vec<String> = attempt.tests.flaky.iter().map(|name| line(name)).collect();
                self.say(&format!("  flaky: {} (failed, then passed)", names.join(", ")))
            }
            DriveEvent::Committed(commit) => {
                self.say(&format!("  COMMIT: \"{}\"", line(&commit.subject)))?;
                match work.run.current() {
                    Some(next) if std::mem::take(&mut self.resumed) => {
                        self.say(&format!("→ Continuing to subtask {}...", next.id))
                    }
                    _ => Ok(()),
                }
            }
            DriveEvent::Finalized(last) => self.finalized(work, last),
            DriveEvent::Pushed { remote } => {
                let asked = if self.pushed_after_asking { "confirms with user → " } else { "" };
                self.say(&format!("  PUSH: {asked}pushed to {remote}"))
            }
            DriveEvent::NotPushed => {
                self.say("  PUSH: not pushed; to do it later:")?;
                work.manual_commands(true).iter().try_for_each(|command| self.say(&format!("    {command}")))
            }
            DriveEvent::PullRequest(opened) => self.pull_request(work, opened),
        }
    }

    fn confirm(&mut self, work: &ActiveRun, question: DriveQuestion<'_>) -> Result<bool, PawError> {
        let branch = work.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
        let text = match question {
            DriveQuestion::Commit { subject, diff } => {
                diff.lines().try_for_each(|row| self.output.say(&text::reveal(row)))?;
                format!("Commit \"{}\"?", line(subject))
            }
            DriveQuestion::Push if self.confirm => format!("Push {branch}?"),
            DriveQuestion::PullRequest if self.confirm => {
                format!("Open a pull request for {branch} to {}?", work.base())
            }
            DriveQuestion::Push | DriveQuestion::PullRequest => return Ok(true),
        };
        let said =
            TerminalPrompter.confirm(&PromptQuestion { text: &text, instead: "--no-confirm" }, true)?;
        self.pushed_after_asking = said;
        Ok(said)
    }

    fn wants_preview(&self) -> bool {
        self.preview
    }
}

fn document(work: &ActiveRun) -> Value {
    let mut document =
        json!({"manifest": work.manifest(), "status": work.status(), "report": work.report_path()});
    if let RunStage::Paused { reason, .. } = &work.run.stage {
        document["paused"] = json!({
            "reason": reason.word(),
            "message": paw_autopilot::engine::pause::headline(&work.run),
            "lastError": work.notes.last_error,
            "nextSteps": paused::next_steps(work),
        });
    }
    document
}
