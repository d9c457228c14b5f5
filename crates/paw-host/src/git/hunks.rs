//! The line ranges of a merge conflict on both sides.

use std::ops::RangeInclusive;

use super::merge_tree::MergeConflict;
use super::run;
use super::scratch::{ScratchError, ScratchRepo};

/// Lines of a file, counting from 1.
pub type LineSpan = RangeInclusive<u64>;

/// The conflicting lines of both sides. Empty for a side that deleted the file or has no lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConflictLines {
    pub first: Vec<LineSpan>,
    pub second: Vec<LineSpan>,
}

/// A change of one side relative to the merge base.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    /// The range it covers in the merge base, as gaps between lines: gap 0 is before the first line.
    gaps: (u64, u64),
    lines: Option<LineSpan>,
    added: Vec<u8>,
}

impl ScratchRepo {
    /// The conflicting lines of each file, in the same order.
    pub fn conflict_lines(&self, conflicts: &[&MergeConflict]) -> Result<Vec<ConflictLines>, ScratchError> {
        if conflicts.is_empty() {
            return Ok(Vec::new());
        }
        let trees = self.side_trees(conflicts)?;
        let plain =
            ["diff-tree", "-r", "-p", "-U0", "--stdin", "--no-renames", "--no-color", "--no-ext-diff"];
        // The same algorithm that git uses for merges.
        let how = ["--no-textconv", "--diff-algorithm=histogram", "--src-prefix=a/", "--dst-prefix=b/"];
        let pairs = [&trees[1], &trees[2]].map(|side| format!("{} {side}", trees[0]));
        let diff = self.command(plain.into_iter().chain(how)).input(pairs.join("\n") + "\n");
        let patches = run(&diff)?;
        // Each patch follows the line of its pair. Equal trees have neither.
        let end = find_line(&patches, format!("{}\n", pairs[1]).as_bytes()).unwrap_or(patches.len());
        let sides = [&patches[..end], &patches[end..]].map(|patch| hunks(patch, conflicts.len()));
        Ok((0..conflicts.len()).map(|file| overlapping_lines(&sides[0][file], &sides[1][file])).collect())
    }
}

fn find_line(text: &[u8], line: &[u8]) -> Option<usize> {
    text.windows(line.len())
        .enumerate()
        .find_map(|(at, window)| (window == line && (at == 0 || text[at - 1] == b'\n')).then_some(at))
}

/// The changes of each side that touch a change of the other. Equal changes do not conflict. If one side has no lines
/// left, all changes of the other conflict.
fn overlapping_lines(first: &[Hunk], second: &[Hunk]) -> ConflictLines {
    let touch = |a: &Hunk, b: &Hunk| a.gaps.0 <= b.gaps.1 && b.gaps.0 <= a.gaps.1;
    let equal = |a: &Hunk, b: &Hunk| a.gaps == b.gaps && a.added == b.added;
    let lines = |mine: &[Hunk], theirs: &[Hunk]| {
        let hit = |hunk: &&Hunk| theirs.iter().any(|other| touch(hunk, other) && !equal(hunk, other));
        mine.iter().filter(hit).filter_map(|hunk| hunk.lines.clone()).collect()
    };
    ConflictLines { first: lines(first, second), second: lines(second, first) }
}

/// The hunks of a patch without context, per file. Files are named by their index.
fn hunks(patch: &[u8], files: usize) -> Vec<Vec<Hunk>> {
    let mut found = vec![Vec::new(); files];
    let mut file = None;
    // Remaining lines of the current hunk: removed, added.
    let mut left = (0_u64, 0_u64);
    for line in patch.split(|byte| *byte == b'\n') {
        let current: Option<&mut Vec<Hunk>> = file.and_then(|file: usize| found.get_mut(file));
        match line.first() {
            Some(b'-') if left.0 > 0 => left.0 -= 1,
            Some(b'+') if left.1 > 0 => {
                left.1 -= 1;
                if let Some(hunk) = current.and_then(|hunks| hunks.last_mut()) {
                    hunk.added.extend_from_slice(line);
                    hunk.added.push(b'\n');
                }
            }
            Some(b'd') if line.starts_with(b"diff --git ") => {
                let number = line.rsplit(|byte| *byte == b'/').next();
                file = number.and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
            }
            Some(b'@') => {
                if let (Some(((old, old_count), (new, new_count))), Some(hunks)) = (header(line), current) {
                    left = (old_count, new_count);
                    // An insertion is located by the line before it.
                    let from = if old_count == 0 { old } else { old.saturating_sub(1) };
                    let lines = (new_count > 0).then(|| new..=new.saturating_add(new_count - 1));
                    let lines = lines.or((new > 0).then_some(new..=new));
                    let gaps = (from, from.saturating_add(old_count));
                    hunks.push(Hunk { gaps, lines, added: Vec::new() });
                }
            }
            _ => {}
        }
    }
    found
}

/// `@@ -12,3 +14 @@`: a missing count is 1.
fn header(line: &[u8]) -> Option<((u64, u64), (u64, u64))> {
    let line = std::str::from_utf8(line.get(..line.len().min(80))?).ok().or_else(|| {
        // The header ends with a line of the file, which may be cut within a character.
        let end = line.windows(3).skip(2).position(|window| window == b" @@")? + 2;
        std::str::from_utf8(&line[..end]).ok()
    })?;
    let mut words = line.split(' ').skip(1);
    let mut numbers = |sign: char| {
        let word = words.next()?.strip_prefix(sign)?;
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((numbers('-')?, numbers('+')?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATCH: &[u8] = b"diff --git a/000000 b/000000\nindex a..b 100644\n--- a/000000\n+++ b/000000\n\
        @@ -3 +3,2 @@ fn x\n-three\n+diff --git a/9 b/9\n+@@ -1 +1 @@\n@@ -9,2 +10,0 @@\n-a\n-b\n\
        diff --git a/000001 b/000001\n@@ -0,0 +1 @@\n+new\n";

    #[test]
    fn hunks_are_parsed_by_their_line_counts() {
        let found = hunks(PATCH, 2);
        let places: Vec<_> = found[0].iter().map(|hunk| (hunk.gaps, hunk.lines.clone())).collect();
        assert_eq!(places, [((2, 3), Some(3..=4)), ((8, 10), Some(10..=10))]);
        assert_eq!(found[1][0].gaps, (0, 0));
    }

    #[test]
    fn touching_changes_conflict_and_equal_ones_do_not() {
        let hunk = |from, to, lines: LineSpan, added: &[u8]| Hunk {
            gaps: (from, to),
            lines: Some(lines),
            added: added.to_vec(),
        };
        let first = [hunk(0, 0, 1..=1, b"use x"), hunk(9, 12, 11..=13, b"mine")];
        let second =
            [hunk(0, 0, 1..=1, b"use x"), hunk(12, 13, 14..=14, b"theirs"), hunk(20, 21, 22..=22, b"far")];
        assert_eq!(
            overlapping_lines(&first, &second),
            ConflictLines { first: vec![11..=13], second: vec![14..=14] }
        );
    }

    proptest! {
        #[test]
        fn parsing_any_patch_does_not_panic(text in "(diff --git a/0 b/0\n|@@ -[0-9]{0,22},?[0-9]{0,22} \\+[0-9,]{0,24} @@|[-+@ \u{e9}]|\n){0,30}", bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let found = hunks(text.as_bytes(), 1);
            overlapping_lines(&found[0], &found[0]);
            hunks(&bytes, 1);
        }
    }
}
