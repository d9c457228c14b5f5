//! Keeps git from starting programs that a repository names.
//!
//! Any agent can write to the repository's settings and attributes. git would run what they name, with our environment: a
//! file system monitor, filters, hooks, a signature check. Programs in the user's own settings, such as git-lfs, still run.

use std::collections::{BTreeMap, BTreeSet};

use super::{Git, GitError, find_linked_admin_dir, run};
use crate::process::Command;

/// For every git command of ours.
const SETTINGS: [(&str, &str); 2] = [("core.fsmonitor", "false"), ("log.showSignature", "false")];
/// Variables that git needs besides the harmless ones. None of them holds a secret.
const VARIABLES: [&str; 14] = [
    "DEVELOPER_DIR",
    "EMAIL",
    "GIT_ATTR_NOSYSTEM",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "XDG_CONFIG_HOME",
];

/// Adds our settings after those that the environment gives to git, or instead of them.
pub(super) fn with_settings(command: Command, instead: bool) -> Command {
    let given = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok());
    add_settings(command, given.filter(|_| !instead).unwrap_or_default())
}

/// Hides keys and tokens from git and all it starts.
pub(super) fn with_short_environment(command: Command) -> Command {
    let command = add_settings(command.harmless_environment(), 0);
    let known = VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    known.fold(command, |command, (name, value)| command.env(*name, value))
}

fn add_settings(command: Command, given: usize) -> Command {
    let command = command.env("GIT_CONFIG_COUNT", (given + SETTINGS.len()).to_string());
    let numbered = (given..).zip(SETTINGS);
    numbered.fold(command, |command, (number, (key, value))| {
        command.env(format!("GIT_CONFIG_KEY_{number}"), key).env(format!("GIT_CONFIG_VALUE_{number}"), value)
    })
}

impl Git {
    /// Options that turn off the filters which the settings of this repository and of its submodules define. A command that
    /// the user's own settings define, too, is kept.
    pub(super) fn filter_options(&self) -> Result<Vec<String>, GitError> {
        let mut overrides = BTreeMap::new();
        self.find_filters(&mut overrides, &mut BTreeSet::new())?;
        // git ignores the other commands of a filter with a process, even an empty one.
        let is_off = |(key, value): (&String, &String)| {
            key.strip_suffix(".process")
                .filter(|_| value.is_empty())
                .map(|driver| format!("{driver}.required"))
        };
        let off: Vec<String> = overrides.iter().filter_map(is_off).collect();
        overrides.extend(off.into_iter().map(|key| (key, "false".to_owned())));
        let setting = |(key, value): (String, String)| ["-c".to_owned(), format!("{key}={value}")];
        Ok(overrides.into_iter().flat_map(setting).collect())
    }

    fn find_filters(
        &self,
        overrides: &mut BTreeMap<String, String>,
        seen: &mut BTreeSet<std::path::PathBuf>,
    ) -> Result<(), GitError> {
        let args = ["config", "--null", "--show-scope", "--get-regexp", r"^filter\."];
        let listing = self.plumbing(None, args).capture()?;
        let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
        let mut fields = listing.split('\0');
        let mut of_user = BTreeMap::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            if matches!(scope, "local" | "worktree") {
                let off = if key.ends_with(".required") { "false" } else { "" };
                overrides.insert(key.to_owned(), off.to_owned());
            } else {
                of_user.insert(key.to_owned(), value.to_owned());
            }
        }
        for (key, value) in overrides.iter_mut() {
            if let Some(known) = of_user.get(key) {
                value.clone_from(known);
            }
        }
        if !self.dir().join(".gitmodules").is_file() {
            return Ok(());
        }
        for entry in self.index_entries()?.iter().filter(|entry| entry.is_submodule()) {
            let dir = self.dir().join(&entry.path);
            let is_repository = dir.join(".git").is_dir() || find_linked_admin_dir(&dir).is_some();
            if is_repository && seen.insert(dir.clone()) {
                Self::at(dir).find_filters(overrides, seen)?;
            }
        }
        Ok(())
    }

    /// Runs a command about the files of this worktree without filters of the repository.
    pub(super) fn plumb_unfiltered(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        run(&self.unfiltered(args)?)
    }

    pub(super) fn unfiltered(&self, args: &[&str]) -> Result<Command, GitError> {
        let options = self.filter_options()?;
        Ok(self.plumbing(None, options.iter().map(String::as_str).chain(args.iter().copied())))
    }

    /// A blob as a checkout would write it to this path.
    pub fn smudged(&self, path: &std::path::Path, oid: &str) -> Result<Vec<u8>, GitError> {
        let mut option = std::ffi::OsString::from("--path=");
        option.push(path);
        run(&self.unfiltered(&["cat-file", "--filters"])?.arg(option).arg(oid))
    }
}
