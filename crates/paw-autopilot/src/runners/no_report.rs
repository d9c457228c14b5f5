//! A runner that ended before it could write anything: its last words are all there is.

use super::command::RunnerOutput;
use super::location::find_locations;
use super::report::{BuildProblem, TestReport};

/// Broken code where the words name a file of the project, else nothing that proves anything.
pub(super) fn report_from_output(said: &RunnerOutput) -> TestReport {
    if said.exit.success() {
        return TestReport::unreadable("it ended well but left no report");
    }
    let broken = broken(said);
    if broken.places.is_empty() {
        return TestReport::unreadable(format!("it left no report: {}", said.output()));
    }
    TestReport::from_build_problems(vec![broken])
}

/// What it said, as something that could not be loaded, whether or not it says where.
pub(super) fn broken(said: &RunnerOutput) -> BuildProblem {
    let output = said.output();
    let places = find_locations(&output, &said.root, |path| said.has_source(path));
    BuildProblem::new(output, places)
}
