//! sed scripts that only edit and print.

/// Commands that edit and print. Not `e` (runs a command), `r`, `R`, `w`, `W` (files).
const SED_LETTERS: &str = "pPdDnNgGhHxq=l";

pub(in crate::approval) fn is_harmless_sed(script: &str) -> bool {
    Sed { rest: script, open: 0 }.script().is_some()
}

struct Sed<'a> {
    rest: &'a str,
    open: usize,
}

impl Sed<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, letters: &[char]) {
        self.rest = self.rest.trim_start_matches(letters);
    }

    fn script(&mut self) -> Option<()> {
        loop {
            self.skip(&[' ', '\t', ';', '\n']);
            if self.rest.is_empty() {
                return (self.open == 0).then_some(());
            }
            self.command()?;
        }
    }

    fn command(&mut self) -> Option<()> {
        self.addresses()?;
        self.skip(&[' ', '\t', '!']);
        match self.next()? {
            '{' => self.open += 1,
            '}' => {
                self.open = self.open.checked_sub(1)?;
                return self.ends();
            }
            's' => {
                let delimiter = self.delimiter()?;
                self.pattern(delimiter)?;
                self.pattern(delimiter)?;
                let flags =
                    self.rest.find(|c: char| !"gpiIm0123456789".contains(c)).unwrap_or(self.rest.len());
                self.rest = &self.rest[flags..];
                return self.ends();
            }
            'y' => {
                let delimiter = self.delimiter()?;
                self.pattern(delimiter)?;
                self.pattern(delimiter)?;
                return self.ends();
            }
            'a' | 'i' | 'c' => {
                // One line of text. A backslash would continue it.
                let line = self.rest.split('\n').next().unwrap_or_default();
                let text = line.strip_prefix('\\').unwrap_or(line);
                if text.trim().is_empty() || text.contains('\\') {
                    return None;
                }
                self.rest = &self.rest[line.len()..];
            }
            'q' | 'Q' => {
                self.skip(&[' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
                return self.ends();
            }
            letter if SED_LETTERS.contains(letter) => return self.ends(),
            _ => return None,
        }
        Some(())
    }

    fn addresses(&mut self) -> Option<()> {
        if !self.address()? {
            return Some(());
        }
        self.skip(&[' ']);
        if self.peek() == Some(',') {
            self.next();
            self.skip(&[' ']);
            if matches!(self.peek(), Some('+' | '~')) {
                self.next();
            }
            return self.address()?.then_some(());
        }
        Some(())
    }

    fn address(&mut self) -> Option<bool> {
        match self.peek() {
            Some('$') => {
                self.next();
                Some(true)
            }
            Some('/') => {
                self.next();
                self.pattern('/')?;
                if self.peek() == Some('I') {
                    self.next();
                }
                Some(true)
            }
            Some(c) if c.is_ascii_digit() => {
                self.skip(&['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '~']);
                Some(true)
            }
            Some('\\') => None,
            _ => Some(false),
        }
    }

    fn delimiter(&mut self) -> Option<char> {
        self.next().filter(|c| c.is_ascii_punctuation() && *c != '\\' && *c != ';' && *c != '[')
    }

    /// Up to the delimiter. One inside of brackets ends the pattern in some implementations only.
    fn pattern(&mut self, delimiter: char) -> Option<()> {
        let mut brackets = false;
        loop {
            match self.next()? {
                '\n' => return None,
                c if c == delimiter => return (!brackets).then_some(()),
                '\\' => {
                    self.next().filter(|c| *c != '\n')?;
                }
                '[' => brackets = true,
                ']' => brackets = false,
                _ => {}
            }
        }
    }

    /// A command ends at `;`, at `}` or with its line.
    fn ends(&mut self) -> Option<()> {
        self.skip(&[' ', '\t']);
        match self.peek() {
            None | Some(';' | '\n' | '}') => Some(()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_scripts_may_edit_text_but_not_use_files_or_commands() {
        for script in [
            "5p",
            "1,20p",
            "$p",
            "10,$p",
            "/fn main/p",
            "/a/,/b/p",
            "/a/,+3p",
            "1p",
            "s/a/b/",
            "s/a/b/g",
            "s|a/b|c|g",
            "s#a#b#2",
            "/x/d",
            "/^$/d",
            "1d;$d",
            "s/a/b/;s/c/d/",
            "1~2p",
            "/a/{p;q}",
            "$!N",
            "y/abc/xyz/",
            "1i\\text",
            "3a new line",
            "s/\\//x/",
            "s/[0-9]+/N/gi",
            "1,5!d",
            "=",
            "20q",
            "",
        ] {
            assert!(is_harmless_sed(script), "{script}");
        }
        for script in [
            "p;w x",
            "1,5w /etc/x",
            "1e id",
            "s/a/b/e",
            "s/a/b/w x",
            "s/a/b/gw x",
            "1,5p w",
            "r /etc/passwd",
            "R x",
            "W x",
            "e",
            "s/[/]/e/",
            "a\\",
            "a x\\\nw y",
            "{p",
            "p}",
            "s/a\n/b/",
            "\\,x,p",
            "b x",
            "F",
            "v",
            "s;a;b;w x",
            "s/a/b/mw x",
            "1!e id",
            "/x/e",
            "$e id",
        ] {
            assert!(!is_harmless_sed(script), "{script}");
        }
    }
}
