//! The log of verdicts, one JSON object per line, and the rules it suggests.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::PawDir;
use paw_core::paths::rotated;
use paw_host::files::FileError;
use serde::{Deserialize, Serialize};

use super::word::ShellWord;
use super::{ApprovalRules, ApprovalVerdict, tools};

/// A file of this size is rotated; the previous one is deleted.
const MOST_BYTES: u64 = 4 << 20;
/// The longest command in the log.
const LONGEST_COMMAND: usize = 2000;

/// One verdict: agent, command, verdict and reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictEntry {
    pub at: Timestamp,
    #[serde(default)]
    pub session: Option<String>,
    pub agent: String,
    pub command: String,
    /// `allow` or `ask`.
    pub verdict: String,
    pub reason: String,
    /// Who decided it: the user or the supervisor. Rules decided the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl VerdictEntry {
    pub fn new(at: Timestamp, agent: impl Into<String>, command: &str, verdict: &ApprovalVerdict) -> Self {
        Self {
            at,
            session: None,
            agent: agent.into(),
            command: command.chars().take(LONGEST_COMMAND).collect(),
            verdict: verdict.word().to_owned(),
            reason: verdict.reason().to_owned(),
            by: None,
        }
    }
}

/// The log of a repository. Only its owner can read it, because commands may contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictLog {
    path: PathBuf,
}

impl VerdictLog {
    pub fn of(common_dir: &Path) -> Self {
        Self { path: PawDir::of(common_dir).approvals() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn aside(&self) -> PathBuf {
        rotated(&self.path)
    }

    /// Appends one line in one write, so that several processes can append at once.
    pub fn append(&self, entry: &VerdictEntry) -> Result<(), FileError> {
        self.try_append(entry).map_err(FileError::when("write", &self.path))
    }

    fn try_append(&self, entry: &VerdictEntry) -> io::Result<()> {
        let line = format!("{}\n", serde_json::to_string(entry)?);
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)?;
        }
        if fs::metadata(&self.path).is_ok_and(|file| file.len() >= MOST_BYTES) {
            fs::rename(&self.path, self.aside())?;
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
        file.write_all(line.as_bytes())
    }

    /// All verdicts, oldest first. Damaged lines are skipped.
    pub fn load(&self) -> Result<Vec<VerdictEntry>, FileError> {
        let mut entries = Vec::new();
        for path in [self.aside(), self.path.clone()] {
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(FileError { action: "read", path, source }),
            };
            entries.extend(
                String::from_utf8_lossy(&bytes).lines().filter_map(|line| serde_json::from_str(line).ok()),
            );
        }
        Ok(entries)
    }
}

/// A command that the user is asked about repeatedly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleSuggestion {
    /// The words of a rule for it.
    pub pattern: String,
    pub count: usize,
    /// Where the rule belongs: `bundled-preset` for a program with a preset, else `project-allowlist`.
    pub suggested_target: &'static str,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
}

/// Rules that would answer what the user was asked, most frequent first. Commands that no rule can cover, because they are
/// not plain or run other programs, are left out.
pub fn suggest(entries: &[VerdictEntry]) -> Vec<RuleSuggestion> {
    let mut found: BTreeMap<String, RuleSuggestion> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.verdict == "ask") {
        for pattern in patterns(&entry.command) {
            let target = if is_known(&pattern) { "bundled-preset" } else { "project-allowlist" };
            let suggestion = found.entry(pattern.clone()).or_insert(RuleSuggestion {
                pattern,
                count: 0,
                suggested_target: target,
                first_seen: entry.at,
                last_seen: entry.at,
            });
            suggestion.count += 1;
            suggestion.first_seen = suggestion.first_seen.min(entry.at);
            suggestion.last_seen = suggestion.last_seen.max(entry.at);
        }
    }
    let mut found: Vec<_> = found.into_values().collect();
    found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.pattern.cmp(&b.pattern)));
    found
}

/// A user rule that once allowed a command which it does not cover any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NarrowedRule {
    pub rule: String,
    pub command: String,
}

/// Rules that the log shows to have relied on more than plain arguments, each once, until the command is asked about.
pub fn find_narrowed_rules(entries: &[VerdictEntry], rules: &ApprovalRules) -> Vec<NarrowedRule> {
    let mut found: Vec<NarrowedRule> = Vec::new();
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.verdict == "allow") {
        let Some((_, after)) = entry.reason.split_once("your rule `") else { continue };
        let rule = after.split('`').next().unwrap_or_default().to_owned();
        let asked =
            entries[at..].iter().any(|later| later.verdict == "ask" && later.command == entry.command);
        let narrowed = || {
            let commands = super::simple_commands(&entry.command).unwrap_or_default();
            commands.iter().any(|words| {
                let words: Vec<_> = words.iter().map(|word| ShellWord::literal(word)).collect();
                rules.find_user_rule(&words).is_err()
            })
        };
        if !asked && !found.iter().any(|known| known.rule == rule) && narrowed() {
            found.push(NarrowedRule { rule, command: entry.command.clone() });
        }
    }
    found
}

fn is_known(pattern: &str) -> bool {
    tools::is_listed(pattern.split(' ').next().unwrap_or_default())
}

/// The program and verb of each simple command that a rule could allow.
fn patterns(command: &str) -> Vec<String> {
    let Some(commands) = super::simple_commands(command) else { return Vec::new() };
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
    };
    let pattern = |words: &Vec<String>| {
        let program = words.first()?;
        let unfit =
            !plain(program) || tools::runs_other_programs(program) || matches!(program.as_str(), "rm" | "cd");
        let texts: Vec<_> = words.iter().map(String::as_str).collect();
        if unfit || tools::find(&tools::normalize(&texts), &[]).is_some() {
            return None;
        }
        let verb = texts.get(1).filter(|verb| plain(verb) && !verb.starts_with('-'));
        Some(verb.map_or_else(|| program.clone(), |verb| format!("{program} {verb}")))
    };
    let mut patterns: Vec<_> = commands.iter().filter_map(pattern).collect();
    patterns.dedup();
    patterns
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn entry(second: i64, command: &str, word: &str) -> VerdictEntry {
        let verdict = match word {
            "ask" => ApprovalVerdict::Ask { reason: "why".to_owned() },
            _ => ApprovalVerdict::Allow { reason: "why".to_owned() },
        };
        VerdictEntry::new(Timestamp::from_second(second).unwrap(), "feat-x", command, &verdict)
    }

    #[test]
    fn the_verdict_log_round_trips_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let log = VerdictLog::of(dir.path());
        assert_eq!(log.load().unwrap(), []);
        let entries = [entry(1, "rm 'a\nb'", "ask"), entry(2, "ls", "allow")];
        for entry in &entries {
            log.append(entry).unwrap();
        }
        assert_eq!(log.load().unwrap(), entries);
        assert_eq!(fs::metadata(log.path()).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_line_of_the_verdict_log_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let log = VerdictLog::of(dir.path());
        log.append(&entry(1, "ls", "allow")).unwrap();
        let mut file = OpenOptions::new().append(true).open(log.path()).unwrap();
        file.write_all(b"{\"at\":\xff half\n").unwrap();
        log.append(&entry(2, "pwd", "allow")).unwrap();
        assert_eq!(log.load().unwrap().len(), 2);
    }

    #[test]
    fn a_large_verdict_log_is_rotated_and_still_read() {
        let dir = tempfile::tempdir().unwrap();
        let log = VerdictLog::of(dir.path());
        log.append(&entry(1, "ls", "allow")).unwrap();
        let file = OpenOptions::new().append(true).open(log.path()).unwrap();
        file.set_len(MOST_BYTES).unwrap();
        log.append(&entry(2, "pwd", "allow")).unwrap();
        assert!(fs::metadata(log.path()).unwrap().len() < 1000);
        assert_eq!(log.load().unwrap().last().unwrap().command, "pwd");
    }

    #[test]
    fn rules_that_relied_on_more_than_plain_arguments_are_reported_until_they_are_asked_about() {
        let config = paw_core::config::SupervisorConfig {
            common_dev_allowlist: paw_core::config::DevAllowlistConfig {
                extra: vec!["make lint".to_owned(), "just x *".to_owned()],
                ..Default::default()
            },
            ..Default::default()
        };
        let rules = ApprovalRules::from_config(&config);
        let allowed = |second, command: &str, rule: &str| VerdictEntry {
            reason: format!("harmless here: your rule `{rule}`"),
            ..entry(second, command, "allow")
        };
        let mut entries = vec![
            allowed(1, "make lint -j4", "make lint"),
            allowed(2, "make lint -k", "make lint"),
            allowed(3, "make lint", "make lint"),
            allowed(4, "just x --y", "just x"),
        ];
        let found = find_narrowed_rules(&entries, &rules);
        assert_eq!(
            found,
            [NarrowedRule { rule: "make lint".to_owned(), command: "make lint -j4".to_owned() }]
        );
        entries.extend([entry(5, "make lint -j4", "ask"), entry(6, "make lint -k", "ask")]);
        assert_eq!(find_narrowed_rules(&entries, &rules), []);
    }

    #[test]
    fn repeated_questions_become_rule_suggestions() {
        let entries = [
            entry(1, "just check --all", "ask"),
            entry(5, "cd a && just check", "ask"),
            entry(3, "cargo install x", "ask"),
            entry(4, "rm -rf x", "ask"),
            entry(4, "bash -c x", "ask"),
            entry(4, "git diff --output=x", "ask"),
            entry(4, "x `y`", "ask"),
            entry(9, "just check", "allow"),
        ];
        let found = suggest(&entries);
        let quoted: Vec<_> =
            found.iter().map(|s| (s.pattern.as_str(), s.count, s.suggested_target)).collect();
        assert_eq!(quoted, [("just check", 2, "project-allowlist"), ("cargo install", 1, "bundled-preset")]);
        assert_eq!((found[0].first_seen.as_second(), found[0].last_seen.as_second()), (1, 5));
    }
}
