//! Title and body of the pull request.

use std::fmt::Write as _;

use paw_core::text::short_commit;
use paw_supervisor::proof::SignedProof;

use super::manifest::CoveragePercents;
use crate::engine::{Run, StepOutcome};
use crate::runners::{TestCase, TestOutcome, TestReport, TestRun};

/// `Task #42 [analytics]: User metrics tracking`
pub fn title(run: &Run) -> String {
    let words: Vec<&str> = run.request.title.split_whitespace().collect();
    format!("Task #{} [{}]: {}", run.request.task, run.request.tag, words.join(" "))
}

/// What the final checks found.
#[derive(Debug, Clone, Copy, Default)]
pub struct PullRequestFacts<'a> {
    /// The final run of the whole suite.
    pub suite: Option<&'a TestRun>,
    /// The report from before, to tell old failures from new ones.
    pub baseline: Option<&'a TestReport>,
    pub coverage: Option<&'a CoveragePercents>,
    /// Why coverage was not measured.
    pub unmeasured: Option<&'a str>,
    /// What `--force` or the configuration let pass.
    pub allowed: &'a [String],
    /// The signed result of the project's gates.
    pub proof: Option<&'a SignedProof>,
    /// Why the gates did not run.
    pub unsigned: Option<&'a str>,
}

/// The body: the project's template filled in, or the default sections.
pub fn body(run: &Run, facts: &PullRequestFacts<'_>, template: Option<&str>) -> String {
    let parts =
        [("{subtasks}", subtasks(run)), ("{tests}", tests(facts)), ("{coverage}", coverage_table(facts))];
    let mut body = if let Some(template) = template {
        let filled = template.replace("{title}", &title(run));
        parts.iter().fold(filled, |text, (token, part)| text.replace(token, part.trim_end()))
    } else {
        let [(_, subtasks), (_, tests), (_, coverage)] = parts;
        format!("## Subtasks\n\n{subtasks}\n## Tests\n\n{tests}\n## Coverage\n\n{coverage}")
    };
    body.push_str(&proof(facts));
    if !facts.allowed.is_empty() {
        body.push_str("\n## Allowed by --force or configuration\n\n");
        body.extend(facts.allowed.iter().map(|line| format!("- {line}\n")));
    }
    body
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

fn tests(facts: &PullRequestFacts<'_>) -> String {
    let Some(run) = facts.suite else { return "The whole suite was not run.\n".into() };
    let count = |outcome| run.report.count(outcome);
    let mut text = format!(
        "{} passed, {} failed, {} skipped.\n",
        count(TestOutcome::Passed),
        count(TestOutcome::Failed),
        count(TestOutcome::Skipped)
    );
    let failed_before = |case: &&TestCase| {
        facts.baseline.is_some_and(|before| before.outcome_of(&case.name) == Some(TestOutcome::Failed))
    };
    let (old, new): (Vec<&TestCase>, Vec<&TestCase>) = run.report.failed().partition(failed_before);
    let shown = |case: &&TestCase| match case.error() {
        Some(error) => format!("{}: {error}", case.name),
        None => case.name.clone(),
    };
    list(&mut text, "Failing before this run, and still", &old.iter().map(shown).collect::<Vec<_>>());
    list(&mut text, "Failing since this run", &new.iter().map(shown).collect::<Vec<_>>());
    list(&mut text, "Flaky: failed, then passed", &run.flaky.iter().cloned().collect::<Vec<_>>());
    text
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = write!(text, "\n{title}:\n\n");
        text.extend(items.iter().map(|item| format!("- {item}\n")));
    }
}

fn coverage_table(facts: &PullRequestFacts<'_>) -> String {
    let Some(coverage) = facts.coverage else {
        let why = facts.unmeasured.map(|why| format!(": {why}")).unwrap_or_default();
        return format!("Not measured{why}.\n");
    };
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

/// The signed record itself, so that a reader of the pull request can check it.
fn proof(facts: &PullRequestFacts<'_>) -> String {
    let title = "\n## Proof\n\n";
    let Some(signed) = facts.proof else {
        let why = facts.unsigned.map(|why| format!("{title}Not signed: {why}.\n"));
        return why.unwrap_or_default();
    };
    let record = &signed.record;
    let gates: Vec<String> = record.gates.iter().map(|gate| format!("`{}`", gate.command)).collect();
    format!(
        "{title}Commit {} passed {} on a clean checkout, signed at {}. `git paw proof check FILE` checks the record:\n\n\
         ```json\n{}\n```\n",
        short_commit(&record.commit),
        gates.join(", "),
        record.at,
        serde_json::to_string_pretty(signed).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use paw_host::process::Exit;

    use super::*;
    use crate::engine::RunEvent;
    use crate::engine::machine::tests::{begun, committed, red};
    use crate::evidence::green::tests::sample_proof;
    use crate::runners::TestVerdict;

    #[test]
    fn pull_request_body_lists_subtasks_tests_and_coverage() {
        let mut run = begun(2);
        run.step(red()).unwrap();
        run.step(RunEvent::GreenJudged(Ok(sample_proof()))).unwrap();
        run.step(committed("a1b2c3d4e5f6a7b8")).unwrap();
        let coverage =
            CoveragePercents { lines: Some(85.3), branches: None, functions: None, statements: None };
        let facts = PullRequestFacts { coverage: Some(&coverage), ..PullRequestFacts::default() };
        insta::assert_snapshot!(body(&run, &facts, None), @"
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
            body(&run, &PullRequestFacts::default(), Some("# {title}\n{coverage}")),
            format!("# {}\nNot measured.", title(&run))
        );
    }

    #[test]
    fn pull_request_body_tells_old_failures_from_new_ones_and_names_what_was_allowed() {
        let failed = |name: &str, why: &str| TestCase::new(name, TestOutcome::Failed).because(why);
        let old = failed("test_old", "E   assert 1 == 2");
        let baseline = TestReport { cases: vec![old.clone()], ..TestReport::default() };
        let report = TestReport { cases: vec![old, failed("test_new", "")], ..TestReport::default() };
        let suite = TestRun {
            command: "pytest".into(),
            exit: Exit::Code(1),
            duration: Duration::ZERO,
            report,
            verdict: TestVerdict::Failures,
            flaky: ["test_net".to_owned()].into(),
            output: String::new(),
        };
        let facts = PullRequestFacts {
            suite: Some(&suite),
            baseline: Some(&baseline),
            unmeasured: Some("coverage.py is not installed"),
            allowed: &["--force=dirty: started with uncommitted changes: a.py".to_owned()],
            ..PullRequestFacts::default()
        };
        insta::assert_snapshot!(body(&begun(1), &facts, None), @"
        ## Subtasks

        - [ ] 42.1: Part 1 (not done)

        ## Tests

        0 passed, 2 failed, 0 skipped.

        Failing before this run, and still:

        - test_old: assert 1 == 2

        Failing since this run:

        - test_new

        Flaky: failed, then passed:

        - test_net

        ## Coverage

        Not measured: coverage.py is not installed.

        ## Allowed by --force or configuration

        - --force=dirty: started with uncommitted changes: a.py
        ");
    }
}
