//! The instructions of each phase.

use super::PromptContext;
use crate::engine::RunStage;

pub fn title(stage: &RunStage) -> &'static str {
    match stage {
        RunStage::Green { .. } => "GREEN (write the code that makes the tests pass)",
        _ => "RED (write failing tests)",
    }
}

/// Rules for every phase.
const ALWAYS: &str = "\
- Leave git alone: no commit, no push, no other branch, no stash. git-paw commits when its own test run proves the work.
- Do not change tasks.json, nor settings that decide which tests run.
- Do not leave programs running.
";

pub fn instruction(facts: &PromptContext<'_>) -> String {
    let (lead, rules) = match facts.stage {
        RunStage::Green { .. } => (GREEN, GREEN_RULES),
        RunStage::Red { passed_at_once: true, .. } => (RED_AGAIN, RED_RULES),
        _ => (RED, RED_RULES),
    };
    format!(
        "{lead}\n{rules}{ALWAYS}\nYou can check with: {}\nWhat counts is git-paw's own run of the tests, not what you report.\n",
        facts.test_command
    )
}

const RED: &str = "Write the fewest tests that pin down this subtask, and see them fail.";

const RED_AGAIN: &str = "\
The tests you wrote pass already, so they prove nothing. Write one that fails until this subtask is done. If everything \
the subtask asks for is there already, change nothing more.";

const RED_RULES: &str = "\
- Touch test code only. Whatever the tests need and does not exist yet stays missing for now.
- Follow the names, places and habits of the tests that are there.
- Each test states one expectation and fails because the behaviour is missing, not because the test itself is broken.
- Existing tests keep running: delete, skip and loosen none of them.
";

const GREEN: &str = "Write the least code that makes the failing tests pass, and see the whole suite pass.";

const GREEN_RULES: &str = "\
- Leave the tests as they are: they were seen to fail, and any change to them is refused.
- Follow the structure and habits of the code that is there, and stay within this subtask.
- Nothing that passed before may fail now.
";
