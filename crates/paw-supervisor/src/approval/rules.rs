//! The approval rules: the approval level, the enabled presets and the user's rules.

use paw_core::config::{ApprovalLevel, Stack, SupervisorConfig};

use super::characters::quoted;
use super::lex::ShellWord;
use super::line;
use super::tools;

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

    fn add(&mut self, text: &str) {
        let command =
            line::read_one(text).filter(|command| !command.words.iter().any(|word| word.glob || word.home));
        match command {
            Some(command) => {
                let words = command.words.into_iter().map(|word| word.text).collect();
                self.own.push(UserRule { words });
            }
            None => self.unusable.push(text.to_owned()),
        }
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

    /// Finds the user rule for a command, and the arguments after its words.
    pub(super) fn find_user_rule<'w>(
        &self,
        words: &'w [ShellWord],
    ) -> Result<Option<(String, &'w [ShellWord])>, String> {
        let begins = |rule: &&UserRule| {
            rule.words.len() <= words.len()
                && rule.words.iter().zip(words).all(|(rule, word)| *rule == word.text)
        };
        let Some(rule) = self.own.iter().filter(begins).max_by_key(|rule| rule.words.len()) else {
            return Ok(None);
        };
        let program = rule.words.first().map(String::as_str).unwrap_or_default();
        let more = &words[rule.words.len()..];
        let text = rule.words.join(" ");
        if tools::runs_other_programs(program) && !more.is_empty() {
            return Err(format!(
                "{} runs other programs, so its rule allows no further arguments",
                quoted(program)
            ));
        }
        let option = more.iter().find(|word| word.text.starts_with('-'));
        if let Some(option) = option.filter(|_| tools::is_listed(program)) {
            return Err(format!(
                "the rule {} does not name the option {}",
                quoted(&text),
                quoted(&option.text)
            ));
        }
        Ok(Some((text, more)))
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
        let words = line::read(command).unwrap().remove(0).words;
        Ok(rules.find_user_rule(&words)?.map(|(rule, _)| rule))
    }

    #[test]
    fn a_user_rule_matches_whole_words() {
        let rules = rules(&["just check", "nox -s tests"]);
        assert_eq!(own(&rules, "just check"), Ok(Some("just check".to_owned())));
        assert_eq!(own(&rules, "just check --verbose"), Ok(Some("just check".to_owned())));
        assert_eq!(own(&rules, "just checkout"), Ok(None));
        assert_eq!(own(&rules, "just"), Ok(None));
    }

    #[test]
    fn a_user_rule_allows_no_options_of_known_programs_and_no_arguments_of_launchers() {
        let rules = rules(&["git push", "bash scripts/ci.sh", "cargo run"]);
        assert!(own(&rules, "git push --force").is_err() && own(&rules, "cargo run --config x").is_err());
        assert!(own(&rules, "cargo run").unwrap().is_some());
        assert!(own(&rules, "bash scripts/ci.sh").unwrap().is_some());
        assert!(own(&rules, "bash scripts/ci.sh -x").is_err());
    }

    #[test]
    fn a_user_rule_that_is_not_a_plain_command_is_unusable() {
        let rules = rules(&["ls; rm x", "make $X", "", "echo *", "a > b"]);
        assert_eq!(rules.unusable(), ["ls; rm x", "make $X", "echo *", "a > b"]);
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
