//! Statements: lists, pipelines, `if`, `for`, subshells and braces.

use super::cursor::{Reader, first};
use super::node::{PieceKind, ShellNode, SimpleCommand};
use super::word::is_variable;
use crate::approval::characters::quoted;

/// The deepest nesting.
const DEEPEST: usize = 8;

/// Words that begin or end a construct where a program is expected.
const KEYWORDS: [&str; 23] = [
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "until",
    "case",
    "esac",
    "select",
    "function",
    "coproc",
    "repeat",
    "foreach",
    "]]",
    "nocorrect",
    "noglob",
    "-",
    "end",
];

impl Reader<'_> {
    /// Statements up to one of the keywords, a closing parenthesis or the end.
    pub(super) fn statements(&mut self, until: &[&str]) -> Result<Vec<ShellNode>, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too deeply nested".to_owned());
        }
        let mut nodes = Vec::new();
        loop {
            self.newlines()?;
            let word = self.keyword();
            if self.rest().is_empty() || self.peek() == Some(')') || until.contains(&word) {
                break;
            }
            nodes.push(self.list()?);
            self.blanks();
            match self.peek() {
                Some(';') if self.rest().starts_with(";;") || self.rest().starts_with(";&") => {
                    return Err(format!("{} is not understood", quoted(&first(self.rest(), 2))));
                }
                Some(';') => self.sign(";"),
                Some('\n' | ')') | None => {}
                Some('&') => return Err("`&` runs something in the background".to_owned()),
                Some(_) => return Err(format!("{} is not understood", quoted(&first(self.rest(), 8)))),
            }
        }
        self.depth -= 1;
        Ok(nodes)
    }

    /// Pipelines connected by `&&` and `||`.
    fn list(&mut self) -> Result<ShellNode, String> {
        let begin = self.pipeline()?;
        let mut others = Vec::new();
        loop {
            self.blanks();
            let Some(sign) = ["&&", "||"].into_iter().find(|sign| self.rest().starts_with(sign)) else {
                break;
            };
            self.sign(sign);
            self.newlines()?;
            others.push((sign == "||", self.pipeline()?));
        }
        Ok(if others.is_empty() { begin } else { ShellNode::List(Box::new(begin), others) })
    }

    fn pipeline(&mut self) -> Result<ShellNode, String> {
        self.blanks();
        // What follows `! cd x &&` runs if it failed, so that it must not look like a plain command.
        let is_negated = self.keyword() == "!";
        if is_negated {
            self.sign("!");
            self.blanks();
        }
        let mut parts = vec![self.command()?];
        loop {
            self.blanks();
            if !self.rest().starts_with('|') || self.rest().starts_with("||") {
                break;
            }
            if self.rest().starts_with("|&") {
                return Err("`|&` is not understood".to_owned());
            }
            self.sign("|");
            self.newlines()?;
            parts.push(self.command()?);
        }
        let node = match parts.pop() {
            Some(only) if parts.is_empty() => only,
            Some(last) => {
                parts.push(last);
                ShellNode::Pipeline(parts)
            }
            None => return Err("no command".to_owned()),
        };
        Ok(if is_negated { ShellNode::Group(vec![node]) } else { node })
    }

    fn command(&mut self) -> Result<ShellNode, String> {
        self.blanks();
        let node = match (self.peek(), self.keyword()) {
            (Some('('), _) if !self.rest().starts_with("((") => {
                self.sign("(");
                let nodes = self.statements(&[])?;
                self.expect(")")?;
                ShellNode::Subshell(nodes)
            }
            (_, "{") => {
                self.sign("{");
                let nodes = self.statements(&["}"])?;
                self.expect("}")?;
                ShellNode::Group(nodes)
            }
            (_, "if") => self.condition()?,
            (_, "for") => self.repetition()?,
            (_, word) if KEYWORDS.contains(&word) => {
                return Err(format!("{} is not understood", quoted(word)));
            }
            _ => return self.simple_command().map(ShellNode::Command),
        };
        if matches!(&node, ShellNode::Group(nodes) | ShellNode::Subshell(nodes) if nodes.is_empty()) {
            return Err("no command".to_owned());
        }
        self.redirected(node)
    }

    /// Redirections after a compound command.
    fn redirected(&mut self, node: ShellNode) -> Result<ShellNode, String> {
        let mut command = SimpleCommand::default();
        loop {
            self.blanks();
            match self.descriptor() {
                Some(length) => self.redirect(length, &mut command)?,
                None if command.redirects.is_empty() => return Ok(node),
                None => return Ok(ShellNode::Group(vec![ShellNode::Command(command), node])),
            }
        }
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), String> {
        self.newlines()?;
        let found = if word == ")" { self.rest().starts_with(')') } else { self.keyword() == word };
        if !found || (word == ")" && !self.pending.is_empty()) {
            return Err(format!("`{word}` is missing"));
        }
        self.sign(word);
        Ok(())
    }

    /// Conditions run in order, and each branch in braces of its own.
    fn condition(&mut self) -> Result<ShellNode, String> {
        self.sign("if");
        let mut nodes = self.required(&["then"])?;
        loop {
            self.expect("then")?;
            nodes.push(ShellNode::Group(self.required(&["elif", "else", "fi"])?));
            match self.keyword() {
                "elif" => {
                    self.sign("elif");
                    nodes.extend(self.required(&["then"])?);
                }
                "else" => {
                    self.sign("else");
                    nodes.push(ShellNode::Group(self.required(&["fi"])?));
                    break;
                }
                _ => break,
            }
        }
        self.expect("fi")?;
        Ok(ShellNode::Group(nodes))
    }

    fn required(&mut self, until: &[&str]) -> Result<Vec<ShellNode>, String> {
        let nodes = self.statements(until)?;
        if nodes.is_empty() { Err("no command".to_owned()) } else { Ok(nodes) }
    }

    fn repetition(&mut self) -> Result<ShellNode, String> {
        self.sign("for");
        self.blanks();
        let variable = self.keyword().to_owned();
        if !is_variable(&variable) {
            return Err("a loop without a plain variable".to_owned());
        }
        self.piece(self.at..self.at + variable.len(), PieceKind::Word);
        self.at += variable.len();
        self.blanks();
        self.expect("in")?;
        let mut values = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(';') => {
                    self.sign(";");
                    break;
                }
                Some('\n') => break,
                Some('&' | '|' | '<' | '>' | '(' | ')') | None => {
                    return Err("a loop that is not understood".to_owned());
                }
                Some(_) => values.push(self.word(PieceKind::Word)?),
            }
        }
        self.expect("do")?;
        let body = self.required(&["done"])?;
        self.expect("done")?;
        Ok(ShellNode::For { variable, values, body })
    }
}
