//! Aider.

use std::ffi::OsString;

use paw_host::process::Command;

use crate::cli::Cli;
use crate::headless::{self, Headless, PLAIN, Turn, Unattended};
use crate::launch::ApprovalFlags;
use crate::resume::ResumeArguments;
use crate::screen::rules::{
    ApprovalKeys, ApprovalKind, Choices, InputRule, MarkPosition, PromptRule, ScreenRules, SubjectRule,
    WorkMark,
};

pub(super) const CLI: Cli = Cli {
    approval: ApprovalFlags { full_auto: "--yes-always", ..ApprovalFlags::NONE },
    resume: Some(ResumeArguments {
        latest: &["--restore-chat-history"],
        named: None,
        remembers_first_prompt: true,
    }),
    headless: Headless {
        arguments: turn_arguments,
        reader: PLAIN.reader,
        unattended: Some(Unattended { preference: 3, restrict }),
    },
    screen: Some(&SCREEN),
    settings: &[".aider*"],
    ..Cli::known("aider", "Aider")
};

fn turn_arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = headless::words(["--message-file", "/dev/stdin", "--no-pretty", "--no-stream"]);
    arguments.extend(headless::option("--model", turn.model));
    arguments
}

fn restrict(command: Command, tests: Option<&str>) -> Command {
    let command = command.args(["--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore"]);
    if tests.is_some() { command } else { command.arg("--chat-mode=ask") }
}

const YES: ApprovalKeys = &["y", "Enter"];

const fn prompt(
    kind: ApprovalKind,
    question: &'static str,
    subject: SubjectRule,
    keys: ApprovalKeys,
) -> PromptRule {
    PromptRule {
        kind,
        edges: ("", ""),
        question,
        details_below: false,
        choices: Choices::InQuestion,
        footers: &[],
        subject,
        keys,
    }
}

/// Aider prints line by line; a question is at the end of the last line.
const SCREEN: ScreenRules = ScreenRules {
    versions: &["0.86.2"],
    banner: &["Aider v"],
    dialogs: &[],
    deny: &["n", "Enter"],
    prompts: &[
        prompt(
            ApprovalKind::Command,
            "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]:",
            SubjectRule::Reversed { after: "Tokens: " },
            YES,
        ),
        prompt(ApprovalKind::Edit, "Create new file? (Y)es/(N)o [Yes]:", SubjectRule::FileAbove, YES),
        prompt(ApprovalKind::Other, "*? (Y)es/(N)o*[Yes]:", SubjectRule::Nowhere, &[]),
        prompt(ApprovalKind::Other, "*? (Y)es/(N)o*[No]:", SubjectRule::Nowhere, &[]),
    ],
    questions: &[],
    input: InputRule::LastRow { prompt: ">" },
    hints: &[],
    working: &[WorkMark { place: MarkPosition::Last, text: "Waiting for " }],
    limits: &[],
    endings: &[],
    sidebar: None,
};
