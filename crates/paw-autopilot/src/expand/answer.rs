//! Parses an executor's answer into subtasks.

use serde::Serialize;
use serde_json::{Deserializer, Value};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposedSubtask {
    pub title: String,
    pub description: Option<String>,
    pub details: Option<String>,
    pub test_strategy: Option<String>,
    /// Numbers of earlier subtasks, counted from 1.
    pub dependencies: Vec<usize>,
}

/// The maximum number of subtasks.
const MOST: usize = 20;
const LONGEST_TITLE: usize = 200;

/// Finds the last list of subtasks in a text.
pub fn parse_answer(text: &str) -> Result<Vec<ProposedSubtask>, String> {
    let starts = text.char_indices().filter(|(_, c)| matches!(c, '[' | '{')).map(|(at, _)| at);
    // Search from the end: the answer comes last, after any reasoning with brackets.
    let mut starts: Vec<usize> = starts.collect();
    starts.reverse();
    let lists = starts.into_iter().take(5000).filter_map(|at| {
        let value = Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok()?;
        let list = match value {
            Value::Array(list) => list,
            Value::Object(fields) => fields.get("subtasks")?.as_array()?.clone(),
            _ => return None,
        };
        let subtasks = list.iter().any(|item| item.get("title").is_some_and(Value::is_string));
        subtasks.then_some(list)
    });
    let list = lists.into_iter().next().ok_or("it contains no list of subtasks")?;
    if list.len() > MOST {
        return Err(format!("{} subtasks are too many", list.len()));
    }
    list.iter().zip(1..).map(|(item, number)| subtask(item, number)).collect()
}

fn subtask(item: &Value, number: usize) -> Result<ProposedSubtask, String> {
    let field = |name: &str| {
        let text = item.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let title = field("title").ok_or_else(|| format!("subtask {number} has no title"))?;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.chars().count() > LONGEST_TITLE {
        return Err(format!("the title of subtask {number} is too long"));
    }
    let mut dependencies = Vec::new();
    for dependency in item.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
        let own =
            dependency.as_u64().or_else(|| dependency.as_str()?.rsplit('.').next()?.trim().parse().ok());
        match own.and_then(|own| usize::try_from(own).ok()) {
            Some(own) if (1..number).contains(&own) => dependencies.push(own),
            _ => {
                return Err(format!("subtask {number} depends on {dependency}, which is not an earlier one"));
            }
        }
    }
    dependencies.sort_unstable();
    dependencies.dedup();
    Ok(ProposedSubtask {
        title,
        description: field("description"),
        details: field("details"),
        test_strategy: field("testStrategy"),
        dependencies,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn titles(text: &str) -> Result<Vec<String>, String> {
        parse_answer(text).map(|list| list.into_iter().map(|proposed| proposed.title).collect())
    }

    #[test]
    fn last_list_in_the_answer_is_used() {
        let answer = "I looked at [src] {and} more.\n```json\n[{\"title\": \"Old\"}]\n```\nBetter:\n```json\n\
                      [{\"title\": \" Add\\nschema \", \"details\": \"x\"}, {\"title\": \"Use it\", \"dependencies\": [1, \"42.1\"]}]\n```\n";
        assert_eq!(titles(answer).unwrap(), ["Add schema", "Use it"]);
        assert_eq!(parse_answer(answer).unwrap()[1].dependencies, [1]);
        assert_eq!(titles("{\"subtasks\": [{\"title\": \"a\"}]}").unwrap(), ["a"]);
    }

    #[test]
    fn invalid_subtask_list_is_refused_with_a_reason() {
        for (text, why) in [
            ("no list at all", "no list"),
            ("[{\"title\": \"a\"}, {\"name\": \"b\"}]", "subtask 2 has no title"),
            ("[{\"title\": \"a\", \"dependencies\": [2]}, {\"title\": \"b\"}]", "not an earlier one"),
            ("[{\"title\": \"a\", \"dependencies\": [1]}]", "not an earlier one"),
        ] {
            let error = titles(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let flood = format!("[{}]", vec!["{\"title\": \"a\"}"; 30].join(","));
        assert!(titles(&flood).unwrap_err().contains("too many"));
    }

    proptest! {
        #[test]
        fn answer_parser_never_panics(text in "[\\[\\]{}\",:a-z0-9 é\n]{0,80}|\\PC{0,60}") {
            let _ = parse_answer(&text);
        }
    }
}
