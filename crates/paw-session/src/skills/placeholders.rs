//! Replaces a skill's `{{PLACEHOLDERS}}` with the session's values. Values are not searched for placeholders. Pure.

use std::borrow::Cow;

use paw_core::AgentId;
use paw_core::config::SupervisorConfig;
use paw_core::text::plural;

use super::Skill;

/// The text for a gate without a command.
const UNSET: &str = "(not configured)";
/// A placeholder that the agent itself replaces.
const FILLED_BY_AGENT: &str = "CHANGE_ID";

/// The values of placeholders.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillValues<'a> {
    pub agent: AgentId,
    pub project: &'a str,
    pub broker_url: Option<&'a str>,
    pub gates: &'a SupervisorConfig,
}

/// A skill's text with its placeholders replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledSkill {
    pub text: String,
    pub warnings: Vec<String>,
}

pub fn fill(skill: &Skill, values: &SkillValues<'_>) -> FilledSkill {
    let mut text = String::with_capacity(skill.body.len());
    let mut unknown: Vec<&str> = Vec::new();
    let mut rest = skill.body.as_str();
    while let Some(at) = rest.find("{{") {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        if let Some(name) = placeholder(from) {
            let whole = &from[..name.len() + 4];
            let known = value(name, skill, values);
            text.push_str(known.as_deref().unwrap_or(whole));
            if known.is_none() && name != FILLED_BY_AGENT && !unknown.contains(&name) {
                unknown.push(name);
            }
            rest = &from[whole.len()..];
        } else {
            text.push('{');
            rest = &from[1..];
        }
    }
    text.push_str(rest);
    let warn = |name: &&str| format!("skill '{}': unknown placeholder {{{{{name}}}}}", skill.name);
    FilledSkill { text, warnings: unknown.iter().map(warn).collect() }
}

/// The name of the placeholder that `text` starts with.
fn placeholder(text: &str) -> Option<&str> {
    let name = text.strip_prefix("{{")?;
    let name = &name[..name.find("}}")?];
    let legal = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(legal)).then_some(name)
}

fn value<'a>(name: &str, skill: &'a Skill, values: &'a SkillValues<'_>) -> Option<Cow<'a, str>> {
    let gates = values.gates;
    let gate = match name {
        "BRANCH_ID" => return Some(values.agent.as_str().into()),
        "PROJECT_NAME" => return Some(values.project.into()),
        "GIT_PAW_BROKER_URL" => return Some(values.broker_url.unwrap_or(UNSET).into()),
        "SKILL_NAME" => return Some(skill.name.as_str().into()),
        "SKILL_DESCRIPTION" => return Some(skill.description.as_str().into()),
        "INTENT_LIFETIME" => return Some(duration(gates.conflict.intent_lifetime_seconds).into()),
        "QUESTION_WINDOW" => return Some(duration(gates.blocked_on_supervisor_window_seconds).into()),
        "TEST_COMMAND" => &gates.test_command,
        "LINT_COMMAND" => &gates.lint_command,
        "BUILD_COMMAND" => &gates.build_command,
        "FMT_CHECK_COMMAND" => &gates.fmt_check_command,
        "DOC_BUILD_COMMAND" => &gates.doc_build_command,
        "DOC_TOOL_COMMAND" => &gates.doc_tool_command,
        "SPEC_VALIDATE_COMMAND" => &gates.spec_validate_command,
        "SECURITY_AUDIT_COMMAND" => &gates.security_audit_command,
        _ => return None,
    };
    Some(gate.as_deref().map(str::trim).filter(|command| !command.is_empty()).unwrap_or(UNSET).into())
}

/// `15 minutes`, in the largest unit that is exact.
fn duration(seconds: u64) -> String {
    match seconds {
        0 => "no time".to_owned(),
        hours if hours % 3600 == 0 => plural(hours / 3600, "hour"),
        minutes if minutes % 60 == 0 => plural(minutes / 60, "minute"),
        seconds => plural(seconds, "second"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::SkillOrigin;
    use super::*;

    fn filled(body: &str) -> FilledSkill {
        let skill = Skill {
            name: "coordination".to_owned(),
            description: "{{BRANCH_ID}}".to_owned(),
            body: body.to_owned(),
            origin: SkillOrigin::BuiltIn,
        };
        let gates = SupervisorConfig {
            test_command: Some("just test".to_owned()),
            lint_command: Some("  ".to_owned()),
            ..SupervisorConfig::default()
        };
        let agent = AgentId::new("feat-a").unwrap();
        fill(&skill, &SkillValues { agent, project: "app", broker_url: Some("http://x"), gates: &gates })
    }

    #[test]
    fn skill_placeholders_are_replaced_with_their_values() {
        let all = "{{BRANCH_ID}} {{PROJECT_NAME}} {{GIT_PAW_BROKER_URL}} {{SKILL_NAME}} {{TEST_COMMAND}} {{LINT_COMMAND}} {{BUILD_COMMAND}} \
                   {{FMT_CHECK_COMMAND}} {{DOC_BUILD_COMMAND}} {{DOC_TOOL_COMMAND}} {{SPEC_VALIDATE_COMMAND}} {{SECURITY_AUDIT_COMMAND}}";
        let filled = filled(all);
        let unset = [UNSET; 7].join(" ");
        assert_eq!(filled.text, format!("feat-a app http://x coordination just test {unset}"));
        assert!(filled.warnings.is_empty());
    }

    #[test]
    fn durations_are_named_as_configured() {
        assert_eq!(filled("{{INTENT_LIFETIME}}, {{QUESTION_WINDOW}}").text, "1 hour, 15 minutes");
        assert_eq!([90, 7200, 1, 0].map(duration), ["90 seconds", "2 hours", "1 second", "no time"]);
    }

    #[test]
    fn unset_gates_render_not_configured() {
        assert_eq!(filled("run {{BUILD_COMMAND}}").text, "run (not configured)");
    }

    #[test]
    fn unknown_skill_placeholders_stay_and_cause_one_warning() {
        let filled = filled("{{CHANGE_ID}} {{NEW_THING}} {{NEW_THING}} {{lower}} {{ {{ }} {{{{BRANCH_ID}}}}");
        assert_eq!(filled.text, "{{CHANGE_ID}} {{NEW_THING}} {{NEW_THING}} {{lower}} {{ {{ }} {{feat-a}}");
        assert_eq!(filled.warnings, ["skill 'coordination': unknown placeholder {{NEW_THING}}"]);
    }

    #[test]
    fn placeholders_inside_values_are_not_replaced() {
        assert_eq!(filled("{{SKILL_DESCRIPTION}}").text, "{{BRANCH_ID}}");
    }

    proptest! {
        #[test]
        fn filling_a_text_without_placeholders_changes_nothing(text in "[{}A-Za-zé \n]{0,60}") {
            prop_assume!(!text.contains("{{"));
            prop_assert_eq!(filled(&text).text, text);
        }

        #[test]
        fn filling_placeholders_never_panics(text in "([{}]{1,3}|[A-Z_]{1,3}|BRANCH_ID|é){0,20}") {
            filled(&text);
        }
    }
}
