//! Making a linked worktree in two steps: its registration, which only one process at a time may do, and its checkout,
//! which may run beside others. Together they leave what `git worktree add` leaves, hook included.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_core::BranchName;

use super::{ELSEWHERE, Git, GitError, path, run};
use crate::process::Command;

/// Where the branch of a new worktree comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchSource {
    Existing,
    /// Made at this commit, tracking nothing.
    NewAt(String),
    /// Made from this remote-tracking branch (its full ref), and tracking it.
    Tracking(String),
}

/// What is known about a branch before a worktree is made for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchState {
    /// The commit it is at, if it exists.
    pub commit: Option<String>,
    /// The worktree that has it checked out, whether or not its directory still exists.
    pub checked_out_at: Option<PathBuf>,
    /// A branch that git cannot keep beside it: `feat` beside `feat/x`.
    pub in_the_way: Option<String>,
}

/// Settings of the repository that say how a worktree is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckoutSettings {
    /// The user has set how many processes write files.
    workers_set: bool,
    hooks_elsewhere: bool,
}

impl Git {
    pub fn branch_state(&self, branch: &BranchName) -> Result<BranchState, GitError> {
        let full = branch.full_ref();
        let parents = full.match_indices('/').skip(2).map(|(at, _)| full[..at].to_owned());
        let mut args = vec![
            "for-each-ref".to_owned(),
            "--format=%(refname)%00%(objectname)%00%(worktreepath)%00".into(),
        ];
        args.extend(parents);
        args.push(full.clone());
        Ok(branch_state(&self.run(args)?, full.as_bytes()))
    }

    /// Tells git about a new worktree at `dir` and makes its branch if need be. No file is checked out yet.
    pub fn register_worktree(
        &self,
        dir: &Path,
        branch: &BranchName,
        source: &BranchSource,
    ) -> Result<(), GitError> {
        let mut args: Vec<OsString> = ["worktree", "add", "--quiet", "--no-checkout"].map(Into::into).into();
        match source {
            BranchSource::Existing => args.extend(["--".into(), dir.into(), branch.as_str().into()]),
            BranchSource::NewAt(start) => {
                args.extend(["--no-track", "-b", branch.as_str(), "--"].map(Into::into));
                args.extend([dir.into(), start.into()]);
            }
            BranchSource::Tracking(remote) => {
                args.extend(["--track", "-b", branch.as_str(), "--"].map(Into::into));
                args.extend([dir.into(), remote.into()]);
            }
        }
        self.run(args).map(drop)
    }

    pub fn checkout_settings(&self) -> Result<CheckoutSettings, GitError> {
        let keys = r"^(core\.hookspath|checkout\.workers)$";
        let found = self.find(["config", "--null", "--name-only", "--get-regexp", keys])?.unwrap_or_default();
        let has = |key: &str| found.split('\0').any(|name| name.eq_ignore_ascii_case(key));
        Ok(CheckoutSettings { workers_set: has("checkout.workers"), hooks_elsewhere: has("core.hookspath") })
    }

    /// Fills a registered worktree (the one this git runs in) with `workers` processes, unless the user has chosen
    /// their number.
    pub fn check_out_files(&self, workers: usize, settings: CheckoutSettings) -> Result<(), GitError> {
        let mut args = Vec::new();
        if workers > 1 && !settings.workers_set {
            args.extend(["-c".to_owned(), format!("checkout.workers={workers}")]);
        }
        args.extend(["reset", "--hard", "--quiet", "--no-recurse-submodules"].map(str::to_owned));
        self.run(args).map(drop)
    }

    /// Runs the repository's post-checkout hook for this new worktree as `git worktree add` does: in the worktree,
    /// without GIT_DIR, from no commit to the one that was checked out.
    pub fn run_post_checkout(
        &self,
        commit: &str,
        common_dir: &Path,
        settings: CheckoutSettings,
    ) -> Result<(), GitError> {
        const HOOK: &str = "hooks/post-checkout";
        let usual = common_dir.join(HOOK);
        let hook = if settings.hooks_elsewhere {
            let answer = run(&self.command(["rev-parse", "--git-path", HOOK]))?;
            self.dir().join(path(answer.strip_suffix(b"\n").unwrap_or(&answer)))
        } else {
            usual
        };
        if !fs::metadata(&hook).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        {
            return Ok(());
        }
        let nothing = "0".repeat(commit.len());
        let command = Command::new(hook).dir(self.dir()).args([&nothing, commit, "1"]);
        let command = ELSEWHERE.iter().fold(command, |command, name| command.env_remove(*name));
        run(&command).map(drop)
    }
}

/// Each ref's three values end with NUL, each ref with a newline.
fn branch_state(answer: &[u8], full_ref: &[u8]) -> BranchState {
    let mut state = BranchState::default();
    let values: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
    for found in values.chunks_exact(3) {
        let name = found[0].strip_prefix(b"\n").unwrap_or(found[0]);
        if name == full_ref {
            state.commit = Some(String::from_utf8_lossy(found[1]).into_owned());
            state.checked_out_at = (!found[2].is_empty()).then(|| path(found[2]));
        } else if state.in_the_way.is_none() && (is_below(name, full_ref) || is_below(full_ref, name)) {
            let name = name.strip_prefix(b"refs/heads/").unwrap_or(name);
            state.in_the_way = Some(String::from_utf8_lossy(name).into_owned());
        }
    }
    state
}

fn is_below(name: &[u8], dir: &[u8]) -> bool {
    name.strip_prefix(dir).is_some_and(|rest| rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_state_of_a_branch_is_read_even_from_a_path_with_a_newline() {
        let answer = b"refs/heads/feat/x\0abc\0/a\nb\0\n";
        let state = branch_state(answer, b"refs/heads/feat/x");
        assert_eq!(state.commit.as_deref(), Some("abc"));
        assert_eq!((state.checked_out_at, state.in_the_way), (Some("/a\nb".into()), None));
    }

    #[test]
    fn a_branch_above_or_below_is_in_the_way_and_a_sibling_is_not() {
        let way = |answer: &[u8], name: &str| branch_state(answer, name.as_bytes()).in_the_way;
        assert_eq!(way(b"refs/heads/feat\0a\0\0\n", "refs/heads/feat/x").as_deref(), Some("feat"));
        assert_eq!(way(b"refs/heads/feat/x/y\0a\0\0\n", "refs/heads/feat/x").as_deref(), Some("feat/x/y"));
        assert_eq!(way(b"refs/heads/feat/y\0a\0\0\n", "refs/heads/feat/x"), None);
        assert_eq!(way(b"refs/heads/feat/xy\0a\0\0\n", "refs/heads/feat/x"), None);
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            branch_state(&bytes, b"refs/heads/x");
        }
    }
}
