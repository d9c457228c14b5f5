//! Reads the rows of a usage table.

use super::{Operands, OptionEffect, OptionUsage, OptionValue, Usage};
use crate::approval::argument::ArgumentKind;

impl Usage {
    /// Adds the options of a table row; `None` if one is not written correctly.
    pub(in crate::approval) fn add_options(&mut self, words: &str, effect: OptionEffect) -> Option<()> {
        for word in words.split_whitespace() {
            if word == "-NUM" {
                self.numbers = true;
            } else {
                self.options.push(option(word, effect)?);
            }
        }
        Some(())
    }

    /// Adds the options of another usage.
    pub(in crate::approval) fn include(&mut self, other: &Self) {
        self.options.extend(other.options.iter().cloned());
        self.numbers |= other.numbers;
    }

    /// The operands, and the options with which they differ.
    pub(in crate::approval) fn set_operands(&mut self, words: &str) -> Option<()> {
        match words.split_once(" with ") {
            None => self.operands = operands(words)?,
            Some((words, with)) => {
                let with = with.split_whitespace().map(str::to_owned).collect();
                self.instead = Some((with, operands(words)?));
            }
        }
        Some(())
    }
}

fn operands(words: &str) -> Option<Operands> {
    let mut operands = Operands::default();
    for word in words.split_whitespace() {
        operands.repeats = word.ends_with("...");
        if matches!(word, "ARGS..." | "TEXTS...") {
            operands.free_from = Some(operands.kinds.len());
        }
        let name = word.trim_end_matches("...").trim_end_matches('?');
        operands.kinds.push(ArgumentKind::parse(name)?);
        if name == word {
            operands.least = operands.kinds.len();
        }
    }
    Some(operands)
}

fn option(word: &str, effect: OptionEffect) -> Option<OptionUsage> {
    let (name, takes) = if let Some((name, kind)) = word.split_once("[=") {
        (name, OptionValue::Attached(ArgumentKind::parse(kind.strip_suffix(']')?)?))
    } else if let Some((name, kind)) = word.split_once('=') {
        match kind.split_once(',') {
            Some((one, two)) => {
                (name, OptionValue::Two(ArgumentKind::parse(one)?, ArgumentKind::parse(two)?))
            }
            None => (name, OptionValue::Value(ArgumentKind::parse(kind)?)),
        }
    } else {
        (word, OptionValue::Nothing)
    };
    name.starts_with('-').then(|| OptionUsage { name: name.to_owned(), takes, effect })
}
