//! Real test runners in fixture projects. A runner that is not installed is skipped by name.

mod cargo;
mod coverage;
mod detection;
mod go;
mod javascript;
mod limits;
mod matrix;
mod node;
mod python;
mod recorded;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_autopilot::evidence::error_cause::classify_error;
use paw_autopilot::runners::detect::{detect, load_facts};
use paw_autopilot::runners::run::run;
use paw_autopilot::runners::{TestLimits, TestReport, TestRun, TestSelection, TestVerdict};
use paw_testkit::Sandbox;

const LIMITS: TestLimits = TestLimits { time: Duration::from_mins(4), output: 16 << 20 };

fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

fn project(sandbox: &Sandbox, files: &[(&str, &str)]) -> PathBuf {
    for (name, text) in files {
        sandbox.write(&format!("app/{name}"), text);
    }
    sandbox.root().join("app")
}

fn run_in(root: &Path, requested: Option<&str>, which: &TestSelection) -> TestRun {
    let detected = detect(&load_facts(root, &search_path(), requested), root, requested).unwrap();
    run(None, detected.adapter.as_ref(), root, which, LIMITS).unwrap()
}

fn all(root: &Path, requested: Option<&str>) -> TestRun {
    run_in(root, requested, &TestSelection::All)
}

/// All entries of a report, sorted, one per line.
fn shown(run: &TestRun) -> String {
    told(run.verdict, &run.report)
}

fn told(verdict: TestVerdict, report: &TestReport) -> String {
    let mut lines: Vec<String> =
        report.cases.iter().map(|case| format!("{:?} {}", case.outcome, case.name)).collect();
    lines.extend(report.broken.iter().map(|broken| {
        let mut places: Vec<_> = broken.places.iter().map(|place| place.file.display().to_string()).collect();
        places.dedup();
        format!("Broken {:?} {}", classify_error(&broken.message), places.join(" ")).trim_end().to_owned()
    }));
    lines.sort();
    lines.insert(0, format!("{verdict:?}"));
    lines.join("\n")
}

fn has(program: &str, args: &[&str]) -> bool {
    let found =
        std::process::Command::new(program).args(args).output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: this machine has no {program} {}", args.join(" "));
    }
    found
}

/// The directory of a runner that `scripts/test` installed.
fn installed(runner: &str, place: &str) -> Option<PathBuf> {
    let place = std::env::var_os("PAW_RUNNERS").map(|runners| Path::new(&runners).join(place));
    let has = |place: &PathBuf| place.join(runner).exists() || place.join("bin").join(runner).exists();
    let found = place.filter(has);
    if found.is_none() {
        eprintln!("skipped: {runner} is not installed (scripts/test does it)");
    }
    found
}
