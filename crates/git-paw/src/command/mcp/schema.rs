//! JSON Schemas of arguments, limited to what every model's API accepts.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::project_root;

/// The schema of a tool's arguments, including the project root.
pub(super) fn of<A: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<A>();
    let Value::Object(mut schema) = simplified(schema.to_value()) else { return Map::new() };
    for noise in ["$schema", "title", "description"] {
        schema.remove(noise);
    }
    schema.insert("type".into(), "object".into());
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(
            project_root::PARAMETER.into(),
            json!({"type": "string", "description": project_root::DESCRIPTION}),
        );
    }
    schema
}

/// The names of the arguments.
pub(super) fn names(schema: &Map<String, Value>) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(Map::keys).cloned().collect()
}

/// Removes "or null", which `required` already expresses, and number formats and described words, which some APIs reject.
fn simplified(schema: Value) -> Value {
    match schema {
        Value::Object(mut object) => {
            if let Some(Value::Array(kinds)) = object.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [only] = kinds.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.remove("anyOf") {
                let mut choices: Vec<_> = choices.into_iter().filter(|one| one["type"] != "null").collect();
                match (choices.len(), choices.pop()) {
                    (1, Some(Value::Object(only))) => {
                        only.into_iter().for_each(|(key, value)| {
                            object.entry(key).or_insert(value);
                        });
                    }
                    (_, last) => {
                        choices.extend(last);
                        object.insert("anyOf".into(), choices.into());
                    }
                }
            }
            if let Some(words) = object.get("oneOf").and_then(words) {
                object.remove("oneOf");
                object.insert("type".into(), "string".into());
                object.insert("enum".into(), words.into());
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            object.remove("format");
            object.into_iter().map(|(key, value)| (key, simplified(value))).collect()
        }
        Value::Array(all) => all.into_iter().map(simplified).collect(),
        other => other,
    }
}

/// The words of a choice whose variants are described one by one, which some APIs reject.
fn words(choices: &Value) -> Option<Vec<Value>> {
    let of = |choice: &Value| match (choice.get("const"), choice.get("enum")) {
        (Some(word), _) => Some(vec![word.clone()]),
        (None, Some(Value::Array(words))) => Some(words.clone()),
        _ => None,
    };
    let words: Option<Vec<Vec<Value>>> = choices.as_array()?.iter().map(of).collect();
    words.map(|words| words.concat())
}

#[cfg(test)]
mod tests {
    use super::super::tool_sets::ToolSet;
    use super::super::{tool_sets, tools};
    use super::*;

    /// Every object of a schema.
    fn objects(value: &Value) -> Vec<&Map<String, Value>> {
        match value {
            Value::Object(object) => [object].into_iter().chain(object.values().flat_map(objects)).collect(),
            Value::Array(all) => all.iter().flat_map(objects).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn schemas_use_only_what_every_api_accepts() {
        for tool in tool_sets::offered(tools::all(), &ToolSet::ALL, false) {
            assert_eq!(tool.schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.schema["additionalProperties"], false, "{}", tool.name);
            let schema = Value::Object(tool.schema.clone());
            for object in objects(&schema) {
                for refused in ["$ref", "$schema", "anyOf", "oneOf", "allOf", "format"] {
                    let is_property = object.get(refused).is_some_and(|value| value.get("type").is_some());
                    assert!(!object.contains_key(refused) || is_property, "{}: {refused}", tool.name);
                }
                assert!(!object.get("type").is_some_and(Value::is_array), "{}: {object:?}", tool.name);
            }
        }
    }

    #[test]
    fn tools_are_small_and_describe_their_arguments() {
        for tool in tool_sets::offered(tools::all(), &ToolSet::ALL, false) {
            let legal = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(tool.name.len() <= 40 && tool.name.chars().all(legal), "{}", tool.name);
            assert!((20..400).contains(&tool.description.len()), "{}", tool.name);
            let size = Value::Object(tool.schema.clone()).to_string().len();
            assert!(size < 2000, "{} takes {size} bytes", tool.name);
            for (name, property) in tool.schema["properties"].as_object().unwrap() {
                let said = property["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(said, "{}.{name} is not described", tool.name);
            }
        }
    }
}
