//! The audit of one commit: what has to be decided, and what was decided.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use paw_core::paths::PawDir;
use paw_core::{AgentId, Diagnostic, ErrorCode, ErrorReport, text};
use paw_host::files::{self, Access, FileError};
use serde::{Deserialize, Serialize};

use super::change::GovernanceChange;
use super::document::{GovernanceCheck, GovernanceDocument};

/// The tag of findings in feedback.
const TAG: &str = "[doc audit]";
const MOST_CHARS: usize = 500;

#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("no item '{0}' in this audit")]
    NoItem(String),
    #[error("item '{0}' has no reason")]
    NoReason(String),
}

impl Diagnostic for AuditError {
    fn report(&self) -> ErrorReport {
        let hint = match self {
            Self::NoItem(_) => "run 'git paw audit <branch>' to list the items",
            Self::NoReason(_) => "say what is wrong: --fail 'dod-1=src/a.rs has no test'",
        };
        ErrorReport::new(ErrorCode::InvalidArgument, self).hint(hint)
    }
}

/// What was decided about an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditResult {
    Passed,
    Failed,
}

impl AuditResult {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
        }
    }
}

/// One decision, as it is stored and as it is part of a signed proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditFinding {
    pub check: GovernanceCheck,
    /// The text of the item. Its number may change with the document.
    pub item: String,
    pub result: AuditResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who decided: a person or an AI, not a command.
    pub by: AgentId,
    pub at: Timestamp,
}

impl AuditFinding {
    /// The line of a failed item in feedback.
    fn error(&self) -> String {
        let why = self.reason.as_deref().unwrap_or("not fulfilled");
        format!("{TAG} {}: {}: {why}", self.check.title(), self.item)
    }
}

/// The decisions about one commit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AuditRecord {
    pub commit: String,
    pub findings: Vec<AuditFinding>,
}

impl AuditRecord {
    /// The decisions so far. A file that cannot be parsed, or that belongs to another commit, has none.
    pub fn load(dir: &PawDir, commit: &str) -> Result<Self, FileError> {
        let text = files::load_text(&dir.audit(commit))?;
        let record = text.and_then(|text| serde_json::from_str::<Self>(&text).ok());
        let empty = Self { commit: commit.to_owned(), findings: Vec::new() };
        Ok(record.filter(|record| record.commit == commit).unwrap_or(empty))
    }

    pub fn save(&self, dir: &PawDir) -> Result<(), FileError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        files::write_atomic(&dir.audit(&self.commit), format!("{text}\n").as_bytes(), Access::Private)
    }

    /// Adds decisions; a later one about the same item replaces the earlier one.
    pub fn add(&mut self, findings: Vec<AuditFinding>) {
        let same = |old: &AuditFinding, new: &AuditFinding| old.check == new.check && old.item == new.item;
        self.findings.retain(|old| findings.iter().all(|new| !same(old, new)));
        self.findings.extend(findings);
        self.findings.sort_by(|a, b| (a.check, &a.item).cmp(&(b.check, &b.item)));
    }

    /// What the agent has to fix.
    pub fn errors(&self) -> Vec<String> {
        errors(&self.findings)
    }
}

/// The failed items as lines of feedback.
pub fn errors(findings: &[AuditFinding]) -> Vec<String> {
    findings.iter().filter(|finding| finding.result == AuditResult::Failed).map(AuditFinding::error).collect()
}

/// One item to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditItem {
    /// Valid for this commit and the current documents.
    pub id: String,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<AuditFinding>,
}

/// The items of one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditCheck {
    pub check: GovernanceCheck,
    pub title: &'static str,
    pub path: PathBuf,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<String>,
    pub items: Vec<AuditItem>,
}

/// What has to be decided about a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Audit {
    pub commit: String,
    pub change: GovernanceChange,
    pub checks: Vec<AuditCheck>,
}

impl Audit {
    pub fn new(documents: &[GovernanceDocument], change: GovernanceChange, record: &AuditRecord) -> Self {
        let mut numbers: BTreeMap<GovernanceCheck, usize> = BTreeMap::new();
        let check = |document: &GovernanceDocument| {
            let number = numbers.entry(document.name).or_default();
            let item = |text: String| {
                *number += 1;
                let known = |finding: &&AuditFinding| finding.check == document.name && finding.item == text;
                let finding = record.findings.iter().find(known).cloned();
                AuditItem { id: format!("{}-{number}", document.name.as_str()), text, finding }
            };
            AuditCheck {
                check: document.name,
                title: document.name.title(),
                path: document.path.clone(),
                records: document.records.clone(),
                items: questions(document, &change).into_iter().map(item).collect(),
            }
        };
        let checks = documents.iter().map(check).collect();
        Self { commit: record.commit.clone(), change, checks }
    }

    pub fn items(&self) -> impl Iterator<Item = (GovernanceCheck, &AuditItem)> {
        self.checks.iter().flat_map(|check| check.items.iter().map(move |item| (check.check, item)))
    }

    /// How many items were decided, and of how many.
    pub fn progress(&self) -> (usize, usize) {
        (self.items().filter(|(_, item)| item.finding.is_some()).count(), self.items().count())
    }

    /// Decisions about items by their ids. A failed item needs a reason.
    pub fn decide(
        &self,
        passed: &[String],
        failed: &[String],
        (by, at): (&AgentId, Timestamp),
    ) -> Result<Vec<AuditFinding>, AuditError> {
        let finding = |id: &str, result, reason| {
            let found = self.items().find(|(_, item)| item.id == id);
            let (check, item) = found.ok_or_else(|| AuditError::NoItem(text::line(id).into_owned()))?;
            Ok(AuditFinding { check, item: item.text.clone(), result, reason, by: by.clone(), at })
        };
        let passed = passed.iter().map(|id| finding(id, AuditResult::Passed, None));
        let failed = failed.iter().map(|word| {
            let (id, reason) = word.split_once('=').unwrap_or((word, ""));
            let reason = text::line(&text::truncate_chars(reason.trim(), MOST_CHARS)).into_owned();
            if reason.is_empty() {
                return Err(AuditError::NoReason(text::line(id).into_owned()));
            }
            finding(id, AuditResult::Failed, Some(reason))
        });
        passed.chain(failed).collect()
    }
}

/// What has to be decided about one document.
fn questions(document: &GovernanceDocument, change: &GovernanceChange) -> Vec<String> {
    let path = document.path.display();
    let mut questions: Vec<String> = Vec::new();
    match document.name {
        GovernanceCheck::Adr => {
            questions.extend(change.new_dependencies.iter().map(|new| {
                format!(
                    "a decision record covers the new dependency {} ({})",
                    new.name,
                    new.manifest.display()
                )
            }));
            questions.push("new patterns and structures have a decision record".to_owned());
            questions.push("the change contradicts no accepted decision record".to_owned());
        }
        GovernanceCheck::Readme => {
            questions.push(format!("{path} still describes the project after the change"));
        }
        _ if document.items.is_empty() => questions.push(format!("the change follows {path}")),
        _ => questions.extend(document.items.iter().map(|item| item.text.clone())),
    }
    if document.name == GovernanceCheck::TestStrategy {
        let (tests, all) = (change.tests.len(), change.files.len());
        questions
            .push(format!("{tests} of {} changed files are tests, as the strategy expects", all.max(tests)));
    }
    // New records are expected; changing an existing one is not.
    let own = |file: &&PathBuf| {
        if document.records.is_empty() {
            **file == document.path
        } else {
            file.starts_with(&document.path) && !change.added.contains(file)
        }
    };
    if document.name != GovernanceCheck::Readme {
        let changed = change.files.iter().filter(own).map(|file| file.display());
        questions.extend(changed.map(|file| format!("the task asked for the change to {file}")));
    }
    questions.iter().map(|question| text::line(question).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::change::NewDependency;
    use super::super::document::ChecklistItem;
    use super::*;

    fn document(name: GovernanceCheck, path: &str, items: &[&str]) -> GovernanceDocument {
        let item = |text: &&str| ChecklistItem { text: (*text).to_owned(), done: false };
        let items = items.iter().map(item).collect();
        GovernanceDocument { name, path: path.into(), items, records: Vec::new() }
    }

    fn documents() -> Vec<GovernanceDocument> {
        let adr = GovernanceDocument {
            records: vec!["0001-a.md: Use SQLite".to_owned()],
            ..document(GovernanceCheck::Adr, "adr", &[])
        };
        vec![
            document(GovernanceCheck::Dod, "dod.md", &["tests", "docs"]),
            adr,
            document(GovernanceCheck::TestStrategy, "strategy.md", &["unit tests first"]),
            document(GovernanceCheck::Constitution, "principles.md", &[]),
        ]
    }

    fn change() -> GovernanceChange {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        GovernanceChange {
            base: None,
            files: paths(&[
                "src/a.rs",
                "tests/a.rs",
                "Cargo.toml",
                "dod.md",
                "adr/0001-a.md",
                "adr/0002-b.md",
            ]),
            tests: paths(&["tests/a.rs"]),
            added: paths(&["adr/0002-b.md"]),
            new_dependencies: vec![NewDependency { name: "left-pad".into(), manifest: "Cargo.toml".into() }],
        }
    }

    #[test]
    fn an_audit_lists_every_item_with_what_the_commit_changes() {
        let record = AuditRecord { commit: "abc".to_owned(), findings: Vec::new() };
        let audit = Audit::new(&documents(), change(), &record);
        let items: Vec<_> = audit.items().map(|(_, item)| format!("{}: {}", item.id, item.text)).collect();
        assert_eq!(
            items,
            [
                "dod-1: tests",
                "dod-2: docs",
                "dod-3: the task asked for the change to dod.md",
                "adr-1: a decision record covers the new dependency left-pad (Cargo.toml)",
                "adr-2: new patterns and structures have a decision record",
                "adr-3: the change contradicts no accepted decision record",
                "adr-4: the task asked for the change to adr/0001-a.md",
                "test_strategy-1: unit tests first",
                "test_strategy-2: 1 of 6 changed files are tests, as the strategy expects",
                "constitution-1: the change follows principles.md",
            ]
        );
    }

    #[test]
    fn decisions_are_kept_by_text_and_failed_ones_are_feedback() {
        let mut record = AuditRecord { commit: "abc".to_owned(), findings: Vec::new() };
        let audit = Audit::new(&documents(), change(), &record);
        let me = AgentId::supervisor();
        let decide = |passed: &[&str], failed: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            audit.decide(&owned(passed), &owned(failed), (&me, Timestamp::UNIX_EPOCH))
        };
        assert!(matches!(decide(&["dod-9"], &[]), Err(AuditError::NoItem(_))));
        assert!(matches!(decide(&[], &["dod-1"]), Err(AuditError::NoReason(_))));
        assert!(matches!(decide(&[], &["dod-1= "]), Err(AuditError::NoReason(_))));
        record.add(decide(&["dod-2"], &["dod-1=src/a.rs has no test"]).unwrap());
        assert_eq!(record.errors(), ["[doc audit] definition of done: tests: src/a.rs has no test"]);
        let mut shifted = documents();
        shifted[0].items.remove(0);
        let again = Audit::new(&shifted, change(), &record);
        assert_eq!(again.progress(), (1, 9), "the item that is gone does not count");
        record.add(decide(&["dod-1"], &[]).unwrap());
        assert_eq!((record.errors().len(), record.findings.len()), (0, 2));
    }
}
