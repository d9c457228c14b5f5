//! Usage lines: which arguments a program may be called with.
//!
//! A usage line lists every allowed option by its full name, then the operands:
//! `-v --stat -n=NUM --color[=TEXT] -NUM NAME? PATH...`. An option with `=` has a value, in the same word or the next;
//! with `[=]` only in the same word; `-NUM` is a number as an option. An operand with `?` may be absent, the last one
//! with `...` may be absent or repeat. The part after `--` is the usage of the arguments after `--`. The kinds of values are those of `argument`.
//! An option that is not listed, in any spelling, does not match.

use super::argument::{ArgumentKind, ArgumentValue};
use super::characters::quoted;
use super::command::ShellState;
use super::lex::ShellWord;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Usage {
    options: Vec<OptionUsage>,
    operands: Vec<ArgumentKind>,
    /// The number of required operands.
    least: usize,
    repeats: bool,
    /// `-5` is an option.
    numbers: bool,
    /// Whether long options start with one dash, so that letters cannot be joined.
    one_dash: bool,
    behind: Option<Box<Usage>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OptionUsage {
    name: String,
    takes: OptionValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum OptionValue {
    Nothing,
    Value(ArgumentKind),
    /// An optional value in the same word.
    Attached(ArgumentKind),
}

impl Usage {
    /// `None` if the line is invalid, which the tests of the tables would find.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut usage = Self::default();
        let (line, behind) = match line.split_once(" -- ") {
            Some((line, behind)) => (line, Some(behind)),
            None => (line, None),
        };
        for word in line.split_whitespace() {
            if word == "-NUM" {
                usage.numbers = true;
            } else if word.starts_with('-') {
                usage.options.push(option(word)?);
            } else {
                usage.repeats = word.ends_with("...");
                let name = word.trim_end_matches("...").trim_end_matches('?');
                usage.operands.push(ArgumentKind::parse(name)?);
                if name == word {
                    usage.least = usage.operands.len();
                }
            }
        }
        let long = |option: &OptionUsage| option.name.len() > 2 && !option.name.starts_with("--");
        usage.one_dash = usage.options.iter().any(long);
        if let Some(behind) = behind {
            usage.behind = Some(Box::new(Self::parse(behind)?));
        }
        Some(usage)
    }

    /// Checks the arguments; the error names the one that does not match.
    pub(super) fn check(&self, args: &[ShellWord], shell: &ShellState<'_>) -> Result<(), String> {
        let mut operands = Vec::new();
        let mut args = args.iter();
        while let Some(word) = args.next() {
            if word.text == "--" {
                if let Some(behind) = &self.behind {
                    self.check_operands(&operands, shell)?;
                    return behind.check(args.as_slice(), shell);
                }
                operands
                    .extend(args.map(|word| ArgumentValue { no_option: true, ..ArgumentValue::of(word) }));
                return self.check_operands(&operands, shell);
            }
            if is_option(&word.text) {
                self.check_option(word, &mut args, shell)?;
            } else {
                operands.push(ArgumentValue::of(word));
            }
        }
        self.check_operands(&operands, shell)
    }

    fn check_operands(&self, operands: &[ArgumentValue<'_>], shell: &ShellState<'_>) -> Result<(), String> {
        if operands.len() < self.least {
            return Err("an argument is missing".to_owned());
        }
        for (at, value) in operands.iter().enumerate() {
            let last = self.operands.last().filter(|_| self.repeats);
            match self.operands.get(at).or(last) {
                Some(kind) => kind.check(*value, shell)?,
                None => return Err(format!("unexpected argument {}", quoted(value.text))),
            }
        }
        Ok(())
    }

    fn check_option<'w>(
        &self,
        word: &'w ShellWord,
        next: &mut std::slice::Iter<'w, ShellWord>,
        shell: &ShellState<'_>,
    ) -> Result<(), String> {
        if word.glob {
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
            let glued = attached.is_some() && name.len() == 2 && !self.one_dash;
            if !glued {
                return fits(option, attached, next, shell);
            }
        }
        if text.starts_with("--") || self.one_dash {
            return Err(unknown(name));
        }
        self.check_letters(text, next, shell)
    }

    /// `-la`, `-n5`, `-am message`
    fn check_letters<'w>(
        &self,
        text: &'w str,
        next: &mut std::slice::Iter<'w, ShellWord>,
        shell: &ShellState<'_>,
    ) -> Result<(), String> {
        for (at, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let Some(option) = self.options.iter().find(|option| option.name == name) else {
                return Err(unknown(&name));
            };
            if option.takes != OptionValue::Nothing {
                let rest = &text[at + letter.len_utf8()..];
                return fits(option, (!rest.is_empty()).then_some(rest), next, shell);
            }
        }
        Ok(())
    }
}

fn option(word: &str) -> Option<OptionUsage> {
    let (name, takes) = if let Some((name, kind)) = word.split_once("[=") {
        (name, OptionValue::Attached(ArgumentKind::parse(kind.strip_suffix(']')?)?))
    } else if let Some((name, kind)) = word.split_once('=') {
        (name, OptionValue::Value(ArgumentKind::parse(kind)?))
    } else {
        (word, OptionValue::Nothing)
    };
    Some(OptionUsage { name: name.to_owned(), takes })
}

/// A single dash is a file name for standard input.
fn is_option(text: &str) -> bool {
    text.starts_with('-') && text.len() > 1
}

fn fits<'w>(
    option: &OptionUsage,
    attached: Option<&'w str>,
    next: &mut std::slice::Iter<'w, ShellWord>,
    shell: &ShellState<'_>,
) -> Result<(), String> {
    let plain = |text| ArgumentValue { text, glob: false, no_option: true };
    match (&option.takes, attached) {
        (OptionValue::Nothing | OptionValue::Attached(_), None) => Ok(()),
        (OptionValue::Nothing, Some(_)) => Err(format!("{} with a value", quoted(&option.name))),
        (OptionValue::Value(kind) | OptionValue::Attached(kind), Some(value)) => {
            kind.check(plain(value), shell)
        }
        (OptionValue::Value(kind), None) => match next.next() {
            // If the program expects no value here, it would read this as an option.
            Some(word) if is_option(&word.text) && *kind != ArgumentKind::Number => {
                Err(format!("the value {} looks like an option", quoted(&word.text)))
            }
            Some(word) => kind.check(ArgumentValue::of(word), shell),
            None => Err(format!("{} without its value", quoted(&option.name))),
        },
    }
}

fn unknown(name: &str) -> String {
    format!("the option {} is not on the allowlist", quoted(name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::approval::CommandContext;
    use crate::approval::line;

    fn check(usage: &str, args: &str) -> bool {
        let place = CommandContext::at(Path::new("/nowhere/tree"));
        let shell = ShellState::new(&place).unwrap();
        let words = line::read(&format!("x {args}")).unwrap().remove(0).words;
        Usage::parse(usage).unwrap().check(&words[1..], &shell).is_ok()
    }

    #[test]
    fn options_match_by_their_full_name_only() {
        let usage = "-a -b -n=NUM --stat --color[=TEXT] --dir=PATH -NUM PATH...";
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
        ] {
            assert!(check(usage, args), "{args}");
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
        ] {
            assert!(!check(usage, args), "{args}");
        }
    }

    #[test]
    fn arguments_after_two_dashes_have_their_own_usage() {
        let usage = "-v NAME? -- --exact NAME...";
        assert!(check(usage, "-v one -- --exact two three"));
        assert!(!check(usage, "one two") && !check(usage, "-- -v") && !check(usage, "--exact"));
        assert!(check("-v PATH...", "-- -v") && !check("-v PATH...", "-- ../x"));
    }

    #[test]
    fn long_options_with_one_dash_are_not_split_into_letters() {
        let usage = "-name=TEXT -type=f|d -n PATH...";
        assert!(check(usage, ". -name '*.rs' -type f") && check(usage, "-name=x"));
        assert!(!check(usage, ". -delete") && !check(usage, "-type x") && !check(usage, "-nn"));
    }

    #[test]
    fn operands_are_counted() {
        assert!(check("SED PATH...", "5p a b") && !check("SED PATH...", "") && check("SED PATH...", "5p"));
        assert!(check("PATH?", "") && check("PATH?", "a") && !check("PATH?", "a b") && !check("", "a"));
    }
}
