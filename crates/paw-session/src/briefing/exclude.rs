//! Keeping briefings out of git. git reads `info/exclude` from the common directory only, so a rule holds for every
//! worktree and for the main checkout; it is marked as ours and taken out when nothing needs it any more.

use std::fs;
use std::io;
use std::path::Path;

use paw_host::files::{self, Access, Lock};

use super::BriefingError;

/// The line above each of our rules.
const OURS: &str = "# git-paw: the briefing of an agent";

/// Makes git not see the file of this name at the top of any worktree.
pub(crate) fn hide(common_dir: &Path, name: &str) -> Result<(), BriefingError> {
    edit(common_dir, |rules| with_rule(rules, name))
}

/// Makes git see it again. A rule that somebody else wrote stays.
pub(crate) fn show(common_dir: &Path, name: &str) -> Result<(), BriefingError> {
    edit(common_dir, |rules| without_rule(rules, name))
}

/// Agents are briefed side by side, so one at a time.
fn edit(common_dir: &Path, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Result<(), BriefingError> {
    let file = common_dir.join("info/exclude");
    let _lock = Lock::wait(&common_dir.join("paw/exclude.lock"))?;
    let rules = match fs::read(&file) {
        Ok(rules) => rules,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(BriefingError::Unreadable { path: file, source }),
    };
    match change(&rules) {
        Some(rules) => Ok(files::write_atomic(&file, &rules, Access::Usual)?),
        None => Ok(()),
    }
}

fn with_rule(rules: &[u8], name: &str) -> Option<Vec<u8>> {
    let rule = format!("/{name}");
    if rules.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end() == rule.as_bytes()) {
        return None;
    }
    let end = if rules.is_empty() || rules.ends_with(b"\n") { "" } else { "\n" };
    Some([rules, format!("{end}{OURS}\n{rule}\n").as_bytes()].concat())
}

fn without_rule(rules: &[u8], name: &str) -> Option<Vec<u8>> {
    let ours = format!("{OURS}\n/{name}\n").into_bytes();
    let at = rules.windows(ours.len()).position(|window| window == ours)?;
    Some([&rules[..at], &rules[at + ours.len()..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(rules: &str, name: &str) -> Option<String> {
        with_rule(rules.as_bytes(), name).map(|rules| String::from_utf8(rules).unwrap())
    }

    #[test]
    fn a_rule_is_added_once_and_taken_out_whole() {
        let rules = with("# git ls-files\n*.log\n", "AGENTS.md").unwrap();
        assert_eq!(rules, format!("# git ls-files\n*.log\n{OURS}\n/AGENTS.md\n"));
        assert_eq!(with(&rules, "AGENTS.md"), None);
        let two = with(&rules, "other").unwrap();
        assert_eq!(
            without_rule(two.as_bytes(), "AGENTS.md").unwrap(),
            with("# git ls-files\n*.log\n", "other").unwrap().as_bytes()
        );
        assert_eq!(without_rule(rules.as_bytes(), "other"), None);
    }

    #[test]
    fn a_rule_that_was_there_before_stays() {
        assert_eq!(with("/AGENTS.md\r\n", "AGENTS.md"), None);
        assert_eq!(without_rule(b"/AGENTS.md\n", "AGENTS.md"), None);
    }

    #[test]
    fn odd_bytes_and_a_last_line_without_an_end_survive() {
        let rules = with_rule(b"\xff*.log", "x").unwrap();
        assert_eq!(rules, [b"\xff*.log\n", format!("{OURS}\n/x\n").as_bytes()].concat());
        assert_eq!(without_rule(&rules, "x").unwrap(), b"\xff*.log\n");
    }
}
