//! The project's governance documents and their checklists.

use std::path::{Path, PathBuf};

use paw_core::config::GovernanceConfig;
use paw_host::files::{self, FileError};
use serde::Serialize;

/// A governance document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GovernanceDocument {
    pub name: String,
    pub path: PathBuf,
    /// The items of its checklists, in order.
    pub items: Vec<ChecklistItem>,
}

/// One item of a checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChecklistItem {
    pub text: String,
    pub done: bool,
}

/// Reads the configured documents from the main checkout, so that an agent cannot change them in its worktree.
pub fn load(config: &GovernanceConfig, root: &Path) -> Result<Vec<GovernanceDocument>, FileError> {
    let named = [
        ("dod", &config.dod),
        ("adr", &config.adr),
        ("security", &config.security),
        ("test_strategy", &config.test_strategy),
        ("constitution", &config.constitution),
        ("readme", &config.readme),
    ];
    let named = named.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?)));
    let more = config.docs.iter().map(|path| ("docs", path));
    let mut documents = Vec::new();
    for (name, path) in named.chain(more) {
        let file = root.join(path);
        if file.is_dir() {
            documents.push(GovernanceDocument {
                name: name.to_owned(),
                path: path.clone(),
                items: Vec::new(),
            });
        } else if let Some(text) = files::load_text(&file)? {
            documents.push(GovernanceDocument {
                name: name.to_owned(),
                path: path.clone(),
                items: checklist(&text),
            });
        }
    }
    Ok(documents)
}

/// Lines such as `- [ ] no panics` or `* [x] tests`. Code blocks are skipped.
fn checklist(text: &str) -> Vec<ChecklistItem> {
    let mut in_code = false;
    let mut items = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        }
        let point = ["- ", "* ", "+ "].iter().find_map(|sign| line.strip_prefix(sign)).filter(|_| !in_code);
        let Some((mark, text)) = point.and_then(|point| point.strip_prefix('[')?.split_once(']')) else {
            continue;
        };
        let done = match mark {
            " " | "" => false,
            "x" | "X" => true,
            _ => continue,
        };
        items.push(ChecklistItem { text: text.trim().to_owned(), done });
    }
    items
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn governance_checklists_are_read_outside_of_code_blocks() {
        let text = "# Done\n- [ ] tests\n  * [x] docs \n- plain\n```\n- [ ] example\n```\n+ [X] reviewed\n- [?] odd\n";
        let items: Vec<_> = checklist(text).into_iter().map(|item| (item.text, item.done)).collect();
        let expected = [("tests", false), ("docs", true), ("reviewed", true)];
        assert_eq!(items, expected.map(|(text, done)| (text.to_owned(), done)));
    }

    #[test]
    fn missing_governance_documents_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        files::write_atomic(&dir.path().join("DOD.md"), b"- [ ] a\n", files::Access::Usual).unwrap();
        let config = GovernanceConfig {
            dod: Some("DOD.md".into()),
            security: Some("gone.md".into()),
            docs: vec!["DOD.md".into()],
            ..GovernanceConfig::default()
        };
        let documents = load(&config, dir.path()).unwrap();
        let names: Vec<_> =
            documents.iter().map(|document| (document.name.as_str(), document.items.len())).collect();
        assert_eq!(names, [("dod", 1), ("docs", 1)]);
    }

    proptest! {
        #[test]
        fn no_document_makes_it_panic(text in "(- \\[[ xX\\]]?\\]?|```|\\PC|\n){0,40}") {
            checklist(&text);
        }
    }
}
