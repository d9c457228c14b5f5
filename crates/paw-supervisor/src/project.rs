//! What programs may read about a project: its committed files, commits and changes, with limits.
//!
//! Everything comes from git's objects, so nothing outside of the repository can be reached by a link or by `..`, and no
//! program that the repository configures runs. Files that look like secrets, and settings of AI CLIs, are left out.

mod history;

use std::path::{Component, Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport, text};
use paw_host::git::{Git, GitError};
use serde::Serialize;

pub use history::{ProjectCommit, ProjectDiff};

use crate::approval::is_private;

/// The most files of a list, and the largest file that is read.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 1024 * 1024;
/// Lines of a file in one answer, and characters of one line.
const MOST_LINES: usize = 1000;
const MOST_CHARS: usize = 500;
/// Matches of a search, in all and in one file.
const MOST_MATCHES: usize = 200;
const MOST_IN_FILE: &str = "--max-count=20";

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("'{0}' is not a path in the project")]
    Outside(String),
    #[error("'{0}' may hold a secret or settings and is not shown")]
    Private(String),
    #[error("'{0}' does not exist in this commit")]
    NoFile(String),
    #[error("'{0}' is a symbolic link")]
    Link(String),
    #[error("'{0}' is not a text file")]
    Binary(String),
    #[error("'{0}' is larger than 1 MiB")]
    TooLarge(String),
    #[error("'{0}' is not a commit")]
    NoCommit(String),
    #[error("the text to search for has to be one line")]
    NoText,
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Diagnostic for ProjectError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::Outside(_)
            | Self::Private(_)
            | Self::NoText
            | Self::Link(_)
            | Self::Binary(_)
            | Self::TooLarge(_) => report(ErrorCode::InvalidArgument),
            Self::NoFile(_) | Self::NoCommit(_) => report(ErrorCode::NotFound),
            Self::Git(error) => error.report(),
        }
    }
}

/// The files of one commit.
#[derive(Debug)]
pub struct ProjectFiles {
    git: Git,
    commit: String,
}

/// A list that may be incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileList {
    pub commit: String,
    pub files: Vec<String>,
    pub truncated: bool,
}

/// Some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileText {
    pub commit: String,
    pub path: String,
    pub content: String,
    pub first_line: usize,
    pub lines: usize,
    pub of_lines: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchMatch {
    pub path: String,
    pub line: u64,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchResult {
    pub commit: String,
    pub matches: Vec<SearchMatch>,
    pub truncated: bool,
}

impl ProjectFiles {
    /// The files of a commit, by default the one that is checked out in `dir`.
    pub fn open(dir: &Path, revision: Option<&str>) -> Result<Self, ProjectError> {
        let git = Git::at(dir);
        let name = revision.filter(|name| !name.trim().is_empty()).unwrap_or("HEAD");
        let commit = find_commit(&git, name)?;
        Ok(Self { git, commit })
    }

    /// The files below a directory, or all of them.
    pub fn list(&self, below: Option<&str>) -> Result<FileList, ProjectError> {
        let below = below.map(checked).transpose()?.unwrap_or_default();
        let listing = self
            .git
            .plumb(None, self.literal(&["ls-tree", "-r", "-z", "--name-only", "--full-tree"], &below))?;
        let names = listing.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let mut names =
            names.map(String::from_utf8_lossy).filter(|name| !is_private(Path::new(name.as_ref())));
        let files: Vec<String> =
            names.by_ref().take(MOST_FILES).map(|name| text::line(&name).into_owned()).collect();
        Ok(FileList { commit: self.commit.clone(), files, truncated: names.next().is_some() })
    }

    /// The lines of a text file from `first`, which starts at 1.
    pub fn read(&self, path: &str, first: usize, lines: Option<usize>) -> Result<FileText, ProjectError> {
        let path = checked(path)?;
        let shown = path.display().to_string();
        let listing = self.git.plumb(None, self.literal(&["ls-tree", "-z", "--full-tree"], &path))?;
        let listing = String::from_utf8_lossy(&listing);
        let mut fields = listing.split('\t').next().unwrap_or_default().split(' ');
        let blob = match (fields.next(), fields.next(), fields.next()) {
            (Some("120000"), _, _) => return Err(ProjectError::Link(shown)),
            (Some(_), Some("blob"), Some(blob)) => [blob.to_owned()],
            _ => return Err(ProjectError::NoFile(shown)),
        };
        if self.git.object_sizes(&blob)?.iter().any(|size| *size > MOST_BYTES) {
            return Err(ProjectError::TooLarge(shown));
        }
        let bytes = self.git.read_objects(&blob)?.pop().unwrap_or_default();
        if bytes.contains(&0) {
            return Err(ProjectError::Binary(shown));
        }
        let whole = String::from_utf8_lossy(&bytes);
        let all: Vec<&str> = whole.lines().collect();
        let first = first.max(1);
        let wanted = all.iter().skip(first - 1).take(lines.unwrap_or(MOST_LINES).min(MOST_LINES));
        let wanted: Vec<String> = wanted.map(|line| text::block(line).into_owned()).collect();
        let (commit, of_lines) = (self.commit.clone(), all.len());
        let lines = wanted.len();
        Ok(FileText { commit, path: shown, content: wanted.join("\n"), first_line: first, lines, of_lines })
    }

    /// Lines that contain `wanted`, in any case.
    pub fn search(&self, wanted: &str, below: Option<&str>) -> Result<SearchResult, ProjectError> {
        // git takes every line as a pattern of its own, and an empty one matches everything.
        if wanted.trim().is_empty() || wanted.contains(['\0', '\n']) {
            return Err(ProjectError::NoText);
        }
        let below = below.map(checked).transpose()?.unwrap_or_default();
        let options = [
            "--literal-pathspecs",
            "grep",
            "-I",
            "-i",
            "-n",
            "-z",
            "--full-name",
            "--no-textconv",
            "--no-color",
            "--fixed-strings",
            MOST_IN_FILE,
            "-e",
            wanted,
            &self.commit,
            "--",
        ];
        let words = options.iter().map(|word| (*word).to_owned());
        let path = (!below.as_os_str().is_empty()).then(|| below.display().to_string());
        let command = self.git.plumbing(None, words.chain(path));
        let output = command.capture().map_err(GitError::from)?;
        // It ends with 1 if nothing matches.
        let listing = String::from_utf8_lossy(&output.stdout);
        let mut matches = listing.lines().filter_map(|line| self.matched(line));
        let found: Vec<_> = matches.by_ref().take(MOST_MATCHES).collect();
        Ok(SearchResult { commit: self.commit.clone(), matches: found, truncated: matches.next().is_some() })
    }

    /// `commit:path\0line\0text`.
    fn matched(&self, line: &str) -> Option<SearchMatch> {
        let mut fields = line.splitn(3, '\0');
        let path = fields.next()?.strip_prefix(&self.commit)?.strip_prefix(':')?;
        let line = fields.next()?.parse().ok()?;
        if is_private(Path::new(path)) {
            return None;
        }
        let words = text::truncate_chars(fields.next()?, MOST_CHARS);
        Some(SearchMatch { path: text::line(path).into_owned(), line, text: text::line(&words).into_owned() })
    }

    fn literal(&self, command: &[&str], below: &Path) -> Vec<String> {
        let words = std::iter::once("--literal-pathspecs").chain(command.iter().copied());
        let words = words.chain([self.commit.as_str(), "--"]).map(str::to_owned);
        let path = (!below.as_os_str().is_empty()).then(|| below.display().to_string());
        words.chain(path).collect()
    }
}

fn find_commit(git: &Git, name: &str) -> Result<String, ProjectError> {
    let unknown = || ProjectError::NoCommit(text::line(&text::truncate_chars(name, 100)).into_owned());
    git.find_object(name, "commit").ok().flatten().ok_or_else(unknown)
}

/// A path inside of the project that may be shown.
fn checked(path: &str) -> Result<PathBuf, ProjectError> {
    let shown = || text::line(&text::truncate_chars(path, 200)).into_owned();
    let mut inside = PathBuf::new();
    for part in Path::new(path.trim()).components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            _ => return Err(ProjectError::Outside(shown())),
        }
    }
    if path.contains('\0') {
        return Err(ProjectError::Outside(shown()));
    }
    if is_private(&inside) {
        return Err(ProjectError::Private(shown()));
    }
    Ok(inside)
}
