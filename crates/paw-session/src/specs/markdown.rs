//! Markdown: every `.md` file with `paw_status: pending` in its front matter.

use paw_core::config::BranchPrefix;

use super::folder::{Folder, SpecDraft, SpecFile};
use super::text::owned_files;
use super::{SpecEntry, SpecError};

pub(super) fn scan(folder: &mut Folder, prefix: &BranchPrefix) -> Result<Vec<SpecEntry>, SpecError> {
    let files = folder.markdown_files()?;
    Ok(files.iter().filter_map(|file| read(folder, file, prefix)).collect())
}

fn read(folder: &mut Folder, file: &SpecFile, prefix: &BranchPrefix) -> Option<SpecEntry> {
    let text = folder.read(&file.path)?;
    let parts = folder.split(&file.name, &text);
    if parts.matter.paw_status.as_deref() != Some("pending") {
        return None;
    }
    let id = parts.matter.paw_branch.unwrap_or_else(|| file.name.clone());
    folder.check(SpecDraft {
        unit: &id,
        branch: format!("{prefix}{id}"),
        cli: parts.matter.paw_cli,
        prompt: parts.body.to_owned(),
        owned_files: owned_files(parts.body),
        path: &file.path,
        id: id.clone(),
    })
}
