//! Parses a line with tree-sitter's bash grammar into a flat list of pieces.

use tree_sitter::{Node, Parser};

use super::characters::quoted;
use super::syntax::{PieceKind, ShellPiece};

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
        let mut push = |node: Node<'_>, kind| {
            pieces.push(ShellPiece { start: node.start_byte(), end: node.end_byte(), kind });
        };
        match role(node)? {
            NodeRole::Holder => open.extend(node.children(&mut node.walk())),
            NodeRole::Program => {
                open.extend(substitutions(node)?);
                push(node, PieceKind::Program);
            }
            NodeRole::Word => {
                open.extend(substitutions(node)?);
                push(node, PieceKind::Word);
            }
            NodeRole::Test => {
                let (tokens, inside) = test_tokens(node)?;
                open.extend(inside);
                for (at, token) in tokens.into_iter().enumerate() {
                    push(token, if at == 0 { PieceKind::Program } else { PieceKind::Word });
                }
            }
            NodeRole::Output => {
                // Inside of a string or a longer word it belongs to a piece that exists already.
                let whole = [
                    "command",
                    "for_statement",
                    "variable_assignment",
                    "file_redirect",
                    "redirected_statement",
                ];
                if node.parent().is_some_and(|above| whole.contains(&above.kind())) {
                    push(node, PieceKind::Word);
                }
                open.extend(node.children(&mut node.walk()));
            }
            NodeRole::Sign => {
                // In a string, the sign of a second substitution contains the blanks before it.
                let blanks = if node.kind() == "$(" { node.byte_range().len() - 2 } else { 0 };
                let start = node.start_byte() + blanks;
                pieces.push(ShellPiece { start, end: node.end_byte(), kind: PieceKind::Sign });
            }
            NodeRole::Nothing => {}
        }
    }
    pieces.sort();
    Ok(pieces)
}

/// Replaces each non-ASCII byte by a letter. The reader accepts them only in quotes, comments and here-documents, where any
/// letter will do, and the grammar's C scanner crashes on some of them.
fn in_ascii(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'x' }).collect()
}

enum NodeRole {
    Holder,
    Program,
    Word,
    Test,
    Output,
    Sign,
    Nothing,
}

fn role(node: Node<'_>) -> Result<NodeRole, String> {
    Ok(match node.kind() {
        "program"
        | "list"
        | "pipeline"
        | "command"
        | "redirected_statement"
        | "file_redirect"
        | "heredoc_redirect"
        | "for_statement"
        | "do_group"
        | "if_statement"
        | "elif_clause"
        | "else_clause"
        | "subshell"
        | "compound_statement"
        | "negated_command"
        | "variable_assignment"
        | "variable_assignments"
        | "declaration_command" => NodeRole::Holder,
        "command_substitution" => NodeRole::Output,
        "command_name" | "export" => NodeRole::Program,
        "variable_name" | "heredoc_start" | "heredoc_end" => NodeRole::Word,
        kind if is_word(kind) => NodeRole::Word,
        "test_command" => NodeRole::Test,
        "&&" | "||" | ";" | "|" | ">" | ">>" | "<" | ">&" | "&>" | "&>>" | "<<" | "for" | "in" | "do"
        | "done" | "if" | "then" | "elif" | "else" | "fi" | "(" | ")" | "{" | "}" | "!" | "$(" | "=" => {
            NodeRole::Sign
        }
        // A file descriptor belongs to the sign that follows; the end of a here-document is compared instead of its text.
        "file_descriptor" | "comment" | "\n" => NodeRole::Nothing,
        "heredoc_body" => {
            let content = |child: Node<'_>| child.kind() == "heredoc_content";
            if node.children(&mut node.walk()).all(content) {
                NodeRole::Nothing
            } else {
                return Err("a here-document with substitutions".to_owned());
            }
        }
        other => return Err(format!("{} is not understood", kind(other))),
    })
}

fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "number"
            | "string"
            | "raw_string"
            | "concatenation"
            | "simple_expansion"
            | "expansion"
            | "brace_expression"
    )
}

/// A word may contain only letters, quotes and variables. Returns the command substitutions in it.
fn substitutions(node: Node<'_>) -> Result<Vec<Node<'_>>, String> {
    let mut found = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match node.kind() {
            "command_substitution" => {
                found.push(node);
                continue;
            }
            "command_name"
            | "string_content"
            | "\""
            | "$"
            | "${"
            | "}"
            | "variable_name"
            | "special_variable_name"
            // The only index that the reader accepts is that of `PIPESTATUS`.
            | "subscript"
            | "["
            | "]"
            // Numbers in braces.
            | "{"
            | ".."
            | "heredoc_start"
            | "heredoc_end"
            | "export" => {}
            kind if is_word(kind) => {}
            other => return Err(format!("{} is not understood", kind(other))),
        }
        open.extend(node.children(&mut node.walk()));
    }
    Ok(found)
}

/// The words of `[ … ]`, and the command substitutions in them.
fn test_tokens(node: Node<'_>) -> Result<(Vec<Node<'_>>, Vec<Node<'_>>), String> {
    let (mut tokens, mut inside) = (Vec::new(), Vec::new());
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match node.kind() {
            "test_command" | "unary_expression" | "binary_expression" => {
                let children: Vec<_> = node.children(&mut node.walk()).collect();
                open.extend(children.into_iter().rev());
            }
            kind if is_word(kind) || kind == "command_substitution" => {
                inside.extend(substitutions(node)?);
                tokens.push(node);
            }
            "[" | "]" | "[[" | "]]" | "test_operator" | "!" | "=" | "==" | "!=" => tokens.push(node),
            other => return Err(format!("{} is not understood", kind(other))),
        }
    }
    Ok((tokens, inside))
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
            ("while a; do ls; done", "while statement"),
            ("case a in b) c;; esac", "case statement"),
            ("ls <(pwd)", "process substitution"),
            ("f() { ls; }", "function definition"),
            ("unset A", "unset command"),
            ("a $((1))", "arithmetic expansion"),
            ("cat <<< x", "herestring"),
        ] {
            assert!(pieces(text).unwrap_err().contains(named), "{text}: {:?}", pieces(text));
        }
    }

    #[test]
    fn grammar_reads_deep_nesting_without_recursion() {
        let deep = "echo $(".repeat(5000);
        assert!(pieces(&deep).is_err());
        let deep = format!("{}ls{}", "(".repeat(5000), ")".repeat(5000));
        let _ = pieces(&deep);
    }

    #[test]
    fn grammar_survives_letters_that_crash_the_c_scanner() {
        assert!(pieces("mm){\u{e0130}\u{468}").is_err());
        let quoted = "echo '{\u{e0130}' \"{\u{1f43e}\"";
        let ends: Vec<_> = pieces(quoted).unwrap().into_iter().map(|piece| piece.end).collect();
        assert_eq!(ends, [4, 12, quoted.len()]);
    }

    proptest! {
        #[test]
        fn grammar_never_panics(text in "\\PC{0,60}|[ '\"\\\\$`(){}<>&|;#!~*=0-9a\\n]{0,40}") {
            let _ = pieces(&text);
        }
    }
}
