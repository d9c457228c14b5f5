//! Which specs refer to others: `[[id]]` in their text. Pure.

use std::collections::BTreeSet;

use super::SpecEntry;

/// Pairs of ids: the first refers to the second, by its id or its unit.
pub fn references(entries: &[SpecEntry]) -> Vec<(&str, &str)> {
    let mut found = BTreeSet::new();
    for entry in entries {
        let links = entry.prompt.split("[[").skip(1).filter_map(|rest| Some(rest.split_once("]]")?.0.trim()));
        for link in links {
            let named = entries.iter().filter(|other| other.id == link || other.unit == link);
            found.extend(
                named
                    .filter(|other| other.id != entry.id)
                    .map(|other| (entry.id.as_str(), other.id.as_str())),
            );
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use paw_core::BranchName;

    use super::*;
    use crate::specs::SpecFormat;

    #[test]
    fn specs_refer_to_others_by_links() {
        let entry = |id: &str, prompt: &str| SpecEntry {
            id: id.to_owned(),
            unit: id.to_owned(),
            branch: BranchName::new("spec/x").unwrap(),
            cli: None,
            prompt: prompt.to_owned(),
            owned_files: Vec::new(),
            path: id.into(),
            kind: SpecFormat::Markdown,
        };
        let entries = [
            entry("a", "after [[b]] and [[ c ]], not [[a]] or [[d]] [["),
            entry("b", "[[c]] [[c]]"),
            entry("c", ""),
        ];
        assert_eq!(references(&entries), [("a", "b"), ("a", "c"), ("b", "c")]);
    }
}
