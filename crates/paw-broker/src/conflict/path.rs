//! When two paths mean the same file. Agents write them by hand, so `./a//b` is `a/b`.

/// The path without `.`, doubled slashes and a slash at its end.
pub(super) fn normal(path: &str) -> String {
    let path = path.trim();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let joined = parts.join("/");
    if path.starts_with('/') { format!("/{joined}") } else { joined }
}

/// Whether a claim to `claimed` holds for `file`: the same path, or a directory above it.
pub(super) fn covers(claimed: &str, file: &str) -> bool {
    file.strip_prefix(claimed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_written_by_hand_is_the_path_git_writes() {
        for (written, meant) in
            [(" ./a//b/ ", "a/b"), ("a/./b", "a/b"), ("/a/b", "/a/b"), (".", ""), ("a", "a")]
        {
            assert_eq!(normal(written), meant);
        }
    }

    #[test]
    fn a_claim_to_a_directory_holds_for_what_is_in_it_and_for_nothing_beside_it() {
        assert!(covers("src/auth", "src/auth") && covers("src/auth", "src/auth/mod.rs"));
        assert!(!covers("src/auth", "src/authority.rs") && !covers("src/auth/mod.rs", "src/auth"));
    }
}
