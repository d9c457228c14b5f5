//! The position in the text: characters, blanks, comments, and the texts of here-documents.

use std::ops::Range;

use super::node::{PieceKind, ShellPiece};

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) pieces: Vec<ShellPiece>,
    pub(super) texts: Vec<String>,
    /// Here-documents whose text begins on the next line: their end, and their number.
    pub(super) pending: Vec<(String, bool, usize)>,
    pub(super) depth: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn piece(&mut self, range: Range<usize>, kind: PieceKind) {
        self.pieces.push(ShellPiece { start: range.start, end: range.end, kind });
    }

    pub(super) fn sign(&mut self, sign: &str) {
        let start = self.at;
        self.at += sign.len();
        self.piece(start..self.at, PieceKind::Sign);
    }

    /// Skips blanks and a comment.
    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        if self.peek() == Some('#') {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Skips blank lines, and reads the here-documents that begin after a line.
    pub(super) fn newlines(&mut self) -> Result<(), String> {
        loop {
            self.blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.at += 1;
            for (end, expands, number) in std::mem::take(&mut self.pending) {
                self.here_document(&end, expands, number)?;
            }
        }
    }

    fn here_document(&mut self, end: &str, expands: bool, number: usize) -> Result<(), String> {
        let mut lines = Vec::new();
        loop {
            if self.rest().is_empty() {
                return Err("a here-document does not end".to_owned());
            }
            let line = self.rest().split('\n').next().unwrap_or_default();
            if line == end {
                let start = self.at;
                self.at += line.len();
                self.piece(start..self.at, PieceKind::Word);
                break;
            }
            if expands && line.contains(['$', '`', '\\']) {
                return Err("a here-document with substitutions".to_owned());
            }
            lines.push(line);
            self.at += line.len();
            if self.next().is_none() {
                return Err("a here-document does not end".to_owned());
            }
        }
        self.texts[number] = lines.iter().flat_map(|line| [*line, "\n"]).collect();
        Ok(())
    }

    /// The unquoted word at the cursor, if a keyword could stand here.
    pub(super) fn keyword(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| " \t\n;&|<>()".contains(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }
}

pub(super) fn first(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
