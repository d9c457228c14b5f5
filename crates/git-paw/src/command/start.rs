//! `git paw start`, and `git paw` alone.

use paw_core::PawError;

use crate::context::Context;

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    context.require_repo()?;
    Err(PawError::SessionError(
        "this version cannot start sessions yet\nhint: `git paw demo` shows worktrees and panes at work"
            .to_owned(),
    ))
}
