//! Tags: separate task lists in one file, and which one to use.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::TaskError;

/// The tag of a flat file, and the fallback.
pub const MASTER: &str = "master";

/// Shared branches, which do not give a tag its name.
const RESERVED_BRANCHES: [&str; 5] = ["main", "master", "develop", "dev", "head"];
const LONGEST_FROM_BRANCH: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TagName(String);

impl TagName {
    /// A name from the command line.
    pub fn new(name: &str) -> Result<Self, TaskError> {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(legal) {
            return Err(TaskError::BadTag(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }

    pub fn master() -> Self {
        Self(MASTER.to_owned())
    }

    /// A key of the file, valid or not.
    pub(super) fn from_key(key: &str) -> Self {
        Self(key.to_owned())
    }

    /// The tag for a branch; `None` for shared branches.
    pub fn from_branch(branch: &str) -> Option<Self> {
        let slug = dashed(branch, |c| c.is_ascii_alphanumeric() || c == '_');
        let slug: String = slug.chars().take(LONGEST_FROM_BRANCH).collect();
        let slug = slug.trim_end_matches('-');
        (!slug.is_empty() && !RESERVED_BRANCHES.contains(&slug)).then(|| Self(slug.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Lower case, with other characters replaced by single dashes.
pub(crate) fn dashed(text: &str, kept: impl Fn(char) -> bool) -> String {
    let words = text.split(|c| !kept(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

impl FromStr for TagName {
    type Err = TaskError;

    fn from_str(name: &str) -> Result<Self, TaskError> {
        Self::new(name)
    }
}

impl fmt::Display for TagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Sources of the tag, in order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagSources<'a> {
    pub flag: Option<&'a str>,
    /// `TASKMASTER_TAG`.
    pub variable: Option<&'a str>,
    /// `branchTagMapping` for the branch that is checked out.
    pub branch: Option<&'a str>,
    /// `currentTag` in `state.json`.
    pub state: Option<&'a str>,
    /// `global.defaultTag` in `config.json`.
    pub default: Option<&'a str>,
}

/// The first tag that is set. An invalid flag is an error; other invalid sources are skipped.
pub fn resolve(sources: &TagSources<'_>) -> Result<TagName, TaskError> {
    if let Some(flag) = sources.flag {
        return TagName::new(flag);
    }
    let places = [sources.variable, sources.branch, sources.state, sources.default];
    let first = places.into_iter().flatten().find_map(|name| TagName::new(name.trim()).ok());
    Ok(first.unwrap_or_else(TagName::master))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_sources_are_used_in_order_of_precedence() {
        let all = TagSources {
            flag: Some("a"),
            variable: Some("b"),
            branch: Some("c"),
            state: Some("d"),
            default: Some("e"),
        };
        let winner = |sources: TagSources<'_>| resolve(&sources).unwrap().to_string();
        assert_eq!(winner(all.clone()), "a");
        assert_eq!(winner(TagSources { flag: None, ..all.clone() }), "b");
        assert_eq!(winner(TagSources { flag: None, variable: None, ..all.clone() }), "c");
        assert_eq!(winner(TagSources { state: Some("d"), default: Some("e"), ..TagSources::default() }), "d");
        assert_eq!(winner(TagSources { state: Some(" "), default: Some("e"), ..TagSources::default() }), "e");
        assert_eq!(winner(TagSources::default()), "master");
    }

    #[test]
    fn invalid_tag_flag_is_an_error() {
        assert!(resolve(&TagSources { flag: Some("a/b"), ..TagSources::default() }).is_err());
    }

    #[test]
    fn shared_branches_do_not_name_a_tag() {
        assert_eq!(TagName::from_branch("feat/User Auth!").unwrap().as_str(), "feat-user-auth");
        assert_eq!(TagName::from_branch("main"), None);
        assert_eq!(TagName::from_branch("HEAD"), None);
        assert_eq!(TagName::from_branch("äö"), None);
        assert!(TagName::from_branch(&"x-".repeat(60)).unwrap().as_str().len() <= 50);
    }
}
