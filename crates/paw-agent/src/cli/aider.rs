//! Aider.

use std::ffi::OsString;

use paw_host::process::Command;

use crate::cli::Cli;
use crate::headless::{self, Headless, PLAIN, Turn, Unattended};
use crate::launch::ApprovalFlags;
use crate::resume::ResumeWords;
use crate::screen::rules::{AskKind, Choices, Input, Keys, Mark, MarkPlace, Prompt, Rules, Subject};

pub(super) const CLI: Cli = Cli {
    approval: ApprovalFlags { full_auto: "--yes-always", ..ApprovalFlags::NONE },
    resume: Some(ResumeWords {
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

const YES: Keys = &["y", "Enter"];

const fn prompt(kind: AskKind, question: &'static str, subject: Subject, keys: Keys) -> Prompt {
    Prompt {
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

/// Lines one after the other, a question at the end of the last.
const SCREEN: Rules = Rules {
    versions: &["0.86.2"],
    banner: &["Aider v"],
    dialogs: &[],
    prompts: &[
        prompt(
            AskKind::Command,
            "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]:",
            Subject::Reversed { after: "Tokens: " },
            YES,
        ),
        prompt(AskKind::Edit, "Create new file? (Y)es/(N)o [Yes]:", Subject::FileAbove, YES),
        prompt(AskKind::Other, "*? (Y)es/(N)o*[Yes]:", Subject::Nowhere, &[]),
        prompt(AskKind::Other, "*? (Y)es/(N)o*[No]:", Subject::Nowhere, &[]),
    ],
    questions: &[],
    input: Input::LastRow { prompt: ">" },
    hints: &[],
    working: &[Mark { place: MarkPlace::Last, text: "Waiting for " }],
    limits: &[],
    endings: &[],
    sidebar: None,
};
