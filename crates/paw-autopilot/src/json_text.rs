//! Edits JSON files as text, so that everything outside of the change keeps its bytes.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::{Range as Place, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// A text that is not valid JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonTextError {
    #[error("it has merge conflict markers, the first in line {line}")]
    MergeMarkers { line: usize },
    #[error("it is not valid JSON: {0}")]
    Syntax(String),
}

/// Replaces a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    pub at: Range<usize>,
    pub text: String,
}

/// Applies changes in any order; they must not overlap.
pub fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| std::cmp::Reverse(splice.at.start));
    let mut changed = text.to_owned();
    for splice in splices {
        changed.replace_range(splice.at, &splice.text);
    }
    changed
}

/// Parses a text with the strict parser, which also limits nesting.
pub fn parse(text: &str) -> Result<serde_json::Value, JsonTextError> {
    if let Some(line) = first_merge_marker(text) {
        return Err(JsonTextError::MergeMarkers { line });
    }
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(bare).map_err(|error| JsonTextError::Syntax(error.to_string()))
}

fn first_merge_marker(text: &str) -> Option<usize> {
    let opens = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    text.lines().position(opens).map(|line| line + 1)
}

/// Parses a text with the position of every value. Call [`parse`] first: it decides what is valid.
pub fn places(text: &str) -> Result<Value<'_>, JsonTextError> {
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let tree = parse_to_ast(text, &CollectOptions::default(), &strict)
        .map_err(|error| JsonTextError::Syntax(error.to_string()))?;
    tree.value.ok_or_else(|| JsonTextError::Syntax("it is empty".into()))
}

/// The property with this name; the last one if there are duplicates, as in every JSON parser.
pub fn property<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == name)
}

pub fn object_at<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b Object<'a>> {
    property(object, name)?.value.as_object()
}

pub fn array_at<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b Array<'a>> {
    property(object, name)?.value.as_array()
}

/// Sets a property, or appends it to the object.
pub fn set(text: &str, object: &Object<'_>, name: &str, value: &serde_json::Value) -> Splice {
    if let Some(old) = property(object, name) {
        let at = old.value.range();
        let shown = pretty(value, &line_start(text, old.range.start));
        return Splice { at: at.start..at.end, text: shown };
    }
    let members: Vec<_> = object.properties.iter().map(|property| property.range).collect();
    let key = serde_json::Value::from(name).to_string();
    insert_last(text, object.range, &members, |indent| format!("{key}: {}", pretty(value, indent)))
}

/// Appends a value to an array.
pub fn push(text: &str, array: &Array<'_>, value: &serde_json::Value) -> Splice {
    let members: Vec<_> = array.elements.iter().map(Ranged::range).collect();
    insert_last(text, array.range, &members, |indent| pretty(value, indent))
}

/// Appends a member in the style of the previous one: on its own line with the same indentation, or on the same line.
fn insert_last(text: &str, container: Place, members: &[Place], shown: impl Fn(&Indent) -> String) -> Splice {
    if let Some(last) = members.last() {
        let from = members.len().checked_sub(2).map_or(container.start + 1, |before| members[before].end);
        // Members are separated by whitespace and a comma.
        let gap = text[from..last.start].rsplit(',').next().unwrap_or_default();
        let indent = Indent::of_gap(gap);
        return Splice { at: last.end..last.end, text: format!(",{gap}{}", shown(&indent)) };
    }
    let outer = line_start(text, container.start);
    let inner = if text.contains('\n') { outer.deeper(unit(text)) } else { Indent(None) };
    let inside = match (&inner.0, &outer.0) {
        (Some(inner_gap), Some(outer_gap)) => format!("{inner_gap}{}{outer_gap}", shown(&inner)),
        _ => shown(&inner),
    };
    Splice { at: container.start + 1..container.end - 1, text: inside }
}

/// The line break and indentation of a line; `None` for single-line JSON.
struct Indent(Option<String>);

impl Indent {
    fn of_gap(gap: &str) -> Self {
        Self(gap.contains('\n').then(|| gap.to_owned()))
    }

    fn deeper(&self, unit: &str) -> Self {
        Self(self.0.as_ref().map(|gap| format!("{gap}{unit}")))
    }
}

/// The indentation of the line at this position.
fn line_start(text: &str, at: usize) -> Indent {
    if !text.contains('\n') {
        return Indent(None);
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    let blanks = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
    Indent(Some(format!("{end}{blanks}")))
}

/// The indentation unit of this text.
fn unit(text: &str) -> &str {
    text.lines()
        .map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()])
        .find(|blanks| !blanks.is_empty())
        .unwrap_or("  ")
}

fn pretty(value: &serde_json::Value, indent: &Indent) -> String {
    match &indent.0 {
        Some(gap) => format!("{value:#}").replace('\n', gap),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn changed(text: &str, change: impl Fn(&Object<'_>) -> Splice) -> String {
        let tree = places(text).unwrap();
        let splice = change(tree.as_object().unwrap());
        let changed = apply(text, vec![splice]);
        parse(&changed).unwrap();
        changed
    }

    #[test]
    fn set_replaces_only_the_value() {
        let text = "\u{feff}{ \"a\" : 1e5,\r\n\t\"b\":\"\\u00e9\" ,\"a\":2.0 }\n\n";
        let bare = text.strip_prefix('\u{feff}').unwrap();
        let done = changed(bare, |root| set(bare, root, "a", &json!("x")));
        assert_eq!(done, "{ \"a\" : 1e5,\r\n\t\"b\":\"\\u00e9\" ,\"a\":\"x\" }\n\n");
    }

    #[test]
    fn new_property_follows_the_style_of_its_neighbour() {
        for (before, after) in [
            ("{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"n\": 2\n}"),
            ("{\r\n\t\"a\": 1,\r\n\t\"b\": 1\r\n}", "{\r\n\t\"a\": 1,\r\n\t\"b\": 1,\r\n\t\"n\": 2\r\n}"),
            ("{\"a\":1}", "{\"a\":1,\"n\": 2}"),
            ("{}", "{\"n\": 2}"),
            ("{\n}", "{\n  \"n\": 2\n}"),
        ] {
            assert_eq!(changed(before, |root| set(before, root, "n", &json!(2))), after);
        }
    }

    #[test]
    fn pushed_element_follows_the_indentation_of_the_others() {
        let text = "{\n    \"l\": [\n        {\n            \"id\": 1\n        }\n    ]\n}";
        let done = changed(text, |root| push(text, array_at(root, "l").unwrap(), &json!({"id": 2})));
        assert_eq!(
            done,
            text.replace("        }\n    ]", "        },\n        {\n          \"id\": 2\n        }\n    ]")
        );
        let empty = "{\n  \"l\": []\n}";
        let done = changed(empty, |root| push(empty, array_at(root, "l").unwrap(), &json!({"id": 2})));
        assert_eq!(done, "{\n  \"l\": [\n    {\n      \"id\": 2\n    }\n  ]\n}");
    }

    #[test]
    fn merge_markers_are_reported_with_their_line() {
        let error = parse("{\n<<<<<<< HEAD\n}\n").unwrap_err();
        assert_eq!(error, JsonTextError::MergeMarkers { line: 2 });
        assert!(parse("{\"a\": \"<<<<<<< x\"}").is_ok());
    }

    proptest! {
        #[test]
        fn json_text_parser_never_panics(text in "[\\[\\]{}\",:a1 \n\r\\\\-]{0,60}") {
            let _ = parse(&text);
            let _ = places(&text);
        }

        #[test]
        fn set_leaves_other_values_unchanged(keys in proptest::collection::btree_set("[a-e]", 0..5), compact in any::<bool>()) {
            let object: serde_json::Map<_, _> =
                keys.iter().map(|key| (key.clone(), json!([key, {"deep": 1.5}]))).collect();
            let value = serde_json::Value::Object(object);
            let text = if compact { value.to_string() } else { format!("{value:#}") };
            let done = changed(&text, |root| set(&text, root, "c", &json!({"new": [1]})));
            let mut expected = value;
            expected["c"] = json!({"new": [1]});
            prop_assert_eq!(parse(&done).unwrap(), expected);
        }
    }
}
