//! What a failing agent is told in its pane. Pure.

use paw_core::text;

/// More than this of what gates have printed is left to the agent's inbox.
const LONGEST: usize = 4000;

/// The prompt for an agent whose gates fail. `left`: how often it may still try after this.
pub(super) fn fix_prompt(commit: &str, errors: &[String], left: u32) -> String {
    let commit = text::short_commit(commit);
    let said: String = errors.iter().flat_map(|error| ["- ", error.as_str(), "\n"]).collect();
    let said = text::truncate_chars(said.trim_end(), LONGEST);
    let again = match left {
        0 => "This is the last time that it is checked.".to_owned(),
        1 => "It is checked again then, once more if it still fails.".to_owned(),
        left => format!("It is checked again then, {left} times more if it still fails."),
    };
    format!("Your commit {commit} was checked, and does not pass:\n{said}\nMend this and commit. {again}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_told_and_a_flood_is_cut() {
        let text = fix_prompt("0123456789abcdef", &["[testing] a".to_owned(), "[doc audit] b".to_owned()], 1);
        assert_eq!(
            text,
            "Your commit 0123456789 was checked, and does not pass:\n- [testing] a\n- [doc audit] b\n\
             Mend this and commit. It is checked again then, once more if it still fails."
        );
        let flood = fix_prompt("é", &["é".repeat(100_000)], 0);
        assert!(flood.chars().count() < LONGEST + 200 && flood.ends_with("checked."), "{flood:.60}");
    }
}
