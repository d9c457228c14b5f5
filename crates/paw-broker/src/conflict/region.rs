//! Whether the regions of two agents overlap. Pure.

use crate::message::Region;

/// Whether two overlapping regions are known to overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RegionOverlap {
    /// One region is a name and the other a range of lines, so an overlap is assumed.
    Possible,
    Certain,
}

/// How two lists of regions overlap. An empty list means the whole file.
pub(super) fn overlap(first: &[Region], second: &[Region]) -> Option<RegionOverlap> {
    if first.is_empty() || second.is_empty() {
        return Some(RegionOverlap::Certain);
    }
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
    pairs.filter_map(|(a, b)| regions_overlap(a, b)).max()
}

fn regions_overlap(a: &Region, b: &Region) -> Option<RegionOverlap> {
    match (a, b) {
        (
            Region::Range { start_line: a_start, end_line: a_end },
            Region::Range { start_line: b_start, end_line: b_end },
        ) => (a_start <= b_end && b_start <= a_end).then_some(RegionOverlap::Certain),
        (Region::Range { .. }, _) | (_, Region::Range { .. }) => Some(RegionOverlap::Possible),
        // Agents disagree about whether a name is a function, a class or a block, so only the name counts.
        (a, b) => (normalize(name(a)) == normalize(name(b))).then_some(RegionOverlap::Certain),
    }
}

fn name(region: &Region) -> &str {
    match region {
        Region::Function { name } | Region::Class { name } => name,
        Region::Block { anchor } => anchor,
        Region::Range { .. } => "",
    }
}

/// The name in a form that ignores spelling: `fn Check-Token()` becomes `check_token`.
fn normalize(name: &str) -> String {
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

/// `function x, range 1-9`.
pub(super) fn describe(regions: &[Region]) -> String {
    regions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
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
    fn normalize_ignores_case_keywords_brackets_and_separators() {
        for spelling in [
            "check_token",
            "Check-Token",
            "fn check_token()",
            "def check_token(self, x)",
            "pub async fn check token",
        ] {
            assert_eq!(normalize(spelling), "check_token", "{spelling}");
        }
        assert_ne!(normalize("check"), normalize("check_token"));
        assert_eq!(normalize("()"), "()");
    }

    #[test]
    fn regions_with_the_same_name_overlap_whatever_their_kind() {
        let class = Region::Class { name: "class Parser".into() };
        assert_eq!(overlap(&[function("parser()")], &[class]), Some(RegionOverlap::Certain));
        assert_eq!(overlap(&[function("a")], &[function("b")]), None);
    }

    #[test]
    fn ranges_overlap_if_they_share_a_line_and_a_name_possibly_overlaps_any_range() {
        assert_eq!(overlap(&[range(1, 9)], &[range(9, 12)]), Some(RegionOverlap::Certain));
        assert_eq!(overlap(&[range(1, 8)], &[range(9, 12)]), None);
        assert_eq!(overlap(&[range(1, 8)], &[function("a")]), Some(RegionOverlap::Possible));
        assert_eq!(overlap(&[], &[function("a")]), Some(RegionOverlap::Certain));
    }

    proptest! {
        #[test]
        fn overlap_is_symmetric(a in "\\PC{0,12}", b in "\\PC{0,12}", s in 1_u64..9, e in 0_u64..9) {
            let (first, second) = ([function(&a), range(s, s + e)], [Region::Block { anchor: b }]);
            prop_assert_eq!(overlap(&first, &second), overlap(&second, &first));
        }
    }
}
