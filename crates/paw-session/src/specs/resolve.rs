//! Which of the specs are meant. Pure: all of what was asked for, or an error that names everything that is wrong.

use std::collections::BTreeMap;

use super::{SpecEntry, SpecError, SpecFormat, units};
use paw_core::text;

/// The specs that `names` mean: an id; else a feature of Spec Kit, which is all of its entries; else digits, which are
/// the one feature whose number they are.
pub fn resolve(names: &[String], entries: &[SpecEntry]) -> Result<Vec<SpecEntry>, SpecError> {
    let mut chosen: Vec<&SpecEntry> = Vec::new();
    let mut problems = Vec::new();
    for name in names {
        match meant(name, entries) {
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

/// The specs of the units with these names, in their order.
pub fn select_units(names: &[String], entries: &[SpecEntry]) -> Result<Vec<SpecEntry>, SpecError> {
    checked(entries.iter().filter(|entry| names.contains(&entry.unit)).collect())
}

/// Every spec.
pub fn select_all(entries: &[SpecEntry]) -> Result<Vec<SpecEntry>, SpecError> {
    checked(entries.iter().collect())
}

fn checked(chosen: Vec<&SpecEntry>) -> Result<Vec<SpecEntry>, SpecError> {
    require_distinct(&chosen)?;
    Ok(chosen.into_iter().cloned().collect())
}

/// No two specs may have the same branch, nor one that git cannot keep beside another.
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

/// Two specs may share even their id; where they are tells them apart.
fn shown(entry: &SpecEntry) -> String {
    format!("'{}' in {}", entry.id, entry.path.display())
}

fn is_among(chosen: &[&SpecEntry], entry: &SpecEntry) -> bool {
    chosen.iter().any(|one| std::ptr::eq(*one, entry))
}

fn meant<'a>(name: &str, entries: &'a [SpecEntry]) -> Result<Vec<&'a SpecEntry>, String> {
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
        [] => Err(format!("no spec is called '{shown}'")),
        [one] => Ok(of_feature(one)),
        several => Err(format!("'{shown}' could be {}: give the whole name", several.join(" or "))),
    }
}

/// Whether a feature's name begins with exactly these digits.
fn has_number(feature: &str, digits: &str) -> bool {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let rest = feature.strip_prefix(digits);
    is_number && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn candidates(entries: &[SpecEntry]) -> String {
    if entries.is_empty() {
        return "no spec is waiting to be worked on".to_owned();
    }
    let mut names = Vec::new();
    for unit in units(entries) {
        let ids: Vec<&str> = unit.entries.iter().map(|entry| entry.id.as_str()).collect();
        match ids.as_slice() {
            [only] if *only == unit.name => names.push(unit.name),
            parts => names.push(format!("{} ({})", unit.name, parts.join(", "))),
        }
    }
    format!("the specs are {}", names.join(", "))
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
        assert!(error.contains("'003' could be 003-user-list or 003a-experiment"), "{error}");
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
    fn the_beginning_of_a_name_is_not_a_name() {
        for name in ["add", "Add-Auth", "add-auth/", "00", "003-user"] {
            assert!(ids(&[name], &[changes(), features()].concat()).is_err(), "{name}");
        }
        let error = ids(&["1"], &[]).unwrap_err();
        assert!(error.contains("no spec is waiting"), "{error}");
    }

    #[test]
    fn digits_mean_features_of_spec_kit_alone() {
        assert!(ids(&["42"], &[change("42-answers")]).is_err());
        assert_eq!(ids(&["42"], &[change("42")]).unwrap(), ["42"]);
    }

    #[test]
    fn a_spec_that_is_named_twice_is_taken_once() {
        let names = ["003", "003-user-list", "003-user-list-T009"];
        assert_eq!(ids(&names, &features()).unwrap(), USER_LIST);
    }

    #[test]
    fn units_and_all_are_taken_in_their_order() {
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
    fn two_specs_that_give_one_branch_are_an_error_that_names_both() {
        let error = problem(&[on("a", "spec/x"), on("c", "spec/y"), on("b", "spec/x")]).unwrap();
        assert_eq!(error, "'a' in a, 'b' in b would all be the branch spec/x: rename all but one of them");
    }

    #[test]
    fn a_branch_below_another_is_an_error() {
        let error = problem(&[on("a", "spec/x"), on("b", "spec/x-y"), on("c", "spec/x/y")]).unwrap();
        assert!(error.contains("spec/x ('a' in a) and spec/x/y ('c' in c)"), "{error}");
    }

    #[test]
    fn neighbours_are_fine() {
        assert_eq!(problem(&[on("a", "spec/x"), on("b", "spec/xy"), on("c", "task/x")]), None);
    }

    proptest! {
        #[test]
        fn whatever_is_typed_is_resolved_as_a_whole_or_named_in_the_error(
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
