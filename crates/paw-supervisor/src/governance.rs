//! The project's governance documents, and the audit of a commit against them.
//!
//! - [`load`]: the configured documents and their checklists, and those that are missing
//! - [`GovernanceChange`]: facts about a commit that an audit needs: new dependencies, decision records, tests
//! - [`Audit`]: the checklist of one commit, item by item, with what was found
//! - [`AuditRecord`]: the findings on disk, by commit
//!
//! A command cannot decide whether a change follows a document. The supervisor, or the user, does; git paw lists what has to
//! be decided and keeps the decisions with the commit.

mod audit;
mod change;
mod checklist;
mod dependencies;
mod document;

pub use audit::{Audit, AuditCheck, AuditError, AuditItem};
pub use audit::{AuditFinding, AuditRecord, AuditResult, errors};
pub use change::{GovernanceChange, NewDependency};
pub use document::{
    ChecklistItem, GovernanceCheck, GovernanceDocument, GovernanceDocuments, MissingDocument, load,
};
