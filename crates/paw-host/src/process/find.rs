//! Finds a program on `PATH` like a shell, but never in the current directory.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_core::PawError;

/// The first executable of that name on `search_path`. Skips relative and empty entries: they would let a repository
/// substitute its own program.
pub fn find_program(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    std::env::split_paths(search_path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file| is_executable(file))
}

/// The path of the program that this process runs.
pub fn own_program() -> Result<PathBuf, PawError> {
    std::env::current_exe()
        .map_err(|error| PawError::internal(format!("cannot find the program file of git paw: {error}")))
}

pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Access, write_atomic};

    #[test]
    fn find_program_returns_the_first_executable_and_skips_relative_entries() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        write_atomic(&at("a/tool"), b"", Access::Usual).unwrap();
        write_atomic(&at("b/tool"), b"", Access::Executable).unwrap();
        write_atomic(&at("c/tool"), b"", Access::Executable).unwrap();
        std::fs::create_dir_all(at("d/tool")).unwrap();
        let path = std::env::join_paths([
            PathBuf::new(),
            PathBuf::from("."),
            at("missing"),
            at("a/tool"),
            at("a"),
            at("d"),
            at("b"),
            at("c"),
        ])
        .unwrap();
        assert_eq!(find_program("tool", &path), Some(at("b/tool")));
        assert_eq!(find_program("none", &path), None);
        assert_eq!(find_program("b/tool", dir.path().as_os_str()), None);
        assert_eq!(find_program("", &path), None);
    }
}
