//! Shell completion: the words that fit at the cursor.
//!
//! - `cursor`: what the command line expects there, from clap's definition
//! - `values`: the names that exist: agents, branches, worktrees, tasks, specs, CLIs

mod cursor;
mod values;

use clap::{Arg, Command};
use paw_core::text;

use crate::context::Context;
use cursor::{Cursor, Expected};
use values::ValueKind;

/// More would not help a person.
const MOST: usize = 500;
const LONGEST_HELP: usize = 60;

/// What a shell offers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    Words(Vec<CompletionWord>),
    /// Names of files, which every shell completes itself.
    Files,
}

/// One word, and a few others about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletionWord {
    pub(crate) word: String,
    pub(crate) help: String,
}

impl CompletionWord {
    fn new(word: impl Into<String>, help: impl AsRef<str>) -> Self {
        let help = text::line(help.as_ref().lines().next().unwrap_or_default()).into_owned();
        Self { word: word.into(), help: text::truncate(&help, LONGEST_HELP).replace('\t', " ") }
    }
}

/// Completes the last of these words, which follow `git paw`.
pub(crate) fn complete(root: &Command, words: &[String], context: &Context) -> Completion {
    let Cursor { expected, kept, typed, given } = Cursor::find(root, words);
    let (kept, groups) = match expected {
        Expected::Option { command, used } => (kept, vec![options(root, command, &used)]),
        Expected::Word { command, argument, subcommands } => {
            let mut groups = if subcommands { vec![commands(command)] } else { Vec::new() };
            groups.retain(|group| !group.is_empty());
            match argument.map(|argument| offer(root, argument, &typed, context)) {
                Some(Offer::Files) if groups.is_empty() => return Completion::Files,
                Some(Offer::Words { kept: more, groups: words }) => {
                    groups.extend(words);
                    (kept + &more, groups)
                }
                Some(Offer::Files) | None => (kept, groups),
            }
        }
        Expected::Value(argument) => match offer(root, argument, &typed, context) {
            Offer::Files => return Completion::Files,
            Offer::Words { kept: more, groups } => (kept + &more, groups),
        },
    };
    let typed_all = words.last().map(|word| cursor::without_quote(word)).unwrap_or_default();
    let fitting = |group: Vec<CompletionWord>| {
        let fits = |word: &CompletionWord| {
            is_plain(&word.word)
                && format!("{kept}{}", word.word).starts_with(typed_all)
                && !given.contains(&word.word)
        };
        group.into_iter().filter(fits).take(MOST).collect::<Vec<_>>()
    };
    let words = groups.into_iter().map(fitting).find(|group| !group.is_empty()).unwrap_or_default();
    Completion::Words(
        words
            .into_iter()
            .map(|CompletionWord { word, help }| CompletionWord { word: format!("{kept}{word}"), help })
            .collect(),
    )
}

/// The values of an argument. The first group with a fitting word is used.
enum Offer {
    Words {
        /// The start of the value that stays.
        kept: String,
        groups: Vec<Vec<CompletionWord>>,
    },
    Files,
}

fn offer(root: &Command, argument: &Arg, typed: &str, context: &Context) -> Offer {
    let fixed = argument.get_possible_values();
    if !fixed.is_empty() {
        let word = |value: &clap::builder::PossibleValue| {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            CompletionWord::new(value.get_name(), help)
        };
        let shown = fixed.iter().filter(|value| !value.is_hide_set());
        return Offer::Words { kept: String::new(), groups: vec![shown.map(word).collect()] };
    }
    let words = |kept: &str, groups| Offer::Words { kept: kept.to_owned(), groups };
    match ValueKind::find(argument) {
        Some(ValueKind::Files) => Offer::Files,
        Some(ValueKind::Chapter) => words("", vec![commands(root), values::chapters()]),
        // BRANCH=CLI
        Some(ValueKind::Branch) if typed.contains('=') => {
            let (branch, _) = typed.rsplit_once('=').unwrap_or_default();
            words(&format!("{branch}="), values::load(ValueKind::Cli, "", context))
        }
        Some(kind) => words("", values::load(kind, typed, context)),
        None => words("", Vec::new()),
    }
}

fn commands(command: &Command) -> Vec<CompletionWord> {
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| CompletionWord::new(command.get_name(), about(command))).collect()
}

fn options(root: &Command, command: &Command, used: &[&Arg]) -> Vec<CompletionWord> {
    let global = root.get_arguments().filter(|argument| argument.is_global_set());
    let own = command.get_arguments().filter(|argument| !argument.is_global_set());
    let may_follow = |argument: &&Arg| {
        let again = matches!(argument.get_action(), clap::ArgAction::Append | clap::ArgAction::Count);
        !argument.is_hide_set() && (again || !used.iter().any(|used| used.get_id() == argument.get_id()))
    };
    let word = |argument: &Arg| {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        Some(CompletionWord::new(format!("--{}", argument.get_long()?), help))
    };
    let help = CompletionWord::new("--help", "Print help");
    own.chain(global).filter(may_follow).filter_map(word).chain([help]).collect()
}

/// Whether a shell takes the word as it is. Names come from strangers: one such as `$(reboot)` is not offered, because
/// a person could run it by pressing Enter.
fn is_plain(word: &str) -> bool {
    let is_safe = |c: char| c.is_alphanumeric() || "._/+@,%-".contains(c);
    !word.is_empty() && word.chars().all(|c| is_safe(c) && !text::is_unsafe(c))
}

#[cfg(test)]
mod tests;
