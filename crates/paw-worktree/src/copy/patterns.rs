//! Which paths are wanted: patterns as in `.gitignore`.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::CopyError;

/// The patterns of one configuration.
#[derive(Debug)]
pub(super) struct Patterns {
    /// For what git lists by itself: files, and directories that are ignored as a whole.
    all: Gitignore,
    /// For what is inside such a directory when the directory itself is not wanted: patterns with a slash.
    reaching: Gitignore,
    /// Up to where each of those is plain text: outside of that it can match nothing.
    reach: Vec<PathBuf>,
}

impl Patterns {
    pub(super) fn parse(patterns: &[String]) -> Result<Self, CopyError> {
        // Paths are matched as git prints them, so there is no directory to take off them.
        let (mut all, mut reaching) = (GitignoreBuilder::new("."), GitignoreBuilder::new("."));
        let mut reach = Vec::new();
        for pattern in patterns {
            add(&mut all, pattern)?;
            let positive = pattern.strip_prefix('!');
            let has_slash = pattern.trim().trim_end_matches('/').contains('/');
            if positive.is_some() || has_slash {
                add(&mut reaching, pattern)?;
            }
            if positive.is_none() && has_slash {
                reach.push(literal_prefix(pattern));
            }
        }
        Ok(Self { all: build(&all)?, reaching: build(&reaching)?, reach })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.num_ignores() == 0
    }

    /// Whether something that git lists by itself is wanted.
    pub(super) fn select(&self, path: &Path, is_dir: bool) -> bool {
        is_match(&self.all, path, is_dir)
    }

    /// Whether something is wanted that is inside a directory which is ignored as a whole, and `wanted` or not.
    pub(super) fn select_below(&self, wanted: bool, path: &Path, is_dir: bool) -> bool {
        // Without exceptions, nothing that could be said about it would change anything.
        let certain = wanted && self.all.num_whitelists() == 0;
        certain || is_match(if wanted { &self.all } else { &self.reaching }, path, is_dir)
    }

    /// Whether anything inside a directory could be wanted although the directory is not.
    pub(super) fn may_reach_into(&self, dir: &Path) -> bool {
        self.reach.iter().any(|plain| plain.starts_with(dir) || dir.starts_with(plain))
    }
}

/// What matches a directory holds for everything inside, unless a pattern says otherwise about that.
fn is_match(patterns: &Gitignore, path: &Path, is_dir: bool) -> bool {
    let parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    let dirs = std::iter::once((path, is_dir)).chain(parents.map(|parent| (parent, true)));
    let mut verdicts = dirs.map(|(place, is_dir)| patterns.matched(place, is_dir));
    verdicts.find(|verdict| !verdict.is_none()).is_some_and(|verdict| verdict.is_ignore())
}

fn add(builder: &mut GitignoreBuilder, pattern: &str) -> Result<(), CopyError> {
    match builder.add_line(None, pattern) {
        Ok(_) => Ok(()),
        Err(ignore::Error::Glob { err, .. }) => {
            Err(CopyError::Pattern { pattern: pattern.to_owned(), reason: err })
        }
        Err(error) => Err(CopyError::Pattern { pattern: pattern.to_owned(), reason: error.to_string() }),
    }
}

fn build(builder: &GitignoreBuilder) -> Result<Gitignore, CopyError> {
    builder.build().map_err(|error| CopyError::Pattern { pattern: String::new(), reason: error.to_string() })
}

/// The directories a pattern names before its first wildcard.
fn literal_prefix(pattern: &str) -> PathBuf {
    pattern
        .trim_matches('/')
        .split('/')
        .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(lines: &[&str]) -> Patterns {
        Patterns::parse(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_name_is_found_at_any_depth_and_a_path_only_where_it_says() {
        let patterns = patterns(&[".env", "/build", "web/cache/"]);
        let file = |path: &str| patterns.select(Path::new(path), false);
        assert!(file(".env") && file("a/b/.env") && file("build") && file("build/x") && file("web/cache/x"));
        assert!(!file(".env.local") && !file("a/build") && !file("web/cache") && !file("x/web/cache/y"));
        assert!(patterns.select(Path::new("web/cache"), true));
    }

    #[test]
    fn a_name_is_not_looked_for_inside_an_ignored_directory_but_a_path_is() {
        let patterns = patterns(&[".env", "node_modules/.cache", "dist/**/*.json"]);
        let below = |path: &str| patterns.select_below(false, Path::new(path), false);
        assert!(!below("node_modules/a/.env"));
        assert!(below("node_modules/.cache") && below("node_modules/.cache/x") && below("dist/a/b.json"));
        let reach = |dir: &str| patterns.may_reach_into(Path::new(dir));
        assert!(reach("node_modules") && reach("node_modules/.cache/x") && reach("dist/a"));
        assert!(!reach("target") && !reach("node_modules/left-pad"));
    }

    #[test]
    fn a_part_of_a_wanted_directory_can_be_left_out() {
        let patterns = patterns(&["node_modules", "!node_modules/.cache"]);
        assert!(patterns.select(Path::new("node_modules"), true));
        assert!(patterns.select_below(true, Path::new("node_modules/a"), true));
        assert!(!patterns.select_below(true, Path::new("node_modules/.cache/x"), false));
    }

    #[test]
    fn a_pattern_that_cannot_be_understood_is_named() {
        let error = Patterns::parse(&["ok".to_owned(), "a[z-a]".to_owned()]).unwrap_err();
        insta::assert_snapshot!(error, @"worktree.copy has a pattern that cannot be understood: 'a[z-a]': invalid range; 'z' > 'a'");
    }

    #[test]
    fn comments_blanks_and_exceptions_alone_want_nothing() {
        assert!(patterns(&[]).is_empty() && patterns(&["", "# .env", "  ", "!x"]).is_empty());
    }
}
