//! The command of a test runner, and its output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use paw_host::process::{Command, Exit};

/// Placeholders for the path of the report, of a directory for reports, and of the helper scripts.
const REPORT: &str = "{report}";
const REPORT_DIR: &str = "{reports}";
const SCRIPTS: &str = "{scripts}";

/// A program with its arguments. Directory and environment are the same for every runner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunnerCommand {
    program: String,
    args: Vec<OsString>,
    variables: Vec<(String, String)>,
    /// Helper scripts for the runner: file names and contents.
    scripts: Vec<(&'static str, &'static str)>,
}

impl RunnerCommand {
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds an option with the path of the report: `--outputFile=`.
    #[must_use]
    pub fn report_option(self, option: &str) -> Self {
        self.args([format!("{option}{REPORT}")])
    }

    /// Adds an option with the path of an empty directory for reports.
    #[must_use]
    pub fn report_dir_option(self, option: &str) -> Self {
        self.args([format!("{option}{REPORT_DIR}")])
    }

    /// Adds an option with the path of a helper script.
    #[must_use]
    pub fn script_option(mut self, option: &str, name: &'static str, text: &'static str) -> Self {
        self.scripts.push((name, text));
        self.args([format!("{option}{SCRIPTS}/{name}")])
    }

    /// The same command, started by another program.
    #[must_use]
    pub fn started_by(self, starter: Self) -> Self {
        let args = [starter.args, vec![self.program.into()], self.args].concat();
        Self { program: starter.program, args, ..self }
    }

    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub fn scripts(&self) -> &[(&'static str, &'static str)] {
        &self.scripts
    }

    /// The command to run, with report and script in `place`.
    pub fn command(&self, root: &Path, place: &Path) -> Command {
        let places =
            [(REPORT, report_file(place)), (REPORT_DIR, report_dir(place)), (SCRIPTS, place.to_path_buf())];
        let filled = self.args.iter().map(|arg| {
            let Some(text) = arg.to_str() else { return arg.clone() };
            let fill = |text: String, (name, path): &(&str, PathBuf)| {
                text.replace(name, &path.display().to_string())
            };
            OsString::from(places.iter().fold(text.to_owned(), fill))
        });
        let command = Command::new(&self.program).args(filled).dir(root);
        self.variables.iter().fold(command, |command, (name, value)| command.env(name, value))
    }
}

pub(super) fn report_file(place: &Path) -> PathBuf {
    place.join("report")
}

pub(super) fn report_dir(place: &Path) -> PathBuf {
    place.join("reports")
}

/// The output of a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerOutput {
    pub exit: Exit,
    pub stdout: String,
    pub stderr: String,
    /// The report, if it wrote one. Read while it is written.
    pub report: Option<String>,
    /// Another program put a file in the place of the report.
    pub replaced: bool,
    /// The project's directory, to make paths relative.
    pub root: PathBuf,
}

impl RunnerOutput {
    /// All output, for display.
    pub fn output(&self) -> String {
        let parts = [self.stdout.trim_end(), self.stderr.trim_end()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// A path in a report, relative to the project if inside it.
    pub fn relative(&self, path: &str) -> PathBuf {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let path = Path::new(path);
        path.strip_prefix(&self.root).unwrap_or(path).to_path_buf()
    }

    /// Whether a word in the output is an existing source file: `Node.js` only looks like one.
    pub fn has_source(&self, path: &Path) -> bool {
        const SOURCES: [&str; 9] = ["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "py"];
        let end = path.extension().and_then(|end| end.to_str());
        end.is_some_and(|end| SOURCES.contains(&end)) && self.root.join(path).is_file()
    }
}

#[cfg(test)]
impl RunnerOutput {
    /// Sample output of a runner in `/app`.
    pub(super) fn with(code: i32) -> Self {
        let exit = Exit::Code(code);
        Self {
            exit,
            stdout: String::new(),
            stderr: String::new(),
            report: None,
            replaced: false,
            root: "/app".into(),
        }
    }

    #[must_use]
    pub(super) fn stdout(self, text: &str) -> Self {
        Self { stdout: text.to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn stderr(self, text: &str) -> Self {
        Self { stderr: text.to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn report(self, text: &str) -> Self {
        Self { report: Some(text.to_owned()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runner_command_gets_report_and_script_paths_when_built() {
        let call = RunnerCommand::new("node")
            .args(["--test"])
            .script_option("--reporter=", "r.mjs", "text")
            .report_option("--to=")
            .variable("CI", "1");
        let command = call.command(Path::new("/app"), Path::new("/tmp/x y"));
        assert_eq!(command.to_string(), "node --test '--reporter=/tmp/x y/r.mjs' '--to=/tmp/x y/report'");
        assert_eq!(command.directory(), Some(Path::new("/app")));
    }
}
