//! The name of a log: its branch with `/` as `--`, so that the branch can be read off it again.

use std::borrow::Cow;
use std::fmt;

use paw_core::BranchName;
use sha2::{Digest as _, Sha256};

/// Longer names are cut, because file systems take no more than 255 bytes; what is cut off is replaced by a hash.
const LONGEST: usize = 200;
/// No branch can contain it, so nothing that begins with it is one.
const NO_BRANCH: char = '~';
const SUPERVISOR: &str = "~supervisor";
const EXTENSION: &str = ".log";

/// Whose output a log holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    Agent(BranchName),
    Supervisor,
    /// A file whose name does not say: it was cut, or somebody else put it there.
    Unknown(String),
}

impl Whose {
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

    /// From the name of a file, unless it is no log.
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

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(branch) => branch.fmt(f),
            Self::Supervisor => f.write_str(&SUPERVISOR[1..]),
            Self::Unknown(stem) => f.write_str(stem),
        }
    }
}

/// A dash that could be taken for a part of `--` is written as `%2D`.
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
    fn a_slash_becomes_two_dashes() {
        assert_eq!(Whose::Agent(branch("feat/add-auth")).file_name(), "feat--add-auth.log");
    }

    #[test]
    fn dashes_of_the_branch_itself_stay_told_apart() {
        for name in ["a--b", "a/b", "a-/b", "a/-b", "a---b", "100%", "a%2Db", "supervisor", "ünï/日本"] {
            let whose = Whose::Agent(branch(name));
            assert_eq!(Whose::of_file_name(&whose.file_name()), Some(whose), "{name}");
        }
        assert_ne!(encode("a--b"), encode("a/b"));
        assert_ne!(Whose::Agent(branch("supervisor")).file_name(), Whose::Supervisor.file_name());
    }

    #[test]
    fn a_long_branch_gets_a_name_that_a_file_can_have_and_no_other_branch_gets() {
        let long = "x/".repeat(300) + "é";
        let (one, other) = (branch(&format!("{long}a")), branch(&format!("{long}b")));
        assert!(encode(one.as_str()).len() + EXTENSION.len() < 255);
        assert_ne!(encode(one.as_str()), encode(other.as_str()));
        assert!(matches!(Whose::of_file_name(&Whose::Agent(one).file_name()), Some(Whose::Unknown(_))));
    }

    #[test]
    fn files_of_others_are_no_branch() {
        assert_eq!(Whose::of_file_name("notes.txt"), None);
        assert_eq!(Whose::of_file_name(".log"), None);
        assert_eq!(Whose::of_file_name("a%zz.log"), Some(Whose::Unknown("a%zz".into())));
    }

    proptest! {
        #[test]
        fn every_branch_is_read_off_its_file_again(name in "[-a-c/%.é;$'\" ]{1,40}") {
            if let Ok(branch) = BranchName::new(name) {
                let whose = Whose::Agent(branch);
                prop_assert!(!whose.file_name().contains('/'));
                prop_assert_eq!(Whose::of_file_name(&whose.file_name()), Some(whose));
            }
        }

        #[test]
        fn any_file_name_is_read_without_a_panic(name in "\\PC{0,40}(\\.log)?") {
            let _ = Whose::of_file_name(&name);
        }
    }
}
