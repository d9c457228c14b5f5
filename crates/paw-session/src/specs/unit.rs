//! Specs as rows of the picker: one for each change, file or feature. Pure.

use paw_core::text::plural;

use super::{SpecEntry, SpecFormat};

/// A row of the picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecUnit {
    pub name: String,
    /// The name and, for several worktrees, how many of each kind.
    pub label: String,
    pub entries: Vec<SpecEntry>,
}

/// The rows for these specs, in the order in which they first appear.
pub fn units(entries: &[SpecEntry]) -> Vec<SpecUnit> {
    let mut units: Vec<SpecUnit> = Vec::new();
    for entry in entries {
        match units.iter_mut().find(|unit| unit.name == entry.unit) {
            Some(unit) => unit.entries.push(entry.clone()),
            None => units.push(SpecUnit {
                name: entry.unit.clone(),
                label: String::new(),
                entries: vec![entry.clone()],
            }),
        }
    }
    for unit in &mut units {
        unit.label = label(&unit.name, &unit.entries);
    }
    units
}

fn label(name: &str, entries: &[SpecEntry]) -> String {
    if entries.len() < 2 || entries.iter().any(|entry| entry.kind != SpecFormat::Speckit) {
        return name.to_owned();
    }
    let phases = entries.iter().filter(|entry| is_phase(entry)).count();
    let parts = [(entries.len() - phases, "[P]"), (phases, "phase/")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    format!("{name} — {}: {}", plural(entries.len(), "worktree"), parts.join(" + "))
}

/// Whether the entry contains a phase's tasks without `[P]`.
fn is_phase(entry: &SpecEntry) -> bool {
    entry.id.strip_prefix(&entry.unit).is_some_and(|rest| rest.starts_with("-phase-"))
}

#[cfg(test)]
pub(super) mod tests {
    use paw_core::BranchName;

    use super::*;

    pub(in super::super) fn change(name: &str) -> SpecEntry {
        SpecEntry {
            id: name.to_owned(),
            unit: name.to_owned(),
            branch: BranchName::new(format!("spec/{name}")).unwrap(),
            cli: None,
            prompt: String::new(),
            owned_files: Vec::new(),
            path: name.into(),
            kind: SpecFormat::Openspec,
        }
    }

    /// An entry of a Spec Kit feature: `T009` or `phase-2`.
    pub(in super::super) fn part(feature: &str, rest: &str) -> SpecEntry {
        let id = format!("{feature}-{rest}");
        let branch = BranchName::new(format!("task/{id}")).unwrap();
        SpecEntry { id, unit: feature.to_owned(), branch, kind: SpecFormat::Speckit, ..change(feature) }
    }

    #[test]
    fn select_specs_groups_spec_kit_entries_by_feature() {
        let entries = [
            part("003-user-list", "T009"),
            part("003-user-list", "T010"),
            part("003-user-list", "phase-2"),
            part("004-error-handling", "phase-1"),
        ];
        let units = units(&entries);
        let labels: Vec<&str> = units.iter().map(|unit| unit.label.as_str()).collect();
        assert_eq!(labels, ["003-user-list — 3 worktrees: 2 [P] + 1 phase/", "004-error-handling"]);
        assert_eq!(units[0].entries, entries[..3]);
    }

    #[test]
    fn label_of_a_feature_with_parallel_tasks_only_has_no_phase() {
        let units = units(&[part("x-phase-1", "T1"), part("x-phase-1", "T2")]);
        assert_eq!(units[0].label, "x-phase-1 — 2 worktrees: 2 [P]");
    }

    #[test]
    fn label_of_other_formats_is_the_name() {
        let units = units(&[change("b"), change("a")]);
        assert_eq!(units.iter().map(|unit| unit.label.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    }
}
