//! Gemini's screen: a prompt is a box with the command in a box of its own.

use crate::cli::Cli;
use crate::screen::rules::{
    AskKind, Choices, Dialog, DialogKind, Input, Keys, Limit, Mark, MarkPlace, Prompt, Rules, Subject,
};

pub(super) const CLI: Cli = Cli { screen: Some(&SCREEN), ..Cli::known("gemini", "Gemini") };

const ONCE: Keys = &["1"];

const fn prompt(kind: AskKind, question: &'static str, count: usize, subject: Subject) -> Prompt {
    Prompt {
        kind,
        edges: ("│ ", " │"),
        question,
        details_below: false,
        choices: Choices::Numbered { cursor: '●', first: "Allow once", count },
        footers: &["╰─"],
        subject,
        keys: ONCE,
    }
}

const SCREEN: Rules = Rules {
    versions: &["0.61.0"],
    banner: &["Gemini CLI"],
    dialogs: &[
        Dialog { kind: DialogKind::Trust, rows: &["Do you trust", "1. Trust", "╰─"] },
        Dialog { kind: DialogKind::Login, rows: &["How would you like to authenticate", "╰─"] },
        Dialog { kind: DialogKind::Login, rows: &["Waiting for auth"] },
    ],
    prompts: &[
        prompt(AskKind::Command, "Allow execution of [Shell]?", 3, Subject::Boxed { title: "? Shell " }),
        prompt(AskKind::Edit, "Apply this change?", 4, Subject::FileInTitle("? WriteFile  Writing to ")),
        prompt(AskKind::Other, "Allow execution of *?", 3, Subject::Nowhere),
    ],
    questions: &[],
    input: Input::Cursor { cursor: " >", below: 4 },
    hints: &["Type your message"],
    working: &[Mark { place: MarkPlace::Over, text: "(esc to cancel" }],
    limits: &[Limit { row: "You have reached your daily", before_reset: "resets at " }],
    endings: &[],
    sidebar: None,
};
