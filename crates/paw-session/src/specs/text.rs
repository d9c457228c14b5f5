//! Parses the text of a spec: a slug for its branch, and the files it claims. Pure.

/// The longest slug that can be part of a directory name.
const LONGEST_SLUG: usize = 72;

/// Lowercase letters and digits, with single dashes for everything else. A long slug is cut at a dash.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    if slug.len() > LONGEST_SLUG {
        let end = slug.floor_char_boundary(LONGEST_SLUG);
        let dash = slug[..end].rfind('-').filter(|dash| *dash > LONGEST_SLUG / 2);
        slug.truncate(dash.unwrap_or(end));
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

const HEADINGS: [&str; 2] = ["files owned:", "owned files:"];

/// The list below a line with `Files owned:`.
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

/// The text in backticks if the item starts with them, else the whole item.
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
    use paw_core::BranchName;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slug_contains_lowercase_words_and_dashes() {
        assert_eq!(
            slug("T009-Create User model in src/models/user.py"),
            "t009-create-user-model-in-src-models-user-py"
        );
        assert_eq!(
            slug("003-user-list-User Story 1 - Überblick (P1) 🎯"),
            "003-user-list-user-story-1-überblick-p1"
        );
        assert_eq!(slug("-- ..~^ --"), "");
    }

    #[test]
    fn long_slug_is_cut_between_words() {
        let long = slug(&"word ".repeat(40));
        assert!(long.len() <= LONGEST_SLUG && long.ends_with("word"), "{long}");
        assert_eq!(slug(&"x".repeat(500)).len(), LONGEST_SLUG);
    }

    #[test]
    fn owned_files_are_the_list_below_the_heading() {
        let text = "- not/this\n\n## Files Owned:\n\n- src/a.rs\n* `src/b c.rs` (the parser)\n- src/a.rs\n- \n\nNow:\n\n- nor/this\n\
                    **Owned files:**\n- docs/**\n";
        assert_eq!(owned_files(text), ["src/a.rs", "src/b c.rs", "docs/**"]);
        assert!(owned_files("owned files: src/a.rs\n").is_empty());
    }

    proptest! {
        #[test]
        fn slug_is_always_a_valid_branch_name(text in any::<String>()) {
            let slug = slug(&text);
            prop_assert!(slug.len() <= LONGEST_SLUG);
            prop_assert!(slug.is_empty() || BranchName::new(format!("task/{slug}")).is_ok(), "{slug}");
        }


        #[test]
        fn parsing_owned_files_never_panics(text in "([-*` a\n]|Owned files:){0,40}") {
            for file in owned_files(&text) {
                prop_assert!(!file.is_empty() && !file.contains('\n'));
            }
        }

    }
}
