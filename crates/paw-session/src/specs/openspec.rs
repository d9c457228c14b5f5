//! OpenSpec: every directory with a `tasks.md` is a change. The prompt contains its tasks and specs.

use paw_core::config::BranchPrefix;

use super::folder::{Folder, SpecDraft, SpecFile};
use super::text::owned_files;
use super::{SpecEntry, SpecError};

/// Contains completed changes.
const ARCHIVE: &str = "archive";

pub(super) fn scan(folder: &mut Folder, prefix: &BranchPrefix) -> Result<Vec<SpecEntry>, SpecError> {
    let changes = folder.directories()?;
    let changes = changes.iter().filter(|change| change.name != ARCHIVE);
    Ok(changes.filter_map(|change| read(folder, change, prefix)).collect())
}

fn read(folder: &mut Folder, change: &SpecFile, prefix: &BranchPrefix) -> Option<SpecEntry> {
    let Some(tasks) = folder.read(&change.path.join("tasks.md")) else {
        folder.warn(&change.name, "skipped: it has no readable tasks.md");
        return None;
    };
    let parts = folder.split(&change.name, &tasks);
    let mut prompt = vec![parts.body.trim().to_owned()];
    for capability in folder.directories_in(&change.path.join("specs")) {
        if let Some(spec) = folder.read(&capability.path.join("spec.md")) {
            prompt.push(format!("## Spec: {}\n\n{}", capability.name, spec.trim()));
        }
    }
    folder.check(SpecDraft {
        id: change.name.clone(),
        unit: &change.name,
        branch: format!("{prefix}{}", change.name),
        cli: parts.matter.paw_cli,
        prompt: prompt.join("\n\n"),
        owned_files: owned_files(parts.body),
        path: &change.path,
    })
}
