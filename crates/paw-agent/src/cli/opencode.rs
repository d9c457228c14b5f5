//! OpenCode's screen: a prompt is a block with an edge, and only colour tells which of its buttons is chosen.

use crate::cli::Cli;
use crate::screen::rules::{AskKind, Choices, Input, Keys, Mark, MarkPlace, Prompt, Rules, Subject};

pub(super) const CLI: Cli = Cli { screen: Some(&SCREEN), ..Cli::known("opencode", "OpenCode") };

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

const SCREEN: Rules = Rules {
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
    working: &[Mark { place: MarkPlace::Under, text: "esc interrupt" }],
    limits: &[],
    endings: &[],
    sidebar: Some("• OpenCode "),
};
