//! A run as people see it: one line for each thing that happened.

use std::io::IsTerminal as _;

use paw_autopilot::drive::{Audience, Question, Told};
use paw_autopilot::engine::{Stage, StepOutcome};
use paw_autopilot::runners::Verdict;
use paw_autopilot::work::finish::Final;
use paw_autopilot::work::publish::Opened;
use paw_autopilot::work::{Phase, Work};
use paw_core::PawError;
use paw_core::text::{self, plural, plural_irregular};
use serde_json::{Value, json};

use super::words::{coverage, judged, line};
use super::{AutopilotArgs, paused};
use crate::context::Context;
use crate::output::{Output, Style};
use crate::prompt::{Prompter as _, Question as Asked, TerminalPrompter};

pub(super) struct Screen {
    output: Output,
    confirm: bool,
    preview: bool,
    /// What the executor says is shown too.
    live: bool,
    resumed: bool,
    pushed_after_asking: bool,
}

impl Screen {
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

    /// With --json the answer is one document; what is going on is said beside it.
    fn say(&self, line: &str) -> Result<(), PawError> {
        if self.output.wants_json() {
            self.output.note(line);
            return Ok(());
        }
        self.output.say(line)
    }

    pub(super) fn begun(&self, work: &Work) -> Result<(), PawError> {
        if matches!(work.run.stage, Stage::Paused { .. }) {
            return Ok(());
        }
        if !self.resumed {
            let clean = if work.notes.relaxed.is_empty() { "clean tree" } else { "changes left alone" };
            self.say(&format!("→ Checks preflight: ✓ {clean}, ✓ {} detected", work.tester().name()))?;
            let old = work.failing_before();
            if old > 0 {
                self.say(&format!("  {} before anything was changed", plural(old, "failing test")))?;
            }
            let branch = work.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
            return self.say(&format!("→ Creates branch: {branch}"));
        }
        match (work.run.current(), &work.run.stage) {
            (Some(step), Stage::Green { .. }) => {
                self.say(&format!("→ Resuming subtask {} GREEN phase", step.id))
            }
            (Some(step), _) => self.say(&format!("→ Resuming subtask {} RED phase", step.id)),
            (None, _) => self.say("→ Resuming the final checks"),
        }
    }

    pub(super) fn in_pane(&self, place: &str) -> Result<(), PawError> {
        self.say(&format!("→ The executor works in {place}"))
    }

    pub(super) fn ended(&self, work: &Work) -> Result<(), PawError> {
        if self.output.wants_json() {
            return self.output.document(&document(work));
        }
        match &work.run.stage {
            Stage::Done { pull_request } => {
                let url = pull_request.as_ref().map(|url| format!(" PR: {url}")).unwrap_or_default();
                let mark = self.output.paint(Style::Good, "✓");
                self.say(&format!("{mark} Task {} complete.{url}", work.run.order.task))?;
                self.say(&format!("  Run report: {}", work.report_path()))?;
                match &work.run.branch {
                    Some(branch) if !work.run.order.push => self
                        .say(&format!("  To bring it into the main branch: git paw merge --only {branch}")),
                    _ => Ok(()),
                }
            }
            Stage::Paused { .. } => paused::lines(work).iter().try_for_each(|line| self.say(line)),
            _ => Ok(()),
        }
    }

    fn finalized(&self, work: &Work, last: &Final) -> Result<(), PawError> {
        let done = work.run.steps.iter().filter(|step| step.outcome != StepOutcome::Open).count();
        self.say(&format!("→ Final: all {} complete", plural(done, "subtask")))?;
        let (good, bad) = (self.output.paint(Style::Good, "✓"), self.output.paint(Style::Bad, "✗"));
        match (&last.tests.verdict, &last.failed) {
            (Verdict::Passed, _) => self.say(&format!("  {good} Run full test suite → all pass"))?,
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
                let how = if last.coverage.is_some() {
                    "the report has no figures"
                } else {
                    "no [autopilot] coverage_command"
                };
                self.say(&format!("  - Coverage check → not measured ({how})"))?;
            }
            None => {}
        }
        if let Some(sha) = &last.formatted {
            self.say(&format!("  ✓ Format → commit {}", sha.chars().take(7).collect::<String>()))?;
        }
        if !last.uncommitted.is_empty() {
            let files = last.uncommitted.iter().map(|path| line(path)).collect::<Vec<_>>().join(", ");
            self.say(&format!("  not committed, because it proved nothing new: {files}"))?;
        }
        Ok(())
    }

    fn pull_request(&self, work: &Work, opened: &Opened) -> Result<(), PawError> {
        match opened {
            Opened::Made { url } => {
                let number = url.rsplit('/').next().unwrap_or_default();
                let title = paw_autopilot::artifacts::pull_request::title(&work.run);
                self.say(&format!("  PR: opens #{} \"{}\"", line(number), line(&title)))
            }
            Opened::ByHand { why, commands } => {
                self.say(&format!("  PR: not opened ({}); to open it:", line(why)))?;
                commands.iter().try_for_each(|command| self.say(&format!("    {command}")))
            }
        }
    }
}

impl Audience for Screen {
    fn tell(&mut self, work: &Work, told: Told<'_>) -> Result<(), PawError> {
        match told {
            Told::Asked { phase: Phase::Red, attempt: 1 } => {
                let Some(step) = work.run.current() else { return Ok(()) };
                if let Stage::Red { passed_at_once: true, .. } = work.run.stage {
                    return Ok(());
                }
                self.say(&format!("→ Subtask {}: \"{}\"", step.id, line(&step.title)))
            }
            Told::Asked { phase, attempt } => {
                self.output.progress(&format!("  {} attempt {attempt}", phase.as_str()));
                Ok(())
            }
            Told::Said(words) if self.live => self.say(&format!("> {}", line(words))),
            // A refused commit is told with the pause that follows.
            Told::Said(_) | Told::NotCommitted(_) => Ok(()),
            Told::Testing => {
                if std::io::stderr().is_terminal() {
                    self.output.progress(&format!("  running {}", work.tester().name()));
                }
                Ok(())
            }
            Told::NotMeasured(why) => {
                self.say(&format!("  coverage of changed lines: not measured ({})", line(why)))
            }
            Told::LeftRunning(number) => self.say(&format!(
                "  {} that the executor left running: ended",
                plural_irregular(number, "process", "processes")
            )),
            Told::Waiting { why, seconds } => self
                .say(&format!("  the executor cannot work now ({}); asked again in {seconds}s", line(why))),
            Told::Judged(attempt) => {
                if let Some(words) = judged(work, attempt) {
                    self.say(&words)?;
                }
                if attempt.tests.flaky.is_empty() {
                    return Ok(());
                }
                let names: Vec<String> = attempt.tests.flaky.iter().map(|name| line(name)).collect();
                self.say(&format!("  flaky: {} (failed, then passed)", names.join(", ")))
            }
            Told::Committed(commit) => {
                self.say(&format!("  COMMIT: \"{}\"", line(&commit.subject)))?;
                match work.run.current() {
                    Some(next) if std::mem::take(&mut self.resumed) => {
                        self.say(&format!("→ Continuing to subtask {}...", next.id))
                    }
                    _ => Ok(()),
                }
            }
            Told::Finalized(last) => self.finalized(work, last),
            Told::Pushed { remote } => {
                let asked = if self.pushed_after_asking { "confirms with user → " } else { "" };
                self.say(&format!("  PUSH: {asked}pushed to {remote}"))
            }
            Told::NotPushed => {
                self.say("  PUSH: not pushed; to do it later:")?;
                work.manual_commands(true).iter().try_for_each(|command| self.say(&format!("    {command}")))
            }
            Told::PullRequest(opened) => self.pull_request(work, opened),
        }
    }

    fn ask(&mut self, work: &Work, question: Question<'_>) -> Result<bool, PawError> {
        let branch = work.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
        let text = match question {
            Question::Commit { subject, diff } => {
                diff.lines().try_for_each(|row| self.output.say(&text::reveal(row)))?;
                format!("Commit \"{}\"?", line(subject))
            }
            Question::Push if self.confirm => format!("Push {branch}?"),
            Question::PullRequest if self.confirm => {
                format!("Open a pull request for {branch} to {}?", work.base())
            }
            Question::Push | Question::PullRequest => return Ok(true),
        };
        let said = TerminalPrompter.confirm(&Asked { text: &text, instead: "--no-confirm" }, true)?;
        self.pushed_after_asking = said;
        Ok(said)
    }

    fn wants_preview(&self) -> bool {
        self.preview
    }
}

fn document(work: &Work) -> Value {
    let mut document =
        json!({"manifest": work.manifest(), "status": work.status(), "report": work.report_path()});
    if let Stage::Paused { reason, .. } = &work.run.stage {
        document["paused"] = json!({
            "reason": reason.word(),
            "message": paw_autopilot::engine::pause::headline(&work.run),
            "lastError": work.notes.last_error,
            "nextSteps": paused::next_steps(work),
        });
    }
    document
}
