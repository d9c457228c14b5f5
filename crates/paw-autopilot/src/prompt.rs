//! The prompt of an executor: the project's rules, the task, and the instructions of the phase.
//!
//! - [`rules`]: the rule files; [`phase`]: the instructions of each phase

pub mod phase;
pub mod rules;

use std::fmt::Write as _;

use crate::engine::RunStage;
use crate::evidence::Objection;
use crate::runners::{TestCase, TestConventions};
use crate::tasks::model::{list_field, text_field};
use crate::tasks::{Subtask, Task};

/// The parts of a prompt.
#[derive(Debug, Clone)]
pub struct PromptContext<'a> {
    pub task: &'a Task,
    pub subtask: &'a Subtask,
    pub tag: &'a str,
    pub branch: &'a str,
    pub test_command: &'a str,
    pub conventions: Option<TestConventions>,
    /// Suggested paths for tests and code.
    pub tests: Vec<String>,
    pub files: Vec<String>,
    pub stage: &'a RunStage,
    /// Objections to the last attempt.
    pub objections: &'a [Objection],
    /// Failing tests with their messages.
    pub failing: Vec<&'a TestCase>,
    /// Rule files and their content.
    pub rules: Vec<(String, String)>,
}

pub fn compose(facts: &PromptContext<'_>) -> String {
    let mut text = String::new();
    if !facts.rules.is_empty() {
        text.push_str("<SYSTEM PROMPT>\n");
        for (name, rule) in &facts.rules {
            // Writing to a string cannot fail.
            let _ = write!(text, "--- {name}\n{}\n\n", rule.trim_end());
        }
    }
    text.push_str("<TASK CONTEXT>\n");
    text.push_str(&context(facts));
    let state = state(facts);
    if !state.is_empty() {
        let _ = write!(text, "\n<CURRENT STATE>\n{state}");
    }
    let _ = write!(text, "\n<INSTRUCTION>\n{}", phase::instruction(facts));
    text
}

fn context(facts: &PromptContext<'_>) -> String {
    let PromptContext { task, subtask, .. } = facts;
    let mut text = format!(
        "You are implementing:\nTask #{} [{}]: {}\nSubtask {}: {}\n",
        task.id,
        facts.tag,
        one_line(&task.title),
        subtask.item(),
        one_line(&subtask.title)
    );
    let mut part = |title: &str, body: Option<&str>| {
        if let Some(body) = body {
            let _ = write!(text, "\n{title}:\n{}\n", body.trim());
        }
    };
    let field = |name: &str| text_field(&subtask.fields, name);
    part("Description", field("description").or_else(|| text_field(&task.fields, "description")));
    part("Details", field("details"));
    part("Test strategy", field("testStrategy"));
    let list = |items: &[String]| {
        let lines = items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>();
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    part("Acceptance criteria", list(&list_field(&subtask.fields, "acceptanceCriteria")).as_deref());
    let done: Vec<String> =
        subtask.dependencies.iter().map(|item| format!("Subtask {item} is complete")).collect();
    part("Dependencies", list(&done).as_deref());
    let _ = writeln!(
        text,
        "\nCurrent phase: {}\nTest command: {}",
        phase::title(facts.stage),
        facts.test_command
    );
    if let Some(TestConventions { framework, test_files, .. }) = &facts.conventions {
        let _ = writeln!(text, "Test file convention: {test_files} ({framework})");
    }
    let _ = writeln!(text, "Branch: {}", facts.branch);
    if let Some(TestConventions { language, .. }) = &facts.conventions {
        let _ = writeln!(text, "Project language: {language}");
    }
    if !facts.tests.is_empty() {
        let _ = writeln!(text, "Test file: {}", facts.tests.join(", "));
    }
    if !facts.files.is_empty() {
        let _ = writeln!(text, "Files: {}", facts.files.join(", "));
    }
    text
}

/// Failing tests and objections to the last attempt.
fn state(facts: &PromptContext<'_>) -> String {
    let mut text = String::new();
    if let RunStage::Green { red, .. } = facts.stage {
        if red.files.is_empty() {
            text.push_str("Tests that have to pass:\n");
            text.extend(red.tests.iter().map(|name| format!("- {name}\n")));
        } else {
            text.push_str("Test files that have to build and pass:\n");
            text.extend(red.files.iter().map(|file| format!("- {}\n", file.display())));
        }
    }
    if !facts.failing.is_empty() {
        text.push_str("\nTest output:\n");
        for case in facts.failing.iter().take(20) {
            let message = case.message.as_deref().unwrap_or_default();
            let shown: Vec<&str> = message.lines().take(20).collect();
            let _ =
                write!(text, "✗ {}: {}\n{}\n", case.name, case.error().unwrap_or_default(), shown.join("\n"));
        }
    }
    if !facts.objections.is_empty() {
        text.push_str("\nThe last attempt was not accepted:\n");
        text.extend(facts.objections.iter().map(|objection| format!("- {objection}\n")));
    }
    for objection in facts.objections {
        if let Objection::Uncovered { places, .. } = objection {
            text.push_str("\nLines that no test runs:\n");
            text.extend(places.iter().map(|place| format!("- {place}\n")));
            text.push_str(UNCOVERED);
        }
    }
    text
}

const UNCOVERED: &str = "\
Take out code that the tests do not ask for, or have it run by further tests in a test file of their own; those that are \
there stay as they are.
";

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
