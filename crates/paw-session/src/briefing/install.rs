//! Installs a briefing in the file that its agent reads, and removes it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use paw_core::paths::CheckoutDir;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::{self, Access, FileError};
use paw_host::git::{Git, GitError, Repo};
use paw_host::locks::ExcludeLock;

use super::target_file::{self, AGENTS_FILE, AgentsFileFacts, FileKind};
use super::{Briefing, exclude, region};

/// Why a briefing was not installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum BriefingError {
    #[error("{} is tracked by git, so a briefing there could be committed", .0.display())]
    Tracked(PathBuf),
    #[error("cannot write a briefing to {}: it is a link, or there is something else at that path", .0.display())]
    NotAPlainFile(PathBuf),
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Diagnostic for BriefingError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::Internal, self);
        match self {
            Self::Tracked(_) => report.hint(format!("git rm --cached {}", CheckoutDir::BRIEFING)),
            Self::NotAPlainFile(_) | Self::Unreadable { .. } => report,
            Self::File(error) => error.report(),
            Self::Git(error) => error.report(),
        }
    }
}

/// A briefing in its target_file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledBriefing {
    pub file: PathBuf,
    /// The path of the file relative to the agent's directory.
    pub name: &'static str,
    pub warnings: Vec<String>,
}

/// The files from which a briefing was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemovedBriefing {
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

/// Installs an agent's briefing in its worktree: in AGENTS.md if git does not track that file, else in our own file.
pub fn install(
    repo: &Repo,
    worktree: &Path,
    briefing: &Briefing,
) -> Result<InstalledBriefing, BriefingError> {
    let file = worktree.join(AGENTS_FILE);
    let facts = AgentsFileFacts {
        found: found_at(&file)?,
        tracked: is_tracked(worktree, AGENTS_FILE)?,
        new_in_main: is_new_in_main(repo)?,
    };
    if target_file::choose_name(facts) == AGENTS_FILE {
        return write(repo, file, AGENTS_FILE, briefing);
    }
    if marked(worktree, &file)?.is_some() {
        remove(repo, worktree)?;
    }
    install_local(repo, worktree, briefing)
}

/// Installs a briefing in our own file and leaves AGENTS.md alone. Used for the supervisor, in the main checkout.
pub fn install_local(
    repo: &Repo,
    dir: &Path,
    briefing: &Briefing,
) -> Result<InstalledBriefing, BriefingError> {
    let file = dir.join(CheckoutDir::BRIEFING);
    let above = CheckoutDir::of(dir).path().to_path_buf();
    match fs::symlink_metadata(&above) {
        Ok(metadata) if !metadata.is_dir() => return Err(BriefingError::NotAPlainFile(above)),
        Ok(_) | Err(_) => {}
    }
    if found_at(&file)? == FileKind::Other {
        return Err(BriefingError::NotAPlainFile(file));
    }
    if is_tracked(dir, CheckoutDir::BRIEFING)? {
        return Err(BriefingError::Tracked(file));
    }
    write(repo, file, CheckoutDir::BRIEFING, briefing)
}

/// Removes the briefing from a directory, and exclude rules that are no longer used. Other content of the files stays. Leaves
/// a tracked AGENTS.md in a worktree alone; in the main checkout only old versions of git paw have written to it.
pub fn remove(repo: &Repo, dir: &Path) -> Result<RemovedBriefing, BriefingError> {
    let mut removed = RemovedBriefing::default();
    let agents = dir.join(AGENTS_FILE);
    if let Some(bytes) = marked(dir, &agents)?
        && (dir == repo.root || !is_tracked(dir, AGENTS_FILE)?)
    {
        strip(agents, &bytes, &mut removed)?;
    }
    let local = dir.join(CheckoutDir::BRIEFING);
    if let Some(bytes) = marked(dir, &local)? {
        strip(local, &bytes, &mut removed)?;
        if dir != repo.root {
            // Only an empty one can be removed.
            let _ = fs::remove_dir(CheckoutDir::of(dir).path());
        }
    }
    remove_unused_rules(repo)?;
    Ok(removed)
}

fn write(
    repo: &Repo,
    file: PathBuf,
    name: &'static str,
    briefing: &Briefing,
) -> Result<InstalledBriefing, BriefingError> {
    // The rule comes first, so that git never lists the file. The lock is held until the file exists, because unused rules
    // are removed.
    let lock = ExcludeLock::wait(&repo.common_dir)?;
    exclude::add_rule(name, &lock)?;
    let before = load(&file)?;
    let put = region::insert(before.as_deref(), &briefing.text);
    if before.as_ref() != Some(&put.bytes) {
        files::write_atomic(&file, &put.bytes, Access::Usual)?;
    }
    let warnings = put.unfinished.then(|| unfinished(&file)).into_iter().collect();
    Ok(InstalledBriefing { file, name, warnings })
}

fn strip(file: PathBuf, bytes: &[u8], removed: &mut RemovedBriefing) -> Result<(), BriefingError> {
    let stripped = region::remove(bytes);
    match stripped.bytes {
        Some(bytes) => files::write_atomic(&file, &bytes, Access::Usual)?,
        None => fs::remove_file(&file).map_err(|source| FileError {
            action: "remove",
            path: file.clone(),
            source,
        })?,
    }
    removed.warnings.extend(stripped.unfinished.then(|| unfinished(&file)));
    removed.files.push(file);
    Ok(())
}

fn unfinished(file: &Path) -> String {
    format!(
        "{} has a briefing without its last line ({}): git paw left the text there, check it",
        file.display(),
        region::END
    )
}

/// Removes the exclude rules of names that no worktree uses for a briefing.
fn remove_unused_rules(repo: &Repo) -> Result<(), BriefingError> {
    let worktrees = repo.git().worktrees()?;
    let lock = ExcludeLock::wait(&repo.common_dir)?;
    for name in [AGENTS_FILE, CheckoutDir::BRIEFING] {
        let has_one = |dir: &Path| !matches!(marked(dir, &dir.join(name)), Ok(None));
        if !worktrees.iter().any(|worktree| has_one(&worktree.path)) {
            exclude::remove_rule(name, &lock)?;
        }
    }
    Ok(())
}

/// The content of a file that is inside `dir` and contains our marks.
fn marked(dir: &Path, file: &Path) -> Result<Option<Vec<u8>>, BriefingError> {
    let unreadable = |source| BriefingError::Unreadable { path: file.to_path_buf(), source };
    let inside = match (dir.canonicalize(), file.canonicalize()) {
        (Ok(dir), Ok(file)) => file.starts_with(dir) && file.is_file(),
        _ => false,
    };
    if !inside {
        return Ok(None);
    }
    let bytes = fs::read(file).map_err(unreadable)?;
    Ok(region::is_marked(&bytes).then_some(bytes))
}

fn load(file: &Path) -> Result<Option<Vec<u8>>, BriefingError> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(BriefingError::Unreadable { path: file.to_path_buf(), source }),
    }
}

fn found_at(path: &Path) -> Result<FileKind, BriefingError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(FileKind::File),
        Ok(_) => Ok(FileKind::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FileKind::Nothing),
        Err(source) => Err(BriefingError::Unreadable { path: path.to_path_buf(), source }),
    }
}

pub(crate) fn is_tracked(dir: &Path, name: &str) -> Result<bool, GitError> {
    let args: [OsString; 5] = ["--literal-pathspecs", "ls-files", "-z", "--", name].map(Into::into);
    Ok(!Git::at(dir).run(args)?.is_empty())
}

fn is_new_in_main(repo: &Repo) -> Result<bool, BriefingError> {
    let file = repo.root.join(AGENTS_FILE);
    if repo.bare || found_at(&file)? == FileKind::Nothing {
        return Ok(false);
    }
    // A file with only our text belongs to git paw.
    if marked(&repo.root, &file)?.is_some_and(|bytes| region::remove(&bytes).bytes.is_none()) {
        return Ok(false);
    }
    Ok(!is_tracked(&repo.root, AGENTS_FILE)?)
}
