//! `bun test`.

use super::call::{Call, Said};
use super::junit::{self, Dialect};
use super::last_words::last_words;
use super::report::Report;
use super::{Adapter, Selection, files_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bun;

impl Adapter for Bun {
    fn name(&self) -> String {
        "bun test".into()
    }

    fn call(&self, which: &Selection) -> Call {
        let call = Call::new("bun").args(["test", "--reporter=junit"]).report_arg("--reporter-outfile=");
        match which {
            Selection::All => call,
            Selection::Files(files) => call.args(files),
            Selection::Tests(cases) => call.args(files_of(cases)),
        }
    }

    fn read(&self, said: &Said) -> Report {
        if said.report.is_some() { junit::read(said, &DIALECT) } else { last_words(said) }
    }
}

const DIALECT: Dialect = Dialect {
    is_load_error: |_| true,
    name: |case| {
        let attribute = |name: &str| case.attribute(name).filter(|value| !value.is_empty());
        let parts = [attribute("file"), attribute("classname"), attribute("name")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" > ")
    },
    file: |case| case.attribute("file").map(str::to_owned),
};

#[cfg(test)]
mod tests {
    use super::super::report::Outcome;
    use super::*;

    #[test]
    fn a_report_is_read_with_its_files() {
        let report = r#"<?xml version="1.0" encoding="UTF-8"?><testsuites name="bun test" tests="2" failures="1">
            <testsuite name="math.test.ts" file="math.test.ts"><testsuite name="sum" file="math.test.ts">
            <testcase name="adds" classname="sum" time="0.1" file="math.test.ts" line="4" assertions="1" />
            <testcase name="fails" classname="sum" time="0.1" file="math.test.ts"><failure type="AssertionError" /></testcase>
            </testsuite></testsuite></testsuites>"#;
        let read = Bun.read(&Said::with(1).report(report));
        assert_eq!(read.outcome_of("math.test.ts > sum > adds"), Some(Outcome::Passed));
        assert_eq!(read.outcome_of("math.test.ts > sum > fails"), Some(Outcome::Failed));
    }
}
