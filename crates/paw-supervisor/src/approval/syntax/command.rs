//! Simple commands: assignments, words, redirections and the beginnings of here-documents.

use super::cursor::Reader;
use super::node::{PieceKind, Redirect, SimpleCommand, WordSource};
use super::word::is_variable;
use crate::approval::characters::quoted;

impl Reader<'_> {
    pub(super) fn simple_command(&mut self) -> Result<SimpleCommand, String> {
        let mut command = SimpleCommand::default();
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')') => break,
                Some('&') if !self.rest().starts_with("&>") => break,
                Some('(') => return Err("`(` is not understood".to_owned()),
                Some(_) => {}
            }
            if let Some(length) = self.descriptor() {
                self.redirect(length, &mut command)?;
                continue;
            }
            let exports = matches!(command.words.as_slice(), [only] if only.plain() == Some("export"));
            if (command.words.is_empty() || exports) && self.assignment(&mut command)? {
                continue;
            }
            let kind = if command.words.is_empty() { PieceKind::Program } else { PieceKind::Word };
            let word = self.word(kind)?;
            command.words.push(word);
        }
        if command.words.is_empty() && command.assignments.is_empty() {
            return Err("a command without a program".to_owned());
        }
        Ok(command)
    }

    /// `NAME=value`
    fn assignment(&mut self, command: &mut SimpleCommand) -> Result<bool, String> {
        let Some((name, value)) = self.rest().split_once('=') else { return Ok(false) };
        if !is_variable(name) {
            return Ok(false);
        }
        self.piece(self.at..self.at + name.len(), PieceKind::Word);
        self.at += name.len();
        self.sign("=");
        let blank = value.is_empty() || value.starts_with([' ', '\t', '\n', ';', '&', '|', ')']);
        let value = if blank { WordSource::default() } else { self.word(PieceKind::Word)? };
        command.assignments.push((name.to_owned(), value));
        Ok(true)
    }

    /// The length of the file descriptor before a redirection, if one follows.
    pub(super) fn descriptor(&self) -> Option<usize> {
        let digits = self.rest().chars().take_while(char::is_ascii_digit).count();
        let after = self.rest().get(digits..).unwrap_or_default();
        let follows = after.starts_with(['<', '>']) || (digits == 0 && after.starts_with("&>"));
        follows.then_some(digits)
    }

    pub(super) fn redirect(&mut self, digits: usize, command: &mut SimpleCommand) -> Result<(), String> {
        let descriptor = self.rest().get(..digits).unwrap_or_default();
        self.at += digits;
        if !matches!(descriptor, "" | "0" | "1" | "2") {
            return Err(format!("the file descriptor {}", quoted(descriptor)));
        }
        if self.rest().starts_with("<<") && !self.rest().starts_with("<<<") && matches!(descriptor, "" | "0")
        {
            return self.here_start(command);
        }
        let unknown = ["<<", "<>", "<&", "<(", ">|", ">(", ">&-", "&>|"];
        if let Some(sign) = unknown.iter().find(|sign| self.rest().starts_with(**sign)) {
            return Err(format!("`{sign}` is not understood"));
        }
        let known = ["&>>", "&>", ">>", ">&", ">", "<"];
        let Some(sign) = known.into_iter().find(|sign| self.rest().starts_with(sign)) else {
            return Err("a redirection that is not understood".to_owned());
        };
        self.sign(sign);
        self.blanks();
        if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')) {
            return Err("a redirection without a target".to_owned());
        }
        let target = self.word(PieceKind::Word)?;
        command.redirects.push(match sign {
            "<" => Redirect::From(target),
            ">&" if matches!(target.plain(), Some("1" | "2")) => Redirect::Joined,
            ">&" => return Err("`>&` before a file".to_owned()),
            _ => Redirect::Into(target),
        });
        Ok(())
    }

    fn here_start(&mut self, command: &mut SimpleCommand) -> Result<(), String> {
        if self.rest().starts_with("<<-") {
            return Err("`<<-` is not understood".to_owned());
        }
        self.sign("<<");
        self.blanks();
        let mark = self.keyword();
        let bare =
            |mark: &str| !mark.is_empty() && mark.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let unquoted = ['\'', '"'].iter().find_map(|sign| mark.strip_prefix(*sign)?.strip_suffix(*sign));
        let end = unquoted.unwrap_or(mark);
        if !bare(end) {
            return Err("the end of a here-document is not a plain word".to_owned());
        }
        self.piece(self.at..self.at + mark.len(), PieceKind::Word);
        self.at += mark.len();
        command.redirects.push(Redirect::Here(self.texts.len()));
        self.pending.push((end.to_owned(), unquoted.is_none(), self.texts.len()));
        self.texts.push(String::new());
        Ok(())
    }
}
