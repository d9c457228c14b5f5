//! Variables that name the worktree name the checkout instead, so that an activated environment does not bring back
//! the worktree's files.

use std::path::Path;

const VARIABLES: [&str; 5] = ["PATH", "PYTHONPATH", "VIRTUAL_ENV", "NODE_PATH", "GOPATH"];

/// The variables for tests in `checkout` that differ from this process's.
pub(in crate::work) fn moved_variables(worktree: &Path, checkout: &Path) -> Vec<(String, String)> {
    let moved = VARIABLES.into_iter().filter_map(|name| {
        let value = std::env::var(name).ok()?;
        let there = moved(&value, worktree, checkout);
        (there != value).then(|| (name.to_owned(), there))
    });
    // Bytecode next to installed modules would look like a change of dependencies.
    moved.chain([("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned())]).collect()
}

fn moved(value: &str, worktree: &Path, checkout: &Path) -> String {
    let one = |entry: &str| match Path::new(entry).strip_prefix(worktree) {
        Ok(rest) => checkout.join(rest).display().to_string(),
        Err(_) => entry.to_owned(),
    };
    value.split(':').map(one).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_inside_the_worktree_are_moved() {
        let moved = |value| moved(value, Path::new("/w/app"), Path::new("/c/app"));
        assert_eq!(moved("/w/app/.venv/bin:/usr/bin:/w/app-2/bin"), "/c/app/.venv/bin:/usr/bin:/w/app-2/bin");
        assert_eq!(moved("relative::"), "relative::");
    }
}
