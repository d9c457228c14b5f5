//! Putting a briefing where its agent finds it, and taking it away again.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use paw_core::paths::CheckoutDir;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::{self, Access, FileError};
use paw_host::git::{Git, GitError, Repo};
use paw_host::locks::ExcludeLock;

use super::place::{self, AGENTS_FILE, Facts, Found};
use super::{Briefing, exclude, region};

/// A briefing that could not be put in its place.
#[derive(Debug, thiserror::Error)]
pub enum BriefingError {
    #[error("{} is tracked by git, so a briefing there could be committed", .0.display())]
    Tracked(PathBuf),
    #[error("{} is not what it should be: nothing is written through a link or over a directory", .0.display())]
    InTheWay(PathBuf),
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
            Self::InTheWay(_) | Self::Unreadable { .. } => report,
            Self::File(error) => error.report(),
            Self::Git(error) => error.report(),
        }
    }
}

/// A briefing in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub file: PathBuf,
    /// The same, seen from the directory its agent works in.
    pub name: &'static str,
    pub warnings: Vec<String>,
}

/// What was taken away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

/// Puts an agent's briefing into its worktree: into an AGENTS.md that git does not track, else beside it.
pub fn install(repo: &Repo, worktree: &Path, briefing: &Briefing) -> Result<Installed, BriefingError> {
    let file = worktree.join(AGENTS_FILE);
    let facts = Facts {
        found: found_at(&file)?,
        tracked: is_tracked(worktree, AGENTS_FILE)?,
        new_in_main: is_new_in_main(repo)?,
    };
    if place::choose(facts) == AGENTS_FILE {
        return write(repo, file, AGENTS_FILE, briefing);
    }
    if marked(worktree, &file)?.is_some() {
        remove(repo, worktree)?;
    }
    install_local(repo, worktree, briefing)
}

/// Puts a briefing beside AGENTS.md, whatever that is: the supervisor's, in the main checkout.
pub fn install_local(repo: &Repo, dir: &Path, briefing: &Briefing) -> Result<Installed, BriefingError> {
    let file = dir.join(CheckoutDir::BRIEFING);
    let above = CheckoutDir::of(dir).path().to_path_buf();
    match fs::symlink_metadata(&above) {
        Ok(metadata) if !metadata.is_dir() => return Err(BriefingError::InTheWay(above)),
        Ok(_) | Err(_) => {}
    }
    if found_at(&file)? == Found::Other {
        return Err(BriefingError::InTheWay(file));
    }
    if is_tracked(dir, CheckoutDir::BRIEFING)? {
        return Err(BriefingError::Tracked(file));
    }
    write(repo, file, CheckoutDir::BRIEFING, briefing)
}

/// Takes the briefing out of a directory, and makes git see again what nobody uses any more. Everything around it is
/// as it was. A tracked AGENTS.md of an agent is left alone; in the main checkout only old versions have written to it.
pub fn remove(repo: &Repo, dir: &Path) -> Result<Removed, BriefingError> {
    let mut removed = Removed::default();
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
    show_unused(repo)?;
    Ok(removed)
}

fn write(
    repo: &Repo,
    file: PathBuf,
    name: &'static str,
    briefing: &Briefing,
) -> Result<Installed, BriefingError> {
    // First of all: git must never see it. The lock is held until the file is there, because a rule without a file
    // is removed.
    let lock = ExcludeLock::wait(&repo.common_dir)?;
    exclude::hide(name, &lock)?;
    let before = load(&file)?;
    let put = region::put(before.as_deref(), &briefing.text);
    if before.as_ref() != Some(&put.bytes) {
        files::write_atomic(&file, &put.bytes, Access::Usual)?;
    }
    let warnings = put.unfinished.then(|| unfinished(&file)).into_iter().collect();
    Ok(Installed { file, name, warnings })
}

fn strip(file: PathBuf, bytes: &[u8], removed: &mut Removed) -> Result<(), BriefingError> {
    let taken = region::take(bytes);
    match taken.bytes {
        Some(bytes) => files::write_atomic(&file, &bytes, Access::Usual)?,
        None => fs::remove_file(&file).map_err(|source| FileError {
            action: "remove",
            path: file.clone(),
            source,
        })?,
    }
    removed.warnings.extend(taken.unfinished.then(|| unfinished(&file)));
    removed.files.push(file);
    Ok(())
}

fn unfinished(file: &Path) -> String {
    format!(
        "{} had a briefing without its last line ({}): its text was left there, look through it",
        file.display(),
        region::END
    )
}

/// Rules for names that no worktree has a briefing under any more.
fn show_unused(repo: &Repo) -> Result<(), BriefingError> {
    let worktrees = repo.git().worktrees()?;
    let lock = ExcludeLock::wait(&repo.common_dir)?;
    for name in [AGENTS_FILE, CheckoutDir::BRIEFING] {
        let has_one = |dir: &Path| !matches!(marked(dir, &dir.join(name)), Ok(None));
        if !worktrees.iter().any(|worktree| has_one(&worktree.path)) {
            exclude::show(name, &lock)?;
        }
    }
    Ok(())
}

/// The bytes of a file with a mark of ours that is really in `dir`.
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

fn found_at(path: &Path) -> Result<Found, BriefingError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Found::File),
        Ok(_) => Ok(Found::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(source) => Err(BriefingError::Unreadable { path: path.to_path_buf(), source }),
    }
}

pub(crate) fn is_tracked(dir: &Path, name: &str) -> Result<bool, GitError> {
    let args: [OsString; 5] = ["--literal-pathspecs", "ls-files", "-z", "--", name].map(Into::into);
    Ok(!Git::at(dir).run(args)?.is_empty())
}

fn is_new_in_main(repo: &Repo) -> Result<bool, BriefingError> {
    let file = repo.root.join(AGENTS_FILE);
    if repo.bare || found_at(&file)? == Found::Nothing {
        return Ok(false);
    }
    // One that is ours altogether hides nothing of anybody's.
    if marked(&repo.root, &file)?.is_some_and(|bytes| region::take(&bytes).bytes.is_none()) {
        return Ok(false);
    }
    Ok(!is_tracked(&repo.root, AGENTS_FILE)?)
}
