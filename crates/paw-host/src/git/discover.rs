//! Finds the repository of a directory without starting git, in the usual case: a main checkout or a linked worktree of the
//! user's own. git answers for everything else.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::Repo;

/// `None` if git has to be asked.
pub(super) fn find_usual_repository(dir: &Path) -> Option<Repo> {
    // git stops its search at these.
    if std::env::var_os("GIT_CEILING_DIRECTORIES").is_some() {
        return None;
    }
    let dir = dir.canonicalize().ok()?;
    let device = fs::metadata(&dir).ok()?.dev();
    for worktree in dir.ancestors() {
        let metadata = fs::metadata(worktree).ok()?;
        let looks_bare = worktree.join("HEAD").exists() && worktree.join("objects").exists();
        if metadata.dev() != device || looks_bare {
            return None;
        }
        let entry = worktree.join(".git");
        match fs::symlink_metadata(&entry) {
            Ok(found) => {
                let usual = is_own(&metadata) && is_own(&found);
                return if usual { repository_at(worktree, &entry, &found) } else { None };
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    None
}

/// git refuses repositories of other users, unless a setting allows it.
fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

fn repository_at(worktree: &Path, entry: &Path, found: &Metadata) -> Option<Repo> {
    let common_dir = if found.is_dir() { entry.to_path_buf() } else { common_dir_of(entry)? };
    let is_complete = ["objects", "refs"].iter().all(|name| common_dir.join(name).is_dir());
    if !is_complete || !has_head(&common_dir) || !common_dir.ends_with(".git") {
        return None;
    }
    if !is_own(&fs::metadata(&common_dir).ok()?) || !is_usual_config(&common_dir.join("config")) {
        return None;
    }
    let root = common_dir.parent()?.to_path_buf();
    Some(Repo { root, worktree: Some(worktree.to_path_buf()), common_dir, bare: false })
}

/// git ignores a directory whose HEAD names neither a ref nor a commit.
fn has_head(git_dir: &Path) -> bool {
    let head = fs::read(git_dir.join("HEAD")).unwrap_or_default();
    head.starts_with(b"ref: refs/") || (head.len() > 40 && head[..40].iter().all(u8::is_ascii_hexdigit))
}

/// The shared git directory that the `.git` file of a linked worktree leads to.
fn common_dir_of(entry: &Path) -> Option<PathBuf> {
    let line = |path: &Path| {
        let text = fs::read(path).ok()?;
        Some(text.strip_suffix(b"\n").unwrap_or(&text).to_vec())
    };
    let git_dir = super::path(line(entry)?.strip_prefix(b"gitdir: ")?);
    let common = line(&git_dir.join("commondir"))?;
    if !git_dir.is_absolute() || !has_head(&git_dir) || !is_own(&fs::metadata(&git_dir).ok()?) {
        return None;
    }
    git_dir.join(std::ffi::OsStr::from_bytes(&common)).canonicalize().ok()
}

/// Whether no setting moves the worktree or makes the repository bare, no other file could contain one, and git accepts every
/// line.
fn is_usual_config(config: &Path) -> bool {
    let Ok(text) = fs::read(config) else { return false };
    String::from_utf8_lossy(&text).to_lowercase().lines().all(|line| is_usual_line(line.trim()))
}

fn is_usual_line(line: &str) -> bool {
    let is_word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let is_plain = |text: &str| !text.contains(['"', '\\']);
    if line.is_empty() || line.starts_with(['#', ';']) {
        return true;
    }
    if ["worktree", "include", "extensions"].iter().any(|word| line.contains(word)) {
        return false;
    }
    if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
        let (name, subsection) = section.split_once(' ').unwrap_or((section, "\"\""));
        let subsection = subsection.trim().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        return is_word(name) && subsection.is_some_and(is_plain);
    }
    match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
        Some(("bare", value)) => value == "false",
        Some(("repositoryformatversion", value)) => matches!(value, "0" | "1"),
        Some((key, value)) => is_word(key) && is_plain(value),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_settings_are_usual() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config");
        let usual = |text: &str| {
            crate::files::write_atomic(&config, text.as_bytes(), crate::files::Access::Usual).unwrap();
            is_usual_config(&config)
        };
        assert!(usual("[core]\n\trepositoryformatversion = 0\n\tbare = false\n"));
        assert!(usual(
            "# mine\n[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\n[user]\nemail = a@b\n"
        ));
        for text in [
            "[core]\n\tbare = true",
            "[core] bare",
            "[Core]\nWorkTree = ..",
            "[include]\npath = x",
            "[core] bare = false",
            "[core\n",
            "[core]\nname = \"a",
            "[core]\nrepositoryformatversion = 2",
            "[extensions]\nobjectformat = sha256",
            "[a] ]",
            "= x",
        ] {
            assert!(!usual(text), "{text}");
        }
        assert!(!is_usual_config(dir.path()));
    }
}
