//! The same line as tree-sitter's grammar of bash reads it: only the plain kinds of nodes, as a flat list.

use std::ops::Range;

use tree_sitter::{Node, Parser};

use super::characters::quoted;

/// A piece of a line, as both readers see it.
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
        return Err("it could not be read as shell text".to_owned());
    };
    let root = tree.root_node();
    if root.has_error() {
        return Err("it is no shell text that could be understood".to_owned());
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

/// With a letter for each byte of another alphabet. The lexer accepts those in quotes only, where any letter is as good
/// as another, and the grammar's scanner, which is C, crashes on some of them.
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

/// Nothing but letters and quotes may be in a word.
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
    fn constructs_beyond_the_plain_ones_are_refused_by_name() {
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
    fn deep_nesting_is_read_without_recursion() {
        let deep = "echo $(".repeat(5000);
        assert!(pieces(&deep).is_err());
        let deep = format!("{}ls{}", "(".repeat(5000), ")".repeat(5000));
        assert!(pieces(&deep).is_err());
    }

    #[test]
    fn letters_beyond_the_tables_of_c_do_no_harm() {
        assert!(pieces("mm){\u{e0130}\u{468}").is_err());
        let quoted = "echo '{\u{e0130}' \"{\u{1f43e}\"";
        let ends = pieces(quoted).unwrap().into_iter().map(|piece| match piece {
            ShellPiece::Program(at) | ShellPiece::Word(at) | ShellPiece::Sign(at) => at.end,
        });
        assert_eq!(ends.collect::<Vec<_>>(), [4, 12, quoted.len()]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}|[ '\"\\\\$`(){}<>&|;#!~*=0-9a\\n]{0,40}") {
            let _ = pieces(&text);
        }
    }
}
