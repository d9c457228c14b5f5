//! Names and texts that others chose, as people are shown them: one line, whatever they hold.

use std::path::{Path, PathBuf};

/// Text that cannot move the cursor, set a title or turn the reading direction when it is printed.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || turns_direction(c) { '?' } else { c }).collect()
}

pub fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// The first few, and how many more.
pub fn some_of(paths: &[PathBuf]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<_> = paths.iter().take(SHOWN).map(|path| printable_path(path)).collect();
    let more = paths.len().saturating_sub(SHOWN);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}

pub(crate) fn turns_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_letters_and_loses_its_power() {
        assert_eq!(printable("a\u{1b}]0;title\u{7}b\nc\u{202e}d é 日"), "a?]0;title?b?c?d é 日");
    }
}
