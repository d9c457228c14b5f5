//! Reads the configured documents.

use std::fmt;
use std::path::{Path, PathBuf};

use paw_core::config::GovernanceConfig;
use paw_core::text;
use paw_session::untrusted_text::{self, UntrustedTextError};
use serde::{Deserialize, Serialize};

use super::checklist::{checklist, title};

/// The most decision records that are listed.
const MOST_RECORDS: usize = 500;

/// What a document is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GovernanceCheck {
    Dod,
    Adr,
    Security,
    TestStrategy,
    Constitution,
    Readme,
    Docs,
}

impl GovernanceCheck {
    /// The key in `[governance]`, and the first part of an item's id.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dod => "dod",
            Self::Adr => "adr",
            Self::Security => "security",
            Self::TestStrategy => "test_strategy",
            Self::Constitution => "constitution",
            Self::Readme => "readme",
            Self::Docs => "docs",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Dod => "definition of done",
            Self::Adr => "decision records",
            Self::Security => "security checklist",
            Self::TestStrategy => "test strategy",
            Self::Constitution => "constitution",
            Self::Readme => "project description",
            Self::Docs => "document",
        }
    }

    /// The check of a document in the list `docs`, by its name.
    fn of_path(path: &Path) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        match name.replace(['_', ' '], "-").as_str() {
            "dod" | "definition-of-done" => Self::Dod,
            "adr" | "adrs" | "decisions" | "decision-records" => Self::Adr,
            "security" | "security-checklist" => Self::Security,
            "test-strategy" | "testing-strategy" => Self::TestStrategy,
            "constitution" | "principles" => Self::Constitution,
            "readme" => Self::Readme,
            _ => Self::Docs,
        }
    }
}

/// A governance document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GovernanceDocument {
    pub name: GovernanceCheck,
    pub path: PathBuf,
    /// The items of its checklists, in order.
    pub items: Vec<ChecklistItem>,
    /// The decision records in a directory: file name and title.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<String>,
}

/// One item of a checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChecklistItem {
    pub text: String,
    pub done: bool,
}

/// A configured document that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingDocument {
    pub name: GovernanceCheck,
    pub path: PathBuf,
    pub reason: String,
}

impl fmt::Display for MissingDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display().to_string();
        write!(
            f,
            "governance document '{}' ([governance] {}) {}",
            text::line(&path),
            self.name.as_str(),
            self.reason
        )
    }
}

/// The configured documents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GovernanceDocuments {
    pub found: Vec<GovernanceDocument>,
    pub missing: Vec<MissingDocument>,
}

/// Reads the configured documents from the main checkout, so that an agent cannot change them in its worktree.
pub fn load(config: &GovernanceConfig, root: &Path) -> GovernanceDocuments {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let mut documents = GovernanceDocuments::default();
    for (name, path) in configured(config) {
        match load_one(name, &path, &root) {
            Ok(document) => documents.found.push(document),
            Err(reason) => documents.missing.push(MissingDocument { name, path, reason }),
        }
    }
    documents
}

fn configured(config: &GovernanceConfig) -> Vec<(GovernanceCheck, PathBuf)> {
    let named = [
        (GovernanceCheck::Dod, &config.dod),
        (GovernanceCheck::Adr, &config.adr),
        (GovernanceCheck::Security, &config.security),
        (GovernanceCheck::TestStrategy, &config.test_strategy),
        (GovernanceCheck::Constitution, &config.constitution),
        (GovernanceCheck::Readme, &config.readme),
    ];
    let named = named.into_iter().filter_map(|(name, path)| Some((name, path.clone()?)));
    let more = config.docs.iter().map(|path| (GovernanceCheck::of_path(path), path.clone()));
    let mut all: Vec<(GovernanceCheck, PathBuf)> = Vec::new();
    for (name, path) in named.chain(more) {
        if all.iter().all(|(_, known)| *known != path) {
            all.push((name, path));
        }
    }
    all
}

/// Fails with the reason in words that follow the document's name.
fn load_one(name: GovernanceCheck, path: &Path, root: &Path) -> Result<GovernanceDocument, String> {
    let file = root.join(path);
    if file.is_dir() {
        let records = records(&file, root)?;
        return Ok(GovernanceDocument { name, path: path.to_path_buf(), items: Vec::new(), records });
    }
    match untrusted_text::read(&file, Some(root)) {
        Ok(Some(found)) => {
            let items = checklist(&found.text);
            Ok(GovernanceDocument { name, path: path.to_path_buf(), items, records: Vec::new() })
        }
        Ok(None) => Err("does not exist".to_owned()),
        Err(UntrustedTextError::Outside) => Err("is outside of the repository".to_owned()),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// The Markdown files in a directory, with their titles.
fn records(dir: &Path, root: &Path) -> Result<Vec<String>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    if !dir.canonicalize().map_err(unreadable)?.starts_with(root) {
        return Err("is outside of the repository".to_owned());
    }
    let entries = std::fs::read_dir(dir).map_err(unreadable)?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")));
    files.sort();
    let record = |file: &PathBuf| {
        let text = untrusted_text::read(file, Some(root)).ok().flatten()?.text;
        let name = file.file_name()?.to_string_lossy().into_owned();
        let title = title(&text).map(|title| format!(": {title}")).unwrap_or_default();
        Some(text::line(&format!("{name}{title}")).into_owned())
    };
    Ok(files.iter().take(MOST_RECORDS).filter_map(record).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use paw_host::files::{Access, write_atomic};

    use super::*;

    #[test]
    fn missing_governance_documents_are_reported_with_their_key() {
        let dir = tempfile::tempdir().unwrap();
        write_atomic(&dir.path().join("DOD.md"), b"- [ ] a\n", Access::Usual).unwrap();
        symlink("/etc", dir.path().join("out")).unwrap();
        let config = GovernanceConfig {
            dod: Some("DOD.md".into()),
            security: Some("gone.md".into()),
            constitution: Some("out/passwd".into()),
            adr: Some("out".into()),
            docs: vec!["DOD.md".into(), "docs/test_strategy.md".into()],
            ..GovernanceConfig::default()
        };
        let documents = load(&config, dir.path());
        let found: Vec<_> = documents.found.iter().map(|found| (found.name, found.items.len())).collect();
        assert_eq!(found, [(GovernanceCheck::Dod, 1)]);
        let missing: Vec<_> = documents.missing.iter().map(ToString::to_string).collect();
        assert_eq!(
            missing,
            [
                "governance document 'out' ([governance] adr) is outside of the repository",
                "governance document 'gone.md' ([governance] security) does not exist",
                "governance document 'out/passwd' ([governance] constitution) is outside of the repository",
                "governance document 'docs/test_strategy.md' ([governance] test_strategy) does not exist",
            ]
        );
    }

    #[test]
    fn decision_records_are_listed_with_their_titles() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in
            [("0002-b.md", "no title\n"), ("0001-a.md", "# Use SQLite\n"), ("x.txt", "# no\n")]
        {
            write_atomic(&dir.path().join("adr").join(name), text.as_bytes(), Access::Usual).unwrap();
        }
        let config = GovernanceConfig { adr: Some("adr".into()), ..GovernanceConfig::default() };
        let documents = load(&config, dir.path());
        assert_eq!(documents.found[0].records, ["0001-a.md: Use SQLite", "0002-b.md"]);
    }
}
