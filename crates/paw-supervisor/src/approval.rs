//! Whether a command line may be approved without asking a person.
//!
//! [`judge`] reads the line twice, with tree-sitter's grammar of bash (`grammar`) and with a reader of its own that
//! knows only the plain part of the language (`lex`), and asks unless both see the same words. Every simple command of
//! it must then be allowed: by a usage line of a known program (`tools`, `usage`), whose options are listed one by one,
//! or by a rule of the user's (`rules`). Paths must stay in the worktree and off protected places (`path`). What is
//! not understood is asked about. Only the file system's symbolic links are looked up; nothing is run or changed.
//!
//! [`load_rules`] and [`resolve_rules`] find the rules of a repository, [`log`] remembers the verdicts.

mod argument;
mod characters;
mod command;
mod grammar;
mod lex;
mod line;
pub mod log;
mod path;
mod repository_rules;
mod rules;
mod tools;
mod usage;

use std::path::PathBuf;

pub use repository_rules::{RepositoryRules, find_requested_rules, load_rules, load_rules_in, resolve_rules};
pub use rules::ApprovalRules;

use crate::approval::command::ShellState;

/// Longer lines are not read: nobody would read them before saying yes either.
const LONGEST: usize = 16 * 1024;

/// What is to be done with a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalVerdict {
    /// It is harmless here.
    Allow { reason: String },
    /// A person has to look at it.
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

/// Where the command would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandContext {
    /// The root of the agent's worktree.
    pub worktree: PathBuf,
    /// Where the shell is: the worktree or a directory in it.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// The branch of the worktree: the one it may push.
    pub branch: Option<String>,
    /// The port of the session's broker, which agents may talk to.
    pub broker_port: Option<u16>,
    /// Settings files of CLIs beside the usual ones, from the root of the worktree.
    pub settings: Vec<PathBuf>,
}

impl CommandContext {
    /// At the root of a worktree.
    pub fn at(worktree: impl Into<PathBuf>) -> Self {
        let worktree = worktree.into();
        Self {
            cwd: worktree.clone(),
            worktree,
            home: None,
            branch: None,
            broker_port: None,
            settings: Vec::new(),
        }
    }
}

/// Judges one command line as the agent's shell would get it.
pub fn judge(command: &str, rules: &ApprovalRules, place: &CommandContext) -> ApprovalVerdict {
    match judge_line(command, rules, place) {
        Ok(reason) => ApprovalVerdict::Allow { reason },
        Err(reason) => ApprovalVerdict::Ask { reason },
    }
}

/// The words of every simple command in a line, where both readers agree on them.
pub(crate) fn simple_commands(text: &str) -> Option<Vec<Vec<String>>> {
    let commands = line::read(text).ok()?;
    let words = |command: line::SimpleCommand| command.words.into_iter().map(|word| word.text).collect();
    Some(commands.into_iter().map(words).collect())
}

/// Judges a change of one file that the CLI itself would make.
pub fn judge_edit(file: &str, rules: &ApprovalRules, place: &CommandContext) -> ApprovalVerdict {
    let weighed = rules.are_on().and_then(|()| {
        characters::check(file)?;
        if !rules.writes {
            return Err("agents may not write unasked".to_owned());
        }
        ShellState::new(place)?.check_path(file, false)
    });
    match weighed {
        Ok(()) => ApprovalVerdict::Allow { reason: "a file in its own worktree".to_owned() },
        Err(reason) => ApprovalVerdict::Ask { reason },
    }
}

/// Why it is allowed, or why not.
fn judge_line(command: &str, rules: &ApprovalRules, place: &CommandContext) -> Result<String, String> {
    rules.are_on()?;
    if command.len() > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    characters::check(command)?;
    let commands = line::read(command)?;
    let mut shell = ShellState::new(place)?;
    let mut reasons: Vec<String> = Vec::new();
    for command in &commands {
        let reason = command::judge_command(command, rules, &mut shell)?;
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    Ok(format!("harmless here: {}", reasons.join(", ")))
}
