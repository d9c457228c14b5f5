//! Agents as the user names them: `feat/api`, `feat/api=codex`, `feat/api@big`, or a row of a file for `--agents`.

use std::path::{Path, PathBuf};

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport, HostName, PawError, text};
use serde::Deserialize;

/// A branch with what the user said about its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedAgent {
    pub branch: BranchName,
    pub cli: Option<String>,
    /// The machine it should run on, if it is another one.
    pub host: Option<HostName>,
    pub task: AgentTask,
}

/// Where the task of an agent comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AgentTask {
    #[default]
    None,
    Text(String),
    File(PathBuf),
}

impl NamedAgent {
    /// Parses `BRANCH`, `BRANCH=CLI`, `BRANCH@HOST` or `BRANCH=CLI@HOST`. A branch may contain `=` and `@`, so the text is split
    /// at the last one, and only if a known CLI or host follows it. A rest with `=` or `@` has to be one of the existing
    /// `branches`: a new branch with such a name is most likely a typing mistake in the CLI or host.
    pub fn parse(
        text: &str,
        is_cli: impl Fn(&str) -> bool,
        is_host: impl Fn(&str) -> bool,
        branches: &[BranchName],
    ) -> Result<Self, PawError> {
        let (text, host) = split_host(text, is_host)?;
        let (branch, cli) = match text.rsplit_once('=') {
            Some((branch, cli)) if is_cli(cli) => (branch, Some(cli.to_owned())),
            _ => (text, None),
        };
        let branch = BranchName::new(branch)?;
        if let (Some((_, unknown)), None, false) = (text.rsplit_once('@'), &host, branches.contains(&branch))
        {
            return Err(UnknownHostError { text: text.to_owned(), host: unknown.to_owned() }.into());
        }
        match text.rsplit_once('=') {
            Some((_, unknown)) if cli.is_none() && !branches.contains(&branch) => {
                let (text, cli) = (text.to_owned(), unknown.to_owned());
                Err(UnknownCliError { text, cli }.into())
            }
            _ => Ok(Self { branch, cli, host, task: AgentTask::None }),
        }
    }
}

/// Splits `NAME@HOST` at the last `@`, if a known host follows it.
pub fn split_host(text: &str, is_host: impl Fn(&str) -> bool) -> Result<(&str, Option<HostName>), PawError> {
    let text = text.trim();
    match text.rsplit_once('@') {
        Some((name, host)) if is_host(host) => Ok((name, Some(HostName::new(host)?))),
        _ => Ok((text, None)),
    }
}

/// `BRANCH=CLI` with a CLI that does not exist.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{}' in '{}' is neither a known CLI nor a program on PATH",
    text::line(.cli),
    text::line(.text)
)]
struct UnknownCliError {
    text: String,
    cli: String,
}

impl Diagnostic for UnknownCliError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, self)
            .hint("list the CLIs with 'git paw list-clis', or register one with 'git paw add-cli'")
            .hint(format!("if '=' is part of the branch's name, write '{}=CLI'", text::line(&self.text)))
    }
}

/// `BRANCH@HOST` with a host that is not registered.
#[derive(Debug, thiserror::Error)]
#[error("there is no host '{}' for '{}'", text::line(.host), text::line(.text))]
struct UnknownHostError {
    text: String,
    host: String,
}

impl Diagnostic for UnknownHostError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, self)
            .hint("list the hosts with 'git paw host list', or add one with 'git paw host add'")
            .hint("if '@' is part of the branch's name, create the branch with git first")
    }
}

/// Why a file for `--agents` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentsFileError {
    #[error("cannot read {}: {problem}", file.display())]
    Malformed { file: PathBuf, problem: String },
    #[error("{} has no [[agent]]", file.display())]
    Empty { file: PathBuf },
    #[error("agent '{branch}' in {} has both a prompt and a prompt_file", file.display())]
    TwoPrompts { file: PathBuf, branch: String },
}

impl Diagnostic for AgentsFileError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, self).hint(
            "write one [[agent]] per branch, with branch, and optionally cli, host and prompt or prompt_file",
        )
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentsFile {
    #[serde(default)]
    agent: Vec<AgentRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentRow {
    branch: String,
    cli: Option<String>,
    host: Option<String>,
    prompt: Option<String>,
    prompt_file: Option<PathBuf>,
}

/// Parses a file for `--agents`. A `prompt_file` is relative to the directory of the file.
pub fn parse_agents_file(text: &str, file: &Path) -> Result<Vec<NamedAgent>, PawError> {
    let malformed = |error: toml::de::Error| AgentsFileError::Malformed {
        file: file.to_owned(),
        problem: error.to_string().trim_end().to_owned(),
    };
    let rows = toml::from_str::<AgentsFile>(text).map_err(malformed)?.agent;
    if rows.is_empty() {
        return Err(AgentsFileError::Empty { file: file.to_owned() }.into());
    }
    let named = |row: AgentRow| {
        let task = match (row.prompt, row.prompt_file) {
            (None, None) => AgentTask::None,
            (Some(text), None) => AgentTask::Text(text),
            (None, Some(path)) => AgentTask::File(file.parent().unwrap_or(Path::new("")).join(path)),
            (Some(_), Some(_)) => {
                return Err(AgentsFileError::TwoPrompts { file: file.to_owned(), branch: row.branch }.into());
            }
        };
        let host = row.host.map(HostName::new).transpose()?;
        Ok(NamedAgent { branch: BranchName::new(row.branch)?, cli: row.cli, host, task })
    };
    rows.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_cli(name: &str) -> bool {
        ["claude", "codex"].contains(&name)
    }

    fn is_host(name: &str) -> bool {
        name == "big"
    }

    fn existing() -> [BranchName; 2] {
        ["old=name", "a@big@other"].map(|name| BranchName::new(name).unwrap())
    }

    #[test]
    fn a_branch_is_split_only_before_a_known_cli_or_host() {
        for (text, branch, cli, host) in [
            ("feat/api", "feat/api", None, None),
            (" feat/api=codex ", "feat/api", Some("codex"), None),
            ("a=b=claude", "a=b", Some("claude"), None),
            ("old=name", "old=name", None, None),
            ("feat/api@big", "feat/api", None, Some("big")),
            ("feat/api=codex@big", "feat/api", Some("codex"), Some("big")),
            ("a@big@other", "a@big@other", None, None),
            ("a@big@big", "a@big", None, Some("big")),
        ] {
            let named = NamedAgent::parse(text, is_cli, is_host, &existing()).unwrap();
            let found = (named.cli.as_deref(), named.host.as_ref().map(HostName::as_str));
            assert_eq!((named.branch.as_str(), found), (branch, (cli, host)), "{text}");
        }
        assert!(NamedAgent::parse("=codex", is_cli, is_host, &[]).is_err());
        assert!(NamedAgent::parse("@big", is_cli, is_host, &[]).is_err());
    }

    #[test]
    fn a_new_branch_with_an_unknown_host_is_refused() {
        for text in ["feat/api@bgi", "feat/api=codex@bgi", "a@big@bgi", "feat/api@"] {
            let error = NamedAgent::parse(text, is_cli, is_host, &existing()).unwrap_err();
            assert!(error.to_string().starts_with("there is no host '"), "{text}: {error}");
        }
    }

    #[test]
    fn a_branch_with_an_unknown_cli_is_refused_with_the_way_to_write_such_a_branch() {
        for text in ["feat/api=cluade", "codex=fast", "feat/api=", "old=name=x"] {
            let error = NamedAgent::parse(text, is_cli, is_host, &existing()).unwrap_err().report();
            let unknown = text.rsplit_once('=').unwrap().1;
            let message = format!("'{unknown}' in '{text}' is neither a known CLI nor a program on PATH");
            assert_eq!(error.message, message);
            assert!(error.hints[1].contains(&format!("'{text}=CLI'")), "{error}");
        }
    }

    #[test]
    fn an_agents_file_gives_each_branch_its_cli_and_task() {
        let text = "[[agent]]\nbranch = 'feat/a'\ncli = 'codex'\nprompt = 'do a'\n\
                    [[agent]]\nbranch = 'feat/b'\nprompt_file = 'b.md'\n[[agent]]\nbranch = 'c'\n";
        let agents = parse_agents_file(text, Path::new("/r/tasks/agents.toml")).unwrap();
        let tasks: Vec<_> = agents.iter().map(|agent| agent.task.clone()).collect();
        assert_eq!(
            tasks,
            [AgentTask::Text("do a".into()), AgentTask::File("/r/tasks/b.md".into()), AgentTask::None]
        );
        assert_eq!(agents[0].cli.as_deref(), Some("codex"));
    }

    #[test]
    fn an_agents_file_with_a_mistake_is_refused_with_its_place() {
        for (text, problem) in [
            ("", "has no [[agent]]"),
            ("[[agent]]\nbranch = 'a'\nclii = 'x'\n", "unknown field `clii`"),
            ("[[agent]]\ncli = 'x'\n", "missing field `branch`"),
            ("[[agent]]\nbranch = 'a'\nprompt = 'x'\nprompt_file = 'y'\n", "both a prompt and a prompt_file"),
            ("[[agent]]\nbranch = '-x'\n", "-x"),
        ] {
            let error = parse_agents_file(text, Path::new("agents.toml")).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_named_agent_keeps_every_character_of_what_was_typed(text in "[a-z=/]{1,12}") {
            if let Ok(named) = NamedAgent::parse(&text, is_cli, is_host, &[]) {
                let again = named.cli.map_or(named.branch.to_string(), |cli| format!("{}={cli}", named.branch));
                prop_assert_eq!(again, text);
            }
        }
    }
}
