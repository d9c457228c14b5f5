//! The scripted agent of `git paw demo`. It prints line by line, and asks at the end of the last line.

use crate::cli::Cli;
use crate::screen::rules::{
    ApprovalKind, Choices, InputRule, MarkPosition, PromptRule, ScreenRules, SubjectRule, WorkMark,
};

pub(super) const CLI: Cli = Cli { screen: Some(&SCREEN), ..Cli::known("paw-demo", "Scripted agent") };

/// The row above a command that it asks about, which is in reverse video.
pub const WANTS: &str = "● wants to run";
/// The question after the command.
pub const QUESTION: &str = "Run this command? (y)es/(n)o:";

const SCREEN: ScreenRules = ScreenRules {
    versions: &[],
    banner: &[],
    dialogs: &[],
    deny: &["n"],
    prompts: &[PromptRule {
        kind: ApprovalKind::Command,
        edges: ("", ""),
        question: QUESTION,
        details_below: false,
        choices: Choices::InQuestion,
        footers: &[],
        subject: SubjectRule::Reversed { after: WANTS },
        keys: &["y"],
    }],
    questions: &[],
    input: InputRule::LastRow { prompt: ">" },
    hints: &[],
    working: &[WorkMark { place: MarkPosition::Last, text: "● " }],
    limits: &[],
    endings: &[],
    sidebar: None,
};
