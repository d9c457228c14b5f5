use std::path::Path;

use clap::CommandFactory as _;
use paw_host::files::Dirs;

use super::*;
use crate::cli::Cli;
use crate::output::Output;

/// A context outside of any repository, where only commands and options exist.
fn nowhere() -> Context {
    let dirs = Dirs::below(Path::new("/nonexistent"));
    Context::at("/".into(), dirs, "".into(), Output::new(false))
}

fn words(typed: &[&str]) -> Vec<String> {
    let typed: Vec<_> = typed.iter().map(|word| (*word).to_owned()).collect();
    match complete(&Cli::command(), &typed, &nowhere()) {
        Completion::Words(words) => words.into_iter().map(|word| word.word).collect(),
        Completion::Files => vec!["(files)".to_owned()],
    }
}

#[test]
fn commands_subcommands_and_options_are_completed() {
    assert_eq!(words(&["list"]), ["list-clis"]);
    assert_eq!(words(&["worktree", "s"]), ["switch"]);
    assert_eq!(words(&["start", "--from"]), ["--from-all-specs"]);
    assert_eq!(words(&["start", "--from-all-specs", "--from"]), Vec::<String>::new(), "given already");
    assert_eq!(words(&["start", "--specs-format", "mark"]), ["markdown"]);
    assert_eq!(words(&["start", "--specs-format=mark"]), ["--specs-format=markdown"]);
    assert_eq!(words(&["completions", "z"]), ["zsh"]);
    assert_eq!(words(&["help", "trouble"]), ["troubleshooting"]);
    assert_eq!(words(&["-v", "doc"]), ["doctor"]);
}

#[test]
fn hidden_commands_are_not_offered() {
    assert!(!words(&[""]).iter().any(|word| word.starts_with('_')), "{:?}", words(&[""]));
    assert_eq!(words(&["__"]), Vec::<String>::new());
}

#[test]
fn files_are_left_to_the_shell_and_free_text_offers_nothing() {
    assert_eq!(words(&["start", "--prompt-file", ""]), ["(files)"]);
    assert_eq!(words(&["start", "--prompt", "f"]), Vec::<String>::new());
    assert_eq!(words(&["diff", "--", "s"]), ["(files)"]);
}

#[test]
fn words_that_a_shell_would_interpret_are_not_plain() {
    for word in
        ["$(reboot)", "a;b", "a b", "`x`", "a|b", "x\u{1b}[2J", "", "a&b", "!x", "~root", "a=b", "\"x"]
    {
        assert!(!is_plain(word), "{word}");
    }
    for word in ["feat/x", "1.2", "fix_7", "größe", "--cli", "v1.0+x"] {
        assert!(is_plain(word), "{word}");
    }
}

/// So that a new argument is completed, or is declared to be free text.
#[test]
fn every_value_name_in_the_help_has_a_kind() {
    fn check(command: &clap::Command, path: &str, unknown: &mut Vec<String>) {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let fixed = !argument.get_possible_values().is_empty();
            if argument.get_action().takes_values() && !fixed && ValueKind::find(argument).is_none() {
                unknown.push(format!("{path}: {argument:?}"));
            }
        }
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            check(below, &format!("{path} {}", below.get_name()), unknown);
        }
    }
    let mut unknown = Vec::new();
    check(&Cli::command(), "git paw", &mut unknown);
    assert!(unknown.is_empty(), "add these to ValueKind::find:\n{}", unknown.join("\n"));
}
