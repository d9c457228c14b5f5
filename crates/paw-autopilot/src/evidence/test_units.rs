//! Splits test code into functions and test calls, to tell which of them changed. A scanner, not a parser.

use std::ops::Range;
use std::path::Path;

use super::literals::{MASK, mask};
use super::test_code::{is_import_line, normalize};

/// A function or a test call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestUnit {
    pub(super) name: String,
    /// Normalized, with decorators and attributes.
    pub(super) text: String,
    /// Lines, counted from 1.
    pub(super) lines: Range<u32>,
}

/// The functions of a file, and its other lines without comments and imports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SplitFile {
    pub(super) units: Vec<TestUnit>,
    pub(super) rest: Vec<String>,
}

pub(super) fn split_units(path: &Path, text: &str) -> SplitFile {
    let ending = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let (masked, lines) = (masked_lines(ending, text), text.lines().collect::<Vec<_>>());
    let mut split = SplitFile::default();
    let mut at = 0;
    while at < masked.len() {
        let start = at;
        let header = first_header(ending, &masked, at);
        let Some(header) = header else {
            let line = masked[at].trim();
            let is_comment = if ending == "py" { line.starts_with('#') } else { line.starts_with("//") };
            if !line.is_empty() && !is_comment && !is_import_line(line) {
                split.rest.push(lines[at].split_whitespace().collect());
            }
            at += 1;
            continue;
        };
        at = end_of(ending, &masked, header);
        let own = lines[start..at].join("\n");
        let name = name_of(ending, lines[header], &masked[header]);
        // Writing line numbers cannot overflow: a file with more lines is not read.
        let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        split.units.push(TestUnit {
            name,
            text: normalize(path, &own),
            lines: number(start + 1)..number(at + 1),
        });
    }
    split
}

/// Lines with literals replaced, as many as the text has.
fn masked_lines(ending: &str, text: &str) -> Vec<String> {
    let (masked, literals) = mask(ending, text);
    let mut literals = literals.into_iter();
    let mut whole = String::with_capacity(text.len());
    for c in masked.chars() {
        whole.push(c);
        if c == MASK {
            let breaks = literals.next().unwrap_or_default().matches('\n').count();
            whole.extend(std::iter::repeat_n('\n', breaks));
        }
    }
    whole.lines().map(str::to_owned).collect()
}

/// The line of a function's header, if its decorators or the header itself start here.
fn first_header(ending: &str, masked: &[String], at: usize) -> Option<usize> {
    let marks = if ending == "py" { "@" } else { "#[" };
    let header = (at..masked.len()).find(|line| !masked[*line].trim_start().starts_with(marks))?;
    is_header(ending, masked[header].trim_start()).then_some(header)
}

fn is_header(ending: &str, line: &str) -> bool {
    let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    match ending {
        "py" => starts(&["def ", "async def "]),
        "rs" => {
            let mut words = line.split_whitespace().skip_while(|word| {
                word.starts_with("pub") || ["async", "const", "unsafe", "extern"].contains(word)
            });
            words.next() == Some("fn")
        }
        "go" => starts(&["func "]),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" => starts(&[
            "test(",
            "it(",
            "test.",
            "it.",
            "specify(",
            "function ",
            "async function ",
            "export function ",
            "xit(",
            "fit(",
            "xtest(",
        ]),
        _ => false,
    }
}

/// The first line after the unit whose header is at `header`.
fn end_of(ending: &str, masked: &[String], header: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(&masked[header]);
    let (mut depth, mut opened) = (0_i32, false);
    for (line, text) in masked.iter().enumerate().skip(header) {
        if ending == "py" && line > header && depth == 0 && !text.trim().is_empty() && indent(text) <= own {
            return line;
        }
        for c in text.chars() {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            opened |= c == '{' || (c == '(' && !matches!(ending, "rs" | "go"));
        }
        let ended = depth <= 0 && (opened || (ending == "rs" && text.contains(';')));
        if ending != "py" && ended {
            return line + 1;
        }
    }
    masked.len()
}

fn name_of(ending: &str, line: &str, masked: &str) -> String {
    let is_call =
        matches!(ending, "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts") && masked.contains(MASK);
    if is_call {
        let quote = line.find(['\'', '"', '`']);
        let inside = quote.and_then(|at| {
            let quote = line[at..].chars().next()?;
            line[at + 1..].split(quote).next()
        });
        return inside.unwrap_or_default().to_owned();
    }
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let after =
        ["def ", "fn ", "function "].iter().find_map(|key| line.split_once(key)).map(|(_, rest)| rest);
    match after.or_else(|| line.split_once("func ").map(|(_, rest)| rest)) {
        // A method of Go has a receiver first.
        Some(rest) if rest.starts_with('(') => word(rest.split_once(") ").map_or("", |(_, name)| name)),
        Some(rest) => word(rest),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(path: &str, text: &str) -> Vec<String> {
        let shown = |unit: TestUnit| format!("{} {}-{}", unit.name, unit.lines.start, unit.lines.end - 1);
        split_units(Path::new(path), text).units.into_iter().map(shown).collect()
    }

    #[test]
    fn functions_are_found_in_many_languages() {
        let python = "import a\n\nclass T(x):\n    @skip\n    def test_a(\n        self,\n    ):\n        x = '''\ndef no():\n'''\n        return\n\n    async def test_b(self): pass\nX = 1\n";
        assert_eq!(names("t.py", python), ["test_a 4-12", "test_b 13-13"]);
        assert_eq!(split_units(Path::new("t.py"), python).rest, ["classT(x):", "X=1"]);
        let rust = "use a;\nmod tests {\n    #[test]\n    #[ignore]\n    fn t() {\n        assert!(\"}\".len() == 1);\n    }\n    pub async fn h() {}\n}\n";
        assert_eq!(names("t.rs", rust), ["t 3-7", "h 8-8"]);
        let js = "describe('x', () => {\n  it('adds (1)', () => {\n    expect(1).toBe(1);\n  });\n  test.each([1])('y', () => {});\n});\n";
        assert_eq!(names("a.test.js", js), ["adds (1) 2-4", "y 5-5"]);
        let go = "package a\n\nfunc TestA(t *testing.T) {\n\tif x {\n\t}\n}\nfunc (s *S) Help() {}\n";
        assert_eq!(names("a_test.go", go), ["TestA 3-6", "Help 7-7"]);
    }

    proptest! {
        #[test]
        fn unit_scanner_never_panics(text in "(def f\\(\\):\n|@x\n|    |fn t\\(\\) \\{|\\}\n|it\\('a', \\(\n|\\)\n|'''|\"|`|é|\n){0,30}") {
            for path in ["a.py", "a.rs", "a.js", "a.go", "a.sh"] {
                split_units(Path::new(path), &text);
            }
        }
    }
}
