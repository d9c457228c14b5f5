//! Parses the YAML between two `---` lines at the top of a text. Pure.

use serde::Deserialize;

/// Larger front matter is not parsed, because small YAML can expand to a huge value.
const LIMIT: usize = 16 * 1024;

/// The keys that git paw reads. All others are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FrontMatter {
    pub(crate) paw_status: Option<String>,
    pub(crate) paw_branch: Option<String>,
    pub(crate) paw_cli: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
}

/// A text split into front matter and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SplitText<'a> {
    pub(crate) matter: FrontMatter,
    /// The text after the front matter, or the whole text if there is no valid front matter.
    pub(crate) body: &'a str,
    /// Why the front matter could not be parsed.
    pub(crate) problem: Option<String>,
}

/// Splits a text into front matter and body.
pub(crate) fn split(text: &str) -> SplitText<'_> {
    let whole = |problem| SplitText { matter: FrontMatter::default(), body: text, problem };
    let Some((first, rest)) = text.split_once('\n') else { return whole(None) };
    if !is_fence(first) {
        return whole(None);
    }
    let Some((yaml, body)) = until_fence(rest) else {
        return whole(Some("its front matter has no closing --- line".to_owned()));
    };
    match parse(yaml) {
        Ok(matter) => SplitText { matter, body, problem: None },
        Err(problem) => whole(Some(problem)),
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The text before and after the closing fence.
fn until_fence(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > LIMIT {
            return None;
        }
        if is_fence(line) {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn parse(yaml: &str) -> Result<FrontMatter, String> {
    if yaml.trim().is_empty() {
        return Ok(FrontMatter::default());
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_events: 4_096, max_aliases: 16, max_anchors: 16 },
        with_snippet: false,
    };
    let mut matter: FrontMatter = serde_saphyr::from_str_with_options(yaml, options)
        .map_err(|error| format!("cannot parse its front matter: {error}"))?;
    for value in [
        &mut matter.paw_status,
        &mut matter.paw_branch,
        &mut matter.paw_cli,
        &mut matter.name,
        &mut matter.description,
    ] {
        *value = value.take().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    }
    Ok(matter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn front_matter_reads_known_keys_and_ignores_others() {
        let parts = split(
            "---\npaw_status: pending # now\npaw_branch: 'fix 1'\npaw_cli: no\nmetadata:\n  a: [1, 2]\n\
             description: >\n  two\n  lines\n---\n# Title\n",
        );
        assert_eq!(parts.problem, None);
        assert_eq!(parts.matter.paw_status.as_deref(), Some("pending"));
        assert_eq!(parts.matter.paw_branch.as_deref(), Some("fix 1"));
        assert_eq!(parts.matter.paw_cli.as_deref(), Some("no"));
        assert_eq!(parts.matter.description.as_deref(), Some("two lines"));
        assert_eq!(parts.body, "# Title\n");
    }

    #[test]
    fn text_without_front_matter_is_all_body() {
        for text in ["", "---", "# Title\n---\n", "text\n---\na: b\n---\n", "--- a\nb\n---\n"] {
            assert_eq!(split(text), SplitText { matter: FrontMatter::default(), body: text, problem: None });
        }
    }

    #[test]
    fn empty_front_matter_and_empty_values_are_ignored() {
        for text in ["---\n---\nbody", "---\n \n--- \nbody", "---\npaw_cli:\nname: ' '\n---\nbody"] {
            let parts = split(text);
            assert_eq!((parts.matter, parts.body), (FrontMatter::default(), "body"), "{:?}", parts.problem);
        }
    }

    #[test]
    fn invalid_front_matter_is_reported_and_stays_in_the_body() {
        for text in
            ["---\na: b\n", "---\na: [\n---\nbody", "---\njust words\n---\nbody", "---\na: b\na: c\n---\n"]
        {
            let parts = split(text);
            assert!(parts.problem.is_some(), "{text:?}");
            assert_eq!(parts.body, text);
        }
    }

    #[test]
    fn front_matter_with_many_yaml_aliases_is_rejected() {
        let line = |n: u32| format!("a{}: &a{} [{}]\n", n + 1, n + 1, vec![format!("*a{n}"); 9].join(", "));
        let yaml: String = (0..9).map(line).collect();
        assert!(split(&format!("---\na0: &a0 [x, x]\n{yaml}---\n")).problem.is_some());
    }

    #[test]
    fn front_matter_above_the_size_limit_is_rejected() {
        let text = format!("---\n{}---\n", "# x\n".repeat(LIMIT));
        assert!(split(&text).problem.is_some());
    }

    proptest! {
        #[test]
        fn parsing_front_matter_never_panics(text in "(---\n)?[-a: \\[\\]{}&*!|>'\"%@`\n#é]{0,60}(\n---\n)?[a-z\n]{0,9}") {
            let parts = split(&text);
            prop_assert!(text.ends_with(parts.body));
        }

        #[test]
        fn front_matter_value_is_read_back(value in "[a-zA-Z0-9 /._-]{1,30}", body in "[ -~\n]{0,40}") {
            let text = format!("---\npaw_branch: \"{value}\"\n---\n{body}");
            let parts = split(&text);
            let trimmed = value.trim();
            let expected = (!trimmed.is_empty()).then_some(trimmed);
            prop_assert_eq!((parts.matter.paw_branch.as_deref(), parts.body), (expected, body.as_str()));
        }
    }
}
