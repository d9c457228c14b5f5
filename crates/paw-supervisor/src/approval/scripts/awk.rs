//! awk programs that only read their input.

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
pub(in crate::approval) fn is_harmless_awk(program: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
