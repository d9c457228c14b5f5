//! `bun test`.

use super::call::{Call, Said};
use super::junit::{self, Dialect};
use super::last_words::last_words;
use super::place::{Place, places_in};
use super::report::{Broken, Report};
use super::{Adapter, Selection, files_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bun;

impl Adapter for Bun {
    fn name(&self) -> String {
        "bun test".into()
    }

    fn call(&self, which: &Selection) -> Call {
        let call = Call::new("bun").args(["test", "--reporter=junit"]).report_arg("--reporter-outfile=");
        call.args(files_of(which))
    }

    fn read(&self, said: &Said) -> Report {
        let broken = unloaded(said);
        if said.report.is_some() {
            let report = junit::read(said, &DIALECT);
            return Report { broken: [report.broken, broken].concat(), ..report };
        }
        // Without a single test there is no report.
        if !broken.is_empty() {
            Report::of_broken(broken)
        } else if ["No tests found!", "\nRan 0 tests "].iter().any(|words| said.stderr.contains(words)) {
            Report::nothing_to_run()
        } else {
            last_words(said)
        }
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

/// Files that could not be loaded are in no report; they are told between two rules, below the file's name.
fn unloaded(said: &Said) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut file: Option<Place> = None;
    let mut lines = said.stderr.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_suffix(':').map(|name| said.relative(name)) {
            if said.has_source(&name) {
                file = Some(Place::new(name, None));
            }
        } else if line == "# Unhandled error between tests" {
            let words = lines.by_ref().skip(1).take_while(|line| !is_rule(line));
            let words = words.collect::<Vec<_>>().join("\n");
            let mut places: Vec<Place> = file.clone().into_iter().collect();
            places.extend(places_in(&words, &said.root, |_| false));
            broken.push(Broken::new(words, places));
        }
    }
    broken
}

fn is_rule(line: &str) -> bool {
    line.len() >= 10 && line.bytes().all(|byte| byte == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stderr in "(# Unhandled error between tests\n|-------------------------------\n|a.js:\n|a.js:3:1\n|\n|é){0,12}") {
            Bun.read(&Said::with(1).stderr(&stderr));
        }
    }
}
