//! The approval rules: the approval level, the enabled presets and the user's rules.

use paw_core::config::{ApprovalLevel, Stack, SupervisorConfig};

use super::characters::quoted;
use super::line;
use super::tools;
use super::word::ShellWord;

/// The configuration of automatic approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRules {
    pub(super) enabled: bool,
    pub(super) level: ApprovalLevel,
    /// Whether the built-in presets are enabled.
    pub(super) presets: bool,
    /// The stacks whose presets are enabled; all if empty.
    pub(super) stacks: Vec<Stack>,
    pub(super) writes: bool,
    own: Vec<UserRule>,
    unusable: Vec<String>,
}

/// A command that the user allows, by its first words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UserRule {
    words: Vec<String>,
    /// Ends in `*`: any continuation is allowed.
    open: bool,
}

/// A higher level approves more.
pub(super) fn rank(level: ApprovalLevel) -> u8 {
    match level {
        ApprovalLevel::Off => 0,
        ApprovalLevel::Conservative => 1,
        ApprovalLevel::Safe => 2,
    }
}

impl Default for ApprovalRules {
    fn default() -> Self {
        Self::from_config(&SupervisorConfig::default())
    }
}

impl ApprovalRules {
    /// The rules of a configuration. The default is level `safe` with the built-in presets.
    pub fn from_config(config: &SupervisorConfig) -> Self {
        let approve = config.auto_approve.clone().unwrap_or_default();
        let everyday = &config.common_dev_allowlist;
        let mut rules = Self {
            enabled: approve.enabled,
            level: approve.approval_level,
            presets: everyday.enabled,
            stacks: everyday.stacks.clone(),
            writes: approve.approve_worktree_writes,
            own: Vec::new(),
            unusable: Vec::new(),
        };
        let extra = everyday.extra.iter().filter(|_| everyday.enabled);
        for text in approve.safe_commands.iter().chain(extra).filter(|text| !text.trim().is_empty()) {
            rules.add(text);
        }
        rules
    }

    /// Allows these commands and, if automatic approval is on, what neither writes nor uses the network.
    pub(super) fn for_reading<'a>(&self, own: impl IntoIterator<Item = &'a str>) -> Self {
        let mut rules = Self {
            enabled: true,
            level: ApprovalLevel::Conservative,
            presets: self.is_on() && self.presets,
            stacks: self.stacks.clone(),
            writes: false,
            own: Vec::new(),
            unusable: Vec::new(),
        };
        own.into_iter().for_each(|text| rules.add(text));
        rules
    }

    /// Approves nothing.
    pub(crate) fn off() -> Self {
        Self { enabled: false, ..Self::default() }
    }

    fn add(&mut self, text: &str) {
        match UserRule::parse(text) {
            Some(rule) => self.own.push(rule),
            None => self.unusable.push(text.to_owned()),
        }
    }

    /// Also allows the commands of the user's gates.
    pub(super) fn with_gates(mut self, commands: impl IntoIterator<Item = String>) -> Self {
        self.own.extend(commands.into_iter().filter_map(|command| UserRule::parse(&command)));
        self
    }

    /// These rules, but nothing that the other ones switch off.
    pub(super) fn within(mut self, limit: &Self) -> Self {
        self.enabled &= limit.enabled;
        self.presets &= limit.presets;
        self.writes &= limit.writes;
        if rank(limit.level) < rank(self.level) {
            self.level = limit.level;
        }
        self
    }

    /// User rules that are not one plain command and allow nothing.
    pub fn unusable(&self) -> &[String] {
        &self.unusable
    }

    /// Whether automatic approval is enabled.
    pub fn is_on(&self) -> bool {
        self.are_on().is_ok()
    }

    pub(super) fn are_on(&self) -> Result<(), String> {
        if !self.enabled {
            return Err("automatic approval is off".to_owned());
        }
        if self.level == ApprovalLevel::Off { Err("the approval level is off".to_owned()) } else { Ok(()) }
    }

    /// Finds the user rule for a command, and the plain arguments after its words.
    pub(super) fn find_user_rule<'w>(
        &self,
        words: &'w [ShellWord],
    ) -> Result<Option<(String, &'w [ShellWord])>, String> {
        let begins = |rule: &&UserRule| {
            rule.words.len() <= words.len()
                && rule
                    .words
                    .iter()
                    .zip(words)
                    .all(|(rule, word)| *rule == word.text && word.is_certain() && !word.glob)
        };
        let longest = self.own.iter().filter(begins).max_by_key(|rule| (rule.words.len(), rule.open));
        let Some(rule) = longest else { return Ok(None) };
        let more = &words[rule.words.len()..];
        let text = rule.words.join(" ");
        if rule.open {
            return Ok(Some((format!("{text} *"), &[])));
        }
        if let Some(word) = more.iter().find(|word| !rule.covers(word)) {
            return Err(format!(
                "the rule {} does not cover {}; {} would",
                quoted(&text),
                quoted(&word.text),
                quoted(&format!("{text} *"))
            ));
        }
        Ok(Some((text, more)))
    }
}

impl UserRule {
    fn parse(text: &str) -> Option<Self> {
        let (text, open) = match text.trim_end().strip_suffix(" *") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let words = line::read_one(text)?;
        let plain = |word| {
            let text = line::text_of(word);
            let expands =
                word.plain().is_some_and(|text| text.contains(['*', '?', '[']) || text.starts_with('~'));
            (!expands && word.is_text()).then_some(text)
        };
        Some(Self { words: words.iter().map(plain).collect::<Option<_>>()?, open })
    }

    /// Whether a further word is a plain argument: no option, no assignment, no further target or program.
    fn covers(&self, word: &ShellWord) -> bool {
        let program = self.words.first().map(String::as_str).unwrap_or_default();
        let plain = !word.text.starts_with(['-', '+', '@']) && !word.text.contains('=');
        plain && !tools::runs_other_programs(program) && !tools::runs_targets(program)
    }
}

#[cfg(test)]
mod tests {
    use paw_core::config::{AutoApproveConfig, DevAllowlistConfig};

    use super::*;

    fn rules(extra: &[&str]) -> ApprovalRules {
        let extra = extra.iter().map(|text| (*text).to_owned()).collect();
        let common_dev_allowlist = DevAllowlistConfig { extra, ..DevAllowlistConfig::default() };
        ApprovalRules::from_config(&SupervisorConfig { common_dev_allowlist, ..SupervisorConfig::default() })
    }

    fn own(rules: &ApprovalRules, command: &str) -> Result<Option<String>, String> {
        let words: Vec<_> = command.split(' ').map(ShellWord::literal).collect();
        Ok(rules.find_user_rule(&words)?.map(|(rule, _)| rule))
    }

    #[test]
    fn a_user_rule_matches_whole_words() {
        let rules = rules(&["mytool check", "nox -s tests"]);
        assert_eq!(own(&rules, "mytool check"), Ok(Some("mytool check".to_owned())));
        assert_eq!(own(&rules, "mytool check src/a.rs"), Ok(Some("mytool check".to_owned())));
        assert_eq!(own(&rules, "mytool checkout"), Ok(None));
        assert_eq!(own(&rules, "mytool"), Ok(None));
    }

    #[test]
    fn a_user_rule_allows_no_options_assignments_or_further_targets() {
        let rules = rules(&["make lint", "mytool check", "git push", "bash scripts/ci.sh", "./gradlew test"]);
        for allowed in ["make lint", "mytool check a b", "git push", "bash scripts/ci.sh", "./gradlew test"] {
            assert!(matches!(own(&rules, allowed), Ok(Some(_))), "{allowed}");
        }
        for refused in [
            "make lint --eval=x",
            "make lint deploy",
            "make lint -f x",
            "make lint SHELL=x",
            "mytool check --fast",
            "mytool check -o x",
            "mytool check A=b",
            "git push --force",
            "bash scripts/ci.sh x",
            "./gradlew test publish",
            "mytool check @args",
        ] {
            assert!(own(&rules, refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_user_rule_that_ends_in_a_star_allows_any_continuation() {
        let rules = rules(&["make lint *", "cargo xtask *"]);
        for allowed in ["make lint", "make lint --eval=x -j4 A=b", "cargo xtask ci --all"] {
            assert!(matches!(own(&rules, allowed), Ok(Some(_))), "{allowed}");
        }
        assert_eq!(own(&rules, "make deploy"), Ok(None));
        assert!(own(&rules, "make lint -j4").unwrap().unwrap().ends_with(" *"));
    }

    #[test]
    fn a_user_rule_that_is_not_a_plain_command_is_unusable() {
        let rules = rules(&["ls; rm x", "make $X", "", "echo *.rs", "a > b", "A=1 b", "* *"]);
        assert_eq!(rules.unusable(), ["ls; rm x", "make $X", "echo *.rs", "a > b", "A=1 b", "* *"]);
        assert!(rules.own.is_empty());
    }

    #[test]
    fn the_configuration_turns_automatic_approval_off() {
        let with = |approve: AutoApproveConfig| {
            ApprovalRules::from_config(&SupervisorConfig {
                auto_approve: Some(approve),
                ..SupervisorConfig::default()
            })
        };
        assert!(ApprovalRules::default().are_on().is_ok());
        let off = AutoApproveConfig { approval_level: ApprovalLevel::Off, ..AutoApproveConfig::default() };
        assert!(with(off).are_on().is_err());
        let disabled = AutoApproveConfig { enabled: false, ..AutoApproveConfig::default() };
        assert!(with(disabled).are_on().is_err());
    }
}
