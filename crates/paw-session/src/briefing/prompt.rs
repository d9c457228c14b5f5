//! The first words to a CLI. Pure.

use paw_core::text::plural;

use super::{Assignment, Installed, Role};

/// One line, so that it arrives as one: where the briefing is, and to begin with it.
pub fn boot_prompt(assignment: &Assignment<'_>, installed: &Installed) -> String {
    let project = &assignment.team.project;
    let (who, then) = match assignment.role {
        Role::Agent(me) => {
            let who = format!("You are agent {} on branch {} of {project}.", me.agent, me.branch);
            (who, if me.spec.is_some() { "then do the work of its spec" } else { "then wait for your task" })
        }
        Role::Supervisor { .. } => {
            let agents = plural(assignment.team.members.len(), "agent");
            (format!("You are the supervisor of {agents} on {project}."), "then begin to watch")
        }
    };
    format!(
        "{who} Read all of {} in this directory: it says what to do here and how. Follow its boot instructions first, {then}.",
        installed.name
    )
}

#[cfg(test)]
mod tests {
    use super::super::render::tests::{example, skill};
    use super::*;

    fn prompt(role: Role<'_>, name: &'static str) -> String {
        let team = example();
        let installed = Installed { file: "x".into(), name, warnings: Vec::new() };
        boot_prompt(&Assignment { team: &team, role, skill: &skill() }, &installed)
    }

    #[test]
    fn it_names_the_agent_and_the_file_in_one_line() {
        let team = example();
        let text = prompt(Role::Agent(&team.members[0]), "AGENTS.md");
        assert_eq!(
            text,
            "You are agent spec-add-auth on branch spec/add-auth of app. Read all of AGENTS.md in this directory: it \
             says what to do here and how. Follow its boot instructions first, then do the work of its spec."
        );
        let text = prompt(Role::Agent(&team.members[1]), "AGENTS.md");
        assert!(text.ends_with("then wait for your task."), "{text}");
    }

    #[test]
    fn the_supervisor_is_told_whom_it_watches() {
        let text = prompt(Role::Supervisor { cli: "claude" }, ".git-paw/AGENTS.local.md");
        assert!(
            text.starts_with(
                "You are the supervisor of 2 agents on app. Read all of .git-paw/AGENTS.local.md"
            ),
            "{text}"
        );
    }
}
