//! Truncates values to the size limits of gRPC: a few kilobytes for trailers, four megabytes for messages.

use std::fmt::Write as _;

use serde_json::Value;

const ELLIPSIS: &str = "…";

/// Truncates a text in the middle to at most `room` bytes, with an ellipsis between its start and its end.
pub(crate) fn text(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let half = room.saturating_sub(ELLIPSIS.len()) / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    format!("{head}{ELLIPSIS}{tail}")
}

/// Shortens the longest texts and lists of a value until it takes at most `room` bytes as ASCII JSON.
pub(crate) fn value(value: &Value, room: usize) -> Value {
    let mut limit = room;
    loop {
        let shorter = shorten(value, limit, limit / 16);
        if ascii_json(&shorter).len() <= room {
            return shorter;
        }
        if limit < 16 {
            return Value::Null;
        }
        limit /= 2;
    }
}

fn shorten(original: &Value, longest: usize, most: usize) -> Value {
    match original {
        Value::String(long) => Value::String(text(long, longest)),
        Value::Array(list) => list.iter().take(most).map(|item| shorten(item, longest, most)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().take(most.max(8));
            fields.map(|(name, item)| (text(name, longest), shorten(item, longest, most))).collect()
        }
        other => other.clone(),
    }
}

/// JSON for a header: one line of printable ASCII.
pub(crate) fn ascii_json(value: &Value) -> String {
    let mut ascii = String::new();
    for c in value.to_string().chars() {
        if matches!(c, ' '..='~') {
            ascii.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn small_values_are_not_truncated() {
        let details = json!({ "required_bytes": 524_288_000, "path": "/home/é" });
        assert_eq!(value(&details, 2000), details);
        assert_eq!(ascii_json(&details), r#"{"required_bytes":524288000,"path":"/home/\u00e9"}"#);
    }

    #[test]
    fn truncation_keeps_both_ends_of_a_long_text() {
        let long = format!("fatal: {}last words", "x".repeat(10_000));
        let cut = value(&json!({ "stderr": long }), 200);
        let cut = cut["stderr"].as_str().unwrap();
        assert!(
            cut.starts_with("fatal: xx") && cut.ends_with("last words") && cut.contains(ELLIPSIS),
            "{cut}"
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<f64>().prop_map(Value::from),
            ".{0,400}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 64, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
                prop::collection::btree_map(".{0,40}", inner, 0..20)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn truncated_values_fit_and_are_printable_ascii(original in any_json(), room in 16..2000_usize) {
            let ascii = ascii_json(&value(&original, room));
            prop_assert!(ascii.len() <= room, "{} > {room}", ascii.len());
            prop_assert!(ascii.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            prop_assert!(serde_json::from_str::<Value>(&ascii).is_ok());
        }

        #[test]
        fn texts_are_truncated_at_character_boundaries(original in ".{0,200}", room in 3..100_usize) {
            prop_assert!(text(&original, room).len() <= room);
        }
    }
}
