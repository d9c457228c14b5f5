//! The task of new agents, from flags, a file or the user's editor.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use paw_cluster::hub::HubAssignment;
use paw_core::{BranchName, ErrorCode, PawError};
use paw_host::files::{self, Access};
use paw_host::process::Command;
use paw_session::plan::{AgentRequest, AgentTask, NamedAgent};
use paw_session::specs::SpecEntry;

use crate::context::Context;

/// A longer task belongs in a file of the repository.
const LONGEST: u64 = 256 << 10;
/// A task and a spec, as JSON.
const LONGEST_ASSIGNMENT: u64 = 16 << 20;
/// Everything below this line of the edited text is ignored.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// What `start` and `add` give new agents to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct TaskArgs {
    /// Give every new agent this task as its first prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// Read the task from a file; '-' reads stdin
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Write the task in $EDITOR
    #[arg(long)]
    edit: bool,
    /// Read the task and the spec that the hub sends from stdin
    #[arg(long, hide = true, conflicts_with_all = ["prompt", "prompt_file", "edit"])]
    from_hub: bool,
}

impl TaskArgs {
    /// The task for all agents, if a flag gives one.
    pub(crate) fn load(
        &self,
        branches: &[BranchName],
        context: &Context,
    ) -> Result<Option<String>, PawError> {
        let given = match (&self.prompt, &self.prompt_file) {
            (Some(text), _) => Some(checked(text, "--prompt")?),
            (None, Some(file)) => Some(load_file(file, context)?),
            (None, None) => None,
        };
        if self.edit { edit(given.as_deref().unwrap_or_default(), branches).map(Some) } else { Ok(given) }
    }
}

impl TaskArgs {
    /// Gives new agents what the hub has sent, if it started them.
    pub(crate) fn take_assignment(&self, wanted: &mut [AgentRequest]) -> Result<(), PawError> {
        if !self.from_hub {
            return Ok(());
        }
        let mut text = String::new();
        let read = io::stdin().lock().take(LONGEST_ASSIGNMENT).read_to_string(&mut text);
        read.map_err(|error| invalid(format!("cannot read what the hub sends: {error}")))?;
        let sent: HubAssignment = serde_json::from_str(&text)
            .map_err(|error| invalid(format!("the hub sent something else than a task: {error}")))?;
        for agent in wanted {
            agent.task.clone_from(&sent.task);
            agent.spec = sent.spec.clone().map(|spec| SpecEntry::of_receipt(spec, agent.branch.clone()));
        }
        Ok(())
    }
}

/// The agent's own task, else `common`.
pub(crate) fn load_task(
    agent: &NamedAgent,
    common: Option<&String>,
    context: &Context,
) -> Result<Option<String>, PawError> {
    match &agent.task {
        AgentTask::None => Ok(common.cloned()),
        AgentTask::Text(text) => checked(text, &format!("the prompt of '{}'", agent.branch)).map(Some),
        AgentTask::File(file) => load_file(file, context).map(Some),
    }
}

fn load_file(file: &Path, context: &Context) -> Result<String, PawError> {
    if file == Path::new("-") {
        let mut text = String::new();
        let read = io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text);
        read.map_err(|error| invalid(format!("cannot read the prompt from stdin: {error}")))?;
        return checked(&text, "the prompt on stdin");
    }
    let path = context.cwd.join(file);
    let text = files::load_text(&path)?;
    let text = text.ok_or_else(|| invalid(format!("prompt file {} does not exist", path.display())))?;
    checked(&text, &path.display().to_string())
}

fn checked(text: &str, source: &str) -> Result<String, PawError> {
    if text.trim().is_empty() {
        return Err(invalid(format!("{source} is empty")));
    }
    if text.len() as u64 > LONGEST {
        return Err(invalid(format!("{source} is longer than {} KiB", LONGEST >> 10))
            .hint("commit the text as a file and name the file in the prompt"));
    }
    Ok(text.trim().to_owned())
}

fn invalid(problem: String) -> PawError {
    PawError::new(ErrorCode::InvalidArgument, problem)
}

/// Lets the user write the task. An empty text cancels.
fn edit(before: &str, branches: &[BranchName]) -> Result<String, PawError> {
    let dir = tempfile::tempdir().map_err(|error| PawError::internal(format!("cannot edit: {error}")))?;
    let file = dir.path().join("TASK.md");
    files::write_atomic(&file, template(before, branches).as_bytes(), Access::Private)?;
    let editor = editor();
    // The setting may contain options, so a shell splits it, as git does.
    let line = format!("{} \"$1\"", editor.to_string_lossy());
    let exit = Command::new("sh").args(["-c", &line, "editor"]).arg(&file).inherit()?;
    if !exit.success() {
        return Err(PawError::new(
            ErrorCode::FailedPrecondition,
            format!("the editor '{}' {exit}", editor.to_string_lossy()),
        )
        .hint("set EDITOR, or use --prompt or --prompt-file"));
    }
    let text = files::load_text(&file)?.unwrap_or_default();
    match above_scissors(&text).trim() {
        "" => Err(PawError::UserCancelled),
        _ => checked(above_scissors(&text), "the text"),
    }
}

fn editor() -> OsString {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    ["GIT_EDITOR", "VISUAL", "EDITOR"].into_iter().find_map(set).unwrap_or_else(|| "vi".into())
}

fn template(before: &str, branches: &[BranchName]) -> String {
    let names: Vec<_> = branches.iter().map(BranchName::as_str).collect();
    format!(
        "{before}\n\n{SCISSORS}\nThe task for {}. Everything from the line above on is ignored;\nan empty text cancels.\n",
        names.join(", ")
    )
}

fn above_scissors(text: &str) -> &str {
    text.split_once(SCISSORS).map_or(text, |(above, _)| above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_task_ends_at_the_scissors_and_keeps_headings() {
        let branches = [BranchName::new("feat/a").unwrap()];
        let text = template("# Fix it\n\nsoon", &branches);
        assert_eq!(above_scissors(&text).trim(), "# Fix it\n\nsoon");
        assert!(text.contains("The task for feat/a."));
        assert_eq!(above_scissors(&template("", &branches)).trim(), "");
    }

    #[test]
    fn an_empty_or_huge_task_is_refused() {
        assert!(checked(" \n", "--prompt").unwrap_err().to_string().contains("--prompt is empty"));
        assert!(
            checked(&"x".repeat(300 << 10), "it").unwrap_err().to_string().contains("longer than 256 KiB")
        );
    }
}
