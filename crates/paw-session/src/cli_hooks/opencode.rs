//! opencode is told by a plugin: one for all agents of a repository. It lies where no sandboxed agent may write.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use paw_agent::events::plugin;
use paw_core::paths::PawDir;
use paw_host::files::{self, Access, FileError};

use super::HookError;

fn file(common_dir: &Path) -> PathBuf {
    PawDir::of(common_dir).opencode_plugin()
}

/// Whether the user has a plan of their own for the variable that names our plugin.
fn is_taken() -> bool {
    std::env::var_os(plugin::VARIABLE).is_some_and(|value| !value.is_empty())
}

/// The line of an agent with the plugin in it.
pub(super) fn with_plugin(line: &str, common_dir: &Path) -> String {
    if is_taken() { line.to_owned() } else { plugin::line(line, &file(common_dir)) }
}

pub(super) fn put(common_dir: &Path, program: &Path) -> Result<(), HookError> {
    if is_taken() {
        return Err(HookError::VariableTaken(plugin::VARIABLE));
    }
    let text = plugin::text(program).ok_or(HookError::ProgramName)?;
    Ok(files::write_atomic(&file(common_dir), text.as_bytes(), Access::Usual)?)
}

/// Takes the plugin away, once no agent is left that could use it.
pub(super) fn take(common_dir: &Path) -> Result<(), FileError> {
    let path = file(common_dir);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FileError { action: "remove", path, source })
        }
        _ => Ok(()),
    }
}
