//! Putting our hooks beside the user's, and taking them away without a trace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_core::paths::AGENT_FILE;
use paw_core::paths::BRANCH_FILE;
use paw_core::paths::PawDir;
use paw_core::{AgentId, BranchName, Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::{Access, FileError, load_text, write_atomic};
use paw_host::git::{Git, GitError, Repo, find_admin_dir};

use super::script::{ALWAYS, WHERE_NEEDED, script};

/// Hooks that could not be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("commits in {} cannot be signalled: it is not a linked worktree", .0.display())]
    NotLinked(PathBuf),
    #[error("commits cannot be signalled: the repository's path {} holds a line break", .0.display())]
    Path(PathBuf),
}

impl Diagnostic for HookError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Git(error) => error.report(),
            Self::File(error) => error.report(),
            Self::NotLinked(_) | Self::Path(_) => ErrorReport::new(ErrorCode::FailedPrecondition, self),
        }
    }
}

/// An agent whose commits are to be signalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSetup {
    pub worktree: PathBuf,
    pub agent: AgentId,
    /// Refuse commits on any other branch than this one.
    pub guard: Option<BranchName>,
    /// Our own program, which is told of new commits.
    pub program: PathBuf,
}

/// Everything of ours that all worktrees share.
struct HookPaths {
    common_dir: PathBuf,
    dir: PawDir,
}

impl HookPaths {
    fn of(common_dir: &Path) -> Self {
        let common_dir = common_dir.canonicalize().unwrap_or_else(|_| common_dir.to_path_buf());
        Self { dir: PawDir::of(&common_dir), common_dir }
    }

    fn config(&self) -> PathBuf {
        self.common_dir.join("config")
    }

    /// Every linked worktree of this repository. In a pattern, a backslash takes the meaning from what follows.
    fn condition(&self) -> String {
        let dir = self.common_dir.display().to_string();
        let mut pattern = String::with_capacity(dir.len());
        for c in dir.chars() {
            if "*?[]\\".contains(c) {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        format!("includeIf.gitdir:{pattern}/worktrees/.path")
    }
}

/// Installs what is missing, and marks the worktree as the agent's.
pub fn install(setup: &HookSetup) -> Result<(), HookError> {
    install_all(std::slice::from_ref(setup))
}

/// Like [`install`] for worktrees of one repository, asking git only once.
pub fn install_all(setups: &[HookSetup]) -> Result<(), HookError> {
    let Some(first) = setups.first() else { return Ok(()) };
    let repo = Repo::discover(&first.worktree)?;
    let place = HookPaths::of(&repo.common_dir);
    let admins: Vec<_> = setups.iter().map(|setup| admin_dir(&repo, setup)).collect::<Result<_, _>>()?;
    if place.common_dir.display().to_string().contains('\n') {
        return Err(HookError::Path(place.common_dir));
    }
    let git = Git::at(repo.worktree.as_deref().unwrap_or(&first.worktree));
    for name in ALWAYS.into_iter().chain(needed(&git, &place)?) {
        let text = script(name, &first.program);
        write_atomic(&place.dir.hook_scripts().join(name), text.as_bytes(), Access::Executable)?;
    }
    include(&git, &place)?;
    setups.iter().zip(admins).try_for_each(|(setup, admin)| mark(setup, &admin))
}

/// What git keeps about the worktree. The setup may name a directory in it.
fn admin_dir(repo: &Repo, setup: &HookSetup) -> Result<PathBuf, HookError> {
    let not_linked = || HookError::NotLinked(setup.worktree.clone());
    if let Some(admin) = find_admin_dir(&repo.common_dir, &setup.worktree) {
        return Ok(admin);
    }
    let root = Repo::discover(&setup.worktree)?.worktree.ok_or_else(not_linked)?;
    find_admin_dir(&repo.common_dir, &root).ok_or_else(not_linked)
}

fn mark(setup: &HookSetup, admin: &Path) -> Result<(), HookError> {
    let agent = format!("{}\n", setup.agent);
    write_atomic(&admin.join(AGENT_FILE), agent.as_bytes(), Access::Usual)?;
    match &setup.guard {
        Some(branch) => {
            let line = format!("{}\n", branch.full_ref());
            write_atomic(&admin.join(BRANCH_FILE), line.as_bytes(), Access::Usual)?;
        }
        None => remove(&admin.join(BRANCH_FILE))?,
    }
    Ok(())
}

/// Hooks that are run so often that passing them on is only worth it where there is one.
fn needed(git: &Git, place: &HookPaths) -> Result<Vec<&'static str>, HookError> {
    let configured = git.find(["config", "--type=path", "--get-all", "core.hooksPath"])?.unwrap_or_default();
    let ours = place.dir.hook_scripts().display().to_string();
    let dir = configured.lines().rfind(|line| *line != ours);
    let dir = dir.map_or_else(|| place.common_dir.join("hooks"), |dir| git.dir().join(dir));
    Ok(WHERE_NEEDED.into_iter().filter(|name| dir.join(name).is_file()).collect())
}

fn include(git: &Git, place: &HookPaths) -> Result<(), HookError> {
    let include = place.dir.hooks_config();
    let hooks = place.dir.hook_scripts().display().to_string();
    if load_text(&include)?.is_none() {
        write_atomic(&include, b"", Access::Usual)?;
    }
    let file = include.display().to_string();
    git.run(["config", "--file", &file, "core.hooksPath", &hooks])?;
    let config = place.config().display().to_string();
    let condition = place.condition();
    if git.find(["config", "--file", &config, "--get", &condition])?.as_deref() == Some(&file) {
        return Ok(());
    }
    let before = read(&place.config())?;
    change_config(git, ["config", "--file", &config, &condition, &file])?;
    // A configuration may hold a password, and be its owner's alone.
    write_atomic(&place.dir.kept_config("before"), &before, Access::Private)?;
    write_atomic(&place.dir.kept_config("after"), &read(&place.config())?, Access::Private)?;
    Ok(())
}

/// Somebody else may be changing the configuration right now; that takes a moment.
fn change_config<const N: usize>(git: &Git, args: [&str; N]) -> Result<(), HookError> {
    let mut tries = 0;
    loop {
        match git.run(args) {
            Ok(_) => return Ok(()),
            Err(error) if tries == 20 => return Err(error.into()),
            Err(_) => tries += 1,
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Takes the mark off one worktree. With the last one, everything of ours goes.
pub fn uninstall(common_dir: &Path, worktree: &Path) -> Result<(), HookError> {
    if let Some(admin) = find_admin_dir(common_dir, worktree) {
        remove(&admin.join(AGENT_FILE))?;
        remove(&admin.join(BRANCH_FILE))?;
    }
    let marked = admin_dirs(common_dir).any(|admin| admin.join(AGENT_FILE).exists());
    if marked { Ok(()) } else { uninstall_all(common_dir) }
}

/// Takes everything of ours away, and leaves the configuration as it was found.
pub fn uninstall_all(common_dir: &Path) -> Result<(), HookError> {
    let place = HookPaths::of(common_dir);
    for admin in admin_dirs(common_dir) {
        remove(&admin.join(AGENT_FILE))?;
        remove(&admin.join(BRANCH_FILE))?;
    }
    let git = Git::at(&place.common_dir);
    let (config, condition) = (place.config().display().to_string(), place.condition());
    if git.find(["config", "--file", &config, "--get", &condition])?.is_some() {
        let now = read(&place.config())?;
        if Some(now) == read_kept(&place, "after")
            && let Some(before) = read_kept(&place, "before")
        {
            write_atomic(&place.config(), &before, Access::Usual)?;
        } else {
            change_config(&git, ["config", "--file", &config, "--unset-all", &condition])?;
        }
    }
    for file in [place.dir.hooks_config(), place.dir.kept_config("before"), place.dir.kept_config("after")] {
        remove(&file)?;
    }
    match fs::remove_dir_all(place.dir.hook_scripts()) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(FileError { action: "remove", path: place.dir.hook_scripts(), source }.into());
        }
        _ => {}
    }
    // Only if nothing else is in it.
    let _ = fs::remove_dir(place.dir.hooks());
    Ok(())
}

fn admin_dirs(common_dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(common_dir.join("worktrees")).into_iter().flatten();
    entries.filter_map(Result::ok).map(|entry| entry.path())
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(|source| FileError { action: "read", path: path.to_path_buf(), source })
}

fn read_kept(place: &HookPaths, when: &str) -> Option<Vec<u8>> {
    fs::read(place.dir.kept_config(when)).ok()
}

fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FileError { action: "remove", path: path.to_path_buf(), source })
        }
        _ => Ok(()),
    }
}
