//! What claude itself lets agents do without asking: talk to the others. Everything else is decided by our hook, which
//! knows options and paths, where a rule of claude's knows only how a command begins. Pure: text in, text out.

use paw_agent::hooks::settings::SettingsError;
use serde_json::{Map, Value, json};

/// Commands of ours that are harmless whatever follows.
const RULES: [&str; 3] = ["Bash(git paw say:*)", "Bash(git paw inbox:*)", "Bash(git paw status:*)"];

/// The settings with our rules among `permissions.allow`, each once; everything else as it was.
pub(super) fn with_rules(before: &str) -> Result<String, SettingsError> {
    let mut settings = object(before)?;
    let permissions = settings.entry("permissions").or_insert_with(|| json!({}));
    let permissions = permissions.as_object_mut().ok_or_else(|| unexpected("permissions"))?;
    let allow = permissions.entry("allow").or_insert_with(|| json!([]));
    let allow = allow.as_array_mut().ok_or_else(|| unexpected("permissions.allow"))?;
    for rule in RULES {
        if !allow.iter().any(|there| there == rule) {
            allow.push(rule.into());
        }
    }
    printed(&settings)
}

/// The settings without our rules, and without what is empty then; nothing if nothing is left.
pub(super) fn without_rules(before: &str) -> Result<Option<String>, SettingsError> {
    let mut settings = object(before)?;
    if let Some(permissions) = settings.get_mut("permissions").and_then(Value::as_object_mut) {
        if let Some(allow) = permissions.get_mut("allow").and_then(Value::as_array_mut) {
            let count = allow.len();
            allow.retain(|there| !RULES.iter().any(|rule| there == rule));
            if allow.is_empty() && count > 0 {
                permissions.shift_remove("allow");
            }
        }
        if permissions.is_empty() {
            settings.shift_remove("permissions");
        }
    }
    if settings.is_empty() { Ok(None) } else { printed(&settings).map(Some) }
}

fn unexpected(key: &str) -> SettingsError {
    SettingsError::Unexpected(key.to_owned())
}

fn object(text: &str) -> Result<Map<String, Value>, SettingsError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text)? {
        Value::Object(settings) => Ok(settings),
        _ => Err(unexpected("the whole file")),
    }
}

fn printed(settings: &Map<String, Value>) -> Result<String, SettingsError> {
    Ok(format!("{}\n", serde_json::to_string_pretty(settings)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn rules_are_put_beside_what_is_there_and_each_once() {
        let before = r#"{"permissions":{"deny":["Read(.env)"],"allow":["Bash(ls)"]},"z":1}"#;
        let once = with_rules(before).unwrap();
        assert_eq!(with_rules(&once).unwrap(), once);
        let after = value(&once);
        assert_eq!(after["permissions"]["deny"][0], "Read(.env)");
        let allow = after["permissions"]["allow"].as_array().unwrap();
        assert_eq!((allow.len(), &allow[0]), (1 + RULES.len(), &json!("Bash(ls)")));
    }

    #[test]
    fn taking_rules_out_gives_back_what_was_there() {
        assert_eq!(without_rules(&with_rules("").unwrap()).unwrap(), None);
        for before in [r#"{"permissions":{"allow":["Bash(ls)"]},"a":1}"#, r#"{"permissions":{"deny":["x"]}}"#]
        {
            let after = without_rules(&with_rules(before).unwrap()).unwrap().unwrap();
            assert_eq!(value(&after), value(before));
        }
    }

    #[test]
    fn a_file_that_is_not_understood_is_left_alone() {
        for before in ["{", "[]", r#"{"permissions":[]}"#, r#"{"permissions":{"allow":{}}}"#] {
            assert!(with_rules(before).is_err(), "{before}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_an_error_or_the_same_rules_again(text in "[{}\\[\\]\":,a-z0-9 ]{0,40}") {
            if let Ok(after) = with_rules(&text) {
                prop_assert_eq!(with_rules(&after).unwrap(), after);
            }
            let _ = without_rules(&text);
        }
    }
}
