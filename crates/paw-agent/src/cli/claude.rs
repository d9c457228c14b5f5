//! Claude Code's screen.
//!
//! A command is set in by three columns, and so is every further row of it, so nothing in it can pass for the rule or
//! the title above. Where Claude cannot analyse a command it offers only Yes and No, and then neither can we.

use crate::cli::Cli;
use crate::screen::rules::{
    AskKind, Choices, Dialog, DialogKind, Input, Keys, Limit, Mark, MarkPlace, Prompt, Rules, Subject,
};

pub(super) const CLI: Cli =
    Cli { short_name: "Claude", screen: Some(&SCREEN), ..Cli::known("claude", "Claude Code") };

const YES: Keys = &["1"];

const fn prompt(kind: AskKind, question: &'static str, subject: Subject) -> Prompt {
    Prompt {
        kind,
        edges: ("", ""),
        question,
        details_below: false,
        choices: Choices::Numbered { cursor: '❯', first: "Yes", count: 3 },
        footers: &[" Esc to cancel"],
        subject,
        keys: YES,
    }
}

const SCREEN: Rules = Rules {
    versions: &["2.1.197"],
    banner: &["Claude Code"],
    dialogs: &[
        Dialog {
            kind: DialogKind::Trust,
            rows: &["Accessing workspace:", "1. Yes, I trust", "2. No", "Enter to confirm"],
        },
        Dialog {
            kind: DialogKind::ApiKey,
            rows: &["Detected a custom API key", "Do you want to use this API key?", "Enter to confirm"],
        },
        Dialog { kind: DialogKind::Login, rows: &["Select login method:"] },
        Dialog { kind: DialogKind::Login, rows: &["Paste code here if prompted"] },
        Dialog { kind: DialogKind::Other, rows: &["Enter to confirm"] },
        Dialog { kind: DialogKind::Other, rows: &["Press Enter to continue"] },
    ],
    prompts: &[
        prompt(
            AskKind::Command,
            " Do you want to proceed?",
            Subject::Below {
                title: " Bash command",
                indent: 3,
                witness: &[
                    ("● Bash(*)", "  ⎿ \u{a0}Waiting…"),
                    ("⏺ Bash(*)", "  ⎿ \u{a0}Waiting…"),
                    ("", "  ⎿  $ *"),
                ],
            },
        ),
        prompt(
            AskKind::Edit,
            " Do you want to make this edit to *?",
            Subject::FileBelow { title: " Edit file" },
        ),
        prompt(AskKind::Edit, " Do you want to create *?", Subject::FileBelow { title: " Create file" }),
        prompt(
            AskKind::Edit,
            " Do you want to overwrite *?",
            Subject::FileBelow { title: " Overwrite file" },
        ),
        prompt(AskKind::Fetch, " Do you want to allow Claude to fetch this content?", Subject::Nowhere),
    ],
    questions: &["Enter to select"],
    input: Input::Ruled { cursor: '❯' },
    hints: &["Try \""],
    working: &[
        Mark { place: MarkPlace::Under, text: "esc to interrupt" },
        Mark { place: MarkPlace::Over, text: "esc to interrupt" },
    ],
    limits: &[
        Limit { row: "You've hit your", before_reset: "resets " },
        Limit { row: "Claude usage limit reached", before_reset: "reset at " },
    ],
    endings: &[
        "--dangerously-skip-permissions cannot be used",
        " Unable to connect to Anthropic services",
        "No conversation found",
    ],
    sidebar: None,
};
