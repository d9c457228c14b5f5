//! Scripts in arguments: sed, awk and jq programs that only work on their input.
//!
//! Each is read just far enough to be sure that it runs no command, opens no file of its own and does not see the
//! environment. What implementations read differently is refused.

/// Commands that edit and print. Not `e` (runs a command), `r`, `R`, `w`, `W` (files).
const SED_LETTERS: &str = "pPdDnNgGhHxq=l";

pub(super) fn is_harmless_sed(script: &str) -> bool {
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

/// Names that run commands, open files, or show the environment.
const AWK_DENIED: [&str; 15] = [
    "system",
    "getline",
    "ENVIRON",
    "ARGV",
    "ARGC",
    "close",
    "fflush",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
    "function",
    "func",
    "include",
    "load",
    "namespace",
];

/// Words after which a slash begins a pattern, or could.
const AWK_KEYWORDS: [&str; 16] = [
    "print", "printf", "return", "in", "do", "else", "exit", "next", "nextfile", "delete", "case", "length",
    "BEGIN", "END", "if", "while",
];

/// The most slashes that could divide or begin a pattern.
const MOST_READINGS: usize = 6;

/// Outside of strings and patterns there is no pipe, no `getline`, and no `>` in a statement that prints. A program that can
/// be read in several ways has to be harmless in each.
pub(super) fn is_harmless_awk(program: &str) -> bool {
    let mut readings = Vec::new();
    let begun = AwkCode { code: String::new(), rest: program.chars() };
    read_awk(begun, MOST_READINGS, &mut readings).is_some()
        && !readings.is_empty()
        && readings.iter().all(|code| is_harmless_awk_code(code))
}

fn is_harmless_awk_code(code: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if code.split(|c| !word(c)).any(|name| AWK_DENIED.contains(&name)) || code.contains(['@', '`', '\\']) {
        return false;
    }
    if code.replace("||", "").contains('|') {
        return false;
    }
    // A new line does not end every statement.
    code.split([';', '{', '}']).all(|statement| {
        let prints = statement.split(|c| !word(c)).any(|name| matches!(name, "print" | "printf"));
        !(prints && statement.contains('>'))
    })
}

/// A program up to some character.
#[derive(Clone)]
struct AwkCode<'a> {
    /// With a quote in place of each string and pattern.
    code: String,
    rest: std::str::Chars<'a>,
}

/// Collects the ways to read a program. One in which a string or pattern does not end is an error for awk, too. `None` if
/// there are too many, or something that implementations read differently.
fn read_awk(mut at: AwkCode<'_>, left: usize, readings: &mut Vec<String>) -> Option<()> {
    while let Some(c) = at.rest.next() {
        match (c, at.before_slash()) {
            ('"', _) | ('/', Slash::Pattern) => {
                if !closed(&mut at.rest, c)? {
                    return Some(());
                }
                at.code.push('"');
            }
            ('/', Slash::Either) => {
                let left = left.checked_sub(1)?;
                let mut pattern = at.clone();
                if closed(&mut pattern.rest, '/')? {
                    pattern.code.push('"');
                    read_awk(pattern, left, readings)?;
                }
                at.code.push('/');
                return read_awk(at, left, readings);
            }
            ('/', Slash::Unknown) | ('#', _) => return None,
            (c, _) => at.code.push(c),
        }
    }
    readings.push(at.code);
    Some(())
}

/// What a slash is.
enum Slash {
    Division,
    Pattern,
    Either,
    Unknown,
}

impl AwkCode<'_> {
    fn before_slash(&self) -> Slash {
        let code = self.code.trim_end_matches([' ', '\t']);
        let last = code.chars().next_back().unwrap_or('\n');
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word = &code[code.trim_end_matches(is_word).len()..];
        match last {
            '(' | ',' | '~' | '!' | '{' | '}' | ';' | '&' | '|' | '\n' | '=' => Slash::Pattern,
            ')' => Slash::Either,
            _ if AWK_KEYWORDS.contains(&word) => Slash::Either,
            '"' | ']' => Slash::Division,
            c if is_word(c) => Slash::Division,
            _ => Slash::Unknown,
        }
    }
}

/// Skips a string or a pattern; whether it ends.
fn closed(rest: &mut std::str::Chars<'_>, end: char) -> Option<bool> {
    loop {
        let Some(c) = rest.next() else { return Some(false) };
        match c {
            '\\' => {
                rest.next();
            }
            '\n' => return Some(false),
            // In some implementations a slash in brackets does not end the pattern.
            '[' if end == '/' => {
                let inside = rest.as_str().split(']').next().unwrap_or_default();
                if inside.contains('/') {
                    return None;
                }
            }
            c if c == end => return Some(true),
            _ => {}
        }
    }
}

/// `env`, `$ENV` and modules are names; a field may have the same name.
pub(super) fn is_harmless_jq(filter: &str) -> bool {
    const DENIED: [&str; 6] = ["env", "ENV", "import", "include", "modulemeta", "get_search_list"];
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut start = None;
    let padded = format!("{filter} ");
    for (at, c) in padded.char_indices() {
        match (word(c), start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                let before = &padded[..begin];
                let field = before.ends_with('.') && !before.ends_with("..");
                let key = before.ends_with('"') && c == '"';
                if DENIED.contains(&&padded[begin..at]) && !field && !key {
                    return false;
                }
                start = None;
            }
            _ => {}
        }
    }
    // `. env` and `."a" env` are no fields, and a comment could hide the rest from a reader.
    !filter.contains('#') && !filter.contains("__prog")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn awk_programs_may_read_text_but_not_use_files_or_commands() {
        for program in [
            "{print $1}",
            "{ print $2, $NF }",
            "NR==1",
            "/error/",
            "$3 > 5",
            "$1 ~ /a|b/ {print}",
            "{s+=$1} END {print s}",
            "BEGIN{FS=\":\"} {print $1}",
            "length($0) > 100 {print FILENAME\":\"NR}",
            "{printf \"%s\\n\", $1}",
            "!seen[$0]++",
            "NR>=10 && NR<=20",
            "{gsub(/a/, \"b\"); print}",
            "{print \"a > b | c\"}",
            "a || b",
            "{ if ($1 > 3) n++ } END { print n }",
            "{print $1/2}",
            "{print ($1+$2)/2}",
            "{s+=$1} END {print s/NR, (s/NR)/60}",
            "/start/,/end/",
            "$1 !~ /a/ && /b/ {n++} END{print n/2}",
        ] {
            assert!(is_harmless_awk(program), "{program}");
        }
        for program in [
            "BEGIN{system(\"id\")}",
            "{print > \"/etc/x\"}",
            "{print | \"sh\"}",
            "{\"id\" | getline x}",
            "{print ENVIRON[\"A\"]}",
            "{while ((getline l < \"/etc/passwd\") > 0) print l}",
            "@load \"x\"",
            "BEGIN{ARGV[1]=\"/etc/passwd\"}",
            "{printf \"x\" >> \"f\"}",
            "{print $1 > $2}",
            "{print $1,\n$2 > \"f\"}",
            "BEGIN{print \"x\" |& \"sh\"}",
            "{print \"a\" \"b\" > f}",
            "# x\n{print}",
            "{print \"unclosed}",
            "function f(){}",
            "/[/]/{system(1)}/x]/",
            "BEGIN{print /\"/ > \"f\"; y=/\"/}",
            "BEGIN{print /\"/ | \"sh\"; y=/\"/}",
            "BEGIN{if(1) /\"/; print > \"f\"; y=/\"/}",
            "{return /\"/; system(\"id\"); y=/\"/}",
            "{x=$/\"/; print > \"f\"; y=/\"/}",
        ] {
            assert!(!is_harmless_awk(program), "{program}");
        }
    }

    #[test]
    fn jq_filters_may_not_read_the_environment_or_modules() {
        for filter in [
            ".",
            ".a.b",
            ".env",
            ".[].env",
            "{\"env\": 1}",
            "map(select(.x > 1))",
            ".a | length",
            "keys[]",
            ".a[0].b-1",
        ] {
            assert!(is_harmless_jq(filter), "{filter}");
        }
        for filter in [
            "env",
            "$ENV",
            "$ENV.A",
            ".a, env",
            "import \"x\" as x; .",
            "include \"x\";",
            "\"\\(env)\"",
            "..env",
            "[env]",
            "env|.A",
            ".a#",
        ] {
            assert!(!is_harmless_jq(filter), "{filter}");
        }
    }

    proptest! {
        #[test]
        fn script_readers_never_panic(text in "\\PC{0,60}|[sypdawer/\\\\|;{}\\[\\]$0-9!~,+\" >\\n]{0,40}") {
            let _ = (is_harmless_sed(&text), is_harmless_awk(&text), is_harmless_jq(&text));
        }
    }
}
