//! The installed git version and the minimum that git paw requires.

use std::fmt;

use paw_core::PawError;

use super::{Git, GitError};

/// The first version with `git merge-tree --write-tree`.
pub const MINIMUM_VERSION: GitVersion = GitVersion { major: 2, minor: 38 };

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl GitVersion {
    /// Parses `git version 2.39.5 (Apple Git-154)` and similar.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix("git version ")?.split('.');
        let number = |text: &str| text.trim().parse().ok();
        Some(Self { major: number(numbers.next()?)?, minor: number(numbers.next()?)? })
    }
}

impl Git {
    pub fn version(&self) -> Result<GitVersion, GitError> {
        let answer = self.line(["version"])?;
        GitVersion::parse(&answer)
            .ok_or_else(|| GitError::Unexpected { command: "git version".to_owned(), answer })
    }

    /// Fails with an install hint when git is missing or older than [`MINIMUM_VERSION`].
    pub fn require_minimum(&self) -> Result<GitVersion, PawError> {
        match self.version()? {
            version if version < MINIMUM_VERSION => {
                Err(PawError::GitTooOld { found: version.to_string(), needed: MINIMUM_VERSION.to_string() })
            }
            version => Ok(version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_vendors_are_parsed() {
        for (text, major, minor) in [
            ("git version 2.47.3", 2, 47),
            ("git version 2.39.5 (Apple Git-154)", 2, 39),
            ("git version 2.45.GIT", 2, 45),
            ("git version 3.0.1.windows.1", 3, 0),
        ] {
            assert_eq!(GitVersion::parse(text), Some(GitVersion { major, minor }), "{text}");
        }
        assert_eq!(GitVersion::parse("hub version 1"), None);
    }

    #[test]
    fn versions_compare_numerically() {
        assert!(
            GitVersion { major: 2, minor: 9 } < MINIMUM_VERSION
                && GitVersion { major: 3, minor: 0 } > MINIMUM_VERSION
        );
    }
}
