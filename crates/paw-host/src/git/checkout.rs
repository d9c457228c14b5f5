//! Making a linked worktree in two steps: its registration, which only one process at a time may do, and its checkout,
//! which may run beside others. Together they leave what `git worktree add` leaves, hook included.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use paw_core::BranchName;

use super::{ELSEWHERE, Git, GitError, path, run};
use crate::locks::WorktreesLock;
use crate::process::{Command, is_executable};

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
    /// The commit of the branch that the main checkout is on, where a look at its HEAD tells which that is.
    pub main_commit: Option<String>,
}

impl Git {
    /// What git knows about a branch, in one question. `common_dir` is where the main checkout's HEAD is.
    pub fn branch_state(&self, branch: &BranchName, common_dir: &Path) -> Result<BranchState, GitError> {
        let full = branch.full_ref();
        let main = find_head_ref(common_dir);
        let parents = full.match_indices('/').skip(2).map(|(at, _)| full[..at].to_owned());
        let format = "--format=%(refname)%00%(objectname)%00%(worktreepath)%00";
        let mut args = vec!["for-each-ref".to_owned(), format.to_owned()];
        args.extend(parents);
        args.push(full.clone());
        args.extend(main.clone());
        Ok(branch_state(&self.run(args)?, full.as_bytes(), main.as_deref().unwrap_or_default().as_bytes()))
    }

    /// Tells git about a new worktree at `dir` and makes its branch if need be. No file is checked out yet.
    pub fn register_worktree(
        &self,
        dir: &Path,
        branch: &BranchName,
        source: &BranchSource,
        _lock: &WorktreesLock,
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

    /// Fills a registered worktree, the one this git runs in.
    pub fn check_out_files(&self) -> Result<(), GitError> {
        self.run(["reset", "--hard", "--quiet", "--no-recurse-submodules"]).map(drop)
    }

    /// Where the repository's post-checkout hook would be. It may lie among the files that are about to be checked out.
    pub fn post_checkout_hook(&self) -> Result<PathBuf, GitError> {
        let answer = run(&self.command(["rev-parse", "--git-path", "hooks/post-checkout"]))?;
        Ok(self.dir().join(path(answer.strip_suffix(b"\n").unwrap_or(&answer))))
    }

    /// Runs the post-checkout hook, if there is one that can be run, for this new worktree as `git worktree add` does: in the worktree, without GIT_DIR,
    /// from no commit to the one that was checked out.
    pub fn run_post_checkout(&self, hook: &Path, commit: &str) -> Result<(), GitError> {
        if !is_executable(hook) {
            return Ok(());
        }
        let nothing = "0".repeat(commit.len());
        let command = Command::new(hook).dir(self.dir()).args([&nothing, commit, "1"]);
        let command = ELSEWHERE.iter().fold(command, |command, name| command.env_remove(*name));
        run(&command).map(drop)
    }
}

/// Each ref's three values end with NUL, each ref with a newline.
fn branch_state(answer: &[u8], full_ref: &[u8], main_ref: &[u8]) -> BranchState {
    let mut state = BranchState::default();
    let values: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
    for found in values.chunks_exact(3) {
        let name = found[0].strip_prefix(b"\n").unwrap_or(found[0]);
        if name == main_ref {
            state.main_commit = Some(String::from_utf8_lossy(found[1]).into_owned());
        }
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

/// The branch a HEAD file names. Other kinds of HEAD, and of ref storage, are left to git.
fn find_head_ref(git_dir: &Path) -> Option<String> {
    let head = fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let name = head.trim_end().strip_prefix("ref: ")?;
    BranchName::new(name.strip_prefix("refs/heads/")?).ok().map(|branch| branch.full_ref())
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
        let state = branch_state(answer, b"refs/heads/feat/x", b"refs/heads/feat/x");
        assert_eq!((state.commit.as_deref(), state.main_commit.as_deref()), (Some("abc"), Some("abc")));
        assert_eq!((state.checked_out_at, state.in_the_way), (Some("/a\nb".into()), None));
    }

    #[test]
    fn a_branch_above_or_below_is_in_the_way_and_a_sibling_is_not() {
        let way = |answer: &[u8], name: &str| branch_state(answer, name.as_bytes(), b"").in_the_way;
        assert_eq!(way(b"refs/heads/feat\0a\0\0\n", "refs/heads/feat/x").as_deref(), Some("feat"));
        assert_eq!(way(b"refs/heads/feat/x/y\0a\0\0\n", "refs/heads/feat/x").as_deref(), Some("feat/x/y"));
        assert_eq!(way(b"refs/heads/feat/y\0a\0\0\n", "refs/heads/feat/x"), None);
        assert_eq!(way(b"refs/heads/feat/xy\0a\0\0\n", "refs/heads/feat/x"), None);
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            branch_state(&bytes, b"refs/heads/x", b"");
        }
    }
}
