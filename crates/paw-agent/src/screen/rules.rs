//! The types of a CLI's screen rules. The rules themselves are in each CLI's descriptor.
//!
//! Screens are read from the bottom up: CLIs draw current activity last, and text from a model or a command is above it
//! or indented further than the CLI's own text.

use std::fmt;

/// The screen rules of one CLI.
#[derive(Debug)]
pub struct ScreenRules {
    /// The versions whose screens these rules were made from.
    pub versions: &'static [&'static str],
    /// Text that is visible from the start, before the CLI is ready.
    pub banner: &'static [&'static str],
    pub dialogs: &'static [DialogRule],
    pub prompts: &'static [PromptRule],
    /// The keys that deny any of these prompts.
    pub deny: ApprovalKeys,
    /// Last rows of a list from which the user has to choose.
    pub questions: &'static [&'static str],
    pub input: InputRule,
    /// Beginnings of the hints in an empty input.
    pub hints: &'static [&'static str],
    pub working: &'static [WorkMark],
    pub limits: &'static [LimitRule],
    /// Beginnings of rows that a CLI prints when it cannot start or continue.
    pub endings: &'static [&'static str],
    /// Text in the last row of the right sidebar, if the CLI draws one. The sidebar is removed before reading.
    pub sidebar: Option<&'static str>,
}

/// What a CLI asks that only the user can decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogKind {
    Trust,
    ApiKey,
    ModelChange,
    Hooks,
    Login,
    Warning,
    /// The plan that the agent made before it works.
    Plan,
    Update,
    /// An unknown dialog.
    Other,
}

impl fmt::Display for DialogKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trust => "whether this folder is trusted",
            Self::ApiKey => "whether to use an API key",
            Self::ModelChange => "which model to use",
            Self::Hooks => "whether hooks are trusted",
            Self::Login => "to log in",
            Self::Warning => "to read its warnings",
            Self::Plan => "to approve its plan",
            Self::Update => "whether to update",
            Self::Other => "a question before it starts",
        })
    }
}

/// A dialog, by the beginnings of some of its rows in order. The last one is the last row of the screen.
#[derive(Debug)]
pub struct DialogRule {
    pub kind: DialogKind,
    pub rows: &'static [&'static str],
}

/// What is to be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalKind {
    Command,
    Edit,
    Fetch,
    Other,
}

impl fmt::Display for ApprovalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Command => "a command",
            Self::Edit => "an edit",
            Self::Fetch => "a fetch",
            Self::Other => "something else",
        })
    }
}

/// The keys, as tmux names them, that approve or deny one request once.
pub type ApprovalKeys = &'static [&'static str];

/// The form of one approval prompt.
#[derive(Debug)]
pub struct PromptRule {
    pub kind: ApprovalKind,
    /// The frame at both ends of each row, which is not part of its text.
    pub edges: (&'static str, &'static str),
    /// The whole row of the question; `*` matches any text.
    pub question: &'static str,
    /// The rows between question and choices show the subject.
    pub details_below: bool,
    pub choices: Choices,
    /// Beginnings of rows that may follow the choices.
    pub footers: &'static [&'static str],
    pub subject: SubjectRule,
    /// Pressed only if the prompt's first choice is the expected one.
    pub keys: ApprovalKeys,
}

#[derive(Debug)]
pub enum Choices {
    /// A numbered list such as `❯ 1. Yes`. A prompt with another number of choices is not readable.
    Numbered { cursor: char, first: &'static str, count: usize },
    /// Buttons in one row. Only the background shows which one is selected.
    Buttons(&'static [&'static str]),
    /// At the end of the question.
    InQuestion,
}

/// Where a prompt shows its subject.
#[derive(Debug)]
pub enum SubjectRule {
    /// Nowhere trustworthy.
    Nowhere,
    /// Indented below a rule and a title, above the question; the model's description follows in another colour. The
    /// transcript above the rule has to show it too, in one row: `first` with `*` for it, then `second`.
    Below { title: &'static str, indent: usize, witness: &'static [(&'static str, &'static str)] },
    /// A file name in the row after a rule and a title.
    FileBelow { title: &'static str },
    /// In the only row of the details that starts with `mark`, which is also their last row. The transcript above the
    /// prompt has to show it too: one of `witness`, with `*` for it, in the last row that is not one of `between`.
    Marked { mark: &'static str, witness: &'static [&'static str], between: &'static [&'static str] },
    /// A file name in the only row of the details that starts with this text.
    FileMarked(&'static str),
    /// Alone in a box inside the prompt's box, and in the title above it. A warning with this beginning may follow.
    Boxed { title: &'static str, warning: &'static str },
    /// A file name in the title above the box: what is before it, and what ends it.
    FileInTitle(&'static [(&'static str, &'static str)]),
    /// In the row above the question, in reverse video, with only a blank row up to a row that starts with `after`.
    Reversed { after: &'static str },
    /// A file name in the row between a blank row and the question.
    FileAbove,
}

/// How to find the input.
#[derive(Debug)]
pub enum InputRule {
    /// Between two rules.
    Ruled { cursor: char },
    /// After a cursor in the first columns, with only indented rows below.
    Cursor { cursor: &'static str, below: usize },
    /// In a block with a left edge and a line below. Its last row belongs to the CLI.
    Block { edge: char, under: &'static str },
    /// After a prompt such as `diff> ` in the last row.
    LastRow { prompt: &'static str },
}

/// Text that shows that the CLI is working.
#[derive(Debug)]
pub struct WorkMark {
    pub place: MarkPosition,
    pub text: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkPosition {
    /// In the rows under the input.
    Under,
    /// In the last row or two above it.
    Over,
    /// In the last row of a screen without an input.
    Last,
}

/// A rate limit message: how its row begins, and the text before the reset time.
#[derive(Debug)]
pub struct LimitRule {
    pub row: &'static str,
    pub before_reset: &'static str,
}
