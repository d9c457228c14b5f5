//! OpenCode's screen: a prompt is a block with an edge, and only colour tells which of its buttons is chosen.

use super::rules::{AskKind, Choices, Input, Keys, Mark, Place, Prompt, Rules, Subject};

/// On a wide screen there is a list of facts at the right, with this in its last row.
pub(super) const SIDEBAR: &str = "• OpenCode ";

/// Right only while the first button is the chosen one.
const ONCE: Keys = &["Enter"];

const fn prompt(kind: AskKind, subject: Subject) -> Prompt {
    Prompt {
        kind,
        edges: ("  ┃", ""),
        question: "  △ Permission required",
        details_below: true,
        choices: Choices::Buttons(&["Allow once", "Allow always", "Reject"]),
        footers: &[],
        subject,
        keys: ONCE,
    }
}

pub(super) const RULES: Rules = Rules {
    cli: "opencode",
    versions: &["1.18.33"],
    banner: &[],
    dialogs: &[],
    prompts: &[
        prompt(AskKind::Command, Subject::Marked { mark: "  $ ", witness: "     $ *", between: &["     ▣"] }),
        prompt(AskKind::Edit, Subject::FileMarked("    → Edit ")),
    ],
    questions: &[],
    input: Input::Block { edge: '┃', under: "╹▀" },
    hints: &["Ask anything"],
    working: &[Mark { place: Place::Under, text: "esc interrupt" }],
    limits: &[],
    endings: &[],
};
