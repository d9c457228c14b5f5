//! `state.json`: the active tag, and the tag of each branch.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::tag::TagName;
use crate::json_text::{self, JsonTextError, Splice};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskmasterState(Map<String, Value>);

impl TaskmasterState {
    pub fn parse(text: &str) -> Result<Self, JsonTextError> {
        match json_text::parse(text)? {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(JsonTextError::Syntax("its root is not an object".into())),
        }
    }

    /// The active tag; older files use another key.
    pub fn current_tag(&self) -> Option<&str> {
        ["currentTag", "activeTag"].iter().find_map(|key| self.0.get(*key)?.as_str())
    }

    pub fn tag_of_branch(&self, branch: &str) -> Option<&str> {
        self.0.get("branchTagMapping")?.get(branch)?.as_str()
    }
}

/// Makes a tag the active one and records its branch. Other fields are unchanged.
pub fn set_active_tag(
    text: Option<&str>,
    tag: &TagName,
    branch: Option<&str>,
    now: Timestamp,
) -> Result<String, JsonTextError> {
    let at = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    let Some(text) = text else {
        let mapping: Map<_, _> =
            branch.map(|branch| (branch.to_owned(), json!(tag.as_str()))).into_iter().collect();
        let fresh = json!({"currentTag": tag.as_str(), "lastSwitched": at, "branchTagMapping": mapping,
            "migrationNoticeShown": false});
        return Ok(format!("{fresh:#}"));
    };
    let before = TaskmasterState::parse(text)?;
    let mut text = text.to_owned();
    if before.current_tag() != Some(tag.as_str()) {
        text = set(&text, "currentTag", &json!(tag.as_str()))?;
        // Two programs write this file, with different keys.
        let key = if before.0.contains_key("lastUpdated") { "lastUpdated" } else { "lastSwitched" };
        text = set(&text, key, &json!(at))?;
    }
    match branch {
        Some(branch) if before.tag_of_branch(branch) != Some(tag.as_str()) => map_branch(&text, branch, tag),
        _ => Ok(text),
    }
}

fn set(text: &str, key: &str, value: &Value) -> Result<String, JsonTextError> {
    splice(text, |text, root| json_text::set(text, root, key, value))
}

fn map_branch(text: &str, branch: &str, tag: &TagName) -> Result<String, JsonTextError> {
    let value = json!(tag.as_str());
    splice(text, |text, root| match json_text::object_at(root, "branchTagMapping") {
        Some(mapping) => json_text::set(text, mapping, branch, &value),
        None => json_text::set(text, root, "branchTagMapping", &json!({ branch: value })),
    })
}

fn splice(
    text: &str,
    change: impl FnOnce(&str, &jsonc_parser::ast::Object<'_>) -> Splice,
) -> Result<String, JsonTextError> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = json_text::places(bare)?;
    match tree.as_object() {
        Some(root) => Ok(json_text::apply(bare, vec![change(bare, root)])),
        None => Err(JsonTextError::Syntax("its root is not an object".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(text: Option<&str>, tag: &str, branch: Option<&str>) -> String {
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        set_active_tag(text, &TagName::new(tag).unwrap(), branch, now).unwrap()
    }

    #[test]
    fn a_tag_becomes_active_and_its_branch_is_remembered() {
        let text = "{\n  \"currentTag\": \"master\",\n  \"lastSwitched\": \"x\",\n  \"branchTagMapping\": {},\n  \"future\": [1.0]\n}";
        let done = active(Some(text), "analytics", Some("analytics/task-42-\"x\""));
        insta::assert_snapshot!(done, @r#"
        {
          "currentTag": "analytics",
          "lastSwitched": "2026-01-02T03:04:05.678Z",
          "branchTagMapping": {
            "analytics/task-42-\"x\"": "analytics"
          },
          "future": [1.0]
        }
        "#);
        let state = TaskmasterState::parse(&done).unwrap();
        assert_eq!(state.current_tag(), Some("analytics"));
        assert_eq!(state.tag_of_branch("analytics/task-42-\"x\""), Some("analytics"));
        assert_eq!(active(Some(&done), "analytics", Some("analytics/task-42-\"x\"")), done);
    }

    #[test]
    fn state_file_is_created_and_older_files_are_read() {
        let state = TaskmasterState::parse(&active(None, "a", Some("b"))).unwrap();
        assert_eq!((state.current_tag(), state.tag_of_branch("b")), (Some("a"), Some("a")));
        assert_eq!(TaskmasterState::parse("{\"activeTag\": \"old\"}").unwrap().current_tag(), Some("old"));
        let newer = active(Some("{\"currentTag\":\"x\",\"lastUpdated\":\"y\",\"metadata\":{}}"), "z", None);
        assert_eq!(
            newer,
            "{\"currentTag\":\"z\",\"lastUpdated\":\"2026-01-02T03:04:05.678Z\",\"metadata\":{}}"
        );
    }

    #[test]
    fn broken_state_file_is_not_replaced() {
        let tag = TagName::master();
        assert!(set_active_tag(Some("{"), &tag, None, Timestamp::UNIX_EPOCH).is_err());
        assert!(set_active_tag(Some("[]"), &tag, None, Timestamp::UNIX_EPOCH).is_err());
    }
}
