//! `session-learnings.md`, with one block for each session.
//!
//! A comment below the heading identifies a block. Lines that exist already are not added again, so a session that
//! replays its messages after a crash continues where the file ends. Text that users add is kept.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::CheckoutDir;
use paw_core::paths::lock_of;
use paw_core::text;
use paw_host::files::{self, Access, FileError, Lock};

use super::entry::{LearningEntry, LearningSection};
use crate::log::SessionId;

/// The path of a repository's file.
pub fn path(repository: &Path) -> PathBuf {
    CheckoutDir::of(repository).learnings()
}

/// Updates the session's block in the repository's file. Returns whether anything was written.
pub fn update(
    repository: &Path,
    session: &SessionId,
    entries: &[LearningEntry],
    now: Timestamp,
) -> Result<bool, FileError> {
    if entries.is_empty() {
        return Ok(false);
    }
    let path = path(repository);
    let lock = lock_of(&path);
    // A repository may contain symbolic links; their targets must not be written.
    for file in [&path, &lock] {
        files::require_no_link(repository, file)?;
    }
    // Sessions of one repository share the file.
    let _held = Lock::wait(&lock)?;
    let before = files::load_text(&path)?.unwrap_or_default();
    let Some(after) = merge(&before, session, entries, now) else { return Ok(false) };
    files::write_atomic(&path, after.as_bytes(), Access::Usual)?;
    Ok(true)
}

/// The text of the file with the missing entries, or `None` if all are present.
pub fn merge(text: &str, session: &SessionId, entries: &[LearningEntry], now: Timestamp) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let marker = marker(session);
    let known = lines.iter().position(|line| *line == marker);
    let start = if let Some(known) = known {
        known + 1
    } else {
        if lines.last().is_some_and(|line| !line.is_empty()) {
            lines.push(String::new());
        }
        lines.push(format!("## Session Learnings — {}", now.strftime("%Y-%m-%dT%H:%M:%SZ")));
        lines.push(marker);
        lines.len()
    };
    let end = lines[start..]
        .iter()
        .position(|line| line.starts_with("## "))
        .map_or(lines.len(), |length| start + length);
    let mut block = Block(lines[start..end].to_vec());
    let changed = block.add(entries);
    if !changed {
        return None;
    }
    while block.0.last().is_some_and(String::is_empty) {
        block.0.pop();
    }
    if end < lines.len() {
        block.0.push(String::new());
    }
    lines.splice(start..end, block.0);
    Some(lines.join("\n") + "\n")
}

fn marker(session: &SessionId) -> String {
    let plain: String =
        session.as_str().chars().filter(|c| !text::is_unsafe(*c) && !"<>".contains(*c)).collect();
    format!("<!-- git-paw session: {plain} -->")
}

/// The lines below the heading of one session.
struct Block(Vec<String>);

impl Block {
    fn add(&mut self, entries: &[LearningEntry]) -> bool {
        let mut changed = false;
        for section in LearningSection::ALL {
            let wanted: Vec<&LearningEntry> =
                entries.iter().filter(|entry| entry.section == section).collect();
            if wanted.is_empty() {
                continue;
            }
            changed |= self.add_to(section, &wanted);
        }
        changed
    }

    fn add_to(&mut self, section: LearningSection, wanted: &[&LearningEntry]) -> bool {
        let bullet = |entry: &LearningEntry| format!("- {}", entry.text);
        let (start, end) = self.find_section(section).unwrap_or((0, 0));
        // Each line matches one entry: two waits of the same length are two lines.
        let mut left: Vec<usize> = (start..end).collect();
        let mut missing = Vec::new();
        for entry in wanted {
            match left.iter().position(|line| self.0[*line] == bullet(entry)) {
                Some(found) => _ = left.remove(found),
                None => missing.push(*entry),
            }
        }
        if missing.is_empty() {
            return false;
        }
        let mut new = Vec::new();
        for entry in missing {
            let older = left
                .iter()
                .position(|line| self.0[*line].strip_prefix("- ").is_some_and(|text| entry.replaces(text)));
            match older {
                Some(found) => self.0[left.remove(found)] = bullet(entry),
                None => new.push(bullet(entry)),
            }
        }
        let end = self.end_of(section);
        self.0.splice(end..end, new);
        true
    }

    /// The lines of a section, without its heading.
    fn find_section(&self, section: LearningSection) -> Option<(usize, usize)> {
        let heading = format!("### {}", section.heading());
        let start = self.0.iter().position(|line| *line == heading)? + 1;
        let end = self.0[start..].iter().position(|line| line.starts_with("### "));
        Some((start, end.map_or(self.0.len(), |length| start + length)))
    }

    /// The index after the last line of a section. Creates a missing section at its position.
    fn end_of(&mut self, section: LearningSection) -> usize {
        if let Some((start, mut end)) = self.find_section(section) {
            while end > start && self.0[end - 1].is_empty() {
                end -= 1;
            }
            return end;
        }
        let later = LearningSection::ALL.into_iter().filter(|other| *other > section);
        let before = later.filter_map(|other| self.find_section(other)).map(|(start, _)| start - 1).min();
        let mut place = before.unwrap_or(self.0.len());
        while place > 0 && self.0[place - 1].is_empty() {
            place -= 1;
        }
        let heading = [String::new(), format!("### {}", section.heading()), String::new()];
        // The next section may already start with an empty line.
        let follows = before.is_some() && self.0.get(place).is_none_or(|line| !line.is_empty());
        self.0.splice(place..place, heading.into_iter().chain(follows.then(String::new)));
        place + 3
    }
}
