//! The prompt for an agent whose gates fail. Pure.

use paw_core::text::{self, plural};

/// The longest excerpt of gate output in the prompt; the inbox has all of it.
const LONGEST: usize = 4000;

/// The prompt for an agent whose gates fail. `left` is the number of attempts after the next one.
pub(super) fn fix_prompt(commit: &str, errors: &[String], left: u32) -> String {
    let commit = text::short_commit(commit);
    let output: String = errors.iter().flat_map(|error| ["- ", error.as_str(), "\n"]).collect();
    let output = text::truncate_chars(output.trim_end(), LONGEST);
    let attempts = match left {
        0 => "This is your last attempt.".to_owned(),
        left => format!("If it fails again, you have {} left.", plural(left, "attempt")),
    };
    format!(
        "Your commit {commit} does not pass its gates:\n{output}\nFix this and commit; git paw checks it again. {attempts}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fix_prompt_lists_every_failure_and_truncates_long_output() {
        let text = fix_prompt("0123456789abcdef", &["[testing] a".to_owned(), "[doc audit] b".to_owned()], 1);
        assert_eq!(
            text,
            "Your commit 0123456789 does not pass its gates:\n- [testing] a\n- [doc audit] b\n\
             Fix this and commit; git paw checks it again. If it fails again, you have 1 attempt left."
        );
        let flood = fix_prompt("é", &["é".repeat(100_000)], 0);
        assert!(flood.chars().count() < LONGEST + 200 && flood.ends_with("attempt."), "{flood:.60}");
    }
}
