//! Parses a line with tree-sitter's bash grammar into a flat list of plain nodes.

use std::ops::Range;

use tree_sitter::{Node, Parser};

use super::characters::quoted;

/// A piece of a line, as both parsers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellPiece {
    /// The program of a simple command.
    Program(Range<usize>),
    Word(Range<usize>),
    Sign(Range<usize>),
}

pub(super) fn pieces(text: &str) -> Result<Vec<ShellPiece>, String> {
    let mut parser = Parser::new();
    let known = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
    let Some(tree) = known.then(|| parser.parse(in_ascii(text), None)).flatten() else {
        return Err("cannot be parsed as shell".to_owned());
    };
    let root = tree.root_node();
    if root.has_error() {
        return Err("not valid shell".to_owned());
    }
    let mut pieces = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match role(node)? {
            NodeRole::Holder => {
                let children: Vec<_> = node.children(&mut node.walk()).collect();
                open.extend(children.into_iter().rev());
            }
            NodeRole::Program => {
                plain_inside(node)?;
                pieces.push(ShellPiece::Program(node.byte_range()));
            }
            NodeRole::Word => {
                plain_inside(node)?;
                pieces.push(ShellPiece::Word(node.byte_range()));
            }
            NodeRole::Sign => pieces.push(ShellPiece::Sign(node.byte_range())),
            // It belongs to the sign that follows.
            NodeRole::Descriptor => {}
        }
    }
    Ok(pieces)
}

/// Replaces each non-ASCII byte by a letter. The lexer accepts them only in quotes, where any letter will do, and the
/// grammar's C scanner crashes on some of them.
fn in_ascii(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'x' }).collect()
}

enum NodeRole {
    Holder,
    Program,
    Word,
    Sign,
    Descriptor,
}

fn role(node: Node<'_>) -> Result<NodeRole, String> {
    Ok(match node.kind() {
        "program" | "list" | "pipeline" | "command" | "redirected_statement" | "file_redirect" => {
            NodeRole::Holder
        }
        "command_name" => NodeRole::Program,
        "word" | "number" | "string" | "raw_string" | "concatenation" => NodeRole::Word,
        "file_descriptor" => NodeRole::Descriptor,
        "&&" | "||" | ";" | "|" | ">" | ">>" | "<" | ">&" => NodeRole::Sign,
        other => return Err(format!("{} is not understood", kind(other))),
    })
}

/// A word may contain only letters and quotes.
fn plain_inside(node: Node<'_>) -> Result<(), String> {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match node.kind() {
            "command_name" | "word" | "number" | "string" | "raw_string" | "concatenation"
            | "string_content" | "\"" => {}
            other => return Err(format!("{} is not understood", kind(other))),
        }
        open.extend(node.children(&mut node.walk()));
    }
    Ok(())
}

fn kind(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name.replace('_', " ") } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn grammar_refuses_unsupported_constructs_by_name() {
        for (text, named) in [
            ("for i in a; do ls; done", "for statement"),
            ("a=1 ls", "variable assignment"),
            ("ls $(pwd)", "command substitution"),
            ("[ -f x ]", "test command"),
            ("f() { ls; }", "function definition"),
            ("! ls", "negated command"),
            ("ls # x", "comment"),
            ("export A=b", "declaration command"),
        ] {
            assert!(pieces(text).unwrap_err().contains(named), "{text}: {:?}", pieces(text));
        }
    }

    #[test]
    fn grammar_reads_deep_nesting_without_recursion() {
        let deep = "echo $(".repeat(5000);
        assert!(pieces(&deep).is_err());
        let deep = format!("{}ls{}", "(".repeat(5000), ")".repeat(5000));
        assert!(pieces(&deep).is_err());
    }

    #[test]
    fn grammar_survives_letters_that_crash_the_c_scanner() {
        assert!(pieces("mm){\u{e0130}\u{468}").is_err());
        let quoted = "echo '{\u{e0130}' \"{\u{1f43e}\"";
        let ends = pieces(quoted).unwrap().into_iter().map(|piece| match piece {
            ShellPiece::Program(at) | ShellPiece::Word(at) | ShellPiece::Sign(at) => at.end,
        });
        assert_eq!(ends.collect::<Vec<_>>(), [4, 12, quoted.len()]);
    }

    proptest! {
        #[test]
        fn grammar_never_panics(text in "\\PC{0,60}|[ '\"\\\\$`(){}<>&|;#!~*=0-9a\\n]{0,40}") {
            let _ = pieces(&text);
        }
    }
}
