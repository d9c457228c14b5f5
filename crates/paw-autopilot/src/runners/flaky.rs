//! Evaluates a rerun of failed tests.

use std::collections::BTreeSet;

use super::report::{TestOutcome, TestReport};

/// Tests that failed and then passed without any change.
pub fn flaky(first: &TestReport, again: &TestReport) -> BTreeSet<String> {
    let passed = |name: &str| again.outcome_of(name) == Some(TestOutcome::Passed);
    first.failed().map(|case| case.name.clone()).filter(|name| passed(name)).collect()
}

/// Merges a rerun into the first report: a flaky test counts as passed and is returned.
pub fn merge_rerun(mut first: TestReport, again: &TestReport) -> (TestReport, BTreeSet<String>) {
    let flaky = flaky(&first, again);
    for case in first.cases.iter_mut().filter(|case| flaky.contains(&case.name)) {
        case.outcome = TestOutcome::Passed;
        case.message = None;
    }
    (first, flaky)
}

#[cfg(test)]
mod tests {
    use super::super::TestCase;
    use super::*;

    fn report(cases: &[(&str, TestOutcome)]) -> TestReport {
        let cases = cases.iter().map(|(name, outcome)| TestCase::new(*name, *outcome)).collect();
        TestReport { cases, ..TestReport::default() }
    }

    #[test]
    fn test_is_flaky_only_if_its_rerun_passes() {
        use TestOutcome::{Failed, Passed, Skipped};
        let first = report(&[("a", Failed), ("b", Failed), ("c", Failed), ("d", Failed), ("e", Passed)]);
        let again = report(&[("a", Passed), ("b", Failed), ("c", Skipped), ("e", Failed)]);
        let (settled, flaky) = merge_rerun(first, &again);
        assert_eq!(flaky.into_iter().collect::<Vec<_>>(), ["a"]);
        assert_eq!(settled.names(Failed), BTreeSet::from(["b", "c", "d"]));
    }
}
