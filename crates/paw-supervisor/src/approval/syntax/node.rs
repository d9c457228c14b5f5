//! The nodes of a line: what both readers agree on, and what is judged.

/// A piece of a line, as both readers see it. Comments, new lines and the text of here-documents are no pieces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::approval) struct ShellPiece {
    pub(in crate::approval) start: usize,
    pub(in crate::approval) end: usize,
    pub(in crate::approval) kind: PieceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::approval) enum PieceKind {
    /// The program of a simple command.
    Program,
    Word,
    /// An operator or a keyword.
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::approval) enum ShellNode {
    Command(SimpleCommand),
    /// Commands connected by `|`.
    Pipeline(Vec<ShellNode>),
    /// `( … )`: a change of the directory stays inside.
    Subshell(Vec<ShellNode>),
    /// The commands of a branch or of braces, which may run or not.
    Group(Vec<ShellNode>),
    /// Commands connected by `&&` and `||`: the first one, and each other with whether it follows `||`.
    List(Box<ShellNode>, Vec<(bool, ShellNode)>),
    For {
        variable: String,
        values: Vec<WordSource>,
        body: Vec<ShellNode>,
    },
}

/// Assignments, a program with its arguments, and redirections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::approval) struct SimpleCommand {
    pub(in crate::approval) assignments: Vec<(String, WordSource)>,
    pub(in crate::approval) words: Vec<WordSource>,
    pub(in crate::approval) redirects: Vec<Redirect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::approval) enum Redirect {
    /// To another of its file descriptors.
    Joined,
    From(WordSource),
    Into(WordSource),
    /// A here-document, by its number.
    Here(usize),
}

/// A word before expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::approval) struct WordSource {
    pub(in crate::approval) parts: Vec<WordPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::approval) enum WordPart {
    Text {
        text: String,
        quoted: bool,
    },
    /// `$name` or `${name}`.
    Variable {
        name: String,
        quoted: bool,
    },
    /// `$?`
    Status,
    /// `$(…)`
    Output {
        nodes: Vec<ShellNode>,
        quoted: bool,
    },
}

impl WordSource {
    /// The text of a word that is neither quoted nor expanded.
    pub(in crate::approval) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [WordPart::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// Whether nothing in it is expanded by variables or substitutions.
    pub(in crate::approval) fn is_text(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, WordPart::Text { .. }))
    }

    /// The value of an assignment, which a shell neither splits nor matches with file names.
    pub(in crate::approval) fn in_quotes(&self) -> Self {
        let mut quoted_word = self.clone();
        for part in &mut quoted_word.parts {
            if let WordPart::Variable { quoted, .. } | WordPart::Output { quoted, .. } = part {
                *quoted = true;
            }
        }
        quoted_word
    }

    pub(super) fn push(&mut self, c: char, is_quoted: bool) {
        match self.parts.last_mut() {
            Some(WordPart::Text { text, quoted }) if *quoted == is_quoted => text.push(c),
            _ => self.parts.push(WordPart::Text { text: c.to_string(), quoted: is_quoted }),
        }
    }

    pub(super) fn is_unquoted_text(&self) -> bool {
        self.plain().is_some() || self.parts.is_empty()
    }
}

/// A line: its commands, the texts of its here-documents, and its pieces in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::approval) struct ShellLine {
    pub(in crate::approval) nodes: Vec<ShellNode>,
    pub(in crate::approval) texts: Vec<String>,
    pub(in crate::approval) pieces: Vec<ShellPiece>,
}
