//! `config.json`: the project's settings. An invalid value causes a warning and the default is used.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::json_text::{self, JsonTextError};

#[derive(Debug, Clone, PartialEq)]
pub struct ProjectSettings {
    pub enabled: bool,
    pub require_clean_tree: bool,
    pub commit_template: String,
    pub commit_type: String,
    pub max_attempts: u32,
    pub test_timeout: Duration,
    /// The configured test command; `None` to detect it.
    pub runner: Option<String>,
    pub thresholds: CoverageThresholds,
    /// A glob for test files, in addition to the usual names.
    pub test_pattern: Option<String>,
    pub branch_pattern: String,
    pub pull_request: PullRequestSettings,
    pub prompts: PromptSettings,
    /// `Name <address>`, if configured.
    pub co_author: Option<String>,
    pub default_tag: Option<String>,
    /// Warnings about invalid values.
    pub warnings: Vec<String>,
}

/// Minimum coverage in percent. `None` disables a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoverageThresholds {
    pub lines: Option<f64>,
    pub branches: Option<f64>,
    pub functions: Option<f64>,
    pub statements: Option<f64>,
}

impl Default for CoverageThresholds {
    fn default() -> Self {
        let [lines, branches, functions, statements] = [Some(80.0); 4];
        Self { lines, branches, functions, statements }
    }
}

impl CoverageThresholds {
    /// Whether a metric is required less than in `other`.
    pub fn is_below(&self, other: &Self) -> bool {
        self.lines < other.lines
            || self.branches < other.branches
            || self.functions < other.functions
            || self.statements < other.statements
    }
}

/// `80 % of lines, branches`; metrics with the same threshold together. Empty if all are off.
impl fmt::Display for CoverageThresholds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metrics = [
            ("lines", self.lines),
            ("branches", self.branches),
            ("functions", self.functions),
            ("statements", self.statements),
        ];
        let mut groups: Vec<(f64, Vec<&str>)> = Vec::new();
        for (name, percent) in metrics {
            let Some(percent) = percent else { continue };
            match groups.iter_mut().find(|(known, _)| (known - percent).abs() < f64::EPSILON) {
                Some((_, names)) => names.push(name),
                None => groups.push((percent, vec![name])),
            }
        }
        let shown = groups.iter().map(|(percent, names)| format!("{percent} % of {}", names.join(", ")));
        f.write_str(&shown.collect::<Vec<_>>().join(", "))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestSettings {
    pub enabled: bool,
    /// `None` means the default branch.
    pub base: Option<String>,
    pub body_template: Option<PathBuf>,
}

/// Rule files for executors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSettings {
    pub rules: PathBuf,
    pub test_generator: PathBuf,
    pub load_order: Vec<String>,
}

impl Default for ProjectSettings {
    fn default() -> Self {
        Self::read(&Value::Null)
    }
}

impl ProjectSettings {
    pub fn parse(text: &str) -> Result<Self, JsonTextError> {
        Ok(Self::read(&json_text::parse(text)?))
    }

    fn read(root: &Value) -> Self {
        let mut from = SettingsReader { root, warnings: Vec::new() };
        let own_runner = from.text(&["/test/runner"]).filter(|runner| runner != "auto");
        let base = from.text(&["/git/pr/base"]).filter(|base| base != "default");
        let limit = from.number(&["/autopilot/testTimeout"], 1.0, 86_400_000.0);
        let attempts =
            from.number(&["/autopilot/maxGreenAttempts", "/workflow/maxPhaseAttempts"], 1.0, 100.0);
        let settings = Self {
            enabled: from.flag(&["/autopilot/enabled", "/workflow/enableAutopilot"]).unwrap_or(true),
            require_clean_tree: from
                .flag(&["/autopilot/requireCleanWorkingTree", "/workflow/requireCleanWorkingTree"])
                .unwrap_or(true),
            commit_template: from
                .text(&["/autopilot/commitTemplate", "/workflow/commitMessageTemplate"])
                .unwrap_or_else(|| "{type}({scope}): {msg}".into()),
            commit_type: from
                .text(&["/autopilot/defaultCommitType", "/workflow/defaultCommitType"])
                .unwrap_or_else(|| "feat".into()),
            max_attempts: attempts.map_or(3, whole),
            test_timeout: limit.map_or(Duration::from_mins(5), |ms| Duration::from_millis(whole(ms).into())),
            runner: own_runner,
            thresholds: from.thresholds(),
            test_pattern: from.text(&["/test/targetedRunPattern"]),
            branch_pattern: from
                .text(&["/git/branchPattern", "/workflow/branchPattern"])
                .unwrap_or_else(|| "{tag}/task-{id}-{slug}".into()),
            pull_request: PullRequestSettings {
                enabled: from.flag(&["/git/pr/enabled"]).unwrap_or(true),
                base,
                body_template: from.text(&["/git/pr/bodyTemplate"]).map(PathBuf::from),
            },
            prompts: PromptSettings {
                rules: from.text(&["/prompts/rulesPath"]).unwrap_or_else(|| ".cursor/rules".into()).into(),
                test_generator: from
                    .text(&["/prompts/testGeneratorPath"])
                    .unwrap_or_else(|| ".claude/agents/surgical-test-generator.md".into())
                    .into(),
                load_order: from
                    .texts("/prompts/loadOrder")
                    .unwrap_or_else(|| vec!["git_workflow.mdc".into(), "test_workflow.mdc".into()]),
            },
            co_author: from.co_author(),
            default_tag: from.text(&["/global/defaultTag"]),
            warnings: Vec::new(),
        };
        Self { warnings: from.warnings, ..settings }
    }
}

/// Converts a number whose range was already checked.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked against its limits when read"
)]
fn whole(number: f64) -> u32 {
    number as u32
}

struct SettingsReader<'a> {
    root: &'a Value,
    warnings: Vec<String>,
}

impl<'a> SettingsReader<'a> {
    /// The first valid value of several keys.
    fn first<T>(
        &mut self,
        places: &[&str],
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Option<T> {
        for place in places {
            let Some(value) = self.root.pointer(place).filter(|value| !value.is_null()) else { continue };
            if let Some(read) = read(value) {
                return Some(read);
            }
            let key = place.trim_start_matches('/').replace('/', ".");
            self.warnings.push(format!("{key} is {value}, not {expected}: ignored"));
        }
        None
    }

    fn flag(&mut self, places: &[&str]) -> Option<bool> {
        self.first(places, "true or false", Value::as_bool)
    }

    fn text(&mut self, places: &[&str]) -> Option<String> {
        let read = |value: &'a Value| value.as_str().map(str::trim).filter(|text| !text.is_empty());
        self.first(places, "a text", read).map(str::to_owned)
    }

    fn number(&mut self, places: &[&str], least: f64, most: f64) -> Option<f64> {
        let read = |value: &'a Value| value.as_f64().filter(|number| (least..=most).contains(number));
        self.first(places, &format!("a number from {least} to {most}"), read)
    }

    fn texts(&mut self, place: &str) -> Option<Vec<String>> {
        self.first(&[place], "a list of texts", |value| {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        })
    }

    /// 80 % by default; zero or null disables a metric.
    fn thresholds(&mut self) -> CoverageThresholds {
        let mut of = |metric: &str, short: &str| {
            let places =
                [format!("/test/coverageThresholds/{metric}"), format!("/test/coverageThresholds/{short}")];
            if places.iter().any(|place| self.root.pointer(place) == Some(&Value::Null)) {
                return None;
            }
            let percent = self.number(&[&places[0], &places[1]], 0.0, 100.0).unwrap_or(80.0);
            (percent > 0.0).then_some(percent)
        };
        CoverageThresholds {
            lines: of("lines", "line"),
            branches: of("branches", "branch"),
            functions: of("functions", "function"),
            statements: of("statements", "statement"),
        }
    }

    /// Only if the file enables it.
    fn co_author(&mut self) -> Option<String> {
        if self.flag(&["/workflow/includeCoAuthor"]) != Some(true) {
            return None;
        }
        let name = self.text(&["/workflow/coAuthorName"])?;
        let address = self.text(&["/workflow/coAuthorEmail"])?;
        let legal = |text: &str| !text.contains(['<', '>', '\n', '\r']);
        (legal(&name) && legal(&address)).then(|| format!("{name} <{address}>"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> ProjectSettings {
        ProjectSettings::parse(&value.to_string()).unwrap()
    }

    #[test]
    fn empty_config_gives_the_documented_defaults() {
        let settings = read(&json!({"models": {"main": {}}}));
        assert_eq!(settings, ProjectSettings::default());
        assert_eq!((settings.max_attempts, settings.test_timeout.as_secs()), (3, 300));
        assert_eq!(settings.thresholds.branches, Some(80.0));
        assert_eq!(settings.branch_pattern, "{tag}/task-{id}-{slug}");
        assert_eq!((settings.runner, settings.pull_request.base), (None, None));
    }

    #[test]
    fn newer_config_keys_win_over_older_ones() {
        let settings = read(&json!({
            "workflow": {"maxPhaseAttempts": 5, "branchPattern": "task-{taskId}", "includeCoAuthor": true,
                "coAuthorName": "A", "coAuthorEmail": "a@b"},
            "autopilot": {"maxGreenAttempts": 2, "testTimeout": 1500},
            "test": {"runner": "make check", "coverageThresholds": {"lines": 0, "branch": 55.5, "functions": null}},
            "git": {"pr": {"base": "develop", "enabled": false}},
        }));
        assert_eq!((settings.max_attempts, settings.test_timeout.as_millis()), (2, 1500));
        assert_eq!(settings.branch_pattern, "task-{taskId}");
        assert_eq!(settings.co_author.as_deref(), Some("A <a@b>"));
        assert_eq!(settings.runner.as_deref(), Some("make check"));
        assert_eq!(settings.thresholds.to_string(), "55.5 % of branches, 80 % of statements");
        let CoverageThresholds { lines, branches, functions, statements } = settings.thresholds;
        assert_eq!((lines, branches, functions, statements), (None, Some(55.5), None, Some(80.0)));
        assert_eq!(settings.pull_request.base.as_deref(), Some("develop"));
        assert!(settings.warnings.is_empty());
    }

    #[test]
    fn invalid_config_values_cause_warnings_and_defaults() {
        let settings = read(&json!({
            "autopilot": {"enabled": "yes", "maxGreenAttempts": 0, "testTimeout": -1, "commitTemplate": ["x"]},
            "test": {"coverageThresholds": {"lines": 101}}, "prompts": {"loadOrder": [1]},
        }));
        assert_eq!(ProjectSettings { warnings: Vec::new(), ..settings.clone() }, ProjectSettings::default());
        insta::assert_snapshot!(settings.warnings.join("\n"), @r#"
        autopilot.testTimeout is -1, not a number from 1 to 86400000: ignored
        autopilot.maxGreenAttempts is 0, not a number from 1 to 100: ignored
        autopilot.enabled is "yes", not true or false: ignored
        autopilot.commitTemplate is ["x"], not a text: ignored
        test.coverageThresholds.lines is 101, not a number from 0 to 100: ignored
        prompts.loadOrder is [1], not a list of texts: ignored
        "#);
    }

    proptest! {
        #[test]
        fn settings_parser_never_panics_on_numbers(number in any::<f64>()) {
            read(&json!({"autopilot": {"maxGreenAttempts": number, "testTimeout": number}}));
        }
    }
}
