//! Aider's screen: lines one after the other, a question at the end of the last.

use super::rules::{AskKind, Choices, Input, Keys, Mark, Place, Prompt, Rules, Subject};

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

pub(super) const RULES: Rules = Rules {
    cli: "aider",
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
    working: &[Mark { place: Place::Last, text: "Waiting for " }],
    limits: &[],
    endings: &[],
};
