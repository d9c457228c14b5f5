//! Validated names that come from users, files and agents.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Diagnostic, ErrorCode, ErrorReport};

/// An invalid name. The message says which rule it breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("Invalid branch name: '{name}' {problem}")]
    Branch { name: String, problem: String },
    #[error("invalid agent id '{0}': only a-z, 0-9, '-' and '_' are allowed")]
    Agent(String),
    #[error("invalid session name '{0}': only letters, digits, '-' and '_' are allowed, and no leading '-'")]
    Session(String),
    #[error(
        "invalid host name '{0}': only a-z, 0-9, '-' and '_' are allowed, no leading '-', at most 32 characters"
    )]
    Host(String),
}

impl Diagnostic for NameError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, self)
    }
}

macro_rules! text_newtype {
    ($name:ident) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }
    };
}

macro_rules! checked_on_reading {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }
    };
}

/// A local branch name that git accepts: `feat/auth`, never `refs/heads/feat/auth`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

text_newtype!(BranchName);
checked_on_reading!(BranchName);

impl BranchName {
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        match branch_problem(&name) {
            None => Ok(Self(name)),
            Some(problem) => Err(NameError::Branch { name, problem }),
        }
    }

    /// The full ref name, which git cannot mistake for an option or a path.
    pub fn full_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// The part after the last `/`.
    pub fn last_segment(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The branch as part of a directory name: `/` becomes `-`, and characters that are unsafe in file names or shells are
    /// removed.
    pub fn directory_part(&self) -> String {
        let part: String = self
            .0
            .chars()
            .map(|c| if c == '/' { '-' } else { c })
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            .collect();
        if part.chars().any(char::is_alphanumeric) { part } else { format!("branch-{}", short_hash(&self.0)) }
    }
}

/// The rule for git branch names that a text breaks, if any.
fn branch_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".into());
    }
    for token in ["..", "@{", "//"] {
        if name.contains(token) {
            return Some(format!("contains '{token}'"));
        }
    }
    if let Some(c) = name.chars().find(char::is_ascii_control) {
        return Some(format!("contains the control character {}", c.escape_default()));
    }
    if let Some(c) = name.chars().find(|c| " ~^:?*[\\".contains(*c)) {
        return Some(format!("contains '{c}'"));
    }
    for (bad, place) in [('-', "start"), ('/', "start")] {
        if name.starts_with(bad) {
            return Some(format!("{place}s with '{bad}'"));
        }
    }
    for bad in ['/', '.'] {
        if name.ends_with(bad) {
            return Some(format!("ends with '{bad}'"));
        }
    }
    if matches!(name, "@" | "HEAD") {
        return Some("is reserved by git".into());
    }
    for part in name.split('/') {
        if part.starts_with('.') {
            return Some(format!("has a part that starts with '.': '{part}'"));
        }
        // git compares this suffix case-sensitively.
        if part.strip_suffix(".lock").is_some() {
            return Some(format!("has a part that ends with '.lock': '{part}'"));
        }
    }
    None
}

/// A sender or recipient of messages: the slug of the agent's branch, or one of the two reserved ids. Cheap to clone, because
/// every message holds several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(Arc<str>);

text_newtype!(AgentId);
checked_on_reading!(AgentId);

impl AgentId {
    pub const SUPERVISOR: &'static str = "supervisor";
    /// The user.
    pub const OPERATOR: &'static str = "operator";

    pub fn new(id: impl AsRef<str>) -> Result<Self, NameError> {
        let id = id.as_ref();
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        let is_valid = !id.is_empty() && id.chars().all(legal);
        if is_valid { Ok(Self(id.into())) } else { Err(NameError::Agent(id.to_owned())) }
    }

    /// The sender of messages from the session itself.
    pub fn supervisor() -> Self {
        Self(Self::SUPERVISOR.into())
    }

    /// The sender of messages from the user.
    pub fn operator() -> Self {
        Self(Self::OPERATOR.into())
    }

    /// The slug of a branch. Two branches may have the same slug; [`AgentId::for_branch`] gives them different ids.
    pub fn slug(branch: &BranchName) -> Self {
        let mut slug = String::with_capacity(branch.0.len());
        for c in branch.0.chars() {
            let c = c.to_ascii_lowercase();
            if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' {
                slug.push(c);
            } else if !slug.ends_with('-') {
                slug.push('-');
            }
        }
        let slug = slug.trim_matches('-');
        Self(if slug.is_empty() { "agent" } else { slug }.into())
    }

    /// A unique id for an agent on `branch`: its slug, with a short hash of the branch as a suffix if the slug is reserved or
    /// already `taken`.
    pub fn for_branch(branch: &BranchName, taken: impl Fn(&AgentId) -> bool) -> Self {
        let free = |id: &Self| !matches!(id.as_str(), Self::SUPERVISOR | Self::OPERATOR) && !taken(id);
        let slug = Self::slug(branch);
        if free(&slug) {
            return slug;
        }
        let suffixed = Self(format!("{slug}-{}", short_hash(&branch.0)).into());
        if free(&suffixed) {
            return suffixed;
        }
        let mut number = 2_u32;
        loop {
            let numbered = Self(format!("{suffixed}-{number}").into());
            if free(&numbered) {
                return numbered;
            }
            number += 1;
        }
    }
}

/// The name of a repository: the name of its directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProjectName(String);

text_newtype!(ProjectName);

impl ProjectName {
    /// The last component of the repository's root, or `project` if there is none.
    pub fn from_path(root: &Path) -> Self {
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
        Self(name.unwrap_or_else(|| "project".to_owned()))
    }

    /// The directory name of a worktree next to the repository.
    pub fn worktree_dir_name(&self, branch: &BranchName) -> String {
        format!("{}-{}", self.0, branch.directory_part())
    }
}

/// The name of a session in tmux, and of its receipt file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(String);

text_newtype!(SessionName);
checked_on_reading!(SessionName);

impl SessionName {
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if !name.is_empty() && !name.starts_with('-') && name.chars().all(legal) {
            Ok(Self(name))
        } else {
            Err(NameError::Session(name))
        }
    }

    /// `paw-<project>`. Replaces special characters by `-`, because `.` and `:` have a meaning in tmux.
    pub fn for_project(project: &ProjectName) -> Self {
        let mut slug = String::from("paw-");
        for c in project.0.chars() {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
                slug.push(c);
            } else if !slug.ends_with('-') {
                slug.push('-');
            }
        }
        let trimmed = slug.trim_end_matches('-');
        Self(if trimmed == "paw" { "paw-project".to_owned() } else { trimmed.to_owned() })
    }

    /// The first of `name`, `name-2`, `name-3`, … that is not taken.
    #[must_use]
    pub fn first_free(self, taken: impl Fn(&SessionName) -> bool) -> Self {
        if !taken(&self) {
            return self;
        }
        let mut number = 2_u32;
        loop {
            let candidate = Self(format!("{}-{number}", self.0));
            if !taken(&candidate) {
                return candidate;
            }
            number += 1;
        }
    }
}

/// The name of a machine in the configuration. It is also part of NATS subjects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostName(Arc<str>);

text_newtype!(HostName);
checked_on_reading!(HostName);

impl HostName {
    const MAX_LENGTH: usize = 32;

    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        let is_valid = (1..=Self::MAX_LENGTH).contains(&name.len()) && !name.starts_with('-');
        if is_valid && name.chars().all(legal) { Ok(Self(name.into())) } else { Err(NameError::Host(name)) }
    }
}

/// A hash of four hexadecimal digits (FNV-1a, folded), equal on every machine.
fn short_hash(text: &str) -> String {
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{:04x}", (hash >> 16) ^ (hash & 0xffff))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn branch(name: &str) -> BranchName {
        BranchName::new(name).unwrap()
    }

    fn problem(name: &str) -> String {
        BranchName::new(name).unwrap_err().to_string()
    }

    #[test]
    fn a_branch_name_with_two_dots_is_rejected_with_the_offending_token() {
        assert_eq!(problem("feature/bad..name"), "Invalid branch name: 'feature/bad..name' contains '..'");
    }

    #[test]
    fn branch_names_that_git_rejects_are_invalid() {
        let refused = [
            "", "-x", "/x", "x/", "x.", ".x", "a/.b", "a.lock", "a.lock/b", "a//b", "a b", "a~b", "a^b",
            "a:b", "a?b", "a*b", "a[b", "a\\b", "a@{b", "@", "HEAD", "a\tb", "a\nb", "a\u{7f}b",
        ];
        for name in refused {
            assert!(BranchName::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn host_names_are_short_plain_words() {
        for name in ["big", "gpu-2", "build_box", &"x".repeat(32)] {
            assert_eq!(HostName::new(name).unwrap().as_str(), name);
        }
        for name in ["", "-x", "Big", "a.b", "a b", "a/b", "a*", "user@host", &"x".repeat(33)] {
            assert!(HostName::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn unusual_but_legal_branch_names_are_accepted() {
        for name in
            ["feat/a;rm -rf".replace(' ', "_").as_str(), "$(x)", "`x`", "a'b\"c", "ünïcode/ß", "a@b", "x&y|z"]
        {
            assert!(BranchName::new(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn project_name_from_a_normal_repository_path() {
        assert_eq!(ProjectName::from_path(Path::new("/Users/jie/code/git-paw")).as_str(), "git-paw");
    }

    #[test]
    fn project_name_falls_back_for_the_root_path() {
        assert_eq!(ProjectName::from_path(Path::new("/")).as_str(), "project");
    }

    #[test]
    fn worktree_dir_name_replaces_slashes_and_strips_unsafe_characters() {
        let dir = |project: &str, name: &str| ProjectName(project.into()).worktree_dir_name(&branch(name));
        assert_eq!(dir("git-paw", "feature/auth-flow"), "git-paw-feature-auth-flow");
        assert_eq!(dir("git-paw", "feat/auth/v2"), "git-paw-feat-auth-v2");
        assert_eq!(dir("my-proj", "fix/issue#42"), "my-proj-fix-issue42");
        assert_eq!(dir("git-paw", "main"), "git-paw-main");
        assert_eq!(dir("proj", "feat/special@chars!"), "proj-feat-specialchars");
        assert_eq!(dir("proj", "feature/deep/nested/branch"), "proj-feature-deep-nested-branch");
    }

    #[test]
    fn a_branch_of_only_unsafe_characters_still_has_a_directory_name() {
        let part = branch("###").directory_part();
        assert!(part.starts_with("branch-"), "{part}");
        assert_ne!(part, branch("##").directory_part());
    }

    #[test]
    fn slugs_keep_underscores_and_collapse_the_rest() {
        for (name, slug) in [
            ("feat/auth", "feat-auth"),
            ("Feat/My_Thing", "feat-my_thing"),
            ("main", "main"),
            ("a#/#b", "a-b"),
            ("###", "agent"),
            ("ünï", "n"),
        ] {
            assert_eq!(AgentId::slug(&branch(name)).as_str(), slug);
        }
    }

    #[test]
    fn branches_with_equal_slugs_get_different_agent_ids() {
        let first = AgentId::for_branch(&branch("feat/a"), |_| false);
        let second = AgentId::for_branch(&branch("feat-a"), |id| *id == first);
        assert_eq!(first.as_str(), "feat-a");
        assert!(second.as_str().starts_with("feat-a-"), "{second}");
    }

    #[test]
    fn a_branch_cannot_take_a_reserved_id() {
        for reserved in [AgentId::SUPERVISOR, AgentId::OPERATOR] {
            assert_ne!(AgentId::for_branch(&branch(reserved), |_| false).as_str(), reserved);
        }
    }

    #[test]
    fn session_is_named_after_project() {
        let name = |project: &str| SessionName::for_project(&ProjectName(project.into()));
        assert_eq!(name("my-project").as_str(), "paw-my-project");
        assert_eq!(name("my.app: two").as_str(), "paw-my-app-two");
        assert_eq!(name("日本").as_str(), "paw-project");
    }

    #[test]
    fn session_name_collision_appends_a_number() {
        let base = SessionName::new("paw-app").unwrap();
        assert_eq!(base.clone().first_free(|_| false).as_str(), "paw-app");
        let taken = |name: &SessionName| matches!(name.as_str(), "paw-app" | "paw-app-2");
        assert_eq!(base.first_free(taken).as_str(), "paw-app-3");
    }

    #[test]
    fn names_are_validated_when_deserialized() {
        #[derive(Deserialize)]
        struct Read<T> {
            name: T,
        }
        let read = |text: &str| toml::from_str::<Read<BranchName>>(text).map(|read| read.name);
        assert_eq!(read("name = 'feat/x'").unwrap(), branch("feat/x"));
        assert!(read("name = '-x'").unwrap_err().to_string().contains("starts with '-'"));
        assert!(toml::from_str::<Read<SessionName>>("name = '../x'").map(|read| read.name).is_err());
        assert!(toml::from_str::<Read<AgentId>>("name = 'A'").map(|read| read.name).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_branch_or_a_clear_error(text in "\\PC*") {
            match BranchName::new(text.clone()) {
                Ok(name) => prop_assert_eq!(name.as_str(), text),
                Err(error) => prop_assert!(error.to_string().starts_with("Invalid branch name: '")),
            }
        }

        #[test]
        fn every_branch_has_a_legal_agent_id_and_directory(text in "[\\PC&&[^/ ]]{1,20}(/[\\PC&&[^/ ]]{1,20})?") {
            let Ok(name) = BranchName::new(text) else { return Ok(()) };
            let id = AgentId::slug(&name);
            prop_assert!(AgentId::new(id.as_str()).is_ok());
            let part = name.directory_part();
            prop_assert!(!part.is_empty() && !part.contains('/') && part != "." && part != "..");
        }

        #[test]
        fn ids_of_any_set_of_branches_are_distinct(names in proptest::collection::hash_set("[a-cA-C#/]{1,4}", 1..12)) {
            let mut ids: Vec<AgentId> = Vec::new();
            for name in names.into_iter().filter_map(|name| BranchName::new(name).ok()) {
                let id = AgentId::for_branch(&name, |id| ids.contains(id));
                prop_assert!(!ids.contains(&id));
                ids.push(id);
            }
        }

        #[test]
        fn every_project_has_a_legal_session_name(text in "\\PC{0,30}") {
            let name = SessionName::for_project(&ProjectName(text));
            prop_assert!(SessionName::new(name.as_str()).is_ok());
        }
    }
}
