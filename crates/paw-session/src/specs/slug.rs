//! A name for people as a part of a branch. Pure.

/// Longer than this, a directory named after the branch could not be made any more.
const LONGEST: usize = 72;

/// Letters and digits of any script in lower case, everything else as single dashes; cut at a dash when it is long.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    if slug.len() > LONGEST {
        let end = slug.floor_char_boundary(LONGEST);
        let dash = slug[..end].rfind('-').filter(|dash| *dash > LONGEST / 2);
        slug.truncate(dash.unwrap_or(end));
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

#[cfg(test)]
mod tests {
    use paw_core::BranchName;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_become_a_slug() {
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
    fn a_long_one_is_cut_between_words() {
        let long = slug(&"word ".repeat(40));
        assert!(long.len() <= LONGEST && long.ends_with("word"), "{long}");
        assert_eq!(slug(&"x".repeat(500)).len(), LONGEST);
    }

    proptest! {
        #[test]
        fn whatever_it_is_made_of_it_can_be_a_branch(text in any::<String>()) {
            let slug = slug(&text);
            prop_assert!(slug.len() <= LONGEST);
            prop_assert!(slug.is_empty() || BranchName::new(format!("task/{slug}")).is_ok(), "{slug}");
        }
    }
}
