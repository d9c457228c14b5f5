//! File names of logs: the branch with `/` as `--`, so that the branch can be recovered from the name.

use std::borrow::Cow;
use std::fmt;

use paw_core::BranchName;
use sha2::{Digest as _, Sha256};

/// Longer names are truncated and get a hash, because file systems limit names to 255 bytes.
const LONGEST: usize = 200;
/// A branch cannot contain this character.
const NO_BRANCH: char = '~';
const SUPERVISOR: &str = "~supervisor";
const EXTENSION: &str = ".log";

/// The agent or supervisor whose output a log contains.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogOwner {
    Agent(BranchName),
    Supervisor,
    /// The name was truncated, or git paw did not write the file.
    Unknown(String),
}

impl LogOwner {
    pub fn file_name(&self) -> String {
        format!("{}{EXTENSION}", self.stem())
    }

    pub fn stem(&self) -> Cow<'_, str> {
        match self {
            Self::Agent(branch) => Cow::Owned(encode(branch.as_str())),
            Self::Supervisor => Cow::Borrowed(SUPERVISOR),
            Self::Unknown(stem) => Cow::Borrowed(stem),
        }
    }

    /// The owner of the log with this file name. `None` if it is not a log.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(EXTENSION).filter(|stem| !stem.is_empty())?;
        if stem == SUPERVISOR {
            return Some(Self::Supervisor);
        }
        let branch = decode(stem).and_then(|branch| BranchName::new(branch).ok());
        Some(match branch {
            Some(branch) if encode(branch.as_str()) == stem => Self::Agent(branch),
            _ => Self::Unknown(stem.to_owned()),
        })
    }
}

impl fmt::Display for LogOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(branch) => branch.fmt(f),
            Self::Supervisor => f.write_str(&SUPERVISOR[1..]),
            Self::Unknown(stem) => f.write_str(stem),
        }
    }
}

/// Writes a dash as `%2D` if it could be read as part of `--`.
fn encode(branch: &str) -> String {
    let near = |c: Option<char>| matches!(c, Some('-' | '/'));
    let mut name = String::with_capacity(branch.len() + 8);
    let mut before = None;
    let mut rest = branch.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' => name.push_str("--"),
            '%' => name.push_str("%25"),
            '-' if near(before) || near(rest.peek().copied()) => name.push_str("%2D"),
            c => name.push(c),
        }
        before = Some(c);
    }
    if name.len() <= LONGEST { name } else { cut(&name, branch) }
}

fn cut(name: &str, branch: &str) -> String {
    let hash = Sha256::digest(branch.as_bytes());
    let hash = hash.iter().take(8).fold(0_u64, |hash, byte| hash << 8 | u64::from(*byte));
    let kept = (0..=LONGEST).rev().find(|end| name.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{NO_BRANCH}{hash:016x}", &name[..kept])
}

fn decode(stem: &str) -> Option<String> {
    let mut branch = String::with_capacity(stem.len());
    let mut rest = stem;
    while let Some(c) = rest.chars().next() {
        let (text, length) = match c {
            NO_BRANCH => return None,
            '%' if rest.starts_with("%2D") => ('-', 3),
            '%' if rest.starts_with("%25") => ('%', 3),
            '%' => return None,
            '-' if rest.starts_with("--") => ('/', 2),
            c => (c, c.len_utf8()),
        };
        branch.push(text);
        rest = &rest[length..];
    }
    Some(branch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn branch(name: &str) -> BranchName {
        BranchName::new(name).unwrap()
    }

    #[test]
    fn log_file_name_writes_a_slash_as_two_dashes() {
        assert_eq!(LogOwner::Agent(branch("feat/add-auth")).file_name(), "feat--add-auth.log");
    }

    #[test]
    fn log_file_names_of_branches_with_dashes_are_unique() {
        for name in ["a--b", "a/b", "a-/b", "a/-b", "a---b", "100%", "a%2Db", "supervisor", "ünï/日本"] {
            let owner = LogOwner::Agent(branch(name));
            assert_eq!(LogOwner::of_file_name(&owner.file_name()), Some(owner), "{name}");
        }
        assert_ne!(encode("a--b"), encode("a/b"));
        assert_ne!(LogOwner::Agent(branch("supervisor")).file_name(), LogOwner::Supervisor.file_name());
    }

    #[test]
    fn log_file_name_of_a_long_branch_is_short_and_unique() {
        let long = "x/".repeat(300) + "é";
        let (one, other) = (branch(&format!("{long}a")), branch(&format!("{long}b")));
        assert!(encode(one.as_str()).len() + EXTENSION.len() < 255);
        assert_ne!(encode(one.as_str()), encode(other.as_str()));
        assert!(matches!(
            LogOwner::of_file_name(&LogOwner::Agent(one).file_name()),
            Some(LogOwner::Unknown(_))
        ));
    }

    #[test]
    fn other_file_names_have_no_branch() {
        assert_eq!(LogOwner::of_file_name("notes.txt"), None);
        assert_eq!(LogOwner::of_file_name(".log"), None);
        assert_eq!(LogOwner::of_file_name("a%zz.log"), Some(LogOwner::Unknown("a%zz".into())));
    }

    proptest! {
        #[test]
        fn branch_is_recovered_from_its_log_file_name(name in "[-a-c/%.é;$'\" ]{1,40}") {
            if let Ok(branch) = BranchName::new(name) {
                let owner = LogOwner::Agent(branch);
                prop_assert!(!owner.file_name().contains('/'));
                prop_assert_eq!(LogOwner::of_file_name(&owner.file_name()), Some(owner));
            }
        }

        #[test]
        fn parsing_a_log_file_name_never_panics(name in "\\PC{0,40}(\\.log)?") {
            let _ = LogOwner::of_file_name(&name);
        }
    }
}
