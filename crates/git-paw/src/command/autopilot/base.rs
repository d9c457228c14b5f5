//! `--update-base`: the base branch as its remote has it, before anything begins at it.

use paw_autopilot::work::head::head;
use paw_autopilot::work::{Site, Updated, update_base};
use paw_core::text::plural;
use paw_core::{BranchName, PawError};

use super::{AutopilotArgs, require_somebody};
use crate::context::Context;

/// Updates it, and looks at the project again: its settings may be others now.
pub(super) fn update(args: &AutopilotArgs, site: Site, context: &Context) -> Result<Site, PawError> {
    require_somebody(args, context)?;
    let (current, _) = head(&site.git)?;
    let current = current.as_ref().map_or("no branch", BranchName::as_str);
    // One task begins where its checkout stands, several begin at the base branch itself.
    if let Some(base) = site.find_base()?
        && args.tasks.len() < 2
        && base != current
    {
        return Err(PawError::BranchError(format!(
            "the run would begin at {current}, and --update-base updates {base}; nothing was done"
        ))
        .hint(format!("git switch {base} first, or omit --update-base")));
    }
    context.output.progress("fetching …");
    match update_base(&site)? {
        Updated::Already { base } => context.output.note(&format!("{base} is up to date")),
        Updated::Forward { base, commits } => {
            context.output.note(&format!("{base} moved forward by {}", plural(commits, "commit")));
        }
    }
    Ok(Site::find(site.repo, &context.cwd, &context.search_path)?)
}
