//! Resolves paths and decides whether an agent may use them without asking.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::characters::quoted;
use super::protected::{self, Protection};

/// What a command does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathAccess {
    Read,
    Write,
}

/// The most directory entries a pattern may expand to.
const MOST_ENTRIES: usize = 4096;

/// The worktree and the home directory, with symbolic links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathBounds {
    pub(super) root: PathBuf,
    pub(super) home: Option<PathBuf>,
    /// Further protected paths in the worktree.
    pub(super) settings: Vec<PathBuf>,
}

impl PathBounds {
    pub(super) fn new(root: &Path, home: Option<&Path>) -> Result<Self, String> {
        let root = resolve_links(root)?;
        if root.parent().is_none() {
            return Err("the worktree is the root of the file system".to_owned());
        }
        Ok(Self { root, home: home.map(resolve_links).transpose()?, settings: Vec::new() })
    }

    /// Resolves `text` from `dir`; fails outside of the worktree and for protected paths.
    pub(super) fn check(&self, dir: &Path, text: &str, access: PathAccess) -> Result<PathBuf, String> {
        self.check_target(&self.absolute(dir, text)?, text, access)
    }

    fn check_target(&self, path: &Path, text: &str, access: PathAccess) -> Result<PathBuf, String> {
        let target = self.resolve(path, text)?;
        self.require_allowed(&target, text, access)?;
        if access == PathAccess::Write && has_several_names(&target) {
            return Err(format!("{} is a file with several names (hard links)", quoted(text)));
        }
        // Some programs shorten `x/..` before they look at links.
        if path.components().any(|part| part == Component::ParentDir) {
            let other = self.resolve(&without_parents(path), text)?;
            self.require_allowed(&other, text, access)?;
        }
        Ok(target)
    }

    /// Like [`Self::check`], for everything a pattern could match.
    pub(super) fn check_pattern(&self, dir: &Path, text: &str, access: PathAccess) -> Result<(), String> {
        let path = self.absolute(dir, text)?;
        let parts: Vec<_> = path.components().collect();
        let wild = parts.iter().position(is_wild).unwrap_or(parts.len());
        let base = self.check_target(&parts[..wild].iter().collect::<PathBuf>(), text, access)?;
        let mut left = MOST_ENTRIES;
        self.check_matches(&base, &parts[wild..], (text, access), &mut left)
    }

    /// Resolves links. Paths through `/proc` and `/dev` differ from process to process; a worktree may be below them.
    pub(super) fn resolve(&self, path: &Path, text: &str) -> Result<PathBuf, String> {
        let mut real = PathBuf::new();
        for part in path.components() {
            self.follow(&mut real, part, text)?;
        }
        Ok(real)
    }

    fn follow(&self, real: &mut PathBuf, part: Component<'_>, text: &str) -> Result<(), String> {
        follow(real, part)?;
        let fleeting = ["/proc", "/dev"].iter().any(|above| real.starts_with(above));
        if fleeting && !real.starts_with(&self.root) && !self.root.starts_with(&*real) {
            return Err(format!("{} leaves the worktree", quoted(text)));
        }
        Ok(())
    }

    /// An entry of a resolved directory, with its link resolved.
    pub(super) fn entry(&self, dir: &Path, name: &OsStr, text: &str) -> Result<PathBuf, String> {
        let mut real = dir.to_path_buf();
        self.follow(&mut real, Component::Normal(name), text)?;
        Ok(real)
    }

    fn absolute(&self, dir: &Path, text: &str) -> Result<PathBuf, String> {
        if text.contains('\n') || text.is_empty() {
            return Err("a path that is empty or has several lines".to_owned());
        }
        let Some(below) = text.strip_prefix('~') else {
            return Ok(dir.join(text));
        };
        match (&self.home, below.strip_prefix('/'), below) {
            (Some(home), Some(below), _) => Ok(home.join(below.trim_start_matches('/'))),
            (Some(home), None, "") => Ok(home.clone()),
            _ => Err(format!("{} is a home directory", quoted(text))),
        }
    }

    pub(super) fn require_allowed(
        &self,
        target: &Path,
        text: &str,
        access: PathAccess,
    ) -> Result<(), String> {
        let Ok(inside) = target.strip_prefix(&self.root) else {
            return Err(format!("{} leaves the worktree", quoted(text)));
        };
        let in_home =
            self.home.as_ref().is_some_and(|home| home.starts_with(&self.root) && target.starts_with(home));
        // Files next to a settings file are usually settings, too.
        let is_settings = |file: &PathBuf| {
            let directory = file.parent().filter(|dir| dir.components().next().is_some());
            inside.starts_with(directory.unwrap_or(file))
        };
        let is_named = match protected::find(inside) {
            Some(Protection::Secret | Protection::Settings) => true,
            Some(Protection::Steering) => access == PathAccess::Write,
            None => false,
        };
        if in_home || is_named || self.settings.iter().any(is_settings) {
            return Err(format!("{} is protected", quoted(text)));
        }
        Ok(())
    }

    /// Treats every entry as a match and checks where it leads.
    fn check_matches(
        &self,
        dir: &Path,
        parts: &[Component<'_>],
        (text, access): (&str, PathAccess),
        left: &mut usize,
    ) -> Result<(), String> {
        let Some((part, below)) = parts.split_first() else { return Ok(()) };
        let name = part.as_os_str().to_string_lossy();
        if matches!(part, Component::ParentDir) || (is_wild(part) && name.starts_with('.')) {
            return Err(format!("{} could lead anywhere", quoted(text)));
        }
        if !is_wild(part) {
            let target = self.resolve(&dir.join(part), text)?;
            self.require_allowed(&target, text, access)?;
            return self.check_matches(&target, below, (text, access), left);
        }
        let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
        for entry in entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')) {
            *left = left.checked_sub(1).ok_or_else(|| format!("{} matches too many files", quoted(text)))?;
            let target = self.entry(dir, &entry.file_name(), text)?;
            self.require_allowed(&target, text, access)?;
            if !below.is_empty() && target.is_dir() {
                self.check_matches(&target, below, (text, access), left)?;
            }
        }
        Ok(())
    }
}

/// Whether git could take a directory for a repository and read its configuration, which can run programs. git accepts
/// a `HEAD` that is a dangling link, and objects that `commondir` names elsewhere, so any `HEAD` counts.
pub(super) fn could_be_repository(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("HEAD")
    })
}

/// One of the names may be outside of the worktree.
fn has_several_names(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1)
}

fn is_wild(part: &Component<'_>) -> bool {
    part.as_os_str().to_string_lossy().contains(['*', '?', '['])
}

/// The path without `.` and `x/..`, whatever `x` is.
pub(super) fn without_parents(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                short.pop();
            }
            other => short.push(other),
        }
    }
    short
}

/// The path with symbolic links resolved, as far as it exists. `..` leaves the directory that a link leads to.
pub(super) fn resolve_links(path: &Path) -> Result<PathBuf, String> {
    let mut real = PathBuf::new();
    for part in path.components() {
        follow(&mut real, part)?;
    }
    Ok(real)
}

fn follow(real: &mut PathBuf, part: Component<'_>) -> Result<(), String> {
    match part {
        Component::CurDir => {}
        Component::ParentDir => {
            real.pop();
        }
        Component::RootDir | Component::Prefix(_) => real.push(part),
        Component::Normal(name) => {
            real.push(name);
            match real.canonicalize() {
                Ok(target) => *real = target,
                Err(_) if real.is_symlink() => {
                    return Err(format!("{} is a dangling link", quoted(&real.to_string_lossy())));
                }
                Err(_) => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A worktree with a link that stays inside, one that leaves and a dangling one, next to a home directory.
    fn place() -> (tempfile::TempDir, PathBounds) {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        for name in ["tree/src/deep", "tree/links", "home/.ssh"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        symlink("src", tree.join("stays")).unwrap();
        symlink(dir.path().join("home"), tree.join("leaves")).unwrap();
        symlink(dir.path().join("nothing/there"), tree.join("dangling")).unwrap();
        symlink(dir.path().join("home"), tree.join("links/out")).unwrap();
        symlink(".git", tree.join("src/deep/state")).unwrap();
        let bounds = PathBounds::new(&tree, Some(&dir.path().join("home"))).unwrap();
        (dir, bounds)
    }

    #[test]
    fn configured_settings_files_and_their_siblings_are_protected() {
        let (_dir, mut bounds) = place();
        for file in ["src/deep/new.rs", "agent.json", ".my-agent/settings.json"] {
            assert!(check(&bounds, file), "{file}");
        }
        bounds.settings = vec![".my-agent/settings.json".into(), "agent.json".into()];
        for file in ["agent.json", ".my-agent/settings.json", ".my-agent/hooks/x", "src/../.my-agent/y"] {
            assert!(!check(&bounds, file), "{file}");
        }
        assert!(check(&bounds, "src/deep/new.rs") && check(&bounds, "agent.json.md"));
    }

    fn check(bounds: &PathBounds, text: &str) -> bool {
        bounds.check(&bounds.root, text, PathAccess::Write).is_ok()
    }

    #[test]
    fn paths_are_resolved_before_they_are_checked() {
        let (_dir, bounds) = place();
        for text in [".", "src", "./src/../src/new.rs", "stays/deep", "stays/../src", "new/a/../b"] {
            assert!(check(&bounds, text), "{text}");
        }
        let absolute = bounds.root.join("src").display().to_string();
        assert!(check(&bounds, &absolute), "{absolute}");
        for text in [
            "..",
            "../x",
            "src/../..",
            "/",
            "/etc/passwd",
            "~",
            "~/x",
            "~root/x",
            "leaves",
            "leaves/.ssh",
            "leaves/../x",
            "dangling",
            "src/deep/../../../x",
            "",
            "a\nb",
        ] {
            assert!(!check(&bounds, text), "{text}");
        }
    }

    #[test]
    fn protected_names_match_at_any_depth_and_in_any_case() {
        let (_dir, bounds) = place();
        for text in [
            ".git",
            ".git/config",
            "sub/.git/hooks",
            ".GIT/config",
            ".git-paw/config.toml",
            ".claude/settings.json",
            ".env",
            ".env.local",
            ".Codex/config.toml",
            "src/../.git",
            "x/../.gemini",
            "src/deep/state",
            ".aider.conf.yml",
        ] {
            assert!(!check(&bounds, text), "{text}");
        }
        for text in [".gitignore", "git", "environment", ".env.example"] {
            assert!(check(&bounds, text), "{text}");
        }
    }

    #[test]
    fn a_home_directory_inside_the_worktree_is_protected() {
        let (dir, _) = place();
        let bounds = PathBounds::new(dir.path(), Some(&dir.path().join("home"))).unwrap();
        assert!(check(&bounds, "tree/src") && !check(&bounds, "home/notes") && !check(&bounds, "~/notes"));
        let home = dir.path().join("home");
        assert!(!check(&PathBounds::new(&home, Some(&home)).unwrap(), "notes"));
    }

    #[test]
    fn a_pattern_is_checked_against_everything_it_could_match() {
        let (_dir, bounds) = place();
        let fits = |text: &str| bounds.check_pattern(&bounds.root, text, PathAccess::Read).is_ok();
        assert!(fits("src/*.rs") && fits("new/*/x") && fits("src/d*/new"));
        for text in
            ["*", "links/*", "../*", "/etc/*", ".*", ".g*/config", "src/*/../..", "src/*/state", "~/*"]
        {
            assert!(!fits(text), "{text}");
        }
    }

    #[test]
    fn a_pattern_with_too_many_matches_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=MOST_ENTRIES {
            fs::create_dir(dir.path().join(number.to_string())).unwrap();
        }
        let bounds = PathBounds::new(dir.path(), None).unwrap();
        assert!(bounds.check_pattern(&bounds.root, "*", PathAccess::Read).unwrap_err().contains("too many"));
    }
}
