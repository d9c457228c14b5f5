//! Paths as agents write them: `./a//b` is `a/b`.

/// The path without `.`, duplicate slashes and a trailing slash.
pub(super) fn normalize(path: &str) -> String {
    let path = path.trim();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let joined = parts.join("/");
    if path.starts_with('/') { format!("/{joined}") } else { joined }
}

/// Whether `claimed` is `file` itself or a directory above it.
pub(super) fn covers(claimed: &str, file: &str) -> bool {
    file.strip_prefix(claimed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalize_turns_an_agents_path_into_the_path_git_prints() {
        for (written, meant) in
            [(" ./a//b/ ", "a/b"), ("a/./b", "a/b"), ("/a/b", "/a/b"), (".", ""), ("a", "a")]
        {
            assert_eq!(normalize(written), meant);
        }
    }

    #[test]
    fn a_claimed_directory_covers_the_files_in_it_and_no_sibling() {
        assert!(covers("src/auth", "src/auth") && covers("src/auth", "src/auth/mod.rs"));
        assert!(!covers("src/auth", "src/authority.rs") && !covers("src/auth/mod.rs", "src/auth"));
    }
}
