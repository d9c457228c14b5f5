//! `git-paw` on another machine, over ssh.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport, HostName, text};
use paw_host::process::{Command, Exit, shell_quote};
use paw_host::ssh::{SshError, SshTarget};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::PATHS;

/// A start creates a worktree and waits for tmux.
const LIMIT: Duration = Duration::from_mins(5);

/// ssh often passes no locale on, and a tmux server without one shows no Unicode.
const LOCALE: &str = r#"LANG="${LANG:-C.UTF-8}""#;

/// A command on another machine failed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error(transparent)]
    Ssh(#[from] SshError),
    #[error("on {host}: {message}")]
    Refused { host: HostName, message: String, hints: Vec<String> },
    #[error("{host} gave an answer that this version does not understand: {answer}")]
    Answer { host: HostName, answer: String },
}

impl Diagnostic for RemoteError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Ssh(error) => error.report(),
            Self::Refused { hints, .. } => {
                ErrorReport::new(ErrorCode::FailedPrecondition, self).with_hints(hints.clone())
            }
            Self::Answer { host, .. } => ErrorReport::new(ErrorCode::FailedPrecondition, self)
                .hint(format!("'git paw host doctor {host}' compares the versions")),
        }
    }
}

/// The hub asks for a clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrepareRequest {
    /// Who asks, see [`crate::link::hub_identity`].
    #[serde(default)]
    pub hub: String,
    /// The directory of the clone, below the directory of all clones.
    pub repository: String,
    pub main: BranchName,
    /// The author of commits, where the host knows none.
    pub user_name: Option<String>,
    pub user_email: Option<String>,
}

/// The clone, and the key of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedHost {
    pub path: PathBuf,
    pub key: String,
    /// The stream of the session that is there already.
    pub stream: Option<String>,
    pub has_session: bool,
    /// The branches of its agents.
    #[serde(default)]
    pub agents: Vec<BranchName>,
}

/// A machine of a session, as the hub sees it.
#[derive(Debug, Clone)]
pub struct RemoteHost {
    pub name: HostName,
    pub target: SshTarget,
    /// The clone there, once it is known.
    pub path: Option<PathBuf>,
    /// Who asks, see [`crate::link::hub_identity`]. The machine refuses a copy of its hub.
    pub hub: String,
}

impl RemoteHost {
    /// Runs git-paw there, in the clone if there is one, and returns what it prints.
    pub fn run(&self, args: &[&str], input: Vec<u8>) -> Result<Vec<u8>, RemoteError> {
        let output = self.target.capture(&self.script(args), input, LIMIT)?;
        match output.exit {
            Exit::Code(0) => Ok(output.stdout),
            exit => Err(self.refused(&output.stdout, &output.stderr, exit)),
        }
    }

    /// Like [`Self::run`], with JSON in both directions.
    pub fn ask<T: DeserializeOwned>(
        &self,
        args: &[&str],
        request: &impl Serialize,
    ) -> Result<T, RemoteError> {
        self.ask_with(args, serde_json::to_vec(request).unwrap_or_default())
    }

    /// Like [`Self::ask`], with any input.
    pub fn ask_with<T: DeserializeOwned>(&self, args: &[&str], input: Vec<u8>) -> Result<T, RemoteError> {
        let output = self.run(args, input)?;
        let output = String::from_utf8_lossy(&output);
        find_answer(&output).ok_or_else(|| {
            let answer = text::output_line(&text::line(output.trim()));
            RemoteError::Answer { host: self.name.clone(), answer }
        })
    }

    /// The shell command there that receives what is pushed.
    pub(crate) fn receiver(&self) -> String {
        self.script(&["__host", "receive"])
    }

    /// git-paw there, with a terminal of its own or without.
    pub fn command(&self, args: &[&str], with_terminal: bool) -> Command {
        let script = self.script(args);
        if with_terminal { self.target.interactive(&script) } else { self.target.plain(&script) }
    }

    fn script(&self, args: &[&str]) -> String {
        script(self.path.as_deref(), &self.hub, args)
    }

    /// With `--json`, the error is the document that was printed.
    fn refused(&self, stdout: &[u8], stderr: &[u8], exit: Exit) -> RemoteError {
        let stderr = String::from_utf8_lossy(stderr);
        let last = || stderr.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
        let printed = find_document(stdout)
            .or_else(|| ErrorReport::find_printed(&stderr))
            .unwrap_or_else(|| (last().unwrap_or_else(|| format!("git-paw {exit}")), Vec::new()));
        self.refusal(printed)
    }

    /// The refusal with a message and hints that were printed there.
    pub(crate) fn refusal(&self, (message, hints): (String, Vec<String>)) -> RemoteError {
        let hints = hints.iter().map(|hint| text::output_line(hint)).collect();
        RemoteError::Refused { host: self.name.clone(), message: text::output_line(&message), hints }
    }
}

/// How far a document may be from the beginning, and how many lines before it may look like its beginning: each costs a copy.
const LONGEST_GREETING: usize = 64 << 10;
const MOST_BEGINNINGS: usize = 32;

/// The document in what a machine printed. A login script may print something first.
fn find_answer<T: DeserializeOwned>(output: &str) -> Option<T> {
    let is_first = |start: usize| start == 0 || output.as_bytes()[start - 1] == b'\n';
    let starts = output.match_indices(['{', '[']).map(|(start, _)| start).filter(|start| is_first(*start));
    let starts = starts.take_while(|start| *start < LONGEST_GREETING).take(MOST_BEGINNINGS);
    starts.into_iter().find_map(|start| serde_json::from_str(&text::line(output[start..].trim())).ok())
}

/// The error in a document of `--json`: its message and its hints.
fn find_document(stdout: &[u8]) -> Option<(String, Vec<String>)> {
    let start = stdout.iter().position(|byte| *byte == b'{')?;
    let document: Value = serde_json::from_slice(&stdout[start..]).ok()?;
    let message = document["error"]["message"].as_str()?.to_owned();
    let hints = document["error"]["hints"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Some((message, hints.map(str::to_owned).collect()))
}

/// A shell command that runs git-paw for a hub. The shell there may be any, so `sh` reads it.
pub(crate) fn script(dir: Option<&Path>, hub: &str, args: &[&str]) -> String {
    let quoted = |text: &OsStr| shell_quote(text);
    let enter = dir.map(|dir| format!("cd {} && ", quoted(dir.as_os_str()))).unwrap_or_default();
    let args = ["--hub", hub].iter().chain(args).map(|arg| quoted(OsStr::new(arg))).collect::<Vec<_>>();
    let script = format!("{PATHS}; {LOCALE}; export PATH LANG; {enter}exec git-paw {}", args.join(" "));
    format!("sh -c {}", quoted(OsStr::new(&script)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> RemoteHost {
        let (name, target) = (HostName::new("big").unwrap(), "big".parse().unwrap());
        RemoteHost { name, target, path: None, hub: "a:/app".to_owned() }
    }

    #[test]
    fn the_error_of_the_other_machine_is_shown_with_its_hints() {
        let printed = ErrorReport::new(ErrorCode::NotFound, "CLI 'codex' not found").hint("install it");
        let stderr = format!("warning: x\nerror: {printed}\n");
        let document = format!("Welcome!\n{}\n", printed.document());
        for (stdout, stderr) in [("", stderr.as_str()), (&document, "")] {
            let error = host().refused(stdout.as_bytes(), stderr.as_bytes(), Exit::Code(1));
            assert_eq!(error.to_string(), "on big: CLI 'codex' not found");
            assert_eq!(error.report().hints, ["install it"]);
        }
        assert_eq!(
            host().refused(b"", b"sh: git-paw: not found\n", Exit::Code(127)).to_string(),
            "on big: sh: git-paw: not found"
        );
    }

    #[test]
    fn an_answer_is_found_behind_what_a_login_script_prints() {
        let rows: Option<Vec<Value>> =
            find_answer("Welcome [to] {big}\n[motd]\n[\n  {\n    \"agent\": \"a\"\n  }\n]\n");
        assert_eq!(rows.unwrap()[0]["agent"], "a");
        let one: Option<Value> = find_answer("{\"agent\": \"b\"}");
        assert_eq!(one.unwrap()["agent"], "b");
        assert_eq!(find_answer::<Vec<Value>>("git-paw 0.0.1\n"), None);
    }

    #[test]
    fn an_answer_of_many_beginnings_is_read_only_so_often() {
        let greeting = "[motd]\n".repeat(MOST_BEGINNINGS - 1);
        assert_eq!(find_answer::<Value>(&format!("{greeting}{{}}\n")), Some(serde_json::json!({})));
        assert_eq!(find_answer::<Value>(&format!("{greeting}[\n{{}}\n")), None);
        // Trying every line would take hours.
        assert_eq!(find_answer::<Value>(&"[\n".repeat(1 << 19)), None);
    }

    #[test]
    fn arguments_reach_the_program_as_they_are() {
        let text = script(Some(Path::new("/tmp")), "a:/b c", &["say", "it's $HOME; \"x\" `y`\n\\z"]);
        let fake = text.replace("exec git-paw", "exec printf %s\\|");
        let output = Command::new("bash").args(["-c", &fake]).capture().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "--hub|a:/b c|say|it's $HOME; \"x\" `y`\n\\z|");
    }
}
