//! How the hooks of a CLI are installed, and the command line they need. Pure: the session writes the files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_core::paths::PawDir;
use paw_host::process::shell_quote;

use super::settings;
use crate::cli::Cli;

/// How a CLI is made to call our hook.
#[derive(Debug, Clone, Copy)]
pub enum HookInstall {
    /// Entries for these events in a JSON settings file, which is not meant to be committed. The path is relative to the
    /// worktree.
    SettingsFile {
        path: &'static str,
        events: &'static [&'static str],
        /// The option that takes the same settings as JSON, for a CLI in the user's own checkout.
        option: Option<&'static str>,
    },
    /// Command-line arguments, quoted for a shell, that run the given program. Omitted unless `is_enabled` finds hooks
    /// enabled in the user's home directory.
    Arguments {
        is_enabled: fn(&Path) -> bool,
        arguments: fn(&Path) -> String,
    },
    Plugin(Plugin),
}

/// A plugin file outside the worktree, which an environment variable passes to the CLI.
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// Its name; the file is next to our own directory, where sandboxed agents cannot write.
    pub file: &'static str,
    /// The environment variable, which is left alone if the user has set it.
    pub variable: &'static str,
    /// The source of the plugin, which runs the given program. `None` if the program's path is not Unicode.
    pub text: fn(&Path) -> Option<String>,
    /// The variable's value for a plugin at this path.
    pub value: fn(&Path) -> String,
}

impl Plugin {
    pub fn path(&self, common_dir: &Path) -> PathBuf {
        PawDir::of(common_dir).plugin(self.file)
    }
}

/// The environment that decides how hooks are installed.
#[derive(Debug, Clone)]
pub struct HookEnvironment {
    /// Our own program, which the hooks run.
    pub program: PathBuf,
    pub home: Option<PathBuf>,
    /// Whether an environment variable is set and not empty.
    pub is_set: fn(&str) -> bool,
}

impl HookEnvironment {
    /// The environment of this process.
    pub fn load(program: &Path) -> Self {
        Self { program: program.to_path_buf(), home: std::env::home_dir(), is_set }
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// Adds to an agent's command line what its CLI needs for its hooks.
pub fn with_hooks(line: String, cli: &Cli, environment: &HookEnvironment, common_dir: &Path) -> String {
    match cli.hooks.map(|hooks| hooks.install) {
        Some(HookInstall::Plugin(plugin)) if !(environment.is_set)(plugin.variable) => {
            let value = (plugin.value)(&plugin.path(common_dir));
            format!("env {} {line}", shell_quote(OsStr::new(&format!("{}={value}", plugin.variable))))
        }
        Some(HookInstall::Arguments { is_enabled, arguments })
            if environment.home.as_deref().is_some_and(is_enabled) =>
        {
            format!("{line} {}", arguments(&environment.program))
        }
        _ => line,
    }
}

/// Adds to the supervisor's command line what its CLI needs for its hooks. It works in the user's checkout, so no file is
/// written there.
pub fn with_supervisor_hooks(
    line: String,
    cli: &Cli,
    environment: &HookEnvironment,
    common_dir: &Path,
) -> String {
    match cli.hooks.map(|hooks| hooks.install) {
        Some(HookInstall::SettingsFile { option: Some(option), .. }) => {
            match settings::as_argument(cli, &environment.program) {
                Some(settings) => format!("{line} {option} {}", shell_quote(OsStr::new(&settings))),
                None => line,
            }
        }
        Some(HookInstall::Plugin(_)) => with_hooks(line, cli, environment, common_dir),
        // A CLI that asks the user about hooks on its command line would not start until the user answers.
        _ => line,
    }
}

/// The shell line that a hook runs. Its ending identifies our own entries.
pub(crate) fn hook_line(cli: &str, program: &Path) -> String {
    format!("{}{}", shell_quote(OsStr::new(program)), hook_ending(cli))
}

pub(crate) fn hook_ending(cli: &str) -> String {
    format!(" hook --cli {cli}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn line(name: &str, is_set: fn(&str) -> bool) -> String {
        let environment = HookEnvironment { program: "/opt/git-paw".into(), home: None, is_set };
        let cli = cli::descriptor(name);
        with_hooks(format!("{name} --x"), cli, &environment, Path::new("/my app/.git"))
    }

    #[test]
    fn opencode_gets_its_plugin_from_a_variable_unless_the_user_has_set_it() {
        assert_eq!(
            line("opencode", |_| false),
            r#"env 'OPENCODE_CONFIG_CONTENT={"plugin":["file:///my%20app/.git/paw-opencode-plugin.js"]}' opencode --x"#
        );
        assert_eq!(line("opencode", |_| true), "opencode --x");
    }

    #[test]
    fn the_supervisor_gets_its_hooks_without_a_file_in_the_users_checkout() {
        let environment = HookEnvironment { program: "/opt/git-paw".into(), home: None, is_set: |_| false };
        let line = |name: &str| {
            with_supervisor_hooks(
                format!("{name} --x"),
                cli::descriptor(name),
                &environment,
                Path::new("/app/.git"),
            )
        };
        let claude = line("claude");
        assert!(
            claude.starts_with(r#"claude --x --settings '{"hooks":{"SessionStart":[{"hooks":[{"#),
            "{claude}"
        );
        assert!(claude.contains(r#""command":"/opt/git-paw hook --cli claude""#), "{claude}");
        assert!(line("opencode").starts_with("env 'OPENCODE_CONFIG_CONTENT="));
        assert_eq!((line("codex"), line("gemini")), ("codex --x".to_owned(), "gemini --x".to_owned()));
    }

    #[test]
    fn a_cli_with_hooks_in_a_file_or_none_keeps_its_command_line() {
        for name in ["claude", "codex", "gemini", "mine"] {
            assert_eq!(line(name, |_| false), format!("{name} --x"));
        }
    }
}
