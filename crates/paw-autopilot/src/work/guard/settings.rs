//! Git settings, hooks, and files outside of the repository that test runners read by themselves.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use paw_core::paths::TaskmasterDir;
use paw_host::git::{Git, GitError};

use crate::evidence::runner_files::RUNNER_SETTINGS;
use crate::work::ProjectContext;

/// Settings that neither run programs nor decide what git sees.
const HARMLESS: [&str; 9] = [
    "branch.",
    "gc.",
    "maintenance.",
    "alias.",
    "color.",
    "advice.",
    "extensions.worktreeconfig",
    "core.repositoryformatversion",
    "submodule.",
];

/// What git reads below the git directory. Other files there come and go while another run starts.
const GIT_FILES: [&str; 7] = [
    "objects/info/alternates",
    "shallow",
    "config.worktree",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "info/sparse-checkout",
];

/// Below the home directory.
const HOME_FILES: [&str; 9] = [
    ".cargo/config.toml",
    ".cargo/config",
    ".config/go/env",
    ".config/git/attributes",
    ".config/git/ignore",
    ".npmrc",
    ".bunfig.toml",
    ".yarnrc.yml",
    ".pythonrc",
];

/// Every git setting with its values, in order.
pub(super) fn load_config(git: &Git) -> Result<BTreeMap<String, Vec<String>>, GitError> {
    let listing = git.plumb(None, ["config", "--list", "--includes", "-z"])?;
    let mut config: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in String::from_utf8_lossy(&listing).split('\0').filter(|entry| !entry.is_empty()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        config.entry(key.to_owned()).or_default().push(value.to_owned());
    }
    Ok(config)
}

pub(super) fn settings(
    context: &ProjectContext,
    config: &BTreeMap<String, Vec<String>>,
) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for (key, values) in config.iter().filter(|(key, _)| !is_harmless(key)) {
        found.insert(key.clone(), digest(values));
    }
    let common = &context.repo.common_dir;
    let mut dirs = vec![common.clone()];
    dirs.extend(paw_host::git::find_admin_dir(common, &context.top));
    for file in dirs.iter().flat_map(|dir| GIT_FILES.map(|name| dir.join(name))) {
        add_file(&mut found, shown(&file, common), &file);
    }
    let configured = config.get("core.hookspath").into_iter().flatten().map(|path| context.top.join(path));
    for dir in [common.join("hooks")].into_iter().chain(configured) {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !name.to_string_lossy().ends_with(".sample") {
                add_file(&mut found, format!("hook {}", name.to_string_lossy()), &entry.path());
            }
        }
    }
    for file in ["core.excludesfile", "core.attributesfile"].iter().filter_map(|key| config.get(*key)?.last())
    {
        add_file(&mut found, file.clone(), &expanded(file));
    }
    for file in outside(context) {
        add_file(&mut found, file.display().to_string(), &file);
    }
    found
}

fn is_harmless(key: &str) -> bool {
    HARMLESS.iter().any(|harmless| key.starts_with(harmless))
}

/// Runners look for settings in every parent directory of a project.
fn outside(context: &ProjectContext) -> Vec<PathBuf> {
    let parents = context.top.ancestors().skip(1).map(Path::to_path_buf);
    let checkout = context.data.proofs();
    let checkouts = checkout.ancestors().map(Path::to_path_buf);
    let named = parents.chain(checkouts).flat_map(|dir| RUNNER_SETTINGS.map(|name| dir.join(name)));
    let home = std::env::home_dir();
    let at_home = home.iter().flat_map(|home| HOME_FILES.map(|name| home.join(name)));
    named.chain(at_home).collect()
}

fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path.into(),
    }
}

fn shown(file: &Path, common_dir: &Path) -> String {
    let inside = file.strip_prefix(common_dir).unwrap_or(file);
    format!(".git/{}", inside.display())
}

/// Adds a file by its content and mode. A larger one, or a directory, by its change time.
fn add_file(found: &mut BTreeMap<String, u64>, name: String, file: &Path) {
    let Ok(metadata) = fs::metadata(file) else { return };
    let small = metadata.is_file() && metadata.len() < 1 << 20;
    let content = if small { fs::read(file).ok() } else { None };
    let seen = match content.as_deref().map(without_own_rules) {
        // A file with nothing but our own rules may have been created by another run.
        Some(rules) if rules.is_empty() => return,
        Some(rules) => digest(&(metadata.permissions().mode(), rules)),
        None => digest(&(metadata.ino(), metadata.ctime(), metadata.ctime_nsec())),
    };
    found.insert(name, seen);
}

/// Sessions add rules for their own files to the exclude file, marked by a comment, while a run is in progress.
fn without_own_rules(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words = ["git-paw", "AGENTS.md", TaskmasterDir::NAME];
    let own = |line: &&str| line.trim().is_empty() || words.iter().any(|word| line.contains(word));
    text.lines().filter(|line| !own(line)).collect::<Vec<_>>().join("\n")
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use paw_host::files::{Access, write_atomic};

    use super::*;

    #[test]
    fn exclude_file_with_own_rules_only_counts_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("exclude");
        let seen = |text: &str| {
            write_atomic(&file, text.as_bytes(), Access::Usual).unwrap();
            let mut found = BTreeMap::new();
            add_file(&mut found, "exclude".to_owned(), &file);
            found
        };
        assert!(seen("# git-paw\n/.taskmaster/state.json\n").is_empty());
        assert_ne!(seen("conftest.py\n"), seen("other.py\n"));
    }

    #[test]
    fn rules_of_sessions_and_harmless_settings_do_not_count() {
        assert_eq!(without_own_rules(b"*.log\n\n# git-paw\n/AGENTS.md\n"), "*.log");
        assert!(is_harmless("branch.feat/x.merge") && !is_harmless("core.hookspath"));
    }
}
