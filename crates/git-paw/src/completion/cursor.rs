//! Finds what a command line expects at the cursor. Pure.

use clap::{Arg, ArgAction, Command};

/// The word at the cursor.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    pub(super) expected: Expected<'a>,
    /// The start of the word that stays: `--cli=`, and the finished items of a list.
    pub(super) kept: String,
    /// The rest of it.
    pub(super) typed: String,
    /// The values that the argument has already.
    pub(super) given: Vec<String>,
}

/// What may stand there.
#[derive(Debug)]
pub(super) enum Expected<'a> {
    Option {
        command: &'a Command,
        used: Vec<&'a Arg>,
    },
    /// A value of an option, or an argument after `--`.
    Value(&'a Arg),
    Word {
        command: &'a Command,
        argument: Option<&'a Arg>,
        subcommands: bool,
    },
}

/// The command line up to the cursor.
struct Line<'a> {
    command: &'a Command,
    /// The arguments of this command.
    words: Vec<String>,
    used: Vec<&'a Arg>,
    /// The option whose value comes next, and the values it has.
    waiting: Option<(&'a Arg, Vec<String>)>,
    escaped: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn find(root: &'a Command, words: &[String]) -> Self {
        let (last, before) = words.split_last().map_or(("", words), |(last, before)| (last.as_str(), before));
        let last = without_quote(last);
        let mut line =
            Line { command: root, words: Vec::new(), used: Vec::new(), waiting: None, escaped: false };
        for word in before {
            line.take(word);
        }
        if !line.escaped && is_option(last) {
            return match (last.split_once('='), line.find_option(last)) {
                (Some((name, value)), Some(option)) if takes_value(option) => {
                    Self::list(option, &format!("{name}="), value, Vec::new())
                }
                _ => Self::new(Expected::Option { command: line.command, used: line.used }, last),
            };
        }
        if let Some((option, given)) = line.waiting {
            return Self::list(option, "", last, given);
        }
        let argument = line.argument();
        if let (true, Some(argument)) = (line.escaped, argument) {
            return Self::list(argument, "", last, Vec::new());
        }
        let subcommands = line.words.is_empty() && !line.escaped;
        let given = line.words;
        Self { given, ..Self::new(Expected::Word { command: line.command, argument, subcommands }, last) }
    }

    fn new(expected: Expected<'a>, typed: &str) -> Self {
        Self { expected, kept: String::new(), typed: typed.to_owned(), given: Vec::new() }
    }

    /// A value that may be a list with separators.
    fn list(argument: &'a Arg, kept: &str, value: &str, mut given: Vec<String>) -> Self {
        let separator = argument.get_value_delimiter().filter(|separator| value.contains(*separator));
        let start = separator.and_then(|separator| Some(value.rfind(separator)? + separator.len_utf8()));
        let (items, typed) = value.split_at(start.unwrap_or_default());
        if let Some(separator) = separator {
            given.extend(items.split(separator).filter(|item| !item.is_empty()).map(str::to_owned));
        }
        let kept = format!("{kept}{items}");
        Self { expected: Expected::Value(argument), kept, typed: typed.to_owned(), given }
    }
}

impl<'a> Line<'a> {
    fn take(&mut self, word: &str) {
        if self.escaped {
            self.words.push(word.to_owned());
        } else if word == "--" {
            (self.escaped, self.waiting) = (true, None);
        } else if is_option(word) {
            self.waiting = None;
            if let Some(option) = self.find_option(word) {
                self.used.push(option);
                let has_value = word.contains('=') || option.is_require_equals_set();
                self.waiting = (takes_value(option) && !has_value).then_some((option, Vec::new()));
            }
        } else if let Some((option, mut values)) = self.waiting.take() {
            values.push(word.to_owned());
            self.waiting = takes_several(option).then_some((option, values));
        } else if let Some(below) = self.command.find_subcommand(word).filter(|_| self.words.is_empty()) {
            (self.command, self.used) = (below, Vec::new());
        } else {
            self.words.push(word.to_owned());
        }
    }

    /// `--cli`, `--cli=x` or `-c`.
    fn find_option(&self, word: &str) -> Option<&'a Arg> {
        let name = word.split('=').next().unwrap_or_default();
        let is_named = |argument: &&Arg| match name.strip_prefix("--") {
            Some(long) => argument.get_long() == Some(long) || has_alias(argument, long),
            None => argument.get_short() == name.chars().nth(1),
        };
        self.command.get_arguments().filter(|argument| !argument.is_positional()).find(is_named)
    }

    /// The argument that the next word belongs to.
    fn argument(&self) -> Option<&'a Arg> {
        let all: Vec<&Arg> = self.command.get_positionals().collect();
        if let Some(last) = all.iter().find(|argument| self.escaped && argument.is_last_set()) {
            return Some(last);
        }
        let usual: Vec<_> = all.into_iter().filter(|argument| !argument.is_last_set()).collect();
        let at = usual.get(self.words.len()).or_else(|| usual.last().filter(|last| repeats(last)));
        at.copied()
    }
}

fn has_alias(argument: &Arg, name: &str) -> bool {
    argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

fn takes_value(argument: &Arg) -> bool {
    argument.get_action().takes_values()
}

fn takes_several(argument: &Arg) -> bool {
    argument.get_num_args().is_some_and(|count| count.max_values() > 1)
}

fn repeats(argument: &Arg) -> bool {
    takes_several(argument) || matches!(argument.get_action(), ArgAction::Append)
}

/// A word without its opening quote.
pub(super) fn without_quote(word: &str) -> &str {
    word.strip_prefix(['"', '\'']).unwrap_or(word)
}
