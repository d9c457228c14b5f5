//! Checks an option and its value.

use super::{MatchedArguments, OptionUsage, OptionValue, is_option};
use crate::approval::argument::{ArgumentKind, ArgumentValue};
use crate::approval::characters::quoted;
use crate::approval::path::PathAccess;
use crate::approval::shell::ShellState;
use crate::approval::word::ShellWord;

impl OptionUsage {
    pub(super) fn check<'w>(
        &self,
        (word, attached): (&'w ShellWord, Option<&'w str>),
        next: &mut std::slice::Iter<'w, ShellWord>,
        (access, shell): (PathAccess, &ShellState<'_>),
        found: &mut MatchedArguments,
    ) -> Result<(), String> {
        // A pattern that matches no file is plain text.
        let in_word =
            |text| ArgumentValue { text, glob: false, no_option: true, ..ArgumentValue::of(word, access) };
        let mut following = |kind: &ArgumentKind| match next.next() {
            // If the program expects no value here, it would read this as an option.
            Some(word) if is_option(&word.text) && !kind.may_be_negative() => {
                Err(format!("the value {} looks like an option", quoted(&word.text)))
            }
            Some(word) => {
                let value = ArgumentValue { is_value: true, ..ArgumentValue::of(word, access) };
                kind.check(value, shell)?;
                // Where the option takes no value, it would be an operand.
                shell.check_existing(&word.text)?;
                Ok(word.text.clone())
            }
            None => Err(format!("{} without its value", quoted(&self.name))),
        };
        let value = match (&self.takes, attached) {
            (OptionValue::Nothing | OptionValue::Attached(_), None) => None,
            (OptionValue::Nothing | OptionValue::Two(..), Some(_)) => {
                return Err(format!("{} with a value", quoted(&self.name)));
            }
            (OptionValue::Value(kind) | OptionValue::Attached(kind), Some(value)) => {
                kind.check(in_word(value), shell)?;
                Some(value.to_owned())
            }
            (OptionValue::Value(kind), None) => Some(following(kind)?),
            (OptionValue::Two(one, two), None) => {
                following(one)?;
                Some(following(two)?)
            }
        };
        found.options.push((self.name.clone(), value));
        found.effects.push(self.effect);
        Ok(())
    }
}
