//! Selects specs by name. Returns all requested specs, or an error that lists every problem. Pure.

use std::collections::BTreeMap;

use super::{SpecEntry, SpecError, SpecFormat, units};
use paw_core::text;

/// Selects specs by name. A name is an id, else a Spec Kit feature (all of its entries), else the number of a Spec Kit
/// feature.
pub fn resolve(names: &[String], entries: &[SpecEntry]) -> Result<Vec<SpecEntry>, SpecError> {
    let mut chosen: Vec<&SpecEntry> = Vec::new();
    let mut problems = Vec::new();
    for name in names {
        match find_by_name(name, entries) {
            Ok(found) => {
                let new: Vec<_> = found.into_iter().filter(|entry| !is_among(&chosen, entry)).collect();
                chosen.extend(new);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(SpecError::Unresolved { problems, hint: candidates(entries) });
    }
    checked(chosen)
}

/// Selects the specs of these units.
pub fn select_units(names: &[String], entries: &[SpecEntry]) -> Result<Vec<SpecEntry>, SpecError> {
    checked(entries.iter().filter(|entry| names.contains(&entry.unit)).collect())
}

/// Selects all specs.
pub fn select_all(entries: &[SpecEntry]) -> Result<Vec<SpecEntry>, SpecError> {
    checked(entries.iter().collect())
}

fn checked(chosen: Vec<&SpecEntry>) -> Result<Vec<SpecEntry>, SpecError> {
    require_distinct(&chosen)?;
    Ok(chosen.into_iter().cloned().collect())
}

/// Rejects specs with the same branch, and with branches that git cannot store together.
fn require_distinct(entries: &[&SpecEntry]) -> Result<(), SpecError> {
    let mut branches: BTreeMap<&str, Vec<&SpecEntry>> = BTreeMap::new();
    for entry in entries {
        branches.entry(entry.branch.as_str()).or_default().push(entry);
    }
    for (branch, specs) in &branches {
        if specs.len() > 1 {
            let specs = specs.iter().map(|entry| shown(entry)).collect();
            return Err(SpecError::SameBranch { branch: (*branch).to_owned(), specs });
        }
    }
    for (inner, specs) in &branches {
        for (at, _) in inner.match_indices('/') {
            if let Some(above) = branches.get(&inner[..at]) {
                return Err(SpecError::BranchConflict {
                    outer: inner[..at].to_owned(),
                    outer_spec: shown(above[0]),
                    inner: (*inner).to_owned(),
                    inner_spec: shown(specs[0]),
                });
            }
        }
    }
    Ok(())
}

/// Contains the path, because two specs can have the same id.
fn shown(entry: &SpecEntry) -> String {
    format!("'{}' in {}", entry.id, entry.path.display())
}

fn is_among(chosen: &[&SpecEntry], entry: &SpecEntry) -> bool {
    chosen.iter().any(|one| std::ptr::eq(*one, entry))
}

fn find_by_name<'a>(name: &str, entries: &'a [SpecEntry]) -> Result<Vec<&'a SpecEntry>, String> {
    let exact: Vec<_> = entries.iter().filter(|entry| entry.id == name).collect();
    if !exact.is_empty() {
        return Ok(exact);
    }
    let of_feature = |feature: &str| {
        entries
            .iter()
            .filter(|entry| entry.kind == SpecFormat::Speckit && entry.unit == feature)
            .collect::<Vec<_>>()
    };
    let feature = of_feature(name);
    if !feature.is_empty() {
        return Ok(feature);
    }
    let mut numbered: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.kind == SpecFormat::Speckit && has_number(&entry.unit, name))
        .map(|entry| entry.unit.as_str())
        .collect();
    numbered.dedup();
    let shown = text::line(name);
    match numbered.as_slice() {
        [] => Err(format!("no spec '{shown}'")),
        [one] => Ok(of_feature(one)),
        several => Err(format!("'{shown}' is ambiguous: {}", several.join(", "))),
    }
}

/// Whether a feature's name starts with exactly this number.
fn has_number(feature: &str, digits: &str) -> bool {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let rest = feature.strip_prefix(digits);
    is_number && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn candidates(entries: &[SpecEntry]) -> String {
    if entries.is_empty() {
        return "there are no open specs".to_owned();
    }
    let mut names = Vec::new();
    for unit in units(entries) {
        let ids: Vec<&str> = unit.entries.iter().map(|entry| entry.id.as_str()).collect();
        match ids.as_slice() {
            [only] if *only == unit.name => names.push(unit.name),
            parts => names.push(format!("{} ({})", unit.name, parts.join(", "))),
        }
    }
    format!("available specs: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use paw_core::{BranchName, Diagnostic as _};
    use proptest::prelude::*;

    use super::super::unit::tests::{change, part};
    use super::*;

    fn ids(names: &[&str], entries: &[SpecEntry]) -> Result<Vec<String>, String> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        match resolve(&names, entries) {
            Ok(chosen) => Ok(chosen.into_iter().map(|entry| entry.id).collect()),
            Err(error) => Err(error.report().to_string()),
        }
    }

    fn changes() -> Vec<SpecEntry> {
        ["add-auth", "add-logging", "fix-session"].map(change).into()
    }

    fn features() -> Vec<SpecEntry> {
        [
            ("003-user-list", "T009"),
            ("003-user-list", "T010"),
            ("003-user-list", "phase-2"),
            ("0031-other", "phase-1"),
            ("004-error-handling", "phase-1"),
        ]
        .map(|(feature, rest)| part(feature, rest))
        .into()
    }

    const USER_LIST: [&str; 3] = ["003-user-list-T009", "003-user-list-T010", "003-user-list-phase-2"];

    #[test]
    fn exact_match_resolves_to_a_single_spec_entry() {
        assert_eq!(ids(&["add-auth"], &changes()).unwrap(), ["add-auth"]);
        assert_eq!(ids(&["003-user-list-T010"], &features()).unwrap(), ["003-user-list-T010"]);
    }

    #[test]
    fn spec_kit_feature_name_resolves_to_all_decomposed_entries() {
        assert_eq!(ids(&["003-user-list"], &features()).unwrap(), USER_LIST);
    }

    #[test]
    fn spec_kit_numeric_prefix_resolves_unambiguously() {
        assert_eq!(ids(&["003"], &features()).unwrap(), USER_LIST);
        assert_eq!(ids(&["0031"], &features()).unwrap(), ["0031-other-phase-1"]);
    }

    #[test]
    fn ambiguous_numeric_prefix_is_rejected() {
        let mut entries = features();
        entries.push(part("003a-experiment", "phase-1"));
        let error = ids(&["003"], &entries).unwrap_err();
        assert!(error.contains("'003' is ambiguous: 003-user-list, 003a-experiment"), "{error}");
    }

    #[test]
    fn unknown_spec_name_is_rejected_with_candidate_list() {
        let error = ids(&["no-such-spec"], &changes()).unwrap_err();
        for part in ["no-such-spec", "add-auth", "fix-session"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn multiple_values_are_resolved_independently() {
        assert_eq!(ids(&["add-logging", "add-auth"], &changes()).unwrap(), ["add-logging", "add-auth"]);
    }

    #[test]
    fn partial_failure_batches_do_not_partially_start() {
        let error = ids(&["add-auth", "no-such-spec", "", "4"], &changes()).unwrap_err();
        assert!(error.contains("'no-such-spec'") && error.contains("''") && error.contains("'4'"), "{error}");
    }

    #[test]
    fn prefix_of_a_spec_name_does_not_resolve() {
        for name in ["add", "Add-Auth", "add-auth/", "00", "003-user"] {
            assert!(ids(&[name], &[changes(), features()].concat()).is_err(), "{name}");
        }
        let error = ids(&["1"], &[]).unwrap_err();
        assert!(error.contains("there are no open specs"), "{error}");
    }

    #[test]
    fn number_resolves_only_to_spec_kit_features() {
        assert!(ids(&["42"], &[change("42-answers")]).is_err());
        assert_eq!(ids(&["42"], &[change("42")]).unwrap(), ["42"]);
    }

    #[test]
    fn spec_requested_twice_is_selected_once() {
        let names = ["003", "003-user-list", "003-user-list-T009"];
        assert_eq!(ids(&names, &features()).unwrap(), USER_LIST);
    }

    #[test]
    fn selected_units_keep_the_order_of_the_specs() {
        let all: Vec<String> = select_all(&features()).unwrap().into_iter().map(|entry| entry.id).collect();
        assert_eq!(all.len(), 5);
        let taken = select_units(&["004-error-handling".to_owned(), "003-user-list".to_owned()], &features());
        let taken: Vec<String> = taken.unwrap().into_iter().map(|entry| entry.id).collect();
        assert_eq!(taken, [&all[..3], &all[4..]].concat());
    }

    fn on(name: &str, branch: &str) -> SpecEntry {
        SpecEntry { branch: BranchName::new(branch).unwrap(), ..change(name) }
    }

    fn problem(entries: &[SpecEntry]) -> Option<String> {
        require_distinct(&entries.iter().collect::<Vec<_>>()).err().map(|error| error.to_string())
    }

    #[test]
    fn specs_with_the_same_branch_are_rejected_by_name() {
        let error = problem(&[on("a", "spec/x"), on("c", "spec/y"), on("b", "spec/x")]).unwrap();
        assert_eq!(error, "'a' in a, 'b' in b would use the same branch spec/x: rename all but one of them");
    }

    #[test]
    fn specs_with_nested_branches_are_rejected() {
        let error = problem(&[on("a", "spec/x"), on("b", "spec/x-y"), on("c", "spec/x/y")]).unwrap();
        assert!(error.contains("spec/x ('a' in a) and spec/x/y ('c' in c)"), "{error}");
    }

    #[test]
    fn specs_with_similar_branches_are_accepted() {
        assert_eq!(problem(&[on("a", "spec/x"), on("b", "spec/xy"), on("c", "task/x")]), None);
    }

    proptest! {
        #[test]
        fn spec_names_resolve_completely_or_appear_in_the_error(
            names in proptest::collection::vec("[0-4a]{0,4}(-user-list)?(-T009)?", 0..4)
        ) {
            let entries = features();
            match resolve(&names, &entries) {
                Ok(chosen) => prop_assert!(names.is_empty() || !chosen.is_empty()),
                Err(error) => {
                    let error = error.to_string();
                    prop_assert!(names.iter().any(|name| error.contains(&format!("'{name}'"))), "{error}");
                }
            }
        }
    }
}
