//! The installed tmux version and the minimum that git paw requires.

use std::fmt;

use paw_core::PawError;

use super::{Tmux, TmuxCommand, TmuxError};

/// The first version where `new-session -e` and `split-window -l N%` work without a client.
pub const MINIMUM_VERSION: TmuxVersion = TmuxVersion::Release { major: 3, minor: 2 };

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TmuxVersion {
    Release {
        major: u32,
        minor: u32,
    },
    /// A development build, newer than every release.
    Development,
}

impl fmt::Display for TmuxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release { major, minor } => write!(f, "{major}.{minor}"),
            Self::Development => f.write_str("(development)"),
        }
    }
}

impl TmuxVersion {
    /// Parses `tmux 3.3a`, `tmux next-3.5`, `tmux master`, `tmux openbsd-7.4`.
    pub fn parse(text: &str) -> Option<Self> {
        let version = text.trim().strip_prefix("tmux ")?;
        if version == "master" || version.starts_with("openbsd") {
            return Some(Self::Development);
        }
        let version = version.strip_prefix("next-").unwrap_or(version);
        let (major, rest) = version.split_once('.')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some(Self::Release { major: major.parse().ok()?, minor: rest[..digits].parse().ok()? })
    }
}

impl Tmux {
    pub fn version(&self) -> Result<TmuxVersion, TmuxError> {
        let answer = self.run(&TmuxCommand::new("-V"))?;
        TmuxVersion::parse(&answer).ok_or(TmuxError::Unexpected(answer))
    }

    /// Fails with an install hint when tmux is missing or older than [`MINIMUM_VERSION`].
    pub fn require_minimum(&self) -> Result<TmuxVersion, PawError> {
        match self.version()? {
            version if version < MINIMUM_VERSION => {
                Err(PawError::TmuxTooOld { found: version.to_string(), needed: MINIMUM_VERSION.to_string() })
            }
            version => Ok(version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_versions_are_parsed_and_compared() {
        let release = |major, minor| Some(TmuxVersion::Release { major, minor });
        for (text, version) in [
            ("tmux 3.3a\n", release(3, 3)),
            ("tmux 2.6", release(2, 6)),
            ("tmux next-3.5", release(3, 5)),
            ("tmux 3.10-rc", release(3, 10)),
            ("tmux master", Some(TmuxVersion::Development)),
            ("tmux openbsd-7.4", Some(TmuxVersion::Development)),
            ("screen 4", None),
            ("tmux x.y", None),
        ] {
            assert_eq!(TmuxVersion::parse(text), version, "{text}");
        }
        assert!(release(2, 9) < Some(MINIMUM_VERSION) && Some(TmuxVersion::Development) > release(3, 10));
    }
}
