//! Finds the directory and the format of a repository's specs.

use std::fs;
use std::path::{Path, PathBuf};

use paw_core::config::SpecsConfig;

use super::{SpecError, SpecFormat, speckit};
use crate::untrusted_text::{self, front_matter};

/// Entries of a directory that are looked at to tell its format.
const MOST_ENTRIES: usize = 200;

/// The format and directory of the specs. The command line overrides `[specs]`, which overrides detection. A configured
/// directory is used for every format.
pub(super) fn choose(
    flag: Option<SpecFormat>,
    config: Option<&SpecsConfig>,
    repo_root: &Path,
) -> Result<(SpecFormat, PathBuf), SpecError> {
    let format = flag.or(config.map(|config| config.spec_type));
    let configured = config.and_then(|config| config.dir.clone());
    match (format, configured) {
        (Some(format), Some(dir)) => Ok((format, dir)),
        (Some(format), None) => Ok((format, find_dir(format, repo_root))),
        (None, Some(dir)) => Ok((detect_format(&repo_root.join(&dir)), dir)),
        (None, None) => detect(repo_root).ok_or_else(|| SpecError::NotFound { looked_in: all_dirs() }),
    }
}

/// The directory where the tools of this format put specs.
fn find_dir(format: SpecFormat, repo_root: &Path) -> PathBuf {
    let mut dirs = format.usual_dirs().iter().map(Path::new);
    dirs.find(|dir| repo_root.join(dir).is_dir()).unwrap_or(format.default_dir()).to_path_buf()
}

fn all_dirs() -> Vec<&'static str> {
    let mut dirs: Vec<_> = SpecFormat::ALL.iter().flat_map(|format| format.usual_dirs()).copied().collect();
    dirs.sort_unstable();
    dirs.dedup();
    dirs
}

/// Directories that belong to one tool come before `specs`, which several use.
fn detect(repo_root: &Path) -> Option<(SpecFormat, PathBuf)> {
    const SHARED: &str = "specs";
    let own = SpecFormat::ALL.iter().flat_map(|format| format.usual_dirs().iter().map(|dir| (*format, *dir)));
    let own = own.filter(|(_, dir)| *dir != SHARED);
    let mut found = own.filter(|(_, dir)| repo_root.join(dir).is_dir());
    if let Some((format, dir)) = found.next() {
        return Some((format, dir.into()));
    }
    let shared = repo_root.join(SHARED);
    shared.is_dir().then(|| (detect_format(&shared), SHARED.into()))
}

/// The format of a directory that several tools use, by its content.
fn detect_format(dir: &Path) -> SpecFormat {
    let Ok(dir) = dir.canonicalize() else { return SpecFormat::Openspec };
    let entries = fs::read_dir(&dir).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().find_map(|path| format_of(path, &dir)).unwrap_or(SpecFormat::Openspec)
}

fn format_of(path: &Path, dir: &Path) -> Option<SpecFormat> {
    let read = |path: &Path| untrusted_text::read(path, Some(dir)).ok().flatten().map(|text| text.text);
    if path.is_dir() {
        let text = read(&path.join("tasks.md"))?;
        let format = if speckit::has_tasks(&text) { SpecFormat::Speckit } else { SpecFormat::Openspec };
        return Some(format);
    }
    let text = path.extension().filter(|extension| *extension == "md").and_then(|_| read(path))?;
    let is_spec = front_matter::split(&text).matter.paw_status.is_some();
    is_spec.then_some(SpecFormat::Markdown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERED: &str = "## Phase 1: Setup\n\n- [ ] T001 Make it\n";
    const OPEN: &str = "- [ ] 1.1 do it\n";
    const PENDING: &str = "---\npaw_status: pending\n---\nBuild it.\n";

    /// A repository with these files.
    fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            paw_host::files::write_atomic(&path, text.as_bytes(), paw_host::files::Access::Usual).unwrap();
        }
        dir
    }

    fn chosen(
        flag: Option<SpecFormat>,
        config: Option<(&str, Option<&str>)>,
        files: &[(&str, &str)],
    ) -> (String, String) {
        let config = config.map(|(kind, dir)| SpecsConfig {
            spec_type: *SpecFormat::ALL.iter().find(|format| format.as_str() == kind).unwrap(),
            dir: dir.map(Into::into),
        });
        let repo = repository(files);
        match choose(flag, config.as_ref(), repo.path()) {
            Ok((format, dir)) => (format.to_string(), dir.display().to_string()),
            Err(error) => (error.to_string(), String::new()),
        }
    }

    fn is(format: &str, dir: &str) -> (String, String) {
        (format.to_owned(), dir.to_owned())
    }

    #[test]
    fn specs_are_found_where_openspec_spec_kit_and_markdown_projects_keep_them() {
        let found = |files: &[(&str, &str)]| chosen(None, None, files);
        assert_eq!(found(&[("openspec/changes/x/tasks.md", OPEN)]), is("openspec", "openspec/changes"));
        assert_eq!(found(&[(".specify/specs/001-x/tasks.md", NUMBERED)]), is("speckit", ".specify/specs"));
        assert_eq!(found(&[("specs/001-x/tasks.md", NUMBERED)]), is("speckit", "specs"));
        assert_eq!(found(&[("specs/x/tasks.md", OPEN)]), is("openspec", "specs"));
        assert_eq!(
            found(&[("specs/x.md", PENDING), ("specs/README.md", "words\n")]),
            is("markdown", "specs")
        );
        assert_eq!(
            found(&[("docs/superpowers/plans/x.md", "### Task 1\n")]),
            is("superpowers", "docs/superpowers/plans")
        );
        // OpenSpec's own specs directory describes what exists; its changes are what to do.
        assert_eq!(
            found(&[("openspec/changes/x/tasks.md", OPEN), ("openspec/specs/y/spec.md", "y\n")]),
            is("openspec", "openspec/changes")
        );
        let (none, _) = found(&[("README.md", "x\n")]);
        assert_eq!(
            none,
            "this repository has no specs: none of .specify/specs, docs/superpowers/plans, openspec/changes, specs exists"
        );
    }

    #[test]
    fn spec_format_comes_from_the_flag_then_the_configuration_then_detection() {
        let speckit = [(".specify/specs/001-x/tasks.md", NUMBERED)];
        let flag = Some(SpecFormat::Markdown);
        let config = Some(("openspec", None));
        assert_eq!(chosen(flag, config, &speckit), is("markdown", "specs"));
        assert_eq!(chosen(None, config, &speckit), is("openspec", "specs"));
        assert_eq!(chosen(None, None, &speckit), is("speckit", ".specify/specs"));
        assert_eq!(chosen(Some(SpecFormat::Speckit), None, &[]), is("speckit", ".specify/specs"));
        assert_eq!(
            chosen(None, config, &[("openspec/changes/x/tasks.md", OPEN)]),
            is("openspec", "openspec/changes")
        );
    }

    #[test]
    fn configured_spec_directory_is_used_for_every_format() {
        let config = Some(("openspec", Some("work/changes")));
        let elsewhere = [("openspec/changes/x/tasks.md", OPEN)];
        assert_eq!(chosen(None, config, &elsewhere), is("openspec", "work/changes"));
        assert_eq!(chosen(Some(SpecFormat::Speckit), config, &[]), is("speckit", "work/changes"));
    }
}
