//! Which files a command would print, for callers that judge the command.

use std::time::Duration;

use super::{Git, GitError};
use crate::process::Exit;

impl Git {
    /// Runs a command that separates its output by NUL, and returns the parts. `None` if git refuses the command.
    pub fn list_names(&self, args: &[String], limit: Duration) -> Result<Option<Vec<String>>, GitError> {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let command = match self.unfiltered(&args) {
            Ok(command) => command.time_limit(limit),
            Err(GitError::Failed { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let output = command.capture()?;
        match output.exit {
            // 1: there are differences, or no matches.
            Exit::Code(0 | 1) => {}
            Exit::Code(_) => return Ok(None),
            _ => return Err(super::failed(&command, &output)),
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.split(['\0', '\n']).filter(|name| !name.is_empty());
        Ok(Some(names.map(str::to_owned).collect()))
    }

    /// `blob`, `tree`, `commit` or `tag`; `None` if there is no such object.
    pub fn find_object_type(&self, name: &str) -> Option<String> {
        let command = self.plumbing(None, ["cat-file", "-t", name]);
        command
            .capture()
            .ok()
            .filter(|output| output.exit.success())
            .map(|output| super::text(&output.stdout))
    }
}
