//! Whether two agents mean the same part of a file. Pure.

use crate::message::Region;

/// How sure it is that two parts of a file meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RegionOverlap {
    /// One is a name and the other a range of lines: nobody knows, so it is assumed.
    Possible,
    Certain,
}

/// No region means the whole file, which meets everything.
pub(super) fn meeting(first: &[Region], second: &[Region]) -> Option<RegionOverlap> {
    if first.is_empty() || second.is_empty() {
        return Some(RegionOverlap::Certain);
    }
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
    pairs.filter_map(|(a, b)| regions_meet(a, b)).max()
}

fn regions_meet(a: &Region, b: &Region) -> Option<RegionOverlap> {
    match (a, b) {
        (
            Region::Range { start_line: a_start, end_line: a_end },
            Region::Range { start_line: b_start, end_line: b_end },
        ) => (a_start <= b_end && b_start <= a_end).then_some(RegionOverlap::Certain),
        (Region::Range { .. }, _) | (_, Region::Range { .. }) => Some(RegionOverlap::Possible),
        // A function of one is a class or a block of the other often enough: the name decides.
        (a, b) => (normal(name(a)) == normal(name(b))).then_some(RegionOverlap::Certain),
    }
}

fn name(region: &Region) -> &str {
    match region {
        Region::Function { name } | Region::Class { name } => name,
        Region::Block { anchor } => anchor,
        Region::Range { .. } => "",
    }
}

/// `fn Check-Token()` and `check_token` are one name.
fn normal(name: &str) -> String {
    const WORDS: [&str; 9] = ["fn", "def", "class", "function", "func", "struct", "pub", "async", "impl"];
    let lower = name.to_lowercase();
    let mut rest = lower.trim();
    while let Some((word, after)) = rest.split_once(char::is_whitespace) {
        if !WORDS.contains(&word) {
            break;
        }
        rest = after.trim_start();
    }
    let rest = rest.split_once('(').map_or(rest, |(before, _)| before);
    let mut normal = String::with_capacity(rest.len());
    for c in rest.chars() {
        if c.is_alphanumeric() {
            normal.push(c);
        } else if !normal.ends_with('_') {
            normal.push('_');
        }
    }
    let trimmed = normal.trim_matches('_');
    if trimmed.is_empty() { lower.trim().to_owned() } else { trimmed.to_owned() }
}

/// As a person reads it: `function x`, `range 1-9`.
pub(super) fn describe(regions: &[Region]) -> String {
    let one = |region: &Region| match region {
        Region::Function { name } => format!("function {name}"),
        Region::Class { name } => format!("class {name}"),
        Region::Block { anchor } => format!("block {anchor}"),
        Region::Range { start_line, end_line } => format!("range {start_line}-{end_line}"),
    };
    regions.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn function(name: &str) -> Region {
        Region::Function { name: name.into() }
    }

    fn range(start_line: u64, end_line: u64) -> Region {
        Region::Range { start_line, end_line }
    }

    #[test]
    fn names_are_compared_without_case_keywords_brackets_and_separators() {
        for spelling in [
            "check_token",
            "Check-Token",
            "fn check_token()",
            "def check_token(self, x)",
            "pub async fn check token",
        ] {
            assert_eq!(normal(spelling), "check_token", "{spelling}");
        }
        assert_ne!(normal("check"), normal("check_token"));
        assert_eq!(normal("()"), "()");
    }

    #[test]
    fn a_name_means_the_same_whatever_kind_of_thing_it_is_said_to_be() {
        let class = Region::Class { name: "class Parser".into() };
        assert_eq!(meeting(&[function("parser()")], &[class]), Some(RegionOverlap::Certain));
        assert_eq!(meeting(&[function("a")], &[function("b")]), None);
    }

    #[test]
    fn ranges_meet_when_they_share_a_line_and_a_name_may_meet_any_range() {
        assert_eq!(meeting(&[range(1, 9)], &[range(9, 12)]), Some(RegionOverlap::Certain));
        assert_eq!(meeting(&[range(1, 8)], &[range(9, 12)]), None);
        assert_eq!(meeting(&[range(1, 8)], &[function("a")]), Some(RegionOverlap::Possible));
        assert_eq!(meeting(&[], &[function("a")]), Some(RegionOverlap::Certain));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_who_is_first(a in "\\PC{0,12}", b in "\\PC{0,12}", s in 1_u64..9, e in 0_u64..9) {
            let (first, second) = ([function(&a), range(s, s + e)], [Region::Block { anchor: b }]);
            prop_assert_eq!(meeting(&first, &second), meeting(&second, &first));
        }
    }
}
