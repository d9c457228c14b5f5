//! The files that a spec claims for itself: the list below a line that says `Files owned:`. Pure.

const HEADINGS: [&str; 2] = ["files owned:", "owned files:"];

pub(super) fn owned_files(text: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let lower = line.to_lowercase();
        if HEADINGS.iter().any(|heading| lower.contains(heading)) {
            inside = true;
        } else if let Some(item) = list_item(line) {
            if inside
                && let Some(file) = file_of(item)
                && !files.contains(&file)
            {
                files.push(file);
            }
        } else if !line.trim().is_empty() {
            inside = false;
        }
    }
    files
}

fn list_item(line: &str) -> Option<&str> {
    let line = line.trim();
    line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))
}

/// What is in backticks, if the item begins with them; else all of it.
fn file_of(item: &str) -> Option<String> {
    let item = item.trim();
    let file = match item.strip_prefix('`') {
        Some(rest) => rest.split('`').next().unwrap_or(rest).trim(),
        None => item,
    };
    (!file.is_empty()).then(|| file.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_list_below_the_heading_is_taken_and_no_other() {
        let text = "- not/this\n\n## Files Owned:\n\n- src/a.rs\n* `src/b c.rs` (the parser)\n- src/a.rs\n- \n\nNow:\n\n- nor/this\n\
                    **Owned files:**\n- docs/**\n";
        assert_eq!(owned_files(text), ["src/a.rs", "src/b c.rs", "docs/**"]);
        assert!(owned_files("owned files: src/a.rs\n").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([-*` a\n]|Owned files:){0,40}") {
            for file in owned_files(&text) {
                prop_assert!(!file.is_empty() && !file.contains('\n'));
            }
        }
    }
}
