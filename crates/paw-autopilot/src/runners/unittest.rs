//! Python's own unittest, for projects without pytest and for bare `test_*.py` files. Run by a script of ours that writes
//! down each test, because unittest itself only prints for people.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::call::{Call, Said};
use super::place::places_in;
use super::report::{Broken, Case, Outcome, Report};
use super::{Adapter, Selection};

const SCRIPT: &str = include_str!("scripts/unittest_report.py");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unittest {
    pub python: PathBuf,
}

impl Adapter for Unittest {
    fn name(&self) -> String {
        "python -m unittest".into()
    }

    fn call(&self, which: &Selection) -> Call {
        let call = Call::new(self.python.display().to_string())
            .script_arg("", "unittest_report.py", SCRIPT)
            .report_arg("")
            .variable("PYTHONDONTWRITEBYTECODE", "1");
        match which {
            // The script looks for them itself: what is there now counts, not what was there when somebody looked.
            Selection::All => call,
            Selection::Files(files) => call.args(files.iter().map(|file| module(file))),
            Selection::Tests(cases) => call.args(cases.iter().map(|case| case.name.clone())),
        }
    }

    fn read(&self, said: &Said) -> Report {
        let Some(text) = &said.report else { return Report::unreadable(said.output()) };
        let mut report = Report::default();
        for record in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let (name, message) = (words(&record, "name"), words(&record, "message"));
            if record["loading"] == true {
                report.broken.push(Broken::new(message, places_in(message, &said.root, |_| false)));
                continue;
            }
            let outcome = match words(&record, "outcome") {
                "passed" => Outcome::Passed,
                "skipped" => Outcome::Skipped,
                _ => Outcome::Failed,
            };
            let file = record["file"].as_str().map(|file| said.relative(file));
            let case = Case::new(name, outcome).in_file(file);
            report.cases.push(if outcome == Outcome::Failed { case.because(message) } else { case });
        }
        report
    }
}

fn words<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or_default()
}

/// `tests/test_a.py` is `tests.test_a`.
fn module(file: &Path) -> String {
    let parts: Vec<_> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.join(".")
}
