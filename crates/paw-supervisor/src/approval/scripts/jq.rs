//! jq filters that only see their input.

/// `env`, `$ENV` and modules are names; a field may have the same name.
pub(in crate::approval) fn is_harmless_jq(filter: &str) -> bool {
    const DENIED: [&str; 6] = ["env", "ENV", "import", "include", "modulemeta", "get_search_list"];
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut start = None;
    let padded = format!("{filter} ");
    for (at, c) in padded.char_indices() {
        match (word(c), start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                let before = &padded[..begin];
                let field = before.ends_with('.') && !before.ends_with("..");
                let key = before.ends_with('"') && c == '"';
                if DENIED.contains(&&padded[begin..at]) && !field && !key {
                    return false;
                }
                start = None;
            }
            _ => {}
        }
    }
    // `. env` and `."a" env` are no fields, and a comment could hide the rest from a reader.
    !filter.contains('#') && !filter.contains("__prog")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jq_filters_may_not_read_the_environment_or_modules() {
        for filter in [
            ".",
            ".a.b",
            ".env",
            ".[].env",
            "{\"env\": 1}",
            "map(select(.x > 1))",
            ".a | length",
            "keys[]",
            ".a[0].b-1",
        ] {
            assert!(is_harmless_jq(filter), "{filter}");
        }
        for filter in [
            "env",
            "$ENV",
            "$ENV.A",
            ".a, env",
            "import \"x\" as x; .",
            "include \"x\";",
            "\"\\(env)\"",
            "..env",
            "[env]",
            "env|.A",
            ".a#",
        ] {
            assert!(!is_harmless_jq(filter), "{filter}");
        }
    }
}
