//! The lines a change added to a file.

use std::ops::RangeInclusive;

/// Above this size, everything between the first and last difference counts as added.
const MOST: usize = 4_000_000;

/// Lines of `after`, counted from 1, that are not in `before`.
pub fn added_lines(before: Option<&str>, after: &str) -> Vec<RangeInclusive<u32>> {
    let old: Vec<&str> = before.unwrap_or_default().lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, rest) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, rest) = (&old[..old.len() - tail], &rest[..rest.len() - tail]);
    ranges(written(old, rest).into_iter().map(|at| head + at + 1))
}

/// Lines of `new` outside of the longest common subsequence.
fn written(old: &[&str], new: &[&str]) -> Vec<usize> {
    let width = new.len() + 1;
    if old.is_empty() || (old.len() + 1).saturating_mul(width) > MOST {
        return (0..new.len()).collect();
    }
    let mut length = vec![0_u32; (old.len() + 1) * width];
    for (a, line) in old.iter().enumerate().rev() {
        for (b, other) in new.iter().enumerate().rev() {
            length[a * width + b] = if line == other {
                length[(a + 1) * width + b + 1] + 1
            } else {
                length[(a + 1) * width + b].max(length[a * width + b + 1])
            };
        }
    }
    let (mut a, mut found) = (0, Vec::new());
    for (b, line) in new.iter().enumerate() {
        while a < old.len() && old[a] != *line && length[(a + 1) * width + b] >= length[a * width + b + 1] {
            a += 1;
        }
        if a < old.len() && old[a] == *line {
            a += 1;
        } else {
            found.push(b);
        }
    }
    found
}

fn ranges(lines: impl Iterator<Item = usize>) -> Vec<RangeInclusive<u32>> {
    let mut found: Vec<RangeInclusive<u32>> = Vec::new();
    for line in lines.filter_map(|line| u32::try_from(line).ok()) {
        match found.last_mut() {
            Some(last) if last.end() + 1 == line => *last = *last.start()..=line,
            _ => found.push(line..=line),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn added_lines_are_only_new_lines() {
        assert_eq!(added_lines(None, "a\nb\n"), [1..=2]);
        assert_eq!(added_lines(Some("a\nb\nc\n"), "a\nx\nb\nc\ny\nz\n"), [2..=2, 5..=6]);
        assert_eq!(added_lines(Some("a\nb\n"), "b\n"), []);
        assert_eq!(added_lines(Some("a\n"), "a\n"), []);
        assert_eq!(added_lines(Some("f\n{\n}\n"), "f\n{\n}\ng\n{\n}\n"), [4..=6]);
    }

    proptest! {
        #[test]
        fn removing_added_lines_leaves_a_subsequence_of_the_old_file(
            before in proptest::collection::vec("[abc]", 0..12), after in proptest::collection::vec("[abcd]", 0..12)
        ) {
            let ranges = added_lines(Some(&before.join("\n")), &after.join("\n"));
            let is_new = |line: usize| ranges.iter().any(|range| range.contains(&u32::try_from(line).unwrap()));
            let kept: Vec<&String> = after.iter().enumerate().filter(|(at, _)| !is_new(at + 1)).map(|(_, line)| line).collect();
            let mut rest = before.iter();
            prop_assert!(kept.iter().all(|line| rest.any(|old| old == *line)), "{before:?} {after:?} {ranges:?}");
            if before == after {
                prop_assert!(ranges.is_empty());
            }
        }
    }
}
