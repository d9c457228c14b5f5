//! `--update-base`: brings the base branch up to date before a run starts from it.

use paw_autopilot::work::head::current_head;
use paw_autopilot::work::{BaseUpdate, ProjectContext, update_base};
use paw_core::text::plural;
use paw_core::{BranchName, PawError};

use super::{AutopilotArgs, require_confirmation};
use crate::context::Context;

/// Updates the base branch and reloads the project, whose settings may have changed.
pub(super) fn update(
    args: &AutopilotArgs,
    site: ProjectContext,
    context: &Context,
) -> Result<ProjectContext, PawError> {
    require_confirmation(args, context)?;
    let (current, _) = current_head(&site.git)?;
    let current = current.as_ref().map_or("no branch", BranchName::as_str);
    // A single task starts from HEAD, several tasks start from the base branch.
    if let Some(base) = site.find_base()?
        && args.tasks.len() < 2
        && base != current
    {
        return Err(PawError::BranchError(format!(
            "--update-base updates {base}, but the run would start from {current}; nothing was done"
        ))
        .hint(format!("run 'git switch {base}' first, or omit --update-base")));
    }
    context.output.progress("fetching");
    match update_base(&site)? {
        BaseUpdate::Already { base } => context.output.note(&format!("{base} is up to date")),
        BaseUpdate::Forward { base, commits } => {
            context.output.note(&format!("fast-forwarded {base} by {}", plural(commits, "commit")));
        }
    }
    Ok(ProjectContext::find(site.repo, &context.cwd, &context.search_path)?)
}
