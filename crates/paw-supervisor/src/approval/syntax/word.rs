//! Words: quotes, escapes, variables and substitutions.

use super::cursor::{Reader, first};
use super::node::{PieceKind, WordPart, WordSource};
use crate::approval::characters::quoted;

impl Reader<'_> {
    pub(super) fn word(&mut self, kind: PieceKind) -> Result<WordSource, String> {
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
                '{' if !braces.open && kind == PieceKind::Word && self.choice(&mut word)? => {}
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

    /// `{a,b}` and `{1..9}`
    fn choice(&mut self, word: &mut WordSource) -> Result<bool, String> {
        let Some((inside, _)) = self.rest().strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
            return Ok(false);
        };
        let Some(items) = choice_items(inside) else { return Ok(false) };
        if items.len() > MOST_ITEMS {
            return Err("braces that expand to too many words".to_owned());
        }
        let text = format!("{{{inside}}}");
        self.at += text.len();
        word.parts.push(WordPart::Choice { text, items });
        Ok(true)
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

    /// `$?`, `${PIPESTATUS[0]}`, `$name`, `${name}` or `$(…)`
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
        if let Some(length) = status_length(rest) {
            self.at += length;
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
        let is_colon = [": ", ":\""].iter().any(|colon| self.rest().starts_with(colon));
        if braced.is_none() && self.rest().starts_with(['[', ':']) && !is_colon {
            return Err("a variable with a modifier".to_owned());
        }
        word.parts.push(WordPart::Variable { name: name.to_owned(), quoted });
        Ok(())
    }
}

/// The length of a variable that holds the exit code of a command.
fn status_length(rest: &str) -> Option<usize> {
    if rest.starts_with("$?") {
        return Some(2);
    }
    let (index, _) = rest.strip_prefix("${PIPESTATUS[")?.split_once("]}")?;
    let is_number = index.len() == 1 && index.chars().all(|c| c.is_ascii_digit());
    is_number.then_some("${PIPESTATUS[0]}".len())
}

pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The most words that braces may expand to.
const MOST_ITEMS: usize = 50;

/// What stands in braces: names with commas between them, or two numbers. `None` for anything else.
fn choice_items(inside: &str) -> Option<Vec<String>> {
    if let Some((first, last)) = inside.split_once("..") {
        let number =
            |text: &str| (text.len() < 4 && !text.starts_with('0')).then(|| text.parse::<u16>().ok());
        let (first, last) = (number(first)??, number(last)??);
        return (first <= last).then(|| (first..=last).map(|number| number.to_string()).collect());
    }
    let is_name = |item: &str| {
        !item.is_empty()
            && item.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c))
            && !item.contains("..")
    };
    let items: Vec<_> = inside.split(',').map(str::to_owned).collect();
    (items.len() > 1 && items.iter().all(|item| is_name(item))).then_some(items)
}

/// Other braces that would expand to several words are refused; `HEAD@{1}` does not expand.
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
