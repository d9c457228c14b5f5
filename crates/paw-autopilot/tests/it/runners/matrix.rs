//! Small projects that cover everything a suite can do, and the expected report of each.
//!
//! `fixtures/projects/<runner>.txt` contains the projects, `fixtures/reports/<runner>.txt` the expected reports, and
//! `fixtures/reports/<runner>-<version>/` the output of real runners and what each failure says. With
//! `PAW_RECORD=<version>` live tests rewrite the reports, and recorded tests the texts of failures.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use paw_autopilot::runners::detect::{detect, load_facts};
use paw_autopilot::runners::failure_text::what_failed;
use paw_autopilot::runners::run::run;
use paw_autopilot::runners::verdict::judge;
use paw_autopilot::runners::{
    BuildProblem, RunnerCommand, RunnerOutput, TestReport, TestRunner, TestSelection,
};
use paw_host::process::Exit;
use paw_testkit::Sandbox;
use serde_json::{Value, json};

use super::{LIMITS, search_path, told};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures")
}

/// One project: its name and its files.
struct Project {
    name: String,
    files: Vec<(String, String)>,
}

/// All projects of a runner. Files of the project `every` belong to all others.
fn projects(runner: &str) -> Vec<Project> {
    let text = fs::read_to_string(fixtures().join(format!("projects/{runner}.txt"))).unwrap();
    let mut projects: Vec<Project> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            projects.push(Project { name: name.to_owned(), files: Vec::new() });
        } else if let Some(file) = line.strip_prefix("--- ") {
            projects.last_mut().unwrap().files.push((file.to_owned(), String::new()));
        } else {
            let (_, text) = projects.last_mut().unwrap().files.last_mut().unwrap();
            text.push_str(line);
            text.push('\n');
        }
    }
    let every = projects.remove(0);
    assert_eq!(every.name, "every");
    for project in &mut projects {
        let own = |file: &&(String, String)| !project.files.iter().any(|(name, _)| *name == file.0);
        let common: Vec<_> = every.files.iter().filter(own).cloned().collect();
        project.files.extend(common);
    }
    projects
}

fn write(project: &Project, sandbox: &Sandbox) -> PathBuf {
    for (name, text) in &project.files {
        sandbox.write(&format!("app/{name}"), text);
    }
    sandbox.root().join("app")
}

fn expected(runner: &str) -> PathBuf {
    fixtures().join(format!("reports/{runner}.txt"))
}

/// The parsed reports of some projects as one text.
fn table<'a>(
    projects: impl IntoIterator<Item = &'a Project>,
    mut understand: impl FnMut(&Project) -> String,
) -> String {
    let told = |project: &Project| format!("=== {}\n{}\n", project.name, understand(project));
    projects.into_iter().map(told).collect()
}

/// The expected reports of the same projects.
fn expected_of<'a>(runner: &str, projects: impl IntoIterator<Item = &'a Project>) -> String {
    let text = fs::read_to_string(expected(runner)).unwrap();
    let all: BTreeMap<&str, &str> =
        text.split("=== ").filter_map(|part| part.trim_end().split_once('\n')).collect();
    table(projects, |project| all[project.name.as_str()].to_owned())
}

/// Projects that always run with the real runner, which is slow. The others use recordings.
const EVERY_TIME: [&str; 7] =
    ["failure", "missing module", "missing name", "syntax", "none", "skipped", "mixed"];

/// Runs projects with the real runner, which `prepare` makes available.
pub(super) fn check_live(runner: &str, prepare: impl Fn(&Path)) {
    let record = std::env::var("PAW_RECORD").ok().map(|version| format!("reports/{runner}-{version}"));
    let mut projects = projects(runner);
    projects.retain(|project| record.is_some() || EVERY_TIME.contains(&project.name.as_str()));
    let snapshot = table(&projects, |project| {
        let sandbox = Sandbox::new();
        let root = write(project, &sandbox);
        prepare(&root);
        let detected = detect(&load_facts(&root, &search_path(), Some(runner)), &root, Some(runner)).unwrap();
        let file = record.as_ref().map(|place| fixtures().join(place).join(format!("{}.json", project.name)));
        let adapter = Recorder { adapter: detected.adapter, file };
        let ran = run(None, &adapter, &root, &TestSelection::All, LIMITS).unwrap();
        told(ran.verdict, &ran.report)
    });
    if record.is_some() {
        fs::write(expected(runner), &snapshot).unwrap();
    }
    assert_same(&expected_of(runner, &projects), &snapshot);
}

/// Parses the recorded output of real runners: the results, and what each failure says.
pub(super) fn check_recorded(runner: &str, version: &str) {
    let place = fixtures().join(format!("reports/{runner}-{version}"));
    let projects = projects(runner);
    let mut texts = String::new();
    let snapshot = table(&projects, |project| {
        let sandbox = Sandbox::new();
        let root = write(project, &sandbox);
        let text = fs::read_to_string(place.join(format!("{}.json", project.name))).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        let words =
            |key: &str| record[key].as_str().map(|text| text.replace("/app", &root.display().to_string()));
        let run_output = RunnerOutput {
            exit: Exit::Code(record["exit"].as_i64().unwrap().try_into().unwrap()),
            stdout: words("stdout").unwrap(),
            stderr: words("stderr").unwrap(),
            report: words("report"),
            replaced: false,
            root: root.clone(),
        };
        let adapter =
            detect(&load_facts(&root, &search_path(), Some(runner)), &root, Some(runner)).unwrap().adapter;
        let report = adapter.read(&run_output);
        texts.push_str(&failure_texts(&project.name, &report).replace(&root.display().to_string(), "/app"));
        told(judge(run_output.exit, &report, adapter.none_ran_code()), &report)
    });
    assert_same(&expected_of(runner, &projects), &snapshot);
    let expected = place.join("failures.txt");
    if std::env::var_os("PAW_RECORD").is_some() {
        fs::write(&expected, &texts).unwrap();
    }
    assert_same(&fs::read_to_string(expected).unwrap(), &texts);
}

/// One line per failure: the project, the test, and what failed.
fn failure_texts(project: &str, report: &TestReport) -> String {
    let failed = report.failed().map(|case| (case.name.as_str(), case.error()));
    let broken = report.broken.iter().map(|broken| ("(not loaded)", what_failed(&broken.message)));
    let mut text = String::new();
    text.extend(
        failed
            .chain(broken)
            .map(|(name, error)| format!("{project} | {name} | {}\n", error.unwrap_or_default())),
    );
    text
}

fn assert_same(expected: &str, snapshot: &str) {
    assert!(expected == snapshot, "expected:\n{expected}\nseen:\n{snapshot}");
}

/// Replaces machine-specific paths.
fn anonymous(text: &str, root: &Path) -> String {
    let runners = std::env::var("PAW_RUNNERS").unwrap_or_default();
    let modules = fs::canonicalize(Path::new(&runners).join("node_modules")).unwrap_or_default();
    let home = std::env::var("HOME").unwrap_or_default();
    let places = [
        (root.display().to_string(), "/app"),
        (modules.display().to_string(), "/runners/node_modules"),
        (runners, "/runners"),
        (home, "/home/dev"),
    ];
    let known = places.iter().filter(|(place, _)| place.len() > 1);
    known.fold(text.to_owned(), |text, (place, name)| text.replace(place, name))
}

/// Records the output of a runner.
#[derive(Debug)]
struct Recorder {
    adapter: Box<dyn TestRunner>,
    file: Option<PathBuf>,
}

impl TestRunner for Recorder {
    fn name(&self) -> String {
        self.adapter.name()
    }

    fn build(&self) -> Option<RunnerCommand> {
        self.adapter.build()
    }

    fn parse_build(&self, run_output: &RunnerOutput) -> Vec<BuildProblem> {
        self.adapter.parse_build(run_output)
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        self.adapter.call(which)
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        if let Some(file) = &self.file {
            let words = |text: &str| anonymous(text, &run_output.root);
            let Exit::Code(exit) = run_output.exit else { panic!("{:?}", run_output.exit) };
            let record = json!({"exit": exit, "stdout": words(&run_output.stdout), "stderr": words(&run_output.stderr),
                "report": run_output.report.as_deref().map(words)});
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, serde_json::to_string_pretty(&record).unwrap() + "\n").unwrap();
        }
        self.adapter.read(run_output)
    }

    fn none_ran_code(&self) -> Option<i32> {
        self.adapter.none_ran_code()
    }
}
