//! Aider's screen: lines one after the other, a question at the end of the last.

use crate::cli::Cli;
use crate::screen::rules::{AskKind, Choices, Input, Keys, Mark, MarkPlace, Prompt, Rules, Subject};

pub(super) const CLI: Cli = Cli { screen: Some(&SCREEN), ..Cli::known("aider", "Aider") };

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
