//! `go test`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::call::{Call, Said};
use super::place::places_in;
use super::report::{Broken, Case, Outcome, Report};
use super::{Adapter, Selection};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Go;

impl Adapter for Go {
    fn name(&self) -> String {
        "go test".into()
    }

    fn call(&self, which: &Selection) -> Call {
        let call = Call::new("go").args(["test", "-json"]);
        match which {
            Selection::All => call.args(["./..."]),
            Selection::Files(files) => {
                let mut packages: Vec<String> = files
                    .iter()
                    .map(|file| {
                        file.parent().map_or_else(|| ".".into(), |dir| format!("./{}", dir.display()))
                    })
                    .collect();
                packages.sort();
                packages.dedup();
                call.args(packages)
            }
            Selection::Tests(cases) => {
                let tests = cases.iter().filter_map(|case| case.name.rsplit_once(' ')).map(|(_, test)| test);
                let mut names: Vec<&str> = tests.filter_map(|test| test.split('/').next()).collect();
                names.sort_unstable();
                names.dedup();
                call.args(["-run".to_owned(), format!("^({})$", names.join("|")), "./...".to_owned()])
            }
        }
    }

    fn read(&self, said: &Said) -> Report {
        let records: Vec<Value> =
            said.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut report = Report { cases: cases(&records), ..Report::default() };
        report.broken = broken(&records, said);
        report
    }
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or_default()
}

/// `package TestName/sub`. A test that only holds others is left out: those speak for it.
fn cases(records: &[Value]) -> Vec<Case> {
    let mut said: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let mut ended: Vec<((&str, &str), Outcome)> = Vec::new();
    for record in records.iter().filter(|record| record["Test"].is_string()) {
        let key = (text(record, "Package"), text(record, "Test"));
        match text(record, "Action") {
            "output" => said.entry(key).or_default().push_str(text(record, "Output")),
            "pass" => ended.push((key, Outcome::Passed)),
            "fail" => ended.push((key, Outcome::Failed)),
            "skip" => ended.push((key, Outcome::Skipped)),
            _ => {}
        }
    }
    let holds_others = |(package, test): (&str, &str)| {
        let inside = format!("{test}/");
        ended.iter().any(|((other, name), _)| *other == package && name.starts_with(&inside))
    };
    let leaves = ended.iter().filter(|(key, _)| !holds_others(*key));
    leaves
        .map(|(key, outcome)| {
            let case = Case::new(format!("{} {}", key.0, key.1), *outcome);
            let message = said.get(key).map(String::as_str).unwrap_or_default();
            if *outcome == Outcome::Failed { case.because(message) } else { case }
        })
        .collect()
}

/// A package that fails without a failing test of its own was not built, or fell over before or between its tests.
fn broken(records: &[Value], said: &Said) -> Vec<Broken> {
    let of = |action: &str, key: &str, value: &str| {
        let lines =
            records.iter().filter(|record| text(record, "Action") == action && text(record, key) == value);
        lines.map(|record| text(record, "Output")).collect::<String>()
    };
    let package_failed = |record: &&Value| text(record, "Action") == "fail" && !record["Test"].is_string();
    let has_failing_test = |package: &str| {
        let failed = |record: &Value| text(record, "Action") == "fail" && record["Test"].is_string();
        records.iter().any(|record| failed(record) && text(record, "Package") == package)
    };
    records
        .iter()
        .filter(package_failed)
        .filter(|record| !has_failing_test(text(record, "Package")))
        .map(|record| {
            // Newer versions say what the compiler said in records of its own, older ones on the other stream.
            let mut message = of("build-output", "ImportPath", text(record, "FailedBuild"));
            if message.is_empty() {
                message = format!("{}{}", said.stderr, of("output", "Package", text(record, "Package")));
            }
            let places = places_in(&message, &said.root, |_| false);
            Broken::new(message, places)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Place;
    use super::*;

    fn said(stdout: &str, stderr: &str) -> Said {
        Said::with(1).stdout(stdout).stderr(stderr)
    }

    const STDOUT: &str = r##"{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestSum"}
{"Action":"run","Package":"m/a","Test":"TestSum/two"}
{"Action":"output","Package":"m/a","Test":"TestSum/two","Output":"    a_test.go:9: got 2, want 3\n"}
{"Action":"fail","Package":"m/a","Test":"TestSum/two","Elapsed":0}
{"Action":"pass","Package":"m/a","Test":"TestSum/one","Elapsed":0}
{"Action":"fail","Package":"m/a","Test":"TestSum","Elapsed":0}
{"Action":"skip","Package":"m/a","Test":"TestLater","Elapsed":0}
{"Action":"fail","Package":"m/a","Elapsed":0.01}
{"ImportPath":"m/b [m/b.test]","Action":"build-output","Output":"# m/b [m/b.test]\n"}
{"ImportPath":"m/b [m/b.test]","Action":"build-output","Output":"b/b_test.go:3:11: undefined: y\n"}
{"ImportPath":"m/b [m/b.test]","Action":"build-fail"}
{"Action":"fail","Package":"m/b","Elapsed":0,"FailedBuild":"m/b [m/b.test]"}
"##;

    #[test]
    fn leaves_count_and_packages_that_do_not_build_are_broken() {
        let report = Go.read(&said(STDOUT, ""));
        let cases: Vec<_> = report.cases.iter().map(|case| (case.outcome, case.name.as_str())).collect();
        assert_eq!(
            cases,
            [
                (Outcome::Failed, "m/a TestSum/two"),
                (Outcome::Passed, "m/a TestSum/one"),
                (Outcome::Skipped, "m/a TestLater"),
            ]
        );
        assert_eq!(report.broken.len(), 1);
        assert_eq!(report.broken[0].places, [Place::new("b/b_test.go", Some(3))]);
    }

    #[test]
    fn older_versions_say_on_the_other_stream_what_did_not_build() {
        let stdout = "{\"Action\":\"output\",\"Package\":\"m\",\"Output\":\"FAIL\\tm [build failed]\\n\"}\n{\"Action\":\"fail\",\"Package\":\"m\"}\n";
        let report = Go.read(&said(stdout, "# m [m.test]\n./x_test.go:5:2: undefined: Sum\n"));
        assert_eq!(report.broken[0].places, [Place::new("x_test.go", Some(5))]);
        assert!(report.broken[0].message.contains("undefined: Sum"));
    }

    #[test]
    fn files_are_run_by_their_package_and_tests_by_their_name() {
        let shown = |which| Go.call(&which).command("/".as_ref(), "/".as_ref()).to_string();
        let files = vec!["a/x_test.go".into(), "a/y_test.go".into(), "z_test.go".into()];
        assert_eq!(shown(Selection::Files(files)), "go test -json ./ ./a");
        let tests = vec![Case::new("m/a TestSum/two", Outcome::Failed)];
        assert_eq!(shown(Selection::Tests(tests)), "go test -json -run '^(TestSum)$' ./...");
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in "(\\{\"Action\":\"fail\"|,\"Package\":\"a\"|,\"Test\":\"T\"|,\"Test\":1|\\}\n|\n|x){0,20}") {
            Go.read(&said(&stdout, ""));
        }
    }
}
