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
    /// `{a,b}`: several words in most shells, and plain text in the others.
    Choice {
        text: String,
        items: Vec<String>,
    },
}

/// The most words of one command after its braces are expanded.
const MOST_WORDS: usize = 200;

impl SimpleCommand {
    /// The words as the different shells read them: with braces expanded, and with braces as text.
    pub(in crate::approval) fn readings(&self) -> Result<Vec<Vec<WordSource>>, String> {
        let is_choice = |part: &WordPart| matches!(part, WordPart::Choice { .. });
        if !self.words.iter().any(|word| word.parts.iter().any(is_choice)) {
            return Ok(vec![self.words.clone()]);
        }
        let expanded = self.words.iter().map(WordSource::alternatives).collect::<Result<Vec<_>, _>>()?;
        let expanded = expanded.concat();
        if expanded.len() > MOST_WORDS {
            return Err("braces that expand to too many words".to_owned());
        }
        Ok(vec![expanded, self.words.iter().map(WordSource::with_braces).collect()])
    }
}

impl WordSource {
    /// The text of a word that is neither quoted nor expanded.
    pub(in crate::approval) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [WordPart::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// The words that its braces expand to, in order.
    pub(in crate::approval) fn alternatives(&self) -> Result<Vec<Self>, String> {
        let mut words = vec![Self::default()];
        for part in &self.parts {
            let items: Vec<_> = match part {
                WordPart::Choice { items, .. } => {
                    items.iter().map(|item| WordPart::Text { text: item.clone(), quoted: false }).collect()
                }
                other => vec![other.clone()],
            };
            let extended = |word: &Self| items.iter().map(|item| word.with(item)).collect::<Vec<_>>();
            words = words.iter().flat_map(extended).collect();
            if words.len() > MOST_WORDS {
                return Err("braces that expand to too many words".to_owned());
            }
        }
        Ok(words)
    }

    /// The word with its braces as text.
    fn with_braces(&self) -> Self {
        let as_text = |word: Self, part: &WordPart| match part {
            WordPart::Choice { text, .. } => word.with(&WordPart::Text { text: text.clone(), quoted: false }),
            other => word.with(other),
        };
        self.parts.iter().fold(Self::default(), as_text)
    }

    /// The word with another part. Texts are joined, so that a plain word stays one.
    fn with(&self, part: &WordPart) -> Self {
        let mut word = self.clone();
        match (word.parts.last_mut(), part) {
            (Some(WordPart::Text { text, quoted: false }), WordPart::Text { text: more, quoted: false }) => {
                text.push_str(more);
            }
            _ => word.parts.push(part.clone()),
        }
        word
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
