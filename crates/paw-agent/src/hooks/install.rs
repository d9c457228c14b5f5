//! How the hooks of a CLI are installed, and the command line that goes with them. Pure: the files are written by the
//! session.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_core::paths::PawDir;
use paw_host::process::shell_quote;

use crate::cli::Cli;

/// What makes a CLI call us.
#[derive(Debug, Clone, Copy)]
pub enum HookInstall {
    /// Entries in a JSON settings file, for each of these events. The path is relative to the worktree, and the file is not
    /// meant to be committed.
    SettingsFile {
        path: &'static str,
        events: &'static [&'static str],
    },
    /// Arguments on its command line, quoted for a shell, which run the given program. They are left out where `is_enabled`
    /// says, from the user's home directory, that the user has not enabled hooks.
    Arguments {
        is_enabled: fn(&Path) -> bool,
        arguments: fn(&Path) -> String,
    },
    Plugin(Plugin),
}

/// A plugin file outside of the worktree, named to the CLI in an environment variable.
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// Its name; the file is next to our own directory, where sandboxed agents may not write.
    pub file: &'static str,
    /// Left alone where the user has set it.
    pub variable: &'static str,
    /// The plugin, which runs the given program. Nothing if the program's path cannot be written there.
    pub text: fn(&Path) -> Option<String>,
    /// The variable's value for a plugin at this path.
    pub value: fn(&Path) -> String,
}

impl Plugin {
    pub fn path(&self, common_dir: &Path) -> PathBuf {
        PawDir::of(common_dir).plugin(self.file)
    }
}

/// What of this machine decides how hooks are installed.
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

/// The command line of an agent with what its CLI has to be told there about its hooks.
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

/// The shell line that a hook runs. Its end is how our own entries are recognised.
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
    fn opencode_is_told_in_its_environment_unless_the_user_has_set_the_variable() {
        assert_eq!(
            line("opencode", |_| false),
            r#"env 'OPENCODE_CONFIG_CONTENT={"plugin":["file:///my%20app/.git/paw-opencode-plugin.js"]}' opencode --x"#
        );
        assert_eq!(line("opencode", |_| true), "opencode --x");
    }

    #[test]
    fn a_cli_whose_hooks_are_in_a_file_or_missing_keeps_its_line() {
        for name in ["claude", "codex", "gemini", "mine"] {
            assert_eq!(line(name, |_| false), format!("{name} --x"));
        }
    }
}
