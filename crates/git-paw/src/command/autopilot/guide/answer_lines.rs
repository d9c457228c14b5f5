//! Formats an answer as lines of text. Pure.

use serde_json::Value;

pub(super) fn lines(answer: &Value) -> Vec<String> {
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let mut lines: Vec<String> = text("message").into_iter().collect();
    if let Some(words) = answer["coverage"]["words"].as_str() {
        let title = if answer["coverage"]["gate"] == true { "coverage gate" } else { "no coverage gate" };
        lines.push(format!("{title}: {words}"));
    }
    let objections = list(&answer["objections"], "- ");
    let already_listed = !objections.is_empty();
    lines.extend(objections);
    let unit = &answer["workUnit"];
    if let (Some(phase), Some(subtask)) = (unit["phase"].as_str(), unit["subtask"].as_str()) {
        lines.push(String::new());
        lines.push(format!("{phase} {subtask}: {}", unit["action"].as_str().unwrap_or_default()));
        lines.extend(context(&unit["context"], phase, already_listed));
    }
    let commands = list(&answer["commands"], "  ");
    if !commands.is_empty() {
        lines.push("to push it and open a pull request:".to_owned());
        lines.extend(commands);
    }
    let paused = text("paused").map(|why| format!("paused: {why}"));
    let steps = paused.or_else(|| text("nextSteps")).filter(|_| !is_over(answer));
    if let Some(steps) = steps {
        lines.extend([String::new(), steps]);
        lines.extend(then(answer).map(str::to_owned));
    }
    lines
}

fn is_over(answer: &Value) -> bool {
    answer["active"] == false || answer["nextAction"] == "workflow_complete"
}

/// The command to type next.
fn then(answer: &Value) -> Option<&'static str> {
    if answer["paused"].is_string() {
        return Some("after the fix: git paw autopilot resume");
    }
    match answer["nextAction"].as_str()? {
        "generate_test" | "implement_code" => Some("then: git paw autopilot complete"),
        "commit_changes" => Some("then: git paw autopilot commit"),
        "finalize_workflow" => Some("then: git paw autopilot finalize"),
        _ => None,
    }
}

fn context(context: &Value, phase: &str, already_listed: bool) -> Vec<String> {
    let texts: &[(&str, &str)] = match phase {
        "COMMIT" => &[("message", "Message: ")],
        _ => &[
            ("description", ""),
            ("details", "Details: "),
            ("testStrategy", "Test strategy: "),
            ("testCommand", "Test command: "),
            ("testFile", "Test file: "),
        ],
    };
    let lists: &[(&str, &str)] = match phase {
        "COMMIT" => &[],
        _ => &[
            ("acceptanceCriteria", "  Acceptance criteria:"),
            ("failingTests", "  Tests that must pass:"),
            ("objections", "  Problems of the last attempt:"),
        ],
    };
    let mut lines = Vec::new();
    for (name, title) in texts {
        let text = context[name].as_str().filter(|text| !text.trim().is_empty());
        lines.extend(text.map(|text| format!("  {title}{text}")));
    }
    for (name, title) in lists {
        let items = list(&context[name], "  - ");
        if items.is_empty() || (already_listed && *name == "objections") {
            continue;
        }
        lines.push((*title).to_owned());
        lines.extend(items);
    }
    lines
}

fn list(items: &Value, mark: &str) -> Vec<String> {
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(|item| format!("{mark}{item}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::answer::nothing;
    use super::*;

    #[test]
    fn lines_show_the_work_unit_its_context_and_the_next_step() {
        let answer = json!({"message": "RED is not proven", "objections": ["no test failed"], "nextSteps": "Write one.",
            "workUnit": {"phase": "RED", "subtask": "1.1", "action": "Generate failing tests for x",
                "context": {"description": "a", "testCommand": "npm test", "acceptanceCriteria": ["it works"],
                    "failingTests": []}}});
        insta::assert_snapshot!(lines(&answer).join("\n"), @r"
        RED is not proven
        - no test failed

        RED 1.1: Generate failing tests for x
          a
          Test command: npm test
          Acceptance criteria:
          - it works

        Write one.
        ");
    }

    #[test]
    fn lines_omit_missing_fields() {
        assert_eq!(lines(&nothing()), ["no autopilot run is in progress here"]);
        assert!(lines(&json!({"workUnit": null})).is_empty());
    }
}
