//! A lexer for the plain subset of the shell language: words, quotes and a few operators. It refuses everything that could
//! mean different things in different shells.

use std::ops::Range;

use super::characters::quoted;

/// A token of a command line and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellToken {
    pub(super) kind: TokenKind,
    pub(super) at: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word(ShellWord),
    /// Ends a simple command: `&&`, `||`, `;`, `|` or a new line.
    End(&'static str),
    /// `>`, `>>`, `<` or `>&`, with the file descriptor before it.
    Redirect {
        descriptor: Option<u8>,
        sign: &'static str,
    },
}

/// A word as the program would get it without expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// Whether part of it was quoted or escaped.
    pub(super) quoted: bool,
    /// Whether the shell would expand it to matching file names.
    pub(super) glob: bool,
    /// Whether it starts with an unquoted `~`.
    pub(super) home: bool,
}

pub(super) fn tokens(text: &str) -> Result<Vec<ShellToken>, String> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new() };
    while let Some(c) = lexer.peek() {
        match c {
            ' ' | '\t' => lexer.at += 1,
            '\n' => lexer.operator("\n", TokenKind::End("\n")),
            '&' if lexer.rest().starts_with("&&") => lexer.operator("&&", TokenKind::End("&&")),
            '|' if lexer.rest().starts_with("||") => lexer.operator("||", TokenKind::End("||")),
            '|' if !lexer.rest().starts_with("|&") => lexer.operator("|", TokenKind::End("|")),
            ';' if !lexer.rest().starts_with(";;") && !lexer.rest().starts_with(";&") => {
                lexer.operator(";", TokenKind::End(";"));
            }
            '&' => return Err("`&` runs something in the background or redirects everything".to_owned()),
            '|' | ';' => return Err(format!("{} is not understood", quoted(first(lexer.rest(), 2)))),
            '<' | '>' => lexer.redirect(None)?,
            _ => lexer.word()?,
        }
    }
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<ShellToken>,
}

impl<'a> Lexer<'a> {
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

    fn operator(&mut self, sign: &str, kind: TokenKind) {
        let start = self.at;
        self.at += sign.len();
        self.tokens.push(ShellToken { kind, at: start..self.at });
    }

    fn redirect(&mut self, descriptor: Option<u8>) -> Result<(), String> {
        let unknown = ["<<", "<>", "<&", "<(", ">|", ">("];
        if let Some(sign) = unknown.iter().find(|sign| self.rest().starts_with(**sign)) {
            return Err(format!("`{sign}` is not understood"));
        }
        let known = [">>", ">&", ">", "<"];
        if let Some(sign) = known.iter().copied().find(|sign| self.rest().starts_with(*sign)) {
            self.operator(sign, TokenKind::Redirect { descriptor, sign });
        }
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        let start = self.at;
        let mut word = ShellWord::default();
        let mut braces = Braces::default();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '&' | '|' | ';' => break,
                '<' | '>' => match descriptor(&word)? {
                    Some(number) => return self.redirect(Some(number)),
                    None => break,
                },
                '\'' => self.single_quotes(&mut word)?,
                '"' => self.double_quotes(&mut word)?,
                '\\' => self.escape(&mut word)?,
                '#' | '=' if self.at == start => return Err(format!("a word that begins with `{c}`")),
                '$' | '`' => return Err("a variable or a substitution (`$` or a backtick)".to_owned()),
                '(' | ')' => return Err(format!("`{c}` is not understood")),
                '!' => return Err("`!` outside of quotes".to_owned()),
                c if !c.is_ascii_graphic() => {
                    return Err(format!("{} outside of quotes", quoted(&c.to_string())));
                }
                c => {
                    self.at += 1;
                    braces.see(c)?;
                    word.home |= c == '~' && word.text.is_empty() && !word.quoted;
                    word.glob |= matches!(c, '*' | '?' | '[');
                    word.text.push(c);
                }
            }
        }
        self.tokens.push(ShellToken { kind: TokenKind::Word(word), at: start..self.at });
        Ok(())
    }

    fn single_quotes(&mut self, word: &mut ShellWord) -> Result<(), String> {
        self.at += 1;
        let Some(length) = self.rest().find('\'') else { return Err("a quote is not closed".to_owned()) };
        word.text.push_str(first_bytes(self.rest(), length));
        word.quoted = true;
        self.at += length + 1;
        Ok(())
    }

    fn double_quotes(&mut self, word: &mut ShellWord) -> Result<(), String> {
        self.at += 1;
        word.quoted = true;
        while let Some(c) = self.next() {
            match c {
                '"' => return Ok(()),
                '$' | '`' => return Err("a variable or a substitution (`$` or a backtick)".to_owned()),
                '\\' => match self.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => word.text.push(c),
                    Some('\n') | None => return Err("a backslash at the end of a line".to_owned()),
                    Some(c) => word.text.extend(['\\', c]),
                },
                c => word.text.push(c),
            }
        }
        Err("a quote is not closed".to_owned())
    }

    fn escape(&mut self, word: &mut ShellWord) -> Result<(), String> {
        self.at += 1;
        match self.next() {
            Some(c) if c == ' ' || c.is_ascii_punctuation() => word.text.push(c),
            // Some shells turn it into another character.
            _ => return Err("a backslash before a letter, a digit or the end of a line".to_owned()),
        }
        word.quoted = true;
        Ok(())
    }
}

/// The file descriptor directly before a redirection, if the word is one.
fn descriptor(word: &ShellWord) -> Result<Option<u8>, String> {
    if word.quoted || word.text.is_empty() || !word.text.chars().all(|c| c.is_ascii_digit()) {
        return Ok(None);
    }
    match word.text.as_str() {
        "0" => Ok(Some(0)),
        "1" => Ok(Some(1)),
        "2" => Ok(Some(2)),
        other => Err(format!("the file descriptor {}", quoted(other))),
    }
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

fn first(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    first_bytes(text, end)
}

fn first_bytes(text: &str, bytes: usize) -> &str {
    text.get(..bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let words = tokens(text).unwrap().into_iter().filter_map(|token| match token.kind {
            TokenKind::Word(word) => Some(word.text),
            _ => None,
        });
        words.collect()
    }

    #[test]
    fn lexer_removes_quotes_and_backslashes_like_a_shell() {
        assert_eq!(words(r#"a 'b c'"d\"e\n"f\ g '' "#), ["a", r#"b cd"e\nf g"#, ""]);
        assert_eq!(words(r"git show HEAD@{1}..main^ a{}b"), ["git", "show", "HEAD@{1}..main^", "a{}b"]);
    }

    #[test]
    fn lexer_marks_or_refuses_expansions() {
        let marks = |text: &str| match tokens(text).unwrap().remove(0).kind {
            TokenKind::Word(word) => (word.glob, word.home),
            _ => panic!(),
        };
        assert_eq!(marks("src/*.rs"), (true, false));
        assert_eq!(marks("'src/*.rs'"), (false, false));
        assert_eq!(marks("~/x"), (false, true));
        assert_eq!(marks(r"\~/x"), (false, false));
        for text in [
            "$x", "a$x", "\"$x\"", "`x`", "\"`x`\"", "a{b,c}", "{1..3}", "=ls", "a # b", "(a)", "a &",
            "a |& b", "a;; b", "a <<E", "a <<<b", "a >(b)", "a 3>b", "a &>b", "!a", "a\\\nb", "'a", "\"a",
            "a\\", "é",
        ] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn lexer_never_panics(text in "\\PC{0,60}|[ '\"\\\\$`(){}<>&|;#!~*=0-9a\\n]{0,40}") {
            let _ = tokens(&text);
        }

        #[test]
        fn tokens_are_in_order_and_do_not_overlap(text in "[ '\"\\\\<>&|;a1\\n]{0,40}") {
            for pair in tokens(&text).unwrap_or_default().windows(2) {
                prop_assert!(pair[0].at.end <= pair[1].at.start);
            }
        }
    }
}
