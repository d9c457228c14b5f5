//! Installs our hooks next to the user's, and removes them without a trace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_core::paths::AGENT_FILE;
use paw_core::paths::BRANCH_FILE;
use paw_core::paths::PawDir;
use paw_core::{AgentId, BranchName, Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::{Access, FileError, write_atomic};
use paw_host::git::{Git, GitError, Repo, find_admin_dir};

use super::script::{ALWAYS, FREQUENT, script};

/// Hooks cannot be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot install commit hooks in {}: not a linked worktree", .0.display())]
    NotLinked(PathBuf),
    #[error("cannot install commit hooks: the repository's path {} contains a line break", .0.display())]
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

/// An agent whose commits are reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSetup {
    pub worktree: PathBuf,
    pub agent: AgentId,
    /// The only branch on which commits are allowed.
    pub guard: Option<BranchName>,
    /// The git paw program that the hook calls.
    pub program: PathBuf,
}

/// The paths that all worktrees share.
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

    /// The included settings.
    fn settings(&self) -> String {
        let hooks = self.dir.hook_scripts().display().to_string();
        format!("[core]\n\thooksPath = \"{}\"\n", hooks.replace('\\', r"\\").replace('"', r#"\""#))
    }

    /// The include condition that matches every linked worktree of this repository. A backslash escapes the pattern
    /// characters in the path.
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

/// Installs the hooks, and marks the worktree as the agent's.
pub fn install(setup: &HookSetup) -> Result<(), HookError> {
    install_all(std::slice::from_ref(setup))
}

/// Like [`install`], for several worktrees of one repository.
pub fn install_all(setups: &[HookSetup]) -> Result<(), HookError> {
    let Some(first) = setups.first() else { return Ok(()) };
    let repo = Repo::discover(&first.worktree)?;
    let paths = HookPaths::of(&repo.common_dir);
    let admins: Vec<_> = setups.iter().map(|setup| admin_dir(&repo, setup)).collect::<Result<_, _>>()?;
    if paths.common_dir.display().to_string().contains('\n') {
        return Err(HookError::Path(paths.common_dir));
    }
    let git = Git::at(repo.worktree.as_deref().unwrap_or(&first.worktree));
    for name in ALWAYS.into_iter().chain(find_frequent_hooks(&git, &paths)?) {
        let text = script(name, &first.program);
        write_atomic(&paths.dir.hook_scripts().join(name), text.as_bytes(), Access::Executable)?;
    }
    include(&git, &paths)?;
    setups.iter().zip(admins).try_for_each(|(setup, admin)| mark(setup, &admin))
}

/// Git's administrative directory of the worktree. The setup may contain a subdirectory of the worktree.
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

/// Frequent hooks that are only installed if the user has one.
fn find_frequent_hooks(git: &Git, paths: &HookPaths) -> Result<Vec<&'static str>, HookError> {
    let configured = git.find(["config", "--type=path", "--get-all", "core.hooksPath"])?.unwrap_or_default();
    let ours = paths.dir.hook_scripts().display().to_string();
    let dir = configured.lines().rfind(|line| *line != ours);
    let dir = dir.map_or_else(|| paths.common_dir.join("hooks"), |dir| git.dir().join(dir));
    Ok(FREQUENT.into_iter().filter(|name| dir.join(name).is_file()).collect())
}

/// Whether the included settings are damaged. Git would then fail in every agent's worktree.
pub fn find_damage(common_dir: &Path) -> Option<PathBuf> {
    let paths = HookPaths::of(common_dir);
    let file = paths.dir.hooks_config();
    let found = fs::read(&file).ok()?;
    (found != paths.settings().as_bytes()).then_some(file)
}

/// Writes the included settings again.
pub fn repair(common_dir: &Path) -> Result<(), HookError> {
    let paths = HookPaths::of(common_dir);
    Ok(write_atomic(&paths.dir.hooks_config(), paths.settings().as_bytes(), Access::Usual)?)
}

fn include(git: &Git, paths: &HookPaths) -> Result<(), HookError> {
    write_atomic(&paths.dir.hooks_config(), paths.settings().as_bytes(), Access::Usual)?;
    let file = paths.dir.hooks_config().display().to_string();
    let config = paths.config().display().to_string();
    let condition = paths.condition();
    if git.find(["config", "--file", &config, "--get", &condition])?.as_deref() == Some(&file) {
        return Ok(());
    }
    let before = read(&paths.config())?;
    change_config(git, ["config", "--file", &config, &condition, &file])?;
    // A configuration may contain a password and be private.
    write_atomic(&paths.dir.kept_config(), &before, Access::Private)?;
    Ok(())
}

/// Retries while another process holds the lock of the configuration.
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

/// Removes the marker of one worktree. Uninstalls everything with the last one.
pub fn uninstall(common_dir: &Path, worktree: &Path) -> Result<(), HookError> {
    if let Some(admin) = find_admin_dir(common_dir, worktree) {
        remove(&admin.join(AGENT_FILE))?;
        remove(&admin.join(BRANCH_FILE))?;
    }
    let marked = admin_dirs(common_dir).any(|admin| admin.join(AGENT_FILE).exists());
    if marked { Ok(()) } else { uninstall_all(common_dir) }
}

/// Removes everything we installed, and restores the configuration.
pub fn uninstall_all(common_dir: &Path) -> Result<(), HookError> {
    let paths = HookPaths::of(common_dir);
    for admin in admin_dirs(common_dir) {
        remove(&admin.join(AGENT_FILE))?;
        remove(&admin.join(BRANCH_FILE))?;
    }
    let git = Git::at(&paths.common_dir);
    let (config, condition) = (paths.config().display().to_string(), paths.condition());
    if git.find(["config", "--file", &config, "--get", &condition])?.is_some() {
        let now = read(&paths.config())?;
        if let Some(before) =
            fs::read(paths.dir.kept_config()).ok().filter(|before| is_without_include(before, &now))
        {
            write_atomic(&paths.config(), &before, Access::Usual)?;
        } else {
            change_config(&git, ["config", "--file", &config, "--unset-all", &condition])?;
        }
    }
    for file in [paths.dir.hooks_config(), paths.dir.kept_config()] {
        remove(&file)?;
    }
    match fs::remove_dir_all(paths.dir.hook_scripts()) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(FileError { action: "remove", path: paths.dir.hook_scripts(), source }.into());
        }
        _ => {}
    }
    // Fails if the directory is not empty.
    let _ = fs::remove_dir(paths.dir.hooks());
    Ok(())
}

fn admin_dirs(common_dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(common_dir.join("worktrees")).into_iter().flatten();
    entries.filter_map(Result::ok).map(|entry| entry.path())
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(|source| FileError { action: "read", path: path.to_path_buf(), source })
}

/// Whether the kept configuration is the present one without the section that git appended for us. A damaged copy, or one that
/// misses later changes, must not replace the user's settings.
fn is_without_include(before: &[u8], now: &[u8]) -> bool {
    let Some(added) = now.strip_prefix(before) else { return false };
    let added = String::from_utf8_lossy(added);
    let lines: Vec<_> = added.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    matches!(lines[..], [section, path] if section.starts_with("[includeIf ") && path.starts_with("path = "))
}

fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FileError { action: "remove", path: path.to_path_buf(), source })
        }
        _ => Ok(()),
    }
}
