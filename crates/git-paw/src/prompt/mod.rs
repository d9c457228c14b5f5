//! Questions on the terminal.
//!
//! A [`Prompter`] asks four kinds of question. This module and [`select`] decide what to ask and what the answers mean,
//! without a terminal. `terminal` implements the prompter for a real terminal.

mod picker;
pub(crate) mod select;
pub(crate) mod subtasks;
mod terminal;

use std::collections::BTreeSet;
use std::fmt;

use paw_agent::detect::CliInfo;
use paw_core::{BranchName, PawError, text};
use paw_session::specs::{self, SpecEntry, SpecScan};

pub(crate) use terminal::TerminalPrompter;

/// The text of a question, and what to type instead where there is no terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptQuestion<'a> {
    pub(crate) text: &'a str,
    /// The hint of the error without a terminal.
    pub(crate) instead: &'a str,
}

/// Asks the user.
pub(crate) trait Prompter {
    /// Whether questions can be asked.
    fn is_interactive(&self) -> bool;

    /// Returns the index of the chosen row. The cursor starts at `start`.
    fn pick_one(
        &self,
        question: &PromptQuestion<'_>,
        rows: &[String],
        start: usize,
    ) -> Result<usize, PawError>;

    /// Returns the indexes of the chosen rows, which may be empty.
    fn pick_many(&self, question: &PromptQuestion<'_>, rows: &[String]) -> Result<Vec<usize>, PawError>;

    /// Asks yes or no; Enter alone means `default`.
    fn confirm(&self, question: &PromptQuestion<'_>, default: bool) -> Result<bool, PawError>;

    /// Asks for a line, which starts with `text` and may be emptied.
    fn edit(&self, question: &PromptQuestion<'_>, text: &str) -> Result<String, PawError>;

    /// Asks for a line that passes `check`.
    fn write(&self, question: &PromptQuestion<'_>, check: LineCheck) -> Result<String, PawError>;

    fn select_mode(&self) -> Result<CliMode, PawError> {
        let question = PromptQuestion { text: "How are CLIs assigned?", instead: PICK_CLI };
        let modes = [CliMode::Uniform, CliMode::PerBranch];
        let picked = self.pick_one(&question, &modes.map(|mode| mode.to_string()), 0)?;
        modes.get(picked).copied().ok_or(PawError::UserCancelled)
    }

    /// Asks for existing branches and for the names of new ones. Without existing branches, only for new ones.
    fn select_branches(&self, branches: &[BranchName]) -> Result<Vec<BranchName>, PawError> {
        match self.select_work(branches, None)? {
            SelectedWork::Branches(branches) => Ok(branches),
            SelectedWork::Specs => Err(PawError::UserCancelled),
        }
    }

    /// Like [`Prompter::select_branches`], with a row for pending specs.
    fn select_work(
        &self,
        branches: &[BranchName],
        specs: Option<&SpecScan>,
    ) -> Result<SelectedWork, PawError> {
        let question = PromptQuestion { text: "Branches", instead: PICK_BRANCHES };
        let specs = specs.map(|scan| {
            let pending = specs::units(&scan.entries).len();
            row(&format!("+ specs ({pending} pending in {})", scan.dir.display()))
        });
        let rows: Vec<_> = branches
            .iter()
            .map(|branch| row(branch.as_str()))
            .chain([NEW.to_owned()])
            .chain(specs.clone())
            .collect();
        let picked = if rows.len() == 1 { vec![0] } else { self.pick_many(&question, &rows)? };
        if specs.is_some() && picked.contains(&(rows.len() - 1)) {
            return Ok(SelectedWork::Specs);
        }
        let mut chosen: Vec<_> = picked.iter().filter_map(|number| branches.get(*number).cloned()).collect();
        chosen.sort_by_key(|branch| branches.iter().position(|offered| offered == branch));
        if picked.contains(&branches.len()) {
            let question = PromptQuestion { text: "Names of new branches", instead: PICK_BRANCHES };
            let named = names(&self.write(&question, |line| names(line).map(drop))?);
            let named = named.map_err(PawError::BranchError)?;
            chosen.extend(named);
        }
        let mut seen = BTreeSet::new();
        chosen.retain(|branch| seen.insert(branch.clone()));
        if chosen.is_empty() { Err(PawError::UserCancelled) } else { Ok(SelectedWork::Branches(chosen)) }
    }

    /// Asks for a CLI. The cursor starts at `default`, if it is in the list.
    fn select_cli(&self, clis: &[CliInfo], default: Option<&str>) -> Result<String, PawError> {
        pick_cli(self, "AI CLI", clis, default)
    }

    fn select_cli_for_branch(
        &self,
        branch: &BranchName,
        clis: &[CliInfo],
        default: Option<&str>,
    ) -> Result<String, PawError> {
        pick_cli(self, &format!("AI CLI for {}", row(branch.as_str())), clis, default)
    }

    /// Asks for specs. A row is a whole spec or feature, with all its parts.
    fn select_specs(&self, entries: &[SpecEntry]) -> Result<Vec<SpecEntry>, PawError> {
        let units = specs::units(entries);
        let rows: Vec<_> = units.iter().map(|unit| row(&unit.label)).collect();
        let picked =
            some(&units, &self.pick_many(&PromptQuestion { text: "Specs", instead: PICK_SPECS }, &rows)?)?;
        let names: Vec<_> = picked.into_iter().map(|unit| unit.name).collect();
        Ok(specs::select_units(&names, entries)?)
    }

    /// Without a terminal: no supervisor.
    fn select_supervisor(&self) -> Result<bool, PawError> {
        let question =
            PromptQuestion { text: "Start in supervisor mode?", instead: "--supervisor or --no-supervisor" };
        if self.is_interactive() { self.confirm(&question, false) } else { Ok(false) }
    }
}

/// What the agents of a start work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SelectedWork {
    Branches(Vec<BranchName>),
    /// Pending specs, which are chosen next.
    Specs,
}

/// Returns what is wrong with a line.
pub(crate) type LineCheck = fn(&str) -> Result<(), String>;

const NEW: &str = "+ new branches (asks for their names)";
const PICK_BRANCHES: &str = "name the branches: git paw start --branches feat/a,feat/b";
const PICK_SPECS: &str =
    "name them with --specs NAME[,NAME...], or launch every discovered one with --from-all-specs";
const PICK_CLI: &str = "name the CLI: git paw start --cli claude ('git paw list-clis' lists them)";

fn pick_cli<P: Prompter + ?Sized>(
    prompter: &P,
    text: &str,
    clis: &[CliInfo],
    default: Option<&str>,
) -> Result<String, PawError> {
    let rows: Vec<_> = clis.iter().map(|cli| row(&cli.to_string())).collect();
    let start = clis.iter().position(|cli| Some(cli.binary_name.as_str()) == default).unwrap_or(0);
    let picked = prompter.pick_one(&PromptQuestion { text, instead: PICK_CLI }, &rows, start)?;
    clis.get(picked).map(|cli| cli.binary_name.clone()).ok_or(PawError::UserCancelled)
}

/// The branch names in a line, separated by spaces or commas.
fn names(line: &str) -> Result<Vec<BranchName>, String> {
    let words = line.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    words.map(|word| BranchName::new(word).map_err(|error| row(&error.to_string()))).collect()
}

/// The picked items in their original order. An empty choice cancels.
fn some<T: Clone>(offered: &[T], picked: &[usize]) -> Result<Vec<T>, PawError> {
    let chosen = offered.iter().enumerate().filter(|(number, _)| picked.contains(number));
    let chosen: Vec<_> = chosen.map(|(_, one)| one.clone()).collect();
    if chosen.is_empty() { Err(PawError::UserCancelled) } else { Ok(chosen) }
}

/// A name with its hidden characters escaped, so that two rows that look equal are equal.
fn row(name: &str) -> String {
    text::reveal(name)
}

/// How CLIs are assigned to branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CliMode {
    Uniform,
    PerBranch,
}

impl fmt::Display for CliMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uniform => "Same CLI for all branches",
            Self::PerBranch => "Different CLI per branch",
        })
    }
}

#[cfg(test)]
mod tests;
