//! The directories of our files: XDG base directories on every system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use paw_core::PawError;
use paw_core::paths::{ConfigDir, DataDir, RuntimeDir};

/// Our directories. They are created on the first write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    config: ConfigDir,
    data: DataDir,
    runtime: RuntimeDir,
}

impl Dirs {
    /// From the environment of this process.
    pub fn from_env() -> Result<Self, PawError> {
        Self::from_variables(|name| std::env::var_os(name), std::env::home_dir())
    }

    /// All of them in one directory, for tests.
    pub fn below(base: &Path) -> Self {
        let data = DataDir::below(base);
        Self { config: ConfigDir::below(base), runtime: RuntimeDir::of(data.path()), data }
    }

    /// The XDG specification requires that relative paths are ignored.
    fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
        home: Option<PathBuf>,
    ) -> Result<Self, PawError> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = home.filter(|home| home.is_absolute());
        let base = |name, below: &str| {
            absolute(name).or_else(|| home.as_ref().map(|home| home.join(below))).ok_or_else(|| {
                PawError::ConfigError("no home directory".to_owned())
                    .hint(format!("set HOME or {name} to an absolute path"))
            })
        };
        let config = ConfigDir::below(&base("XDG_CONFIG_HOME", ".config")?);
        let data = DataDir::below(&base("XDG_DATA_HOME", ".local/share")?);
        let runtime = absolute("XDG_RUNTIME_DIR");
        let runtime = runtime.map_or_else(|| RuntimeDir::of(data.path()), |dir| RuntimeDir::below(&dir));
        Ok(Self { config, data, runtime })
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.config()
    }

    pub fn config_dir(&self) -> &Path {
        self.config.path()
    }

    pub fn data_dir(&self) -> &Path {
        self.data.path()
    }

    /// The paths of the files in the data directory.
    pub fn data(&self) -> &DataDir {
        &self.data
    }

    /// The directory of session receipts, one JSON file each.
    pub fn sessions_dir(&self) -> PathBuf {
        self.data.sessions()
    }

    /// The directory for sockets: XDG_RUNTIME_DIR if set, else the data directory.
    pub fn runtime(&self) -> &RuntimeDir {
        &self.runtime
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(variables: &[(&str, &str)], home: Option<&str>) -> Result<Dirs, PawError> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        Dirs::from_variables(find, home.map(PathBuf::from))
    }

    #[test]
    fn dirs_default_to_the_home_directory() {
        let dirs = dirs(&[], Some("/home/u")).unwrap();
        assert_eq!(dirs.config_file(), Path::new("/home/u/.config/git-paw/config.toml"));
        assert_eq!(dirs.sessions_dir(), Path::new("/home/u/.local/share/git-paw/sessions"));
        assert_eq!(dirs.runtime().path(), Path::new("/home/u/.local/share/git-paw"));
    }

    #[test]
    fn xdg_variables_take_precedence_and_relative_ones_are_ignored() {
        let set = [("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "relative"), ("XDG_RUNTIME_DIR", "/run/u")];
        let dirs = dirs(&set, Some("/home/u")).unwrap();
        assert_eq!(dirs.config_dir(), Path::new("/c/git-paw"));
        assert_eq!(dirs.data_dir(), Path::new("/home/u/.local/share/git-paw"));
        assert_eq!(dirs.runtime().path(), Path::new("/run/u/git-paw"));
    }

    #[test]
    fn a_missing_home_directory_is_an_error_with_a_hint() {
        let error = dirs(&[], None).unwrap_err().to_string();
        assert!(error.contains("set HOME or XDG_CONFIG_HOME"), "{error}");
        assert!(dirs(&[("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d")], None).is_ok());
    }
}
