//! Finds the installed AI CLIs: known ones on PATH, and custom ones from the configuration.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use paw_core::config::CliConfig;
use paw_host::process::{ScriptFile, find_program, is_executable};
use serde::Serialize;

use crate::cli;
use crate::deliver::is_shell;

/// A CLI that can be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CliInfo {
    #[serde(rename = "name")]
    pub binary_name: String,
    pub display_name: String,
    pub source: CliSource,
    pub path: PathBuf,
    /// Our own program, if it has to start the CLI: tmux reports a running shell script as a shell, which would look
    /// like an idle shell.
    #[serde(skip)]
    pub launcher: Option<PathBuf>,
}

impl fmt::Display for CliInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.display_name == self.binary_name {
            f.write_str(&self.binary_name)
        } else {
            write!(f, "{} ({})", self.display_name, self.binary_name)
        }
    }
}

/// Where a CLI comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CliSource {
    Detected,
    Custom,
}

impl fmt::Display for CliSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Detected => "detected",
            Self::Custom => "custom",
        })
    }
}

/// A custom CLI whose program was not found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingCli {
    pub name: String,
    pub command: String,
}

impl fmt::Display for MissingCli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CLI '{}' is configured, but its command '{}' was not found", self.name, self.command)
    }
}

/// The CLIs that were found, sorted by display name, and the configured ones that were not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DetectedClis {
    pub clis: Vec<CliInfo>,
    pub missing: Vec<MissingCli>,
}

impl DetectedClis {
    /// Whether a CLI of this name was found.
    pub fn has(&self, name: &str) -> bool {
        self.clis.iter().any(|cli| cli.binary_name == name)
    }

    /// Adds the program of this name on `search_path`, unless a CLI of this name was found.
    pub fn add_program(&mut self, name: &str, search_path: &OsStr) {
        if name.contains('/') || self.has(name) {
            return;
        }
        if let Some(path) = find_program(name, search_path) {
            self.clis.push(CliInfo {
                binary_name: name.to_owned(),
                display_name: display_name(name, None),
                source: CliSource::Detected,
                launcher: find_launcher(&path, search_path),
                path,
            });
        }
    }
}

/// Known CLIs on `search_path`, plus custom ones, which replace known CLIs of the same name.
pub fn detect_clis(custom: &BTreeMap<String, CliConfig>, search_path: &OsStr) -> DetectedClis {
    let DetectedClis { clis: mut found, missing } = resolve_custom_clis(custom, search_path);
    let known = detect_known_clis(search_path);
    found.extend(known.into_iter().filter(|cli| !custom.contains_key(&cli.binary_name)));
    found.sort_by_cached_key(|cli| (cli.display_name.to_lowercase(), cli.binary_name.clone()));
    DetectedClis { clis: found, missing }
}

pub fn detect_known_clis(search_path: &OsStr) -> Vec<CliInfo> {
    let detect = |cli: &cli::Cli| {
        let path = find_program(cli.name, search_path)?;
        Some(CliInfo {
            binary_name: cli.name.to_owned(),
            display_name: cli.display_name.to_owned(),
            source: CliSource::Detected,
            launcher: find_launcher(&path, search_path),
            path,
        })
    };
    cli::ALL.iter().filter_map(detect).collect()
}

pub fn resolve_custom_clis(custom: &BTreeMap<String, CliConfig>, search_path: &OsStr) -> DetectedClis {
    let mut resolved = DetectedClis::default();
    for (name, cli) in custom {
        match resolve_command(&cli.command, search_path) {
            Some(path) => resolved.clis.push(CliInfo {
                binary_name: name.clone(),
                display_name: display_name(name, cli.display_name.as_deref()),
                source: CliSource::Custom,
                launcher: find_launcher(&path, search_path),
                path,
            }),
            None => resolved.missing.push(MissingCli { name: name.clone(), command: cli.command.clone() }),
        }
    }
    resolved
}

/// An absolute path to a program, or the name of one on `search_path`.
pub fn resolve_command(command: &str, search_path: &OsStr) -> Option<PathBuf> {
    let path = Path::new(command);
    if path.is_absolute() {
        is_executable(path).then(|| path.to_path_buf())
    } else {
        find_program(command, search_path)
    }
}

/// Our own program for a shell script, unless the script `exec`s its program.
fn find_launcher(path: &Path, search_path: &OsStr) -> Option<PathBuf> {
    let script = ScriptFile::read(path, search_path)?;
    let is_shell = script.interpreter_names().iter().any(|name| is_shell(&name.to_string_lossy()));
    let mut lines = script.text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    (is_shell && !lines.any(|line| line.starts_with(b"exec "))).then(std::env::current_exe)?.ok()
}

/// The configured name, else the known one, else the capitalized name.
fn display_name(name: &str, chosen: Option<&str>) -> String {
    if let Some(chosen) = chosen.filter(|chosen| !chosen.trim().is_empty()) {
        return chosen.to_owned();
    }
    if let Some(known) = cli::find(name) {
        return known.display_name.to_owned();
    }
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use paw_testkit::Sandbox;

    use super::*;

    /// A PATH with only these programs.
    fn path_with(programs: &[&str]) -> (Sandbox, std::ffi::OsString) {
        let sandbox = Sandbox::new();
        for program in programs {
            sandbox.install_program(program, "#!/bin/sh\nexec sleep 9\n");
        }
        let path = sandbox.root().join("bin").into_os_string();
        (sandbox, path)
    }

    fn custom(entries: &[(&str, &str, Option<&str>)]) -> BTreeMap<String, CliConfig> {
        let entry = |command: &str, display_name: Option<&str>| CliConfig {
            command: command.to_owned(),
            display_name: display_name.map(str::to_owned),
            submit_delay_ms: None,
            settings_path: None,
            approval_args: None,
        };
        entries
            .iter()
            .map(|(name, command, display)| ((*name).to_owned(), entry(command, *display)))
            .collect()
    }

    fn names(clis: &[CliInfo]) -> Vec<&str> {
        clis.iter().map(|cli| cli.binary_name.as_str()).collect()
    }

    #[test]
    fn all_known_clis_are_present_on_path() {
        let binaries: Vec<_> = cli::ALL.iter().map(|known| known.name).collect();
        let (_sandbox, path) = path_with(&binaries);
        let found = detect_known_clis(&path);
        assert_eq!(names(&found), binaries);
        for cli in &found {
            assert_eq!(cli.source, CliSource::Detected);
            assert!(!cli.display_name.is_empty() && cli.path.is_file(), "{cli:?}");
        }
    }

    #[test]
    fn no_known_clis_are_present_on_path() {
        let (_sandbox, path) = path_with(&["vim"]);
        assert_eq!(detect_known_clis(&path), []);
    }

    #[test]
    fn partial_set_of_clis_on_path() {
        let (_sandbox, path) = path_with(&["claude", "aider"]);
        assert_eq!(names(&detect_known_clis(&path)), ["aider", "claude"]);
    }

    #[test]
    fn custom_clis_merged_with_detected_clis() {
        let (_sandbox, path) = path_with(&["claude", "my-agent"]);
        let found = detect_clis(&custom(&[("mine", "my-agent", None)]), &path);
        assert_eq!(names(&found.clis), ["claude", "mine"]);
    }

    #[test]
    fn custom_cli_binary_not_found() {
        let (_sandbox, path) = path_with(&["claude"]);
        let found = detect_clis(&custom(&[("ghost", "/no/such/binary", None)]), &path);
        assert_eq!(names(&found.clis), ["claude"]);
        assert_eq!(
            found.missing[0].to_string(),
            "CLI 'ghost' is configured, but its command '/no/such/binary' was not found"
        );
    }

    #[test]
    fn custom_cli_resolved_by_absolute_path() {
        let (sandbox, path) = path_with(&[]);
        let program = sandbox.write("elsewhere/agent", "");
        assert_eq!(resolve_custom_clis(&custom(&[("a", program.to_str().unwrap(), None)]), &path).clis, []);
        let program = sandbox.install_program("agent", "#!/bin/sh\n");
        let found = resolve_custom_clis(&custom(&[("a", program.to_str().unwrap(), None)]), OsStr::new(""));
        assert_eq!(found.clis[0].path, program);
    }

    #[test]
    fn custom_cli_overrides_auto_detected_cli() {
        let (_sandbox, path) = path_with(&["claude", "claude-wrapper"]);
        let found = detect_clis(&custom(&[("claude", "claude-wrapper", Some("Ours"))]), &path);
        assert_eq!(found.clis.len(), 1);
        assert_eq!((found.clis[0].source, found.clis[0].display_name.as_str()), (CliSource::Custom, "Ours"));
        assert!(found.clis[0].path.ends_with("claude-wrapper"));
    }

    #[test]
    fn a_custom_cli_that_is_missing_does_not_fall_back_to_the_detected_one() {
        let (_sandbox, path) = path_with(&["claude"]);
        let found = detect_clis(&custom(&[("claude", "claude-wrapper", None)]), &path);
        assert_eq!((found.clis.len(), found.missing.len()), (0, 1));
    }

    #[test]
    fn detected_cli_has_all_fields_populated() {
        let (sandbox, path) = path_with(&["codex"]);
        let expected = CliInfo {
            binary_name: "codex".into(),
            display_name: "Codex".into(),
            source: CliSource::Detected,
            path: sandbox.root().join("bin/codex"),
            launcher: None,
        };
        assert_eq!(detect_clis(&BTreeMap::new(), &path).clis, [expected]);
    }

    #[test]
    fn custom_cli_has_all_fields_populated() {
        let (sandbox, path) = path_with(&["agent"]);
        let expected = CliInfo {
            binary_name: "mine".into(),
            display_name: "My Agent".into(),
            source: CliSource::Custom,
            path: sandbox.root().join("bin/agent"),
            launcher: None,
        };
        assert_eq!(detect_clis(&custom(&[("mine", "agent", Some("My Agent"))]), &path).clis, [expected]);
    }

    #[test]
    fn custom_cli_defaults_to_capitalized_name() {
        let (_sandbox, path) = path_with(&["agent"]);
        let found =
            detect_clis(&custom(&[("my-agent", "agent", None), ("émile", "agent", Some(" "))]), &path);
        let shown: Vec<_> = found.clis.iter().map(|cli| cli.display_name.as_str()).collect();
        assert_eq!(shown, ["My-agent", "Émile"]);
    }

    #[test]
    fn a_shell_script_without_exec_needs_a_launcher() {
        let (sandbox, path) = path_with(&["hands-over"]);
        for (name, text) in
            [("waits", "#!/bin/sh\nsleep 9\n"), ("python", "#!/usr/bin/python3\n"), ("binary", "\x7fELF")]
        {
            sandbox.install_program(name, text);
        }
        let named = |name: &str| {
            let found = detect_clis(&custom(&[("mine", name, None)]), &path);
            found.clis[0].launcher.is_some()
        };
        assert!(named("waits"));
        assert!(!named("hands-over") && !named("python") && !named("binary"));
    }

    #[test]
    fn results_are_sorted() {
        let (_sandbox, path) = path_with(&["claude", "aider", "x"]);
        let found = detect_clis(&custom(&[("x", "x", Some("bravo")), ("y", "x", Some("Zed"))]), &path);
        let shown: Vec<_> = found.clis.iter().map(|cli| cli.display_name.as_str()).collect();
        assert_eq!(shown, ["Aider", "bravo", "Claude Code", "Zed"]);
    }

    #[test]
    fn cli_source_display_strings() {
        assert_eq!(
            (CliSource::Detected.to_string(), CliSource::Custom.to_string()),
            ("detected".into(), "custom".into())
        );
    }

    #[test]
    fn a_cli_is_shown_by_its_name_alone_when_both_names_are_equal() {
        let cli = |display: &str| CliInfo {
            binary_name: "claude".into(),
            display_name: display.into(),
            source: CliSource::Detected,
            path: "/bin/claude".into(),
            launcher: None,
        };
        assert_eq!(cli("claude").to_string(), "claude");
        assert_eq!(cli("Claude Code").to_string(), "Claude Code (claude)");
    }
}
