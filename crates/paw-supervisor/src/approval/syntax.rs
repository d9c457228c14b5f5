//! Our own reader of shell text: the part of the language that means the same in every shell. It refuses the rest.
//!
//! Words, quotes, pipelines, `&&`, `||`, `if`, `for`, subshells, redirections, here-documents, assignments, comments, and
//! in words `$name`, `$?`, `{a,b}` and `$(…)`. `node` has the result, `cursor` the position in the text; `compound`, `command` and
//! `word` read the levels of the language.

mod command;
mod compound;
mod cursor;
mod node;
mod word;

pub(super) use node::{
    PieceKind, Redirect, ShellLine, ShellNode, ShellPiece, SimpleCommand, WordPart, WordSource,
};

use self::cursor::{Reader, first};
use super::characters::quoted;

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
            "a {b,'c'}",
            "a {b,{c,d}}",
            "a {b..d}",
            "a {1..9..2}",
            "a {b,$c}",
            "a {b,c*}",
            "a {1..999}",
            "a ${PIPESTATUS[@]}",
            "a ${PIPESTATUS[$(b)]}",
            "a ${other[0]}",
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
    fn reader_expands_braces_and_keeps_their_text() {
        let texts = |text: &str| -> Vec<Vec<String>> {
            let ShellNode::Command(command) = read(text).unwrap().nodes.remove(0) else { panic!("{text}") };
            let readings = command.readings().unwrap().into_iter();
            readings
                .map(|words| words.iter().map(|word| word.plain().unwrap().to_owned()).collect())
                .collect()
        };
        assert_eq!(texts("a b"), [["a", "b"]]);
        assert_eq!(texts("a x{b,c/d}y"), [vec!["a", "xby", "xc/dy"], vec!["a", "x{b,c/d}y"]]);
        assert_eq!(texts("a {1..2}{b,c}")[0], ["a", "1b", "1c", "2b", "2c"]);
        let long = format!("a {}", "{1..9}".repeat(3));
        let ShellNode::Command(command) = read(&long).unwrap().nodes.remove(0) else { panic!() };
        assert!(command.readings().is_err());
    }

    #[test]
    fn reader_reads_here_documents_loops_and_conditions() {
        let line = read("cat <<'EOF' > f && b\n$x `y`\nEOF\nc").unwrap();
        assert_eq!((line.nodes.len(), line.texts), (2, vec!["$x `y`\n".to_owned()]));
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
