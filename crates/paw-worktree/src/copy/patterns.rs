//! Patterns in `.gitignore` syntax that select the paths to copy.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::CopyError;

/// The patterns of one configuration.
#[derive(Debug)]
pub(super) struct Patterns {
    /// All patterns, for paths that git lists: files, and directories that are ignored as a whole.
    all: Gitignore,
    /// Patterns with a slash, for paths inside such a directory if the directory itself is not selected.
    reaching: Gitignore,
    /// The literal prefix of each of those; a pattern matches nothing outside its prefix.
    reach: Vec<PathBuf>,
}

impl Patterns {
    pub(super) fn parse(patterns: &[String]) -> Result<Self, CopyError> {
        // Paths are relative, as git prints them, so there is no root to strip.
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

    /// Whether a path that git lists is selected.
    pub(super) fn select(&self, path: &Path, is_dir: bool) -> bool {
        is_match(&self.all, path, is_dir)
    }

    /// Whether a path inside a directory that is ignored as a whole is selected; `wanted` is whether the directory is.
    pub(super) fn select_below(&self, wanted: bool, path: &Path, is_dir: bool) -> bool {
        // Without negated patterns, everything in a selected directory is selected.
        let certain = wanted && self.all.num_whitelists() == 0;
        certain || is_match(if wanted { &self.all } else { &self.reaching }, path, is_dir)
    }

    /// Whether anything inside a directory could be selected although the directory is not.
    pub(super) fn may_reach_into(&self, dir: &Path) -> bool {
        self.reach.iter().any(|plain| plain.starts_with(dir) || dir.starts_with(plain))
    }
}

/// A match of a directory applies to everything inside, unless a pattern matches the inner path.
fn is_match(patterns: &Gitignore, path: &Path, is_dir: bool) -> bool {
    let parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    let levels = std::iter::once((path, is_dir)).chain(parents.map(|parent| (parent, true)));
    let mut verdicts = levels.map(|(level, is_dir)| patterns.matched(level, is_dir));
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

/// The directories of a pattern before its first wildcard.
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
    fn name_pattern_matches_at_any_depth_and_path_pattern_only_at_its_path() {
        let patterns = patterns(&[".env", "/build", "web/cache/"]);
        let file = |path: &str| patterns.select(Path::new(path), false);
        assert!(file(".env") && file("a/b/.env") && file("build") && file("build/x") && file("web/cache/x"));
        assert!(!file(".env.local") && !file("a/build") && !file("web/cache") && !file("x/web/cache/y"));
        assert!(patterns.select(Path::new("web/cache"), true));
    }

    #[test]
    fn name_pattern_does_not_match_inside_an_ignored_directory_but_path_pattern_does() {
        let patterns = patterns(&[".env", "node_modules/.cache", "dist/**/*.json"]);
        let below = |path: &str| patterns.select_below(false, Path::new(path), false);
        assert!(!below("node_modules/a/.env"));
        assert!(below("node_modules/.cache") && below("node_modules/.cache/x") && below("dist/a/b.json"));
        let reach = |dir: &str| patterns.may_reach_into(Path::new(dir));
        assert!(reach("node_modules") && reach("node_modules/.cache/x") && reach("dist/a"));
        assert!(!reach("target") && !reach("node_modules/left-pad"));
    }

    #[test]
    fn negated_pattern_excludes_part_of_a_selected_directory() {
        let patterns = patterns(&["node_modules", "!node_modules/.cache"]);
        assert!(patterns.select(Path::new("node_modules"), true));
        assert!(patterns.select_below(true, Path::new("node_modules/a"), true));
        assert!(!patterns.select_below(true, Path::new("node_modules/.cache/x"), false));
    }

    #[test]
    fn invalid_pattern_is_named_in_the_error() {
        let error = Patterns::parse(&["ok".to_owned(), "a[z-a]".to_owned()]).unwrap_err();
        insta::assert_snapshot!(error, @"invalid pattern 'a[z-a]' in worktree.copy: invalid range; 'z' > 'a'");
    }

    #[test]
    fn comments_blanks_and_negations_alone_select_nothing() {
        assert!(patterns(&[]).is_empty() && patterns(&["", "# .env", "  ", "!x"]).is_empty());
    }
}
