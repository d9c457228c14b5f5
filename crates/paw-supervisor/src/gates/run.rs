//! Runs gates one after the other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_core::config::SandboxLevel;
use paw_core::{BranchName, text};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access};
use paw_host::git::{CleanCheckout, Repo};
use paw_host::process::{Command, Exit, Stream};
use paw_host::trust::TrustSubject;
use paw_worktree::Preparation;

use super::confine::Confinement;
use super::outcome::{GateFinding, GateStatus};
use super::plan::GateStep;
use super::prepare;
use super::record::GateRecords;
use super::repository_watch::{RepositoryChanges, RepositoryWatch};
use super::stop::StopRequest;
use super::verify::GateError;

/// How much of a gate's output is kept, from its end.
const MOST_BYTES: usize = 4 << 20;
/// How many of its last lines a report contains.
const TAIL: usize = 12;
const LONGEST_LINE: usize = 300;
/// The variable that names the file with the governance documents.
pub(super) const GOVERNANCE: &str = "GIT_PAW_GOVERNANCE";

/// A gate that was run, with its output from both streams.
pub(super) struct GateRun {
    pub(super) finding: GateFinding,
    pub(super) output: String,
}

/// A finished run of gates.
pub(crate) struct FinishedRun {
    pub(super) ran: Vec<GateRun>,
    pub(crate) changes: RepositoryChanges,
}

impl FinishedRun {
    pub(crate) fn into_findings(self) -> Vec<GateFinding> {
        self.ran.into_iter().map(|ran| ran.finding).collect()
    }
}

/// A commit to test, checked out in a clean checkout.
#[derive(Debug, Clone, Copy)]
pub struct TestedCommit<'a> {
    pub files: &'a CleanCheckout,
    pub commit: &'a str,
    /// The branch it belongs to.
    pub branch: &'a BranchName,
}

/// Runs gates in checkouts of commits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GateRunner<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) preparation: &'a Preparation,
    pub(crate) records: &'a GateRecords,
    /// The time limit of one gate.
    pub(crate) limit: Duration,
    /// Environment variables for the gates, besides the harmless ones.
    pub(crate) variables: &'a [(String, String)],
    /// The configured sandbox.
    pub(crate) sandbox: Option<SandboxLevel>,
    pub(crate) stop: &'a StopRequest,
}

impl GateRunner<'_> {
    /// Prepares the checkout, runs the gates in order, even after a failure, and stores their output.
    pub(crate) fn run(
        &self,
        target: &TestedCommit<'_>,
        steps: &[GateStep],
        on_line: &mut dyn FnMut(&str),
    ) -> Result<FinishedRun, GateError> {
        self.require_running()?;
        let governance = self.variables.iter().find(|(name, _)| name == GOVERNANCE);
        let readable = governance.map(|(_, file)| Path::new(file));
        let confinement = Confinement::open(self.sandbox, self.repo, target.files.dir(), readable)?;
        let is_protected = confinement.protects_repository();
        let watch = if is_protected { None } else { Some(RepositoryWatch::start(self.repo)?) };
        let place = (target.files.dir(), target.branch);
        let made = prepare::prepare(self.preparation, self.repo, place, on_line);
        // The setup was killed.
        self.require_running()?;
        made?;
        let by_setup = if steps.len() > 1 { target.files.changed()? } else { Vec::new() };
        let mut ran = Vec::with_capacity(steps.len());
        for (place, step) in steps.iter().enumerate() {
            if place > 0 {
                restore(target.files, &by_setup, on_line)?;
            }
            ran.push(self.run_one(target, &confinement, step, on_line)?);
        }
        let changes = watch.map(|watch| watch.find_changes(target.commit)).transpose()?;
        Ok(FinishedRun { ran, changes: changes.unwrap_or_default() })
    }

    fn run_one(
        &self,
        target: &TestedCommit<'_>,
        confinement: &Confinement,
        step: &GateStep,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<GateRun, GateError> {
        self.require_running()?;
        on_line(&format!("{}: {}", step.gate, plain(&step.command)));
        let watch = Stopwatch::start();
        let command = Command::new("sh")
            .args(["-c", "--", &step.command])
            .dir(target.files.dir())
            .harmless_environment();
        let command = confinement.apply(command);
        let command = self.variables.iter().fold(command, |command, (name, value)| command.env(name, value));
        let mut printed: Vec<u8> = Vec::new();
        let exit = command.time_limit(self.limit).stream(|_: Stream, line| {
            printed.extend_from_slice(line);
            printed.push(b'\n');
            if printed.len() > 2 * MOST_BYTES {
                printed.drain(..printed.len() - MOST_BYTES);
            }
            on_line(&plain(&String::from_utf8_lossy(line)));
        })?;
        // A gate that was killed says nothing about the commit.
        self.require_running()?;
        let output =
            String::from_utf8_lossy(&printed[printed.len().saturating_sub(MOST_BYTES)..]).into_owned();
        let log = self.records.log(target.commit, step.gate);
        files::write_atomic(&log, output.as_bytes(), Access::Private)?;
        let mut tail = tail(&output);
        if let Some(note) = confinement.note(&output).filter(|_| !exit.success()) {
            on_line(&note);
            tail.push(note);
        }
        let finding = GateFinding {
            gate: step.gate,
            command: step.command.clone(),
            status: status(exit),
            end: exit.to_string(),
            seconds: watch.elapsed().as_secs(),
            tail,
            log: log.display().to_string(),
            digest: digest_of(&output),
        };
        Ok(GateRun { finding, output })
    }

    fn require_running(&self) -> Result<(), GateError> {
        if self.stop.is_raised() { Err(GateError::Interrupted) } else { Ok(()) }
    }
}

/// Recognizes the output of a gate.
/// Undoes what a gate did to tracked files: each gate tests the commit, not what an earlier one made of it.
fn restore(
    files: &CleanCheckout,
    by_setup: &[PathBuf],
    on_line: &mut dyn FnMut(&str),
) -> Result<(), GateError> {
    let changed = || -> Result<Vec<PathBuf>, GateError> {
        Ok(files.changed()?.into_iter().filter(|path| !by_setup.contains(path)).collect())
    };
    let found = changed()?;
    if found.is_empty() {
        return Ok(());
    }
    files.restore(&found)?;
    let left = changed()?;
    if !left.is_empty() {
        return Err(GateError::NotReady(format!(
            "a gate changed {}, which cannot be restored",
            text::first_paths(&left)
        )));
    }
    on_line(&format!("restored what the gate changed: {}", text::first_paths(&found)));
    Ok(())
}

pub(super) fn digest_of(output: &str) -> String {
    TrustSubject::new("gate output").with("text", output).fingerprint().as_str().to_owned()
}

fn status(exit: Exit) -> GateStatus {
    match exit {
        Exit::Code(0) => GateStatus::Passed,
        Exit::Code(_) | Exit::Signal(_) => GateStatus::Failed,
        Exit::TimedOut { .. } => GateStatus::TimedOut,
    }
}

fn tail(output: &str) -> Vec<String> {
    let lines: Vec<_> = output.lines().map(plain).filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(TAIL)..].to_vec()
}

fn plain(line: &str) -> String {
    text::truncate_chars(&text::output_line(line), LONGEST_LINE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::Gate;

    fn step(command: &str) -> GateStep {
        GateStep { gate: Gate::Test, command: command.to_owned() }
    }

    fn ran(command: &str, limit: Duration) -> (GateRun, paw_testkit::Sandbox) {
        let sandbox = paw_testkit::Sandbox::new();
        let repo = Repo::discover(&sandbox.repo("app").root).unwrap();
        let runner = GateRunner {
            repo: &repo,
            preparation: &Preparation::default(),
            records: &GateRecords::of(&repo.common_dir),
            limit,
            variables: &[("GIVEN".to_owned(), "yes".to_owned())],
            sandbox: Some(SandboxLevel::Off),
            stop: &StopRequest::default(),
        };
        let branch = BranchName::new("feat/x").unwrap();
        let files = CleanCheckout::new(&repo, &sandbox.root(), &sandbox.root().join("state"));
        let target = TestedCommit { files: &files, commit: "abc", branch: &branch };
        let ran = runner.run(&target, &[step(command)], &mut |_| {}).unwrap().ran.remove(0);
        (ran, sandbox)
    }

    #[test]
    fn a_gates_output_is_stored_and_its_tail_reported() {
        let (ran, sandbox) =
            ran("printf '\\033[31mred\\033[0m\\n'; echo err >&2; exit 3", Duration::from_secs(20));
        assert_eq!(
            (ran.finding.status, ran.finding.end.as_str()),
            (GateStatus::Failed, "exited with code 3")
        );
        let mut tail = ran.finding.tail.clone();
        tail.sort();
        assert_eq!(tail, ["err", "red"]);
        assert_eq!(
            std::fs::read_to_string(sandbox.root().join("app/.git/paw/gates/abc/test.log")).unwrap(),
            ran.output
        );
    }

    #[test]
    fn a_gate_gets_its_variables_but_no_secrets() {
        let (ran, _sandbox) = ran("echo \"$GIVEN\"; env", Duration::from_secs(20));
        assert!(
            ran.output.starts_with("yes\n") && !ran.output.contains("CARGO_MANIFEST_DIR"),
            "{}",
            ran.output
        );
    }

    #[test]
    fn a_gate_is_killed_at_its_time_limit() {
        let (ran, _sandbox) = ran("sleep 600", Duration::from_millis(300));
        assert_eq!(ran.finding.status, GateStatus::TimedOut);
    }
}
