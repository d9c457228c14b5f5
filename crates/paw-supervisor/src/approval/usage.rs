//! Which arguments a program may be called with.
//!
//! Every allowed option is listed by its full name. An option with `=` has a value, in the same word or the next; with `[=]`
//! only in the same word; with `=A,B` it has two, in the next two words; `-NUM` is a number as an option. An operand with
//! `?` may be absent, the last one with `...` may be absent or repeat. The kinds of values are those of `argument`. An option
//! that is not listed, in any spelling, does not match.

mod option;
mod parse;

use super::argument::{ArgumentKind, ArgumentValue};
use super::characters::quoted;
use super::path::PathAccess;
use super::shell::ShellState;
use super::word::ShellWord;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub(super) options: Vec<OptionUsage>,
    operands: Operands,
    /// The operands if one of these options is given, as with the pattern in `grep -e`.
    instead: Option<(Vec<String>, Operands)>,
    /// `-5` is an option.
    numbers: bool,
    pub(super) behind: Option<Box<Usage>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Operands {
    kinds: Vec<ArgumentKind>,
    /// The number of required operands.
    least: usize,
    repeats: bool,
    /// From here on, options belong to the program that is run.
    free_from: Option<usize>,
}

/// What an option changes about its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionEffect {
    None,
    /// It writes files.
    Writes,
    /// It uses the network.
    Network,
    /// It uses only what is downloaded already.
    Offline,
    /// It writes no files, although the call does without it.
    DryRun,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OptionUsage {
    pub(super) name: String,
    takes: OptionValue,
    effect: OptionEffect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum OptionValue {
    Nothing,
    Value(ArgumentKind),
    /// An optional value in the same word.
    Attached(ArgumentKind),
    Two(ArgumentKind, ArgumentKind),
}

/// The arguments of a call that fits its usage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MatchedArguments {
    /// The options by their listed names, with their values.
    pub(super) options: Vec<(String, Option<String>)>,
    pub(super) operands: Vec<ShellWord>,
    effects: Vec<OptionEffect>,
}

impl MatchedArguments {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    pub(super) fn values<'a>(&'a self, names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        let given = self.options.iter().filter(|(name, _)| names.contains(&name.as_str()));
        given.filter_map(|(_, value)| value.as_deref())
    }

    pub(super) fn shows(&self, effect: OptionEffect) -> bool {
        self.effects.contains(&effect)
    }
}

impl Usage {
    /// Long options start with one dash, so that letters cannot be joined.
    fn one_dash(&self) -> bool {
        self.options.iter().any(|option| option.name.len() > 2 && !option.name.starts_with("--"))
    }

    /// Checks the arguments; the error names the one that does not match.
    pub(super) fn check(
        &self,
        args: &[ShellWord],
        access: PathAccess,
        shell: &ShellState<'_>,
    ) -> Result<MatchedArguments, String> {
        let mut found = MatchedArguments::default();
        let mut operands = Vec::new();
        let mut args = args.iter();
        while let Some(word) = args.next() {
            // A listed file is never an option: its name does not begin with a dash.
            let is_file = word.tree.is_some();
            if word.text == "--" && !word.glob && !is_file {
                if let Some(behind) = &self.behind {
                    self.check_operands(&operands, &found, access, shell)?;
                    let more = behind.check(args.as_slice(), access, shell)?;
                    found.effects.extend(more.effects);
                    break;
                }
                operands.extend(args.map(|word| (word, true)));
                break;
            }
            let free = self.operands.free_from.is_some_and(|from| operands.len() >= from);
            if is_option(&word.text) && !free && !is_file {
                self.check_option(word, &mut args, (access, shell), &mut found)?;
            } else {
                operands.push((word, false));
            }
        }
        self.check_operands(&operands, &found, access, shell)?;
        found.operands = operands.into_iter().map(|(word, _)| word.clone()).collect();
        Ok(found)
    }

    fn check_operands(
        &self,
        operands: &[(&ShellWord, bool)],
        found: &MatchedArguments,
        access: PathAccess,
        shell: &ShellState<'_>,
    ) -> Result<(), String> {
        let instead = self
            .instead
            .as_ref()
            .filter(|(with, _)| found.options.iter().any(|(name, _)| with.contains(name)));
        let usage = instead.map_or(&self.operands, |(_, operands)| operands);
        if operands.len() < usage.least {
            return Err("an argument is missing".to_owned());
        }
        for (at, (word, no_option)) in operands.iter().enumerate() {
            let last = usage.kinds.last().filter(|_| usage.repeats);
            let Some(kind) = usage.kinds.get(at).or(last) else {
                return Err(format!("unexpected argument {}", quoted(&word.text)));
            };
            kind.check(ArgumentValue { no_option: *no_option, ..ArgumentValue::of(word, access) }, shell)?;
        }
        Ok(())
    }

    fn check_option<'w>(
        &self,
        word: &'w ShellWord,
        next: &mut std::slice::Iter<'w, ShellWord>,
        (access, shell): (PathAccess, &ShellState<'_>),
        found: &mut MatchedArguments,
    ) -> Result<(), String> {
        if word.glob && !shell.matches_nothing(&word.text) {
            return Err(format!("{} is an option and a pattern", quoted(&word.text)));
        }
        let text = word.text.as_str();
        let digits = text.strip_prefix('-').filter(|digits| !digits.is_empty());
        if self.numbers && digits.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_digit())) {
            return Ok(());
        }
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if let Some(option) = self.options.iter().find(|option| option.name == name) {
            // `-p=x` gives a one-letter option the value `=x`, unless all options start with one dash.
            let glued = attached.is_some() && name.len() == 2 && !self.one_dash();
            if !glued {
                return option.check((word, attached), next, (access, shell), found);
            }
        }
        if text.starts_with("--") || self.one_dash() {
            return Err(unknown(name));
        }
        self.check_letters(word, next, (access, shell), found)
    }

    /// `-la`, `-n5`, `-am message`
    fn check_letters<'w>(
        &self,
        word: &'w ShellWord,
        next: &mut std::slice::Iter<'w, ShellWord>,
        context: (PathAccess, &ShellState<'_>),
        found: &mut MatchedArguments,
    ) -> Result<(), String> {
        for (at, letter) in word.text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let Some(option) = self.options.iter().find(|option| option.name == name) else {
                return Err(unknown(&name));
            };
            let rest = &word.text[at + letter.len_utf8()..];
            if option.takes != OptionValue::Nothing {
                return option.check((word, (!rest.is_empty()).then_some(rest)), next, context, found);
            }
            option.check((word, None), next, context, found)?;
        }
        Ok(())
    }
}

/// A single dash is a file name for standard input.
fn is_option(text: &str) -> bool {
    text.starts_with('-') && text.len() > 1
}

fn unknown(name: &str) -> String {
    format!("the option {} is not on the allowlist", quoted(name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::approval::CommandContext;

    fn usage(options: &str, operands: &str) -> Usage {
        let mut usage = Usage::default();
        usage.add_options(options, OptionEffect::None).unwrap();
        usage.set_operands(operands).unwrap();
        usage
    }

    fn check(usage: &Usage, args: &str) -> bool {
        let place = CommandContext::at(Path::new("/nowhere/tree"));
        let shell = ShellState::new(&place).unwrap();
        let words: Vec<_> = args.split_whitespace().map(ShellWord::literal).collect();
        usage.check(&words, PathAccess::Read, &shell).is_ok()
    }

    #[test]
    fn options_match_by_their_full_name_only() {
        let usage = usage("-a -b -n=NUM --stat --color[=TEXT] --dir=PATH --arg=NAME,TEXT -NUM", "PATH...");
        for args in [
            "",
            "-ab x",
            "-n 5",
            "-n5",
            "-abn 5",
            "--color",
            "--color=x",
            "--dir=src",
            "--dir src",
            "-12",
            "- x",
            "--arg a b c",
        ] {
            assert!(check(&usage, args), "{args}");
        }
        for args in [
            "-c",
            "-abc",
            "--sta",
            "--stat=x",
            "--dir=../x",
            "--dir",
            "--dir --stat",
            "-n x",
            "--color x /etc",
            "--x",
            "--arg a",
            "--arg=a b",
            "--arg a --stat",
        ] {
            assert!(!check(&usage, args), "{args}");
        }
    }

    #[test]
    fn arguments_after_two_dashes_have_their_own_usage() {
        let mut tested = usage("-v", "NAME?");
        tested.behind = Some(Box::new(usage("--exact", "NAME...")));
        assert!(check(&tested, "-v one -- --exact two three"));
        assert!(!check(&tested, "one two") && !check(&tested, "-- -v") && !check(&tested, "--exact"));
        let plain = usage("-v", "PATH...");
        assert!(check(&plain, "-- v") && !check(&plain, "-- -v") && !check(&plain, "-- ../x"));
    }

    #[test]
    fn long_options_with_one_dash_are_not_split_into_letters() {
        let usage = usage("-name=TEXT -type=f|d -n", "PATH...");
        assert!(check(&usage, ". -name x -type f") && check(&usage, "-name=x"));
        assert!(!check(&usage, ". -delete") && !check(&usage, "-type x") && !check(&usage, "-nn"));
    }

    #[test]
    fn operands_are_counted_and_depend_on_options() {
        let mut grep = usage("-e=TEXT", "TEXT PATH...");
        grep.set_operands("PATH... with -e").unwrap();
        assert!(check(&grep, "/etc src") && !check(&grep, "") && !check(&grep, "x /etc"));
        assert!(check(&grep, "-e x src") && check(&grep, "src -e x") && !check(&grep, "-e x /etc"));
        let one = usage("", "PATH?");
        assert!(check(&one, "") && check(&one, "a") && !check(&one, "a b") && !check(&usage("", ""), "a"));
    }
}
