//! Runs gates one after the other.

use std::path::Path;
use std::time::Duration;

use paw_core::text;
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access};
use paw_host::process::{Command, Exit, Stream};

use super::outcome::{GateFinding, GateStatus};
use super::plan::GateStep;
use super::record::GateRecords;
use super::stop::StopRequest;
use super::verify::GateError;

/// How much of a gate's output is kept, from its end.
const MOST_BYTES: usize = 4 << 20;
/// How many of its last lines a report contains.
const TAIL: usize = 12;
const LONGEST_LINE: usize = 300;

/// A gate that was run, with its output from both streams.
pub(super) struct GateRun {
    pub(super) finding: GateFinding,
    pub(super) output: String,
}

/// Runs gates in a checkout of a commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct GateRunner<'a> {
    pub(super) dir: &'a Path,
    pub(super) commit: &'a str,
    pub(super) records: &'a GateRecords,
    /// The time limit of one gate.
    pub(super) limit: Duration,
    /// Environment variables for the gates, besides the harmless ones.
    pub(super) variables: &'a [(String, String)],
    pub(super) stop: &'a StopRequest,
}

impl GateRunner<'_> {
    /// Runs the gates in order, even after a failure, and stores their output.
    pub(super) fn run(
        &self,
        steps: &[GateStep],
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Vec<GateRun>, GateError> {
        steps.iter().map(|step| self.run_one(step, on_line)).collect()
    }

    fn run_one(&self, step: &GateStep, on_line: &mut dyn FnMut(&str)) -> Result<GateRun, GateError> {
        self.require_running()?;
        on_line(&format!("{}: {}", step.gate, plain(&step.command)));
        let watch = Stopwatch::start();
        let command =
            Command::new("sh").args(["-c", "--", &step.command]).dir(self.dir).harmless_environment();
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
        let log = self.records.log(self.commit, step.gate);
        files::write_atomic(&log, output.as_bytes(), Access::Private)?;
        let finding = GateFinding {
            gate: step.gate,
            command: step.command.clone(),
            status: status(exit),
            end: exit.to_string(),
            seconds: watch.elapsed().as_secs(),
            tail: tail(&output),
            log: log.display().to_string(),
        };
        Ok(GateRun { finding, output })
    }

    fn require_running(&self) -> Result<(), GateError> {
        if self.stop.is_raised() { Err(GateError::Interrupted) } else { Ok(()) }
    }
}

/// Runs gates in the caller's checkout of `commit`, each for at most `limit`.
pub fn run_gates(
    (dir, commit): (&Path, &str),
    steps: &[GateStep],
    limit: Duration,
    records: &GateRecords,
    stop: &StopRequest,
    on_line: &mut dyn FnMut(&str),
) -> Result<Vec<GateFinding>, GateError> {
    let ran = GateRunner { dir, commit, records, limit, variables: &[], stop }.run(steps, on_line)?;
    Ok(ran.into_iter().map(|ran| ran.finding).collect())
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

    fn ran(command: &str, limit: Duration) -> (GateRun, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let variables = [("GIVEN".to_owned(), "yes".to_owned())];
        let records = GateRecords::of(dir.path());
        let (commit, stop) = ("abc", &StopRequest::default());
        let runner =
            GateRunner { dir: dir.path(), commit, records: &records, limit, variables: &variables, stop };
        let ran = runner.run(&[step(command)], &mut |_| {}).unwrap().remove(0);
        (ran, dir)
    }

    #[test]
    fn a_gates_output_is_stored_and_its_tail_reported() {
        let (ran, dir) =
            ran("printf '\\033[31mred\\033[0m\\n'; echo err >&2; exit 3", Duration::from_secs(20));
        assert_eq!(
            (ran.finding.status, ran.finding.end.as_str()),
            (GateStatus::Failed, "exited with code 3")
        );
        let mut tail = ran.finding.tail.clone();
        tail.sort();
        assert_eq!(tail, ["err", "red"]);
        assert_eq!(std::fs::read_to_string(dir.path().join("paw/gates/abc/test.log")).unwrap(), ran.output);
    }

    #[test]
    fn a_gate_gets_its_variables_but_no_secrets() {
        let (ran, _dir) = ran("echo \"$GIVEN\"; env", Duration::from_secs(20));
        assert!(
            ran.output.starts_with("yes\n") && !ran.output.contains("CARGO_MANIFEST_DIR"),
            "{}",
            ran.output
        );
    }

    #[test]
    fn a_gate_is_killed_at_its_time_limit() {
        let (ran, _dir) = ran("sleep 600", Duration::from_millis(300));
        assert_eq!(ran.finding.status, GateStatus::TimedOut);
    }
}
