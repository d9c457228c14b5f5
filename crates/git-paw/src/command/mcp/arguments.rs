//! Parses the arguments of a call, which a model wrote.

use paw_core::PawError;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::{Map, Value};

use super::error;

/// Parses the arguments. The error names the problem and the accepted arguments.
pub(super) fn read<A: DeserializeOwned>(
    tool: &str,
    arguments: Map<String, Value>,
    names: &[String],
) -> Result<A, PawError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let hint = if names.is_empty() {
            "it takes no arguments".into()
        } else {
            format!("arguments: {}", names.join(", "))
        };
        error::invalid_arguments(format!("{tool}: {error}"), hint)
    })
}

/// An id. Models write 42 as well as "42".
pub(super) fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        other => {
            Err(D::Error::custom(format!("expected an id such as \"42\" or \"42.1\", not {}", kind(&other))))
        }
    }
}

/// An optional id.
pub(super) fn optional_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        other => id(other).map(Some).map_err(D::Error::custom),
    }
}

/// Several ids.
pub(super) fn ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(Vec::new()),
        Value::Array(all) => all.into_iter().map(|one| id(one).map_err(D::Error::custom)).collect(),
        one => id(one).map(|id| vec![id]).map_err(D::Error::custom),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Args {
        #[serde(deserialize_with = "id")]
        id: String,
        #[serde(default, deserialize_with = "optional_id")]
        parent: Option<String>,
        #[serde(default, deserialize_with = "ids")]
        depends_on: Vec<String>,
    }

    fn given(value: Value) -> Result<Args, PawError> {
        let Value::Object(arguments) = value else { panic!("{value}") };
        read("tool", arguments, &["id".into(), "parent".into()])
    }

    #[test]
    fn an_id_may_be_a_string_or_a_number() {
        let read = given(json!({"id": 42, "parent": "7", "depends_on": [1, "2.1"]})).unwrap();
        let expected =
            Args { id: "42".into(), parent: Some("7".into()), depends_on: vec!["1".into(), "2.1".into()] };
        assert_eq!(read, expected);
        assert_eq!(given(json!({"id": 4.1, "depends_on": 3})).unwrap().depends_on, ["3"]);
    }

    #[test]
    fn invalid_arguments_are_named_with_the_accepted_ones() {
        for (wrong, part) in [
            (json!({}), "missing field `id`"),
            (json!({"id": "1", "other": 2}), "unknown field `other`"),
            (json!({"id": []}), "not a list"),
        ] {
            let refusal = given(wrong).unwrap_err().report();
            assert_eq!(refusal.code.as_str(), "INVALID_ARGUMENT");
            assert!(refusal.message.contains(part), "{refusal:?}");
            assert_eq!(refusal.hints, ["arguments: id, parent"]);
        }
    }

    proptest! {
        #[test]
        fn arguments_never_panic_on_any_text(text in any::<String>()) {
            let _ = given(json!({"id": text, "parent": [text]}));
        }
    }
}
