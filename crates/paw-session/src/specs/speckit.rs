//! Spec Kit: a feature is implemented phase by phase. In the current phase every open `[P]` task gets its own worktree; the
//! other open tasks share one.

mod tasks;

use super::folder::{Folder, SpecDraft, SpecFile};
use super::text::slug;
use super::{SpecEntry, SpecError};
use tasks::{SpecKitPhase, SpecKitTask};

/// Separates the parts of the prompt.
const BETWEEN: &str = "\n\n---\n\n";

/// Whether a list has Spec Kit's numbered tasks: `- [ ] T001 …`
pub(super) fn has_tasks(text: &str) -> bool {
    !tasks::parse(text).is_empty()
}

pub(super) fn scan(folder: &mut Folder) -> Result<Vec<SpecEntry>, SpecError> {
    let features = folder.directories()?;
    Ok(features.iter().flat_map(|feature| read(folder, feature)).collect())
}

fn read(folder: &mut Folder, feature: &SpecFile) -> Vec<SpecEntry> {
    let Some(text) = folder.read(&feature.path.join("tasks.md")) else {
        folder.warn(&feature.name, "skipped: it has no readable tasks.md");
        return Vec::new();
    };
    let phases = tasks::parse(&text);
    if phases.is_empty() {
        folder.warn(&feature.name, "skipped: its tasks.md has no tasks such as '- [ ] T001 …'");
    }
    let Some(phase) = tasks::current(&phases) else { return Vec::new() };
    let context = context(folder, feature);
    let drafts = drafts(feature, phase, &context);
    drafts.into_iter().filter_map(|draft| folder.check(draft)).collect()
}

fn drafts<'a>(feature: &'a SpecFile, phase: &SpecKitPhase, context: &str) -> Vec<SpecDraft<'a>> {
    let draft = |id: String, branch: String, tasks: &[&SpecKitTask]| SpecDraft {
        id,
        unit: &feature.name,
        branch,
        cli: None,
        prompt: format!("{context}{}", your_task(feature, phase, tasks)),
        owned_files: Vec::new(),
        path: &feature.path,
    };
    let (parallel, shared): (Vec<&SpecKitTask>, Vec<&SpecKitTask>) =
        phase.open().partition(|task| task.parallel);
    let mut drafts: Vec<SpecDraft<'a>> = parallel
        .into_iter()
        .map(|task| {
            let branch = format!("task/{}", slug(&format!("{}-{}", task.id, task.text)));
            draft(format!("{}-{}", feature.name, task.id), branch, &[task])
        })
        .collect();
    if !shared.is_empty() {
        let branch = format!("phase/{}", slug(&format!("{}-{}", feature.name, phase.name())));
        drafts.push(draft(format!("{}-phase-{}", feature.name, phase.number), branch, &shared));
    }
    drafts
}

/// The part of the prompt that all agents of the feature share. Every part ends with the separator.
fn context(folder: &mut Folder, feature: &SpecFile) -> String {
    let mut parts = Vec::new();
    for (title, file) in [("## Feature Context", "spec.md"), ("## Implementation Plan", "plan.md")] {
        if let Some(text) = folder.read(&feature.path.join(file)) {
            parts.push(format!("{title}\n\n{}", text.trim()));
        }
    }
    let mut criteria = vec!["## Validation Criteria (advisory)".to_owned()];
    for list in folder.files_in(&feature.path.join("checklists")) {
        if let Some(text) = folder.read(&list.path) {
            criteria.push(format!("### {}\n\n{}", list.name, text.trim()));
        }
    }
    if criteria.len() > 1 {
        parts.push(criteria.join("\n\n"));
    }
    parts.into_iter().map(|part| part + BETWEEN).collect()
}

fn your_task(feature: &SpecFile, phase: &SpecKitPhase, tasks: &[&SpecKitTask]) -> String {
    let tasks: Vec<String> = tasks.iter().map(|task| format!("- {} {}", task.id, task.text)).collect();
    // Edits of several agents to neighbouring lines would conflict.
    format!(
        "## Your Task\n\n{}, {}:\n\n{}\n\nDo not edit the checkboxes in tasks.md, because other agents use the same list.",
        feature.name,
        phase.title(),
        tasks.join("\n")
    )
}
