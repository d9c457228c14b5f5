//! Superpowers: every plan with a `### Task` and an open checkbox.

use super::folder::{Folder, SpecDraft, SpecFile};
use super::text::{owned_files, slug};
use super::{SpecEntry, SpecError};

pub(super) fn scan(folder: &mut Folder) -> Result<Vec<SpecEntry>, SpecError> {
    let files = folder.markdown_files()?;
    Ok(files.iter().filter_map(|file| read(folder, file)).collect())
}

fn read(folder: &mut Folder, file: &SpecFile) -> Option<SpecEntry> {
    let text = folder.read(&file.path)?;
    let parts = folder.split(&file.name, &text);
    if !is_open_plan(parts.body) {
        return None;
    }
    folder.check(SpecDraft {
        id: file.name.clone(),
        unit: &file.name,
        branch: format!("plan/{}", slug(&file.name)),
        cli: parts.matter.paw_cli,
        prompt: parts.body.to_owned(),
        owned_files: owned_files(parts.body),
        path: &file.path,
    })
}

fn is_open_plan(text: &str) -> bool {
    let is_task = |line: &str| {
        line.strip_prefix("### Task ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    text.lines().any(is_task) && text.lines().any(|line| line.trim_start().starts_with("- [ ]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superpowers_plan_is_open_while_it_has_an_unchecked_step() {
        assert!(is_open_plan("# Plan\n\n### Task 1: parse\n\n- [x] **Step 1**\n  - [ ] **Step 2**\n"));
        assert!(!is_open_plan("### Task 1: parse\n\n- [x] done\n"));
        assert!(!is_open_plan("## Notes\n\n- [ ] think\n"));
        assert!(!is_open_plan("### Tasks\n\n- [ ] think\n"));
    }
}
