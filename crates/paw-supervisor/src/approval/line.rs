//! Splits a command line into simple commands, if both parsers agree on it.

use super::grammar::{self, ShellPiece};
use super::lex::{self, ShellToken, ShellWord, TokenKind};

/// A program with its arguments and redirections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<ShellWord>,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirect {
    /// To another of its file descriptors.
    Joined,
    From(ShellWord),
    Into(ShellWord),
}

/// The simple commands in order. The operators between them do not matter, because each has to be allowed by itself.
pub(super) fn read(text: &str) -> Result<Vec<SimpleCommand>, String> {
    let tokens = lex::tokens(text)?;
    let commands = group(&tokens)?;
    if pieces_of(&tokens) == grammar::pieces(text)? {
        Ok(commands)
    } else {
        Err("ambiguous: can be parsed in two ways".to_owned())
    }
}

/// Exactly one simple command without redirections, as in a user rule.
pub(super) fn read_one(text: &str) -> Option<SimpleCommand> {
    let mut commands = read(text).ok()?;
    let only = commands.pop()?;
    (commands.is_empty() && only.redirects.is_empty()).then_some(only)
}

fn group(tokens: &[ShellToken]) -> Result<Vec<SimpleCommand>, String> {
    let mut commands = Vec::new();
    let mut current = SimpleCommand::default();
    let mut tokens = tokens.iter();
    let mut must_follow = false;
    while let Some(token) = tokens.next() {
        match &token.kind {
            TokenKind::Word(word) => current.words.push(word.clone()),
            TokenKind::Redirect { sign, .. } => match tokens.next().map(|token| &token.kind) {
                Some(TokenKind::Word(target)) => current.redirects.push(redirect(sign, target)?),
                _ => return Err("a redirection without a target".to_owned()),
            },
            TokenKind::End("\n") if current == SimpleCommand::default() => {}
            TokenKind::End(sign) => {
                commands.push(finished(std::mem::take(&mut current))?);
                must_follow = !matches!(*sign, ";" | "\n");
            }
        }
    }
    if must_follow || current != SimpleCommand::default() {
        commands.push(finished(current)?);
    }
    if commands.is_empty() { Err("no command".to_owned()) } else { Ok(commands) }
}

fn finished(command: SimpleCommand) -> Result<SimpleCommand, String> {
    if command.words.is_empty() { Err("a command without a program".to_owned()) } else { Ok(command) }
}

fn redirect(sign: &str, target: &ShellWord) -> Result<Redirect, String> {
    match sign {
        "<" => Ok(Redirect::From(target.clone())),
        ">" | ">>" => Ok(Redirect::Into(target.clone())),
        _ if matches!(target.text.as_str(), "1" | "2") && !target.quoted => Ok(Redirect::Joined),
        _ => Err("`>&` before a file".to_owned()),
    }
}

/// The tokens in the form used to compare them with the grammar's.
fn pieces_of(tokens: &[ShellToken]) -> Vec<ShellPiece> {
    let mut pieces = Vec::new();
    let (mut begins, mut target) = (true, false);
    for token in tokens {
        match &token.kind {
            TokenKind::Word(_) if target => {
                target = false;
                pieces.push(ShellPiece::Word(token.at.clone()));
            }
            TokenKind::Word(_) if begins => {
                begins = false;
                pieces.push(ShellPiece::Program(token.at.clone()));
            }
            TokenKind::Word(_) => pieces.push(ShellPiece::Word(token.at.clone())),
            TokenKind::Redirect { .. } => {
                target = true;
                pieces.push(ShellPiece::Sign(token.at.clone()));
            }
            TokenKind::End(sign) => {
                begins = true;
                // The grammar has no node for a newline.
                if *sign != "\n" {
                    pieces.push(ShellPiece::Sign(token.at.clone()));
                }
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use paw_host::process::Command;
    use proptest::prelude::*;

    use super::*;

    fn texts(line: &str) -> Vec<Vec<String>> {
        let commands = read(line).unwrap().into_iter();
        commands.map(|command| command.words.into_iter().map(|word| word.text).collect()).collect()
    }

    #[test]
    fn every_simple_command_of_a_line_is_found() {
        assert_eq!(texts("a b && c | d 2>&1; e"), [vec!["a", "b"], vec!["c"], vec!["d"], vec!["e"]]);
        assert_eq!(texts("\na\n\nb || c;\n"), [["a"], ["b"], ["c"]]);
    }

    #[test]
    fn an_argument_after_a_redirection_belongs_to_its_command() {
        assert_eq!(texts("git log >/dev/null --output=x"), [["git", "log", "--output=x"]]);
        assert_eq!(texts("a >b c && d"), [vec!["a", "c"], vec!["d"]]);
    }

    #[test]
    fn incomplete_lines_are_refused() {
        for line in ["", "  \n ", ";", "a &&", "a |", "| a", "a > ", "> a", "a && && b", "a ; ; b"] {
            assert!(read(line).is_err(), "{line:?}");
        }
    }

    /// The commands that a real bash runs for this text. bash finds no program, and a handler records each command.
    fn run_by_bash(text: &str) -> Vec<Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let handler = r#"exec 9>>ran; command_not_found_handle() { printf '%s\0' "$@" $'\1' >&9; }"#;
        let script = format!("{handler}\n{text}\n");
        let command = Command::new("/bin/bash").args(["-c", &script]).dir(dir.path()).env("PATH", "/nowhere");
        command.time_limit(std::time::Duration::from_secs(20)).capture().unwrap();
        let ran = std::fs::read_to_string(dir.path().join("ran")).unwrap();
        let commands = ran.split_terminator("\u{1}\0");
        commands.map(|words| words.split_terminator('\0').map(str::to_owned).collect()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn bash_runs_only_commands_that_were_parsed(parts in prop::collection::vec(prop::sample::select(vec![
            "a", "b", "c-d", "-x", "--y=z", "1", "2", " ", " ", " ", "'q r'", "'\"'", "'$(b)'", "\"s 't\"", "\"\\\\\"",
            "\"\\\"\"", "\"a;b\"", "\\ ", "\\;", "\\'", "\\\\", "\\&", ";", "; ", " && ", "&&", "|", " | ", "\n", " >f ", ">f",
            " 2>&1 ", ">&2", " >>g ", " <f", "2>", "@{1}", "x{}y", "#z", "^", "%", ",", "=", "+", "\t", "''", "\"\"",
        ]), 1..12)) {
            let text = parts.concat();
            let Ok(commands) = read(&text) else { return Ok(()) };
            let mut expected: Vec<Vec<String>> =
                commands.into_iter().map(|command| command.words.into_iter().map(|word| word.text).collect()).collect();
            for ran in run_by_bash(&text) {
                let at = expected.iter().position(|known| *known == ran);
                prop_assert!(at.is_some(), "bash ran {ran:?} for {text:?}, which was parsed as {expected:?}");
                expected.remove(at.unwrap_or_default());
            }
        }
    }
}
