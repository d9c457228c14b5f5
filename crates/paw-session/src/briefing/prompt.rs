//! The first prompt for a CLI. Pure.

use paw_core::text::plural;

use super::render::TASK_HEADING;
use super::{BriefedAgent, BriefingInput, BriefingRole, InstalledBriefing};

/// A longer task is read from the briefing.
const LONGEST_TASK: usize = 400;

/// Names the briefing file and tells the agent to follow it. One line, because a CLI may submit at a line break.
pub fn boot_prompt(assignment: &BriefingInput<'_>, installed: &InstalledBriefing) -> String {
    let project = &assignment.team.project;
    let (who, then) = match assignment.role {
        BriefingRole::Agent(me) => {
            let who = format!("You are agent {} on branch {} of {project}.", me.agent, me.branch);
            (who, next_step(me))
        }
        BriefingRole::Supervisor { .. } => {
            let agents = plural(assignment.team.members.len(), "agent");
            (
                format!("You are the supervisor of {agents} on {project}."),
                "then start supervising.".to_owned(),
            )
        }
    };
    format!(
        "{who} Read all of {} in this directory; it contains your instructions. Follow its boot instructions first, {then}",
        installed.name
    )
}

fn next_step(me: &BriefedAgent) -> String {
    let is_short = |task: &&String| !task.contains('\n') && task.len() <= LONGEST_TASK;
    match (&me.task, &me.spec) {
        (Some(task), _) if is_short(&task) => format!("then do your task: {task}"),
        (Some(_), _) => format!("then do your task, described in its section '{TASK_HEADING}'."),
        (None, Some(_)) => "then work on its spec.".to_owned(),
        (None, None) => "then wait for your task.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::render::tests::{example, skill};
    use super::*;

    fn prompt(role: BriefingRole<'_>, name: &'static str) -> String {
        let team = example();
        let installed = InstalledBriefing { file: "x".into(), name, warnings: Vec::new() };
        boot_prompt(&BriefingInput { team: &team, role, skill: &skill() }, &installed)
    }

    #[test]
    fn boot_prompt_names_the_agent_and_the_briefing_in_one_line() {
        let team = example();
        let text = prompt(BriefingRole::Agent(&team.members[0]), "AGENTS.md");
        assert_eq!(
            text,
            "You are agent spec-add-auth on branch spec/add-auth of app. Read all of AGENTS.md in this directory; it \
             contains your instructions. Follow its boot instructions first, then work on its spec."
        );
        let text = prompt(BriefingRole::Agent(&team.members[1]), "AGENTS.md");
        assert!(text.ends_with("then wait for your task."), "{text}");
    }

    #[test]
    fn boot_prompt_ends_with_a_short_task_and_refers_to_a_long_one() {
        let mut team = example();
        for (task, end) in [
            ("fix the flaky login test", "then do your task: fix the flaky login test"),
            ("first\nsecond", "described in its section 'Your task'."),
            (&"long ".repeat(100), "described in its section 'Your task'."),
        ] {
            team.members[1].task = Some(task.to_owned());
            let text = prompt(BriefingRole::Agent(&team.members[1]), "AGENTS.md");
            assert!(text.ends_with(end) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn boot_prompt_of_the_supervisor_counts_the_agents() {
        let text = prompt(BriefingRole::Supervisor { cli: "claude" }, ".git-paw/AGENTS.local.md");
        assert!(
            text.starts_with(
                "You are the supervisor of 2 agents on app. Read all of .git-paw/AGENTS.local.md"
            ),
            "{text}"
        );
    }
}
