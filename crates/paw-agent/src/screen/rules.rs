//! What the rules of a CLI's screen are made of. The rules themselves are part of each CLI's descriptor.
//!
//! Everything is read from the bottom up: what is under way is drawn last, and what a model or a command has written
//! lies above it or is set in further than the CLI's own words.

use std::fmt;

/// The screen of one CLI.
#[derive(Debug)]
pub struct ScreenRules {
    /// The versions whose screens these rules were made from.
    pub versions: &'static [&'static str],
    /// Words that are there from the start, before the CLI can do anything.
    pub banner: &'static [&'static str],
    pub dialogs: &'static [DialogRule],
    pub prompts: &'static [PromptRule],
    /// Rows that end a list from which the person has to choose.
    pub questions: &'static [&'static str],
    pub input: InputRule,
    /// What an empty input says of itself, by how it begins.
    pub hints: &'static [&'static str],
    pub working: &'static [WorkMark],
    pub limits: &'static [LimitRule],
    /// Rows that a CLI prints when it cannot start or continue.
    pub endings: &'static [&'static str],
    /// Text in the last row of a column of facts at the right, if the CLI draws one. It is cut off before reading.
    pub sidebar: Option<&'static str>,
}

/// What a CLI wants to know before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogKind {
    Trust,
    ApiKey,
    ModelChange,
    Hooks,
    Login,
    Warning,
    /// One we have never seen.
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
            Self::Other => "something before it starts",
        })
    }
}

/// A dialog, by the beginnings of some of its rows in their order. The last of them is the last row of the screen.
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

/// The keys, as tmux names them, that say yes to exactly one thing once.
pub type ApprovalKeys = &'static [&'static str];

/// The form of one approval prompt.
#[derive(Debug)]
pub struct PromptRule {
    pub kind: ApprovalKind,
    /// What stands at both ends of each row and is not part of it.
    pub edges: (&'static str, &'static str),
    /// The whole row of the question; a `*` stands for anything.
    pub question: &'static str,
    /// Between the question and the choices there are rows that say what it is about.
    pub details_below: bool,
    pub choices: Choices,
    /// What may stand below the choices, by how it begins.
    pub footers: &'static [&'static str],
    pub subject: SubjectRule,
    /// Only ever pressed on a prompt that has the first choice it should have.
    pub keys: ApprovalKeys,
}

#[derive(Debug)]
pub enum Choices {
    /// `❯ 1. Yes` and so on, one below the other. A prompt with another number of choices is not understood.
    Numbered { cursor: char, first: &'static str, count: usize },
    /// Side by side in one row. Which one is chosen shows only in its background.
    Buttons(&'static [&'static str]),
    /// At the end of the question itself.
    InQuestion,
}

/// Where a prompt says what it is about.
#[derive(Debug)]
pub enum SubjectRule {
    /// Nowhere that could be trusted.
    Nowhere,
    /// Set in below a rule and a title, above the question; the model's own description follows in another colour. The
    /// transcript above the rule has to name it too, in one row: `first` with a `*` for it, then `second`.
    Below { title: &'static str, indent: usize, witness: &'static [(&'static str, &'static str)] },
    /// A file's name in the row after a rule and a title.
    FileBelow { title: &'static str },
    /// In the only row of the details that begins like this, which is also the last of them. The transcript above the
    /// prompt has to name it too, `witness` with a `*` for it, as its last row that is not one of `between`.
    Marked { mark: &'static str, witness: &'static str, between: &'static [&'static str] },
    /// A file's name in the only row of the details that begins like this.
    FileMarked(&'static str),
    /// Alone in a box within the prompt's box, and in the title above it.
    Boxed { title: &'static str },
    /// A file's name in the title above the box.
    FileInTitle(&'static str),
    /// In the row above the question, drawn in reverse, and nothing else up to a row that begins like this.
    Reversed { after: &'static str },
    /// A file's name in the row above the question, and nothing else up to a blank row.
    FileAbove,
}

/// Where prompts are typed.
#[derive(Debug)]
pub enum InputRule {
    /// Between two rules.
    Ruled { cursor: char },
    /// After a cursor in the first columns; below it only rows that begin with blanks.
    Cursor { cursor: &'static str, below: usize },
    /// In a block with an edge on its left and a line under it. Its last row is the CLI's own.
    Block { edge: char, under: &'static str },
    /// After a prompt such as `diff> ` in the last row.
    LastRow { prompt: &'static str },
}

/// Words that mean the CLI is at work.
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

/// Words of a CLI that has used up what it may: how their row begins, and what stands before the time of the reset.
#[derive(Debug)]
pub struct LimitRule {
    pub row: &'static str,
    pub before_reset: &'static str,
}
