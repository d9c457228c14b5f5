//! Spec Kit: a feature is worked on phase by phase. Of the current phase every open `[P]` task is a worktree of its own;
//! the other open tasks share one.

mod tasks;

use super::folder::{Folder, SpecDraft, SpecFile};
use super::text::slug;
use super::{SpecEntry, SpecError};
use tasks::{SpecKitPhase, SpecKitTask};

/// Parts of the prompt are told apart by this.
const BETWEEN: &str = "\n\n---\n\n";

pub(super) fn scan(folder: &mut Folder) -> Result<Vec<SpecEntry>, SpecError> {
    let features = folder.directories()?;
    Ok(features.iter().flat_map(|feature| read(folder, feature)).collect())
}

fn read(folder: &mut Folder, feature: &SpecFile) -> Vec<SpecEntry> {
    let Some(text) = folder.read(&feature.path.join("tasks.md")) else {
        folder.warn(&feature.name, "it has no tasks.md that can be read: passed over");
        return Vec::new();
    };
    let phases = tasks::parse(&text);
    if phases.is_empty() {
        folder.warn(&feature.name, "its tasks.md has no task such as '- [ ] T001 …': passed over");
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

/// What every agent on the feature is told, each part followed by the mark between parts.
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
    // Agents side by side would all change neighbouring lines of the one list.
    format!(
        "## Your Task\n\n{}, {}:\n\n{}\n\nLeave the check boxes in tasks.md alone: other agents work from the same list.",
        feature.name,
        phase.title(),
        tasks.join("\n")
    )
}
