//! Creates a linked worktree in two steps: the registration, which needs a lock, and the checkout, which can run
//! concurrently. Together they do what `git worktree add` does, including the hook.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use paw_core::BranchName;

use super::{Git, GitError, REPOSITORY_VARIABLES, path, run};
use crate::locks::WorktreesLock;
use crate::process::{Command, is_executable};

/// Where the branch of a new worktree comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchSource {
    Existing,
    /// Created at this commit, without an upstream.
    NewAt(String),
    /// Created from this remote-tracking branch (its full ref), which becomes its upstream.
    Tracking(String),
}

/// The state of a branch before a worktree is created for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchState {
    /// Its tip, if the branch exists.
    pub commit: Option<String>,
    /// The tree of its tip.
    pub tree: Option<String>,
    /// The worktree that has it checked out, whether or not its directory still exists.
    pub checked_out_at: Option<PathBuf>,
    /// A branch whose name conflicts with it: `feat` and `feat/x` cannot both exist.
    pub in_the_way: Option<String>,
    /// The tip of the branch that the main checkout is on, if its HEAD file names one.
    pub main_commit: Option<String>,
    /// The tree of that tip.
    pub main_tree: Option<String>,
}

impl Git {
    /// Reads the state of a branch with one git call. `common_dir` holds the HEAD of the main checkout.
    pub fn branch_state(&self, branch: &BranchName, common_dir: &Path) -> Result<BranchState, GitError> {
        let full = branch.full_ref();
        let main = find_head_ref(common_dir);
        let parents = full.match_indices('/').skip(2).map(|(at, _)| full[..at].to_owned());
        let format = "--format=%(refname)%00%(objectname)%00%(tree)%00%(worktreepath)%00";
        let mut args = vec!["for-each-ref".to_owned(), format.to_owned()];
        args.extend(parents);
        args.push(full.clone());
        args.extend(main.clone());
        Ok(branch_state(&self.run(args)?, full.as_bytes(), main.as_deref().unwrap_or_default().as_bytes()))
    }

    /// Registers a new worktree at `dir` and creates its branch if necessary. Checks out no files.
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

    /// Checks out the files of the registered worktree that this git runs in. Ends with this process: git reports its
    /// progress, and a report without a reader kills it (SIGPIPE).
    pub fn check_out_files(&self) -> Result<(), GitError> {
        let command = self.command(["reset", "--hard", "--no-recurse-submodules"]);
        run(&command.env("GIT_PROGRESS_DELAY", "0")).map(drop).map_err(|error| match error {
            GitError::Failed { command, exit, stderr } => {
                GitError::Failed { command, exit, stderr: without_progress(&stderr) }
            }
            other => other,
        })
    }

    /// The path of the repository's post-checkout hook. It may be one of the files to check out.
    pub fn post_checkout_hook(&self) -> Result<PathBuf, GitError> {
        let answer = run(&self.command(["rev-parse", "--git-path", "hooks/post-checkout"]))?;
        Ok(self.dir().join(path(answer.strip_suffix(b"\n").unwrap_or(&answer))))
    }

    /// Runs an executable post-checkout hook like `git worktree add`: in the new worktree, without GIT_DIR, from no commit
    /// to the one that was checked out.
    pub fn run_post_checkout(&self, hook: &Path, commit: &str) -> Result<(), GitError> {
        if !is_executable(hook) {
            return Ok(());
        }
        let nothing = "0".repeat(commit.len());
        let command = Command::new(hook).dir(self.dir()).args([&nothing, commit, "1"]);
        let command = REPOSITORY_VARIABLES.iter().fold(command, |command, name| command.env_remove(*name));
        run(&command).map(drop)
    }
}

/// Progress lines overwrite each other with carriage returns.
fn without_progress(stderr: &str) -> String {
    let last = |line: &str| line.rsplit('\r').next().unwrap_or_default().to_owned();
    let lines = stderr.lines().map(last).filter(|line| !line.starts_with("Updating files:"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Each of the four values of a ref ends with NUL, each ref with a newline.
fn branch_state(answer: &[u8], full_ref: &[u8], main_ref: &[u8]) -> BranchState {
    let mut state = BranchState::default();
    let oid = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let values: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
    for found in values.chunks_exact(4) {
        let name = found[0].strip_prefix(b"\n").unwrap_or(found[0]);
        if name == main_ref {
            (state.main_commit, state.main_tree) = (Some(oid(found[1])), Some(oid(found[2])));
        }
        if name == full_ref {
            (state.commit, state.tree) = (Some(oid(found[1])), Some(oid(found[2])));
            state.checked_out_at = (!found[3].is_empty()).then(|| path(found[3]));
        } else if state.in_the_way.is_none() && (is_below(name, full_ref) || is_below(full_ref, name)) {
            let name = name.strip_prefix(b"refs/heads/").unwrap_or(name);
            state.in_the_way = Some(String::from_utf8_lossy(name).into_owned());
        }
    }
    state
}

/// The branch that a HEAD file names; `None` for a detached HEAD and for other ref storage formats.
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
    fn branch_state_is_parsed_even_with_a_newline_in_a_path() {
        let answer = b"refs/heads/feat/x\0abc\0def\0/a\nb\0\n";
        let state = branch_state(answer, b"refs/heads/feat/x", b"refs/heads/feat/x");
        assert_eq!((state.commit.as_deref(), state.main_commit.as_deref()), (Some("abc"), Some("abc")));
        assert_eq!((state.tree.as_deref(), state.main_tree.as_deref()), (Some("def"), Some("def")));
        assert_eq!((state.checked_out_at, state.in_the_way), (Some("/a\nb".into()), None));
    }

    #[test]
    fn a_parent_or_child_branch_is_in_the_way_and_a_sibling_is_not() {
        let way = |answer: &[u8], name: &str| branch_state(answer, name.as_bytes(), b"").in_the_way;
        assert_eq!(way(b"refs/heads/feat\0a\0t\0\0\n", "refs/heads/feat/x").as_deref(), Some("feat"));
        assert_eq!(way(b"refs/heads/feat/x/y\0a\0t\0\0\n", "refs/heads/feat/x").as_deref(), Some("feat/x/y"));
        assert_eq!(way(b"refs/heads/feat/y\0a\0t\0\0\n", "refs/heads/feat/x"), None);
        assert_eq!(way(b"refs/heads/feat/xy\0a\0t\0\0\n", "refs/heads/feat/x"), None);
    }

    proptest! {
        #[test]
        fn parsing_any_ref_listing_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            branch_state(&bytes, b"refs/heads/x", b"");
        }
    }
}
