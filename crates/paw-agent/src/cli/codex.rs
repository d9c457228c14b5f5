//! Codex' screen.
//!
//! The reason above a command is the model's own text, so the command is the only row with a `$`, and the transcript has
//! to name it too.

use crate::cli::Cli;
use crate::screen::rules::{
    AskKind, Choices, Dialog, DialogKind, Input, Keys, Limit, Mark, MarkPlace, Prompt, Rules, Subject,
};

pub(super) const CLI: Cli = Cli { screen: Some(&SCREEN), ..Cli::known("codex", "Codex") };

const YES: Keys = &["y"];

const fn prompt(kind: AskKind, question: &'static str, subject: Subject) -> Prompt {
    Prompt {
        kind,
        edges: ("", ""),
        question,
        details_below: true,
        choices: Choices::Numbered { cursor: '›', first: "Yes, proceed (y)", count: 3 },
        footers: &["  Press enter to confirm"],
        subject,
        keys: YES,
    }
}

const SCREEN: Rules = Rules {
    versions: &["0.166.0"],
    banner: &["OpenAI Codex"],
    dialogs: &[
        Dialog {
            kind: DialogKind::Trust,
            rows: &["Folder access", "1. Trust and continue", "enter continue"],
        },
        Dialog { kind: DialogKind::Hooks, rows: &["Hooks need review", "1. Review hooks", "enter confirm"] },
        Dialog { kind: DialogKind::Warning, rows: &["Warnings ·", "k keep & next"] },
        Dialog { kind: DialogKind::ModelChange, rows: &["Try new model", "Press enter to confirm"] },
        Dialog { kind: DialogKind::Login, rows: &["Sign in with ChatGPT", "Press Enter to continue"] },
        Dialog { kind: DialogKind::Login, rows: &["1. Sign in with ChatGPT", "Press enter to continue"] },
        Dialog { kind: DialogKind::Other, rows: &["enter continue"] },
        Dialog { kind: DialogKind::Other, rows: &["enter confirm"] },
        Dialog { kind: DialogKind::Other, rows: &["Press enter to"] },
    ],
    prompts: &[
        prompt(
            AskKind::Command,
            "  Would you like to run the following command?",
            Subject::Marked { mark: "  $ ", witness: "• Running *", between: &[] },
        ),
        prompt(
            AskKind::Edit,
            "  Would you like to make the following edits?",
            Subject::FileMarked("  Destination: "),
        ),
    ],
    questions: &[],
    input: Input::Cursor { cursor: "›", below: 3 },
    hints: &["Ask Codex to do anything"],
    working: &[Mark { place: MarkPlace::Over, text: "esc to interrupt" }],
    limits: &[Limit { row: "You've hit your usage limit", before_reset: "try again at " }],
    endings: &[],
    sidebar: None,
};
