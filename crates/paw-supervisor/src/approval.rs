//! Decides whether a command line may be approved without asking the user.
//!
//! [`judge`] parses the line twice, with tree-sitter's bash grammar (`grammar`) and with a reader for the plain part of the
//! language (`syntax`), and asks the user unless both see the same words. Every simple command then has to be allowed
//! (`judge`): by the usage of a known program (`tools`, `usage`), which lists each option with a reason, or by a user rule
//! (`rules`). Paths have to stay in the worktree and outside of protected names (`path`, `protected`, `file_tree`). Anything
//! else is asked about. Judging resolves symbolic links and asks git which files a command would print (`printed`); it
//! changes nothing.
//!
//! [`judge_supervisor`] judges commands of the supervisor, which works in the main checkout.
//!
//! [`load_rules`] and [`resolve_rules`] find the rules of a repository, [`log`] remembers the verdicts.

mod argument;
mod characters;
mod expansion;
mod file_tree;
mod find;
mod grammar;
mod hub_supervision;
mod judge;
mod launchers;
mod line;
pub mod log;
mod path;
mod printed;
mod protected;
mod repository_rules;
mod rules;
mod scripts;
mod shell;
mod special;
mod supervisor;
mod syntax;
mod test_expression;
mod tools;
mod usage;
mod word;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub use hub_supervision::load_hub_supervision;
pub(crate) use protected::is_private;
pub use repository_rules::{RepositoryRules, find_requested_rules, load_rules, load_rules_in, resolve_rules};
pub use rules::ApprovalRules;
pub use supervisor::judge_supervisor;

use self::judge::Judge;
use self::path::PathAccess;
use self::shell::ShellState;

/// Longer lines are not judged; a user would not read them either.
const LONGEST: usize = 16 * 1024;

/// The verdict about a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalVerdict {
    /// It is safe to run.
    Allow { reason: String },
    /// The user has to decide.
    Ask { reason: String },
}

impl ApprovalVerdict {
    pub fn is_allow(&self) -> bool {
        matches!(self, Self::Allow { .. })
    }

    /// `allow` or `ask`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allow { .. } => "allow",
            Self::Ask { .. } => "ask",
        }
    }

    pub fn reason(&self) -> &str {
        match self {
            Self::Allow { reason } | Self::Ask { reason } => reason,
        }
    }
}

/// The context in which a command would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandContext {
    /// The root of the agent's worktree.
    pub worktree: PathBuf,
    /// The shell's directory: the worktree or a directory in it.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// The branch of the worktree, the only one it may push.
    pub branch: Option<String>,
    /// The default branch, which no agent may push.
    pub trunk: Option<String>,
    /// Whether `git push` without a target pushes the branch to its own name on `origin`.
    pub pushes_own_branch: bool,
    /// Whether the address of a remote contains a password or a token.
    pub has_secret_remote: bool,
    /// The port of the session's running broker, which agents may use.
    pub broker_port: Option<u16>,
    /// The node packages in the lockfile of the default branch.
    pub packages: BTreeSet<String>,
    /// Configured settings files of CLIs, relative to the worktree.
    pub settings: Vec<PathBuf>,
}

impl CommandContext {
    /// A shell at the root of a worktree.
    pub fn at(worktree: impl Into<PathBuf>) -> Self {
        let worktree = worktree.into();
        Self {
            cwd: worktree.clone(),
            worktree,
            home: None,
            branch: None,
            trunk: None,
            pushes_own_branch: false,
            has_secret_remote: false,
            broker_port: None,
            packages: BTreeSet::new(),
            settings: Vec::new(),
        }
    }
}

/// Judges a command line as the agent's shell would receive it.
pub fn judge(command: &str, rules: &ApprovalRules, place: &CommandContext) -> ApprovalVerdict {
    match judge_line(command, rules, place) {
        Ok(reason) => ApprovalVerdict::Allow { reason },
        Err(reason) => ApprovalVerdict::Ask { reason },
    }
}

/// The words of every simple command in a line, if both parsers agree.
pub(crate) fn simple_commands(text: &str) -> Option<Vec<Vec<String>>> {
    let read = line::read(text).ok()?;
    let words = |command: &syntax::SimpleCommand| command.words.iter().map(line::text_of).collect();
    Some(line::simple_commands(&read.nodes).into_iter().map(words).collect())
}

/// Judges an edit of one file by the CLI itself.
pub fn judge_edit(file: &str, rules: &ApprovalRules, place: &CommandContext) -> ApprovalVerdict {
    let weighed = rules.are_on().and_then(|()| {
        characters::check(file)?;
        if !rules.writes {
            return Err("agents may not write files without asking".to_owned());
        }
        ShellState::new(place)?.check_path(file, false, PathAccess::Write)
    });
    match weighed {
        Ok(()) => ApprovalVerdict::Allow { reason: "a file in its own worktree".to_owned() },
        Err(reason) => ApprovalVerdict::Ask { reason },
    }
}

/// Why the line is allowed, or why the user has to decide.
fn judge_line(command: &str, rules: &ApprovalRules, place: &CommandContext) -> Result<String, String> {
    rules.are_on()?;
    if command.len() > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    characters::check(command)?;
    let line = line::read(command)?;
    let mut judge = Judge::new(rules, place, &line.texts)?;
    judge.judge_all(&line.nodes)?;
    let reasons = judge.reasons();
    Ok(if reasons.is_empty() { "harmless here".to_owned() } else { format!("harmless here: {reasons}") })
}
