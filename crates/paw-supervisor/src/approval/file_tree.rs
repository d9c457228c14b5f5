//! The files below directories that a command reads or changes without naming them.

use std::fs;
use std::path::{Path, PathBuf};

use super::characters::quoted;
use super::path::{PathAccess, PathBounds};
use super::protected::{self, Protection};
use super::word::is_plain;

/// The most directory entries to look at; a larger tree is asked about.
const MOST_ENTRIES: usize = 50_000;

/// Directories with downloaded packages and build output, where no secret of the user is.
const GENERATED: [&str; 5] = ["node_modules", "target", ".venv", "venv", "__pycache__"];

/// A selection of files below some directories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FileTree {
    /// The directories, as the command names them.
    pub(super) roots: Vec<String>,
    /// Only files with one of these names; all if empty.
    pub(super) names: Vec<String>,
    /// No files with these names.
    pub(super) without: Vec<String>,
    /// No directories with these names.
    pub(super) without_dirs: Vec<String>,
    /// Whether names that start with a dot are left out, unless `names` select them.
    pub(super) hides_dots: bool,
    /// Whether the command opens what links lead to.
    pub(super) follows: bool,
    /// Only files that git tracks.
    pub(super) tracked: bool,
    /// Whether names with spaces or quotes would be read as several.
    pub(super) splits: bool,
}

impl FileTree {
    /// Fails if the selection contains a protected file, a link that leaves the worktree, or a name that could be misread.
    pub(super) fn check(&self, bounds: &PathBounds, dir: &Path, access: PathAccess) -> Result<(), String> {
        let mut left = MOST_ENTRIES;
        for root in &self.roots {
            // What a pattern matches is below the directory before it.
            let plain = root.split(['*', '?', '[']).next().unwrap_or_default();
            let root = match plain.rsplit_once('/') {
                _ if plain == root => root,
                Some((above, _)) if !above.is_empty() => above,
                _ => ".",
            };
            let top = bounds.check(dir, root, access)?;
            if top.is_file() {
                continue;
            }
            let mut open = vec![OpenDirectory { path: top, hidden: false, selected: false }];
            while let Some(directory) = open.pop() {
                self.check_entries(bounds, &directory, access, &mut open, &mut left)?;
            }
        }
        Ok(())
    }

    fn check_entries(
        &self,
        bounds: &PathBounds,
        directory: &OpenDirectory,
        access: PathAccess,
        open: &mut Vec<OpenDirectory>,
        left: &mut usize,
    ) -> Result<(), String> {
        let Ok(entries) = fs::read_dir(&directory.path) else { return Ok(()) };
        for entry in entries.flatten() {
            *left = left.checked_sub(1).ok_or("a directory with too many files")?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let (path, kind) = (entry.path(), entry.file_type());
            let is_dir = kind.as_ref().is_ok_and(fs::FileType::is_dir);
            let hidden = directory.hidden || name.starts_with('.');
            let selected = directory.selected || self.selects(&name, hidden);
            let odd = !is_plain(&name) || name.starts_with('-');
            if self.splits && odd && (is_dir || selected) {
                return Err(format!("the file name {} could be misread", quoted(&name)));
            }
            if is_dir {
                let generated =
                    GENERATED.contains(&name.as_ref()) && !self.follows && access == PathAccess::Read;
                if !generated && !self.without_dirs.iter().any(|pattern| excludes(pattern, &name)) {
                    // A directory that is listed may be read as a whole.
                    open.push(OpenDirectory { path, hidden, selected: selected && self.follows });
                }
                continue;
            }
            let is_link = kind.as_ref().is_ok_and(fs::FileType::is_symlink);
            if selected && (self.follows || !is_link) {
                self.check_file(bounds, &path, is_link, access)?;
            }
        }
        Ok(())
    }

    fn check_file(
        &self,
        bounds: &PathBounds,
        path: &Path,
        is_link: bool,
        access: PathAccess,
    ) -> Result<(), String> {
        let shown = path.strip_prefix(&bounds.root).unwrap_or(path).to_string_lossy().into_owned();
        match check_entry(bounds, path, (&shown, is_link), access) {
            Err(_) if self.tracked && !is_tracked(bounds, &shown) => Ok(()),
            checked => checked,
        }
    }

    fn selects(&self, name: &str, hidden: bool) -> bool {
        if !self.names.is_empty() {
            // Some commands ignore case.
            let name = name.to_lowercase();
            return self.names.iter().any(|pattern| protected::matches(&pattern.to_lowercase(), &name));
        }
        let left_out =
            self.hides_dots && hidden || self.without.iter().any(|pattern| excludes(pattern, name));
        !left_out
    }
}

/// A directory whose entries are still to be checked.
struct OpenDirectory {
    path: PathBuf,
    hidden: bool,
    /// Everything below it is selected.
    selected: bool,
}

/// Whether a pattern certainly matches a name. What is not understood excludes nothing.
fn excludes(pattern: &str, name: &str) -> bool {
    let plain = pattern.chars().all(|c| c.is_ascii_alphanumeric() || "._-*?".contains(c));
    plain && pattern.len() < 30 && pattern.matches('*').count() < 3 && protected::matches(pattern, name)
}

fn check_entry(
    bounds: &PathBounds,
    path: &Path,
    (shown, is_link): (&str, bool),
    access: PathAccess,
) -> Result<(), String> {
    if is_link {
        let target = bounds.resolve(path, shown)?;
        bounds.require_allowed(&target, shown, access)?;
        if target.is_dir() {
            return Err(format!("{} is a link to a directory", quoted(shown)));
        }
    }
    let inside = path.strip_prefix(&bounds.root).unwrap_or(path);
    // In a linked worktree `.git` is a file that names a directory.
    let refused = match protected::find(inside) {
        Some(Protection::Secret) => access == PathAccess::Write || !inside.ends_with(".git"),
        Some(Protection::Settings | Protection::Steering) => access == PathAccess::Write,
        None => false,
    };
    if refused { Err(format!("{} is protected", quoted(shown))) } else { Ok(()) }
}

/// Whether the name is in git's index, or could be: version 4 shortens names, and an unreadable index says nothing.
fn is_tracked(bounds: &PathBounds, name: &str) -> bool {
    let dot_git = bounds.root.join(".git");
    let named = fs::read_to_string(&dot_git).ok();
    let named = named.as_deref().and_then(|text| text.strip_prefix("gitdir: "));
    let git_dir = named.map_or(dot_git, |dir| bounds.root.join(dir.trim_end()));
    let Ok(index) = fs::read(git_dir.join("index")) else { return true };
    let plain = index.get(4..8).is_some_and(|version| version == [0, 0, 0, 2] || version == [0, 0, 0, 3]);
    !plain || index.windows(name.len().max(1)).any(|part| part == name.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree() -> (tempfile::TempDir, PathBounds) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        for name in ["src", "config", "node_modules/x", "links", "odd", ".claude"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in [
            "src/a.rs",
            "config/.env",
            "node_modules/x/test.pem",
            ".git",
            "odd/a b",
            ".claude/settings.local.json",
        ] {
            paw_host::files::write_atomic(&root.join(name), b"x", paw_host::files::Access::Private).unwrap();
        }
        symlink("/etc/passwd", root.join("links/users")).unwrap();
        let bounds = PathBounds::new(&root, None).unwrap();
        (dir, bounds)
    }

    fn of(root: &str) -> FileTree {
        FileTree { roots: vec![root.to_owned()], ..FileTree::default() }
    }

    #[test]
    fn a_tree_with_a_secret_is_refused_unless_it_is_left_out() {
        let (_dir, bounds) = tree();
        let reads = |tree: &FileTree| tree.check(&bounds, &bounds.root, PathAccess::Read).is_ok();
        assert!(reads(&of("src")) && !reads(&of(".")) && !reads(&of("config")));
        let names = |name: &str| FileTree { names: vec![name.to_owned()], ..of(".") };
        assert!(
            reads(&names("*.rs")) && reads(&names("*.pem")) && !reads(&names(".e*")) && !reads(&names("*"))
        );
        assert!(reads(&FileTree { hides_dots: true, ..of(".") }));
        assert!(reads(&FileTree { without_dirs: vec!["config".to_owned()], ..of(".") }));
        assert!(reads(&FileTree { without: vec![".env".to_owned()], ..of(".") }));
        assert!(!reads(&FileTree { without: vec!["[x]".to_owned()], ..of(".") }), "not understood");
        assert!(!reads(&of("c*")) && !reads(&of("conf?g")), "a pattern as a root");
        let follows = FileTree { follows: true, ..names("config") };
        assert!(!reads(&follows) && !reads(&names(".ENV")), "directories, and names in any case");
    }

    #[test]
    fn links_and_odd_names_matter_only_to_commands_that_follow_or_split_them() {
        let (_dir, bounds) = tree();
        let reads = |tree: &FileTree| tree.check(&bounds, &bounds.root, PathAccess::Read).is_ok();
        assert!(reads(&of("links")) && !reads(&FileTree { follows: true, ..of("links") }));
        assert!(reads(&of("odd")) && !reads(&FileTree { splits: true, ..of("odd") }));
    }

    #[test]
    fn settings_may_be_read_with_a_tree_but_not_written() {
        let (_dir, bounds) = tree();
        let tree = FileTree { names: vec!["settings.local.json".to_owned()], ..of(".") };
        assert!(tree.check(&bounds, &bounds.root, PathAccess::Read).is_ok());
        assert!(tree.check(&bounds, &bounds.root, PathAccess::Write).is_err());
    }
}
