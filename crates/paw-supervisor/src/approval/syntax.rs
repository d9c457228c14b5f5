//! Our own reader of shell text: the part of the language that means the same in every shell. It refuses the rest.
//!
//! Words, quotes, pipelines, `&&`, `||`, `if`, `for`, subshells, redirections, here-documents, assignments, comments, and
//! in words `$name`, `$?` and `$(…)`.

use std::ops::Range;

use super::characters::quoted;

/// A piece of a line, as both readers see it. Comments, new lines and the text of here-documents are no pieces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShellPiece {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: PieceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PieceKind {
    /// The program of a simple command.
    Program,
    Word,
    /// An operator or a keyword.
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellNode {
    Command(SimpleCommand),
    /// Commands connected by `|`.
    Pipeline(Vec<ShellNode>),
    /// `( … )`: a change of the directory stays inside.
    Subshell(Vec<ShellNode>),
    /// The commands of an `if` or of braces, each of which may run or not.
    Group(Vec<ShellNode>),
    For {
        variable: String,
        values: Vec<WordSource>,
        body: Vec<ShellNode>,
    },
}

/// Assignments, a program with its arguments, and redirections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SimpleCommand {
    pub(super) assignments: Vec<(String, WordSource)>,
    pub(super) words: Vec<WordSource>,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirect {
    /// To another of its file descriptors.
    Joined,
    From(WordSource),
    Into(WordSource),
    /// A here-document, by its number.
    Here(usize),
}

/// A word before expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WordSource {
    pub(super) parts: Vec<WordPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordPart {
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
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [WordPart::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// Whether nothing in it is expanded by variables or substitutions.
    pub(super) fn is_text(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, WordPart::Text { .. }))
    }

    fn push(&mut self, c: char, is_quoted: bool) {
        match self.parts.last_mut() {
            Some(WordPart::Text { text, quoted }) if *quoted == is_quoted => text.push(c),
            _ => self.parts.push(WordPart::Text { text: c.to_string(), quoted: is_quoted }),
        }
    }

    fn is_unquoted_text(&self) -> bool {
        self.plain().is_some() || self.parts.is_empty()
    }
}

/// A line: its commands, the texts of its here-documents, and its pieces in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellLine {
    pub(super) nodes: Vec<ShellNode>,
    pub(super) texts: Vec<String>,
    pub(super) pieces: Vec<ShellPiece>,
}

/// The deepest nesting.
const DEEPEST: usize = 8;

/// Words that begin or end a construct where a program is expected.
const KEYWORDS: [&str; 24] = [
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
    "[[",
    "]]",
    "nocorrect",
    "noglob",
    "-",
    "end",
];

pub(super) fn read(text: &str) -> Result<ShellLine, String> {
    let mut reader =
        Reader { text, at: 0, pieces: Vec::new(), texts: Vec::new(), pending: Vec::new(), depth: 0 };
    let nodes = reader.statements(&[])?;
    if !reader.rest().is_empty() {
        return Err(format!("{} is not understood", quoted(&first(reader.rest(), 2))));
    }
    if !reader.pending.is_empty() {
        return Err("a here-document does not end".to_owned());
    }
    if nodes.is_empty() {
        return Err("no command".to_owned());
    }
    let Reader { texts, mut pieces, .. } = reader;
    pieces.sort();
    Ok(ShellLine { nodes, texts, pieces })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    pieces: Vec<ShellPiece>,
    texts: Vec<String>,
    /// Here-documents whose text begins on the next line: their end, and their number.
    pending: Vec<(String, bool, usize)>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn piece(&mut self, range: Range<usize>, kind: PieceKind) {
        self.pieces.push(ShellPiece { start: range.start, end: range.end, kind });
    }

    fn sign(&mut self, sign: &str) {
        let start = self.at;
        self.at += sign.len();
        self.piece(start..self.at, PieceKind::Sign);
    }

    /// Skips blanks and a comment.
    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        if self.peek() == Some('#') {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Skips blank lines, and reads the here-documents that begin after a line.
    fn newlines(&mut self) -> Result<(), String> {
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
    fn keyword(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| " \t\n;&|<>()".contains(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// Statements up to one of the keywords, a closing parenthesis or the end.
    fn statements(&mut self, until: &[&str]) -> Result<Vec<ShellNode>, String> {
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
            self.list(&mut nodes)?;
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
    fn list(&mut self, nodes: &mut Vec<ShellNode>) -> Result<(), String> {
        loop {
            nodes.push(self.pipeline()?);
            self.blanks();
            let Some(sign) = ["&&", "||"].into_iter().find(|sign| self.rest().starts_with(sign)) else {
                return Ok(());
            };
            self.sign(sign);
            self.newlines()?;
        }
    }

    fn pipeline(&mut self) -> Result<ShellNode, String> {
        self.blanks();
        if self.keyword() == "!" {
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
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(only),
            Some(last) => {
                parts.push(last);
                Ok(ShellNode::Pipeline(parts))
            }
            None => Err("no command".to_owned()),
        }
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

    fn expect(&mut self, word: &str) -> Result<(), String> {
        self.newlines()?;
        let found = if word == ")" { self.rest().starts_with(')') } else { self.keyword() == word };
        if !found || (word == ")" && !self.pending.is_empty()) {
            return Err(format!("`{word}` is missing"));
        }
        self.sign(word);
        Ok(())
    }

    fn condition(&mut self) -> Result<ShellNode, String> {
        self.sign("if");
        let mut nodes = self.required(&["then"])?;
        loop {
            self.expect("then")?;
            nodes.extend(self.required(&["elif", "else", "fi"])?);
            match self.keyword() {
                "elif" => {
                    self.sign("elif");
                    nodes.extend(self.required(&["then"])?);
                }
                "else" => {
                    self.sign("else");
                    nodes.extend(self.required(&["fi"])?);
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

    fn simple_command(&mut self) -> Result<SimpleCommand, String> {
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
    fn descriptor(&self) -> Option<usize> {
        let digits = self.rest().chars().take_while(char::is_ascii_digit).count();
        let after = self.rest().get(digits..).unwrap_or_default();
        let follows = after.starts_with(['<', '>']) || (digits == 0 && after.starts_with("&>"));
        follows.then_some(digits)
    }

    fn redirect(&mut self, digits: usize, command: &mut SimpleCommand) -> Result<(), String> {
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

    fn word(&mut self, kind: PieceKind) -> Result<WordSource, String> {
        let start = self.at;
        let mut word = WordSource::default();
        let mut braces = Braces::default();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '&' | '|' | ';' | '<' | '>' => break,
                ')' if self.depth > 1 => break,
                '\'' => self.single_quotes(&mut word)?,
                '"' => self.double_quotes(&mut word)?,
                '\\' => self.escape(&mut word)?,
                '=' if self.at == start && !matches!(self.keyword(), "=" | "==") => {
                    return Err("a word that begins with `=`".to_owned());
                }
                '$' => self.dollar(&mut word, false)?,
                '`' => return Err("a substitution in backticks".to_owned()),
                '(' | ')' => return Err(format!("`{c}` is not understood")),
                '!' if self.at == start && matches!(self.keyword(), "!" | "!=") => {
                    self.at += 1;
                    word.push(c, false);
                }
                '!' => return Err("`!` outside of quotes".to_owned()),
                c if !c.is_ascii_graphic() => {
                    return Err(format!("{} outside of quotes", quoted(&c.to_string())));
                }
                c => {
                    self.at += 1;
                    braces.see(c)?;
                    word.push(c, false);
                }
            }
        }
        if self.at == start {
            return Err(format!("{} is not understood", quoted(&first(self.rest(), 2))));
        }
        // A number directly before `<` or `>` would be a file descriptor.
        if self.rest().starts_with(['<', '>'])
            && word.is_unquoted_text()
            && word.plain().is_some_and(|text| text.chars().all(|c| c.is_ascii_digit()))
        {
            return Err("a file descriptor that is not understood".to_owned());
        }
        self.piece(start..self.at, kind);
        Ok(word)
    }

    fn single_quotes(&mut self, word: &mut WordSource) -> Result<(), String> {
        self.at += 1;
        let Some(length) = self.rest().find('\'') else { return Err("a quote is not closed".to_owned()) };
        let text = self.rest().get(..length).unwrap_or_default().to_owned();
        word.parts.push(WordPart::Text { text, quoted: true });
        self.at += length + 1;
        Ok(())
    }

    fn double_quotes(&mut self, word: &mut WordSource) -> Result<(), String> {
        self.at += 1;
        // An empty string is a word, too.
        word.parts.push(WordPart::Text { text: String::new(), quoted: true });
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '$' if self.rest().starts_with("$\"") => {
                    self.at += 1;
                    word.push('$', true);
                }
                '$' => self.dollar(word, true)?,
                '`' => return Err("a substitution in backticks".to_owned()),
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c, true),
                        Some('\n') | None => return Err("a backslash at the end of a line".to_owned()),
                        Some(c) => {
                            word.push('\\', true);
                            word.push(c, true);
                        }
                    }
                }
                c => {
                    self.at += c.len_utf8();
                    word.push(c, true);
                }
            }
        }
        Err("a quote is not closed".to_owned())
    }

    fn escape(&mut self, word: &mut WordSource) -> Result<(), String> {
        self.at += 1;
        match self.next() {
            Some(c) if c == ' ' || c.is_ascii_punctuation() => word.push(c, true),
            // Some shells turn it into another character.
            _ => return Err("a backslash before a letter, a digit or the end of a line".to_owned()),
        }
        Ok(())
    }

    /// `$?`, `$name`, `${name}` or `$(…)`
    fn dollar(&mut self, word: &mut WordSource, quoted: bool) -> Result<(), String> {
        let rest = self.rest();
        if rest.starts_with("$(") && !rest.starts_with("$((") {
            self.sign("$(");
            let pending = std::mem::take(&mut self.pending);
            let nodes = self.statements(&[])?;
            self.expect(")")?;
            self.pending = pending;
            word.parts.push(WordPart::Output { nodes, quoted });
            return Ok(());
        }
        if rest.starts_with("$?") {
            self.at += 2;
            word.parts.push(WordPart::Status);
            return Ok(());
        }
        let braced = rest.strip_prefix("${").and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
        let plain = || {
            let name = rest.strip_prefix('$').unwrap_or_default();
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
            name.get(..end).unwrap_or_default()
        };
        let (name, length) = match braced {
            Some(name) => (name, name.len() + 3),
            None => (plain(), plain().len() + 1),
        };
        if !is_variable(name) {
            return Err("a variable or a substitution (`$`) that is not understood".to_owned());
        }
        self.at += length;
        // `$name[1]` and `$name:h` are more than the variable in some shells.
        if braced.is_none() && self.rest().starts_with(['[', ':']) {
            return Err("a variable with a modifier".to_owned());
        }
        word.parts.push(WordPart::Variable { name: name.to_owned(), quoted });
        Ok(())
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `{a,b}` and `{1..9}` expand to several words; `HEAD@{1}` does not.
#[derive(Default)]
struct Braces {
    open: bool,
    last: char,
}

impl Braces {
    fn see(&mut self, c: char) -> Result<(), String> {
        let expands = self.open && (c == ',' || c == '{' || (c == '.' && self.last == '.'));
        if expands {
            return Err("braces that expand to several words".to_owned());
        }
        match c {
            '{' => self.open = true,
            '}' => self.open = false,
            _ => {}
        }
        self.last = c;
        Ok(())
    }
}

fn first(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let ShellNode::Command(command) = read(text).unwrap().nodes.remove(0) else { panic!("{text}") };
        let part = |part: &WordPart| match part {
            WordPart::Text { text, .. } => text.clone(),
            other => format!("<{other:?}>"),
        };
        command.words.iter().map(|word| word.parts.iter().map(part).collect()).collect()
    }

    #[test]
    fn reader_removes_quotes_and_backslashes_like_a_shell() {
        assert_eq!(words(r#"a 'b c'"d\"e\n"f\ g '' "#), ["a", r#"b cd"e\nf g"#, ""]);
        assert_eq!(words(r"git show HEAD@{1}..main^ a{}b"), ["git", "show", "HEAD@{1}..main^", "a{}b"]);
        assert_eq!(words("a # b\n"), ["a"]);
    }

    #[test]
    fn reader_refuses_what_shells_read_differently() {
        for text in [
            "${x:-y}",
            "$1",
            "$$",
            "$((1))",
            "`x`",
            "\"`x`\"",
            "a{b,c}",
            "{1..3}",
            "=ls",
            "a &",
            "a |& b",
            "a;; b",
            "a <<-E\nE",
            "a <<<b",
            "a >(b)",
            "a 3>b",
            "a >|b",
            "a <>b",
            "'a",
            "\"a",
            "a\\",
            "a\\\nb",
            "é",
            "[[ a ]]",
            "while a; do b; done",
            "case a in b) c;; esac",
            "f() { a; }",
            "((a))",
            "a <<E\nb",
            "a <<E\n$b\nE",
            "for a in b; do done",
            "if a; then b",
            "(a",
            "a)",
            "{ a; ",
            "for f in a; do b; done c",
            "$x[1]",
            "a 1<<E\nE",
            "if a then b; fi",
        ] {
            assert!(read(text).is_err(), "{text}: {:?}", read(text));
        }
    }

    #[test]
    fn reader_reads_here_documents_loops_and_conditions() {
        let line = read("cat <<'EOF' > f && b\n$x `y`\nEOF\nc").unwrap();
        assert_eq!((line.nodes.len(), line.texts), (3, vec!["$x `y`\n".to_owned()]));
        for text in [
            "for f in a b; do c $f; done",
            "for f in a\ndo\nc\ndone",
            "if a; then b; elif c; then d; else e; fi",
            "(a; b) > f",
            "{ a; b; } 2>&1 | c",
            "A=1 B= c",
            "export A=b",
            "! a",
            "a \"$(b <<'E'\n'\nE\n)\"",
            "[ a = b ]",
            "a &> f",
            "echo \"$?\" $?",
        ] {
            assert!(read(text).is_ok(), "{text}: {:?}", read(text));
        }
    }

    proptest! {
        #[test]
        fn reader_never_panics(text in "\\PC{0,60}|[ '\"\\\\$`(){}<>&|;#!~*=0-9a\\n]{0,40}") {
            let _ = read(&text);
        }

        #[test]
        fn pieces_are_in_order(text in "[ '\"\\\\<>&|;a1\\n]{0,40}") {
            if let Ok(line) = read(&text) {
                for pair in line.pieces.windows(2) {
                    prop_assert!(pair[0].end <= pair[1].start);
                }
            }
        }
    }
}
