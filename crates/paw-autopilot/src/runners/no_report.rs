//! Handles runners that ended without a report: only their output is left.

use super::command::RunnerOutput;
use super::location::find_locations;
use super::report::{BuildProblem, TestReport};

/// A build problem if the output names a file of the project, else an unreadable report.
pub(super) fn report_from_output(said: &RunnerOutput) -> TestReport {
    if said.exit.success() {
        return TestReport::unreadable("the runner succeeded but wrote no report");
    }
    let broken = broken(said);
    if broken.places.is_empty() {
        return TestReport::unreadable(format!("the runner wrote no report: {}", said.output()));
    }
    TestReport::from_build_problems(vec![broken])
}

/// The output as a build problem, with or without locations.
pub(super) fn broken(said: &RunnerOutput) -> BuildProblem {
    let output = said.output();
    let places = find_locations(&output, &said.root, |path| said.has_source(path));
    BuildProblem::new(output, places)
}
