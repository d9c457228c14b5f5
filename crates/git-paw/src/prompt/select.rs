//! Chooses the branches of an interactive start, and the CLI of each.

use paw_agent::detect::CliInfo;
use paw_core::{BranchName, PawError};

use super::{CliMode, Prompter};

/// The branches and CLIs to choose from, and the choices that flags have already made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SelectionInput<'a> {
    pub(crate) branches: &'a [BranchName],
    /// The branch of the user's own checkout, which is not offered.
    pub(crate) own: Option<&'a BranchName>,
    pub(crate) clis: &'a [CliInfo],
    pub(crate) cli_flag: Option<&'a str>,
    pub(crate) branches_flag: Option<&'a [BranchName]>,
    /// Where the cursor of a CLI picker starts.
    pub(crate) default_cli: Option<&'a str>,
}

/// A branch and the name of the CLI that works on it.
pub(crate) type Mapping = (BranchName, String);

/// Asks for what the flags do not set.
pub(crate) fn run_selection(
    prompter: &(impl Prompter + ?Sized),
    choice: &SelectionInput<'_>,
) -> Result<Vec<Mapping>, PawError> {
    if choice.clis.is_empty() {
        return Err(PawError::NoCLIsFound);
    }
    let cli = match (choice.cli_flag, choice.clis) {
        (Some(name), clis) => Some(require_cli(clis, name)?),
        // With one CLI there is nothing to choose.
        (None, [only]) => Some(only.binary_name.clone()),
        (None, _) => None,
    };
    let branches = match choice.branches_flag {
        Some([]) => return Err(PawError::BranchError("--branches is empty".to_owned())),
        Some(named) => named.to_vec(),
        None if choice.branches.is_empty() => {
            let problem = "no branches found: create a first commit, or name a new branch with --branches";
            return Err(PawError::BranchError(problem.to_owned()));
        }
        None => prompter.select_branches(&offered(choice))?,
    };
    let uniform = |cli: String| branches.iter().map(|branch| (branch.clone(), cli.clone())).collect();
    if let Some(cli) = cli {
        return Ok(uniform(cli));
    }
    // With one branch there is no mode to choose.
    let mode = if branches.len() > 1 { prompter.select_mode()? } else { CliMode::Uniform };
    match mode {
        CliMode::Uniform => Ok(uniform(prompter.select_cli(choice.clis, choice.default_cli)?)),
        CliMode::PerBranch => branches
            .iter()
            .map(|branch| {
                let cli = prompter.select_cli_for_branch(branch, choice.clis, choice.default_cli)?;
                Ok((branch.clone(), cli))
            })
            .collect(),
    }
}

fn offered(choice: &SelectionInput<'_>) -> Vec<BranchName> {
    choice.branches.iter().filter(|branch| Some(*branch) != choice.own).cloned().collect()
}

fn require_cli(clis: &[CliInfo], name: &str) -> Result<String, PawError> {
    let found = clis.iter().find(|cli| cli.binary_name == name);
    found.map(|cli| cli.binary_name.clone()).ok_or_else(|| PawError::CliNotFound(name.to_owned()))
}

#[cfg(test)]
pub(crate) mod tests;
