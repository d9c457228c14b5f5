//! The commit message of a rescue: one line for the user, then one JSON object.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use jiff::Timestamp;
use paw_core::BranchName;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::RescueKind;

/// Readers ignore messages of any other version.
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) kind: RescueKind,
    pub(super) reason: String,
    pub(super) created_at: Timestamp,
    pub(super) branch: Option<BranchName>,
    /// Whether HEAD was on that branch. False during a rebase, for example.
    pub(super) on_branch: bool,
    pub(super) worktree: Option<PathText>,
    /// Git's admin directory of that worktree, with HEAD and index.
    pub(super) admin_dir: Option<PathText>,
    /// The commit that was checked out. None on an unborn branch.
    pub(super) head: Option<String>,
    /// The tip of the branch.
    pub(super) tip: Option<String>,
    /// The tree of the index.
    pub(super) index_tree: Option<String>,
    /// The commit with the manifest and the files it lists.
    pub(super) state: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) ignored_left_behind: Vec<PathText>,
}

impl Header {
    pub(super) fn new(kind: RescueKind, reason: &str, created_at: Timestamp) -> Self {
        Self {
            version: VERSION,
            kind,
            reason: reason.to_owned(),
            created_at,
            branch: None,
            on_branch: false,
            worktree: None,
            admin_dir: None,
            head: None,
            tip: None,
            index_tree: None,
            state: None,
            ignored_left_behind: Vec::new(),
        }
    }

    pub(super) fn to_message(&self) -> Result<String, serde_json::Error> {
        let reason = self.reason.lines().next().unwrap_or_default();
        Ok(format!("rescue: {reason}\n\n{}\n", serde_json::to_string(self)?))
    }

    /// None if git paw did not write the message, or a later version did.
    pub(super) fn from_message(message: &str) -> Option<Self> {
        let json = message.lines().find(|line| line.starts_with('{'))?;
        let header: Self = serde_json::from_str(json).ok()?;
        (header.version == VERSION && header.has_object_ids()).then_some(header)
    }

    /// The ids become arguments of git, which takes other words for options.
    fn has_object_ids(&self) -> bool {
        let is_id = |id: &String| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        [&self.head, &self.tip, &self.index_tree, &self.state].into_iter().flatten().all(is_id)
    }
}

/// A path in JSON: a string if it is valid UTF-8, otherwise its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathText(pub(super) PathBuf);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl Serialize for PathText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = match self.0.to_str() {
            Some(text) => TextOrBytes::Text(text.to_owned()),
            None => TextOrBytes::Bytes(self.0.as_os_str().as_bytes().to_vec()),
        };
        path.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match TextOrBytes::deserialize(deserializer)? {
            TextOrBytes::Text(text) => PathBuf::from(text),
            TextOrBytes::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn header_round_trips_through_its_message(reason in ".*", bytes in proptest::collection::vec(1_u8.., 0..20)) {
            let at = Timestamp::from_second(1_800_000_000).unwrap();
            let mut header = Header::new(RescueKind::Worktree, &reason, at);
            header.worktree = Some(PathText(PathBuf::from(OsString::from_vec(bytes))));
            header.branch = Some(BranchName::new("feat/x").unwrap());
            let message = header.to_message().unwrap();
            prop_assume!(!message.starts_with("rescue: {"));
            prop_assert_eq!(Header::from_message(&message), Some(header));
        }

        #[test]
        fn header_parser_never_panics(message in ".*") {
            Header::from_message(&message);
        }
    }

    #[test]
    fn header_of_a_later_version_or_foreign_message_is_ignored() {
        assert_eq!(Header::from_message("fix: {thing}\n\n{not json"), None);
        let later = r#"{"version":2,"kind":"tip","reason":"","created_at":"2026-11-15T08:15:00Z"}"#;
        assert_eq!(Header::from_message(later), None);
    }
}
