//! Title and body of the pull request.

use std::fmt::Write as _;

use paw_core::text::short_commit;

use super::manifest::CoveragePercents;
use crate::engine::{Run, StepOutcome};
use crate::runners::{TestOutcome, TestReport};

/// `Task #42 [analytics]: User metrics tracking`
pub fn title(run: &Run) -> String {
    let words: Vec<&str> = run.request.title.split_whitespace().collect();
    format!("Task #{} [{}]: {}", run.request.task, run.request.tag, words.join(" "))
}

/// The body: the project's template filled in, or the default sections.
pub fn body(
    run: &Run,
    suite: Option<&TestReport>,
    coverage: Option<&CoveragePercents>,
    template: Option<&str>,
) -> String {
    let parts =
        [("{subtasks}", subtasks(run)), ("{tests}", tests(suite)), ("{coverage}", coverage_table(coverage))];
    if let Some(template) = template {
        let filled = template.replace("{title}", &title(run));
        return parts.iter().fold(filled, |text, (token, part)| text.replace(token, part.trim_end()));
    }
    let [(_, subtasks), (_, tests), (_, coverage)] = parts;
    format!("## Subtasks\n\n{subtasks}\n## Tests\n\n{tests}\n## Coverage\n\n{coverage}")
}

fn subtasks(run: &Run) -> String {
    let mut text = String::new();
    for step in &run.steps {
        let (mark, how) = match &step.outcome {
            StepOutcome::Committed { sha } => ("x", format!("commit {}", short_commit(sha))),
            StepOutcome::AlreadyImplemented => {
                ("x", "already implemented: its tests passed without new code".to_owned())
            }
            StepOutcome::Open => (" ", "not done".to_owned()),
        };
        let title: Vec<&str> = step.title.split_whitespace().collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- [{mark}] {}: {} ({how})", step.id, title.join(" "));
    }
    text
}

fn tests(suite: Option<&TestReport>) -> String {
    let Some(suite) = suite else { return "The whole suite was not run.\n".into() };
    let count = |outcome| suite.count(outcome);
    format!(
        "{} passed, {} failed, {} skipped.\n",
        count(TestOutcome::Passed),
        count(TestOutcome::Failed),
        count(TestOutcome::Skipped)
    )
}

fn coverage_table(coverage: Option<&CoveragePercents>) -> String {
    let Some(coverage) = coverage else { return "Not measured.\n".into() };
    let row = |(name, percent): (&str, Option<f64>)| {
        let percent = percent.map_or_else(|| "not measured".to_owned(), |percent| format!("{percent:.1} %"));
        format!("| {name} | {percent} |\n")
    };
    let rows = [
        ("lines", coverage.lines),
        ("branches", coverage.branches),
        ("functions", coverage.functions),
        ("statements", coverage.statements),
    ];
    format!("| metric | covered |\n|---|---|\n{}", rows.map(row).concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::RunEvent;
    use crate::engine::machine::tests::{begun, committed, red};
    use crate::evidence::green::tests::sample_proof;

    #[test]
    fn pull_request_body_lists_subtasks_tests_and_coverage() {
        let mut run = begun(2);
        run.step(red()).unwrap();
        run.step(RunEvent::GreenJudged(Ok(sample_proof()))).unwrap();
        run.step(committed("a1b2c3d4e5f6a7b8")).unwrap();
        let coverage =
            CoveragePercents { lines: Some(85.3), branches: None, functions: None, statements: None };
        insta::assert_snapshot!(body(&run, None, Some(&coverage), None), @"
        ## Subtasks

        - [x] 42.1: Part 1 (commit a1b2c3d4e5)
        - [ ] 42.2: Part 2 (not done)

        ## Tests

        The whole suite was not run.

        ## Coverage

        | metric | covered |
        |---|---|
        | lines | 85.3 % |
        | branches | not measured |
        | functions | not measured |
        | statements | not measured |
        ");
        assert_eq!(title(&run), "Task #42 [analytics]: User metrics tracking");
        assert_eq!(
            body(&run, None, None, Some("# {title}\n{coverage}")),
            format!("# {}\nNot measured.", title(&run))
        );
    }
}
