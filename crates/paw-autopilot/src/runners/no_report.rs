//! Handles runners that ended without a report: only their output is left.

use super::command::RunnerOutput;
use super::location::find_locations;
use super::report::{BuildProblem, TestReport};

/// A build problem if the output names a file of the project, else an unreadable report.
pub(super) fn report_from_output(run_output: &RunnerOutput) -> TestReport {
    if run_output.exit.success() {
        return TestReport::unreadable("the runner succeeded but wrote no report");
    }
    let broken = broken(run_output);
    if broken.places.is_empty() {
        return TestReport::unreadable(format!("the runner wrote no report: {}", run_output.output()));
    }
    TestReport::from_build_problems(vec![broken])
}

/// The output as a build problem, with or without locations.
pub(super) fn broken(run_output: &RunnerOutput) -> BuildProblem {
    let output = run_output.output();
    let places = find_locations(&output, &run_output.root, |path| run_output.has_source(path));
    BuildProblem::new(output, places)
}
