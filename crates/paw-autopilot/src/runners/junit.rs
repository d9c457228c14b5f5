//! JUnit XML. Only the test cases count, not the suite's totals.

use roxmltree::{Document, Node, ParsingOptions};

use super::command::RunnerOutput;
use super::location::{SourceLocation, find_locations};
use super::report::{BuildProblem, TestCase, TestOutcome, TestReport};

/// The maximum size of a report.
const MOST_NODES: u32 = 2_000_000;

/// Differences between runners.
pub(super) struct JunitDialect {
    /// Whether an `<error>` means that a file could not be loaded, not that a test failed.
    pub(super) is_load_error: fn(Node<'_, '_>) -> bool,
    /// The name of a test.
    pub(super) name: fn(Node<'_, '_>) -> String,
    /// The file of a test.
    pub(super) file: fn(Node<'_, '_>) -> Option<String>,
}

pub(super) fn read(run_output: &RunnerOutput, dialect: &JunitDialect) -> TestReport {
    let text = run_output.report.as_deref().unwrap_or_default();
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = match Document::parse_with_options(text, options) {
        Ok(document) => document,
        Err(error) => {
            return TestReport::unreadable(format!(
                "its report is not XML: {error}\n{}",
                run_output.output()
            ));
        }
    };
    let mut report = TestReport::default();
    for element in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let child = |name: &str| element.children().find(|node| node.has_tag_name(name));
        let file = (dialect.file)(element).map(|file| run_output.relative(&file));
        let (outcome, message) = match (child("error"), child("failure"), child("skipped")) {
            (Some(error), _, _) if (dialect.is_load_error)(error) => {
                let message = words(error);
                let mut places: Vec<SourceLocation> =
                    file.map(|file| SourceLocation::new(file, None)).into_iter().collect();
                places.extend(find_locations(&message, &run_output.root, |_| false));
                report.broken.push(BuildProblem::new(message, places));
                continue;
            }
            (Some(problem), _, _) | (None, Some(problem), _) => (TestOutcome::Failed, words(problem)),
            (None, None, Some(_)) => (TestOutcome::Skipped, String::new()),
            (None, None, None) => (TestOutcome::Passed, String::new()),
        };
        report.cases.push(TestCase::new((dialect.name)(element), outcome).in_file(file).because(message));
    }
    report
}

fn words(node: Node<'_, '_>) -> String {
    let text = node.text().unwrap_or_default().trim();
    let message = node.attribute("message").unwrap_or_default();
    if text.contains(message) { text.to_owned() } else { format!("{message}\n{text}") }
}
