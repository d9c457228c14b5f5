//! The text of a briefing. Pure.

use super::{Assignment, Briefing, Member, Role, Team};
use crate::skills::{self, Values};
use crate::specs::SpecEntry;

/// What one agent is told, in the order in which it needs it.
pub fn render(assignment: &Assignment<'_>) -> Briefing {
    let team = assignment.team;
    let mut parts = vec![assigned(assignment)];
    match assignment.role {
        Role::Agent(me) => {
            parts.extend(me.spec.as_ref().map(spec));
            parts.extend(me.spec.as_ref().and_then(ownership));
            parts.extend(others(team, me));
        }
        Role::Supervisor { .. } => {
            parts.push(watched(team));
            parts.extend(governance(team));
        }
    }
    let mut warnings = Vec::new();
    if team.broker_url.is_some() {
        let filled = skills::fill(assignment.skill, &values(assignment));
        warnings = filled.warnings;
        parts.push(filled.text.trim().to_owned());
    }
    match team.docs_url.as_deref().map(documentation) {
        Some(Ok(part)) => parts.push(part),
        Some(Err(warning)) => warnings.push(warning),
        None => {}
    }
    if matches!(assignment.role, Role::Agent(_)) {
        parts.push(RULES.trim().to_owned());
    }
    parts.push(boot(assignment));
    Briefing { text: parts.join("\n\n") + "\n", warnings }
}

const RULES: &str = "
## Inter-Agent Rules

- Work in this directory and on this branch only. Do not switch branches, and do not touch another agent's worktree.
- Commit each part that stands on its own. Never amend, rebase or push what others may have taken, never push with force.
- Change a file that belongs to another agent only after its owner agreed.
- Leave this briefing and git's settings alone; nothing of it is committed.
";

fn values<'a>(assignment: &Assignment<'a>) -> Values<'a> {
    let team = assignment.team;
    Values {
        agent: assignment.role.agent(),
        project: &team.project,
        broker_url: team.broker_url.as_deref(),
        gates: &team.gates,
    }
}

fn assigned(assignment: &Assignment<'_>) -> String {
    let (what, cli, task) = match assignment.role {
        Role::Agent(me) => {
            let task = "\n\nNo spec was given to you: your task comes from the person at the keyboard.";
            let branch = format!("**Branch:** {}", code(me.branch.as_str()));
            (branch, me.cli.as_str(), if me.spec.is_none() { task } else { "" })
        }
        Role::Supervisor { cli } => ("**Role:** supervisor".to_owned(), cli, ""),
    };
    let (project, agent) = (&assignment.team.project, assignment.role.agent());
    format!(
        "## git-paw Session Assignment\n\n- **Project:** {project}\n- {what}\n- **Agent id:** {}\n- **CLI:** {cli}{task}",
        code(agent.as_str())
    )
}

fn spec(spec: &SpecEntry) -> String {
    format!("### Spec\n\n{} ({})\n\n{}", code(&spec.id), spec.kind, spec.prompt)
}

fn ownership(spec: &SpecEntry) -> Option<String> {
    if spec.owned_files.is_empty() {
        return None;
    }
    let files: Vec<String> = spec.owned_files.iter().map(|file| format!("- {}", code(file))).collect();
    Some(format!(
        "### File Ownership\n\nThese files are yours. Whatever else you have to change, say so before you do.\n\n{}",
        files.join("\n")
    ))
}

fn others(team: &Team, me: &Member) -> Option<String> {
    let mut lines: Vec<String> =
        team.members.iter().filter(|member| member.agent != me.agent).map(member_line).collect();
    if team.supervised {
        lines.push(format!("- {}: watches, answers questions, checks commits", code("supervisor")));
    }
    (!lines.is_empty()).then(|| format!("### Who else works here\n\n{}", lines.join("\n")))
}

fn watched(team: &Team) -> String {
    let lines: Vec<String> = team.members.iter().map(member_line).collect();
    format!("### The agents\n\n{}", lines.join("\n"))
}

fn member_line(member: &Member) -> String {
    let mut parts = vec![format!(
        "- {} on {} ({})",
        code(member.agent.as_str()),
        code(member.branch.as_str()),
        member.cli
    )];
    if let Some(spec) = &member.spec {
        parts.push(format!("spec {}", code(&spec.id)));
        if !spec.owned_files.is_empty() {
            let files: Vec<String> = spec.owned_files.iter().map(|file| code(file)).collect();
            parts.push(format!("owns {}", files.join(", ")));
        }
    }
    parts.join(", ")
}

fn governance(team: &Team) -> Option<String> {
    let config = &team.governance;
    let single = [
        ("adr", &config.adr),
        ("test_strategy", &config.test_strategy),
        ("security", &config.security),
        ("dod", &config.dod),
        ("constitution", &config.constitution),
        ("readme", &config.readme),
    ];
    let mut lines: Vec<String> = single
        .into_iter()
        .filter_map(|(name, path)| path.as_ref().map(|path| format!("- {name}: {}", path.display())))
        .collect();
    lines.extend(config.docs.iter().map(|path| format!("- docs: {}", path.display())));
    (!lines.is_empty()).then(|| {
        format!(
            "## Governance documents\n\nHold every diff against these, as part of the spec audit; what they miss is tagged \
             `[doc audit]`.\n\n{}",
            lines.join("\n")
        )
    })
}

/// Where to read on. Anything but a plain address could be read as words to the agent.
fn documentation(url: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_graphic() && !"<>`\"'()[]{}|\\^".contains(c);
    let rest = ["https://", "http://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    match rest {
        Some(rest) if !rest.is_empty() && url.len() <= 300 && url.chars().all(is_plain) => Ok(format!(
            "### Documentation\n\n`git paw help` lists the chapters of git-paw's guide and shows each of them; it is also at \
             <{url}>."
        )),
        _ => Err(format!(
            "docs_base_url is left out of the briefings: {:?} is not the address of a web page",
            url.chars().take(80).collect::<String>()
        )),
    }
}

/// The first steps, and what must not be forgotten however long the conversation gets.
fn boot(assignment: &Assignment<'_>) -> String {
    let steps: &[&str] = match (assignment.role, assignment.team.broker_url.is_some()) {
        (Role::Agent(_), true) => &[
            "Register: `git paw say status working --message \"booting\"`",
            "Read what is there for you: `git paw inbox --json`",
            "Done means committed. A commit is announced for you; say it yourself only when there was nothing to commit: `git paw say status done --message \"no change needed\"`",
            "Blocked: `git paw say blocked \"the new schema\" --from feat-db`, with what you need and from whom.",
            "A question: `git paw say question \"may I rename Token?\"`. Wait for the answer; do not guess.",
            "Text that is pasted into this pane is meant for you as a whole: read all of it before you act.",
        ],
        (Role::Supervisor { .. }, true) => &[
            "Register: `git paw say status working --phase baseline --message \"supervisor online\"`",
            "Read what is there for you: `git paw inbox --json`",
            "Then watch, as described above, until the person ends the session.",
        ],
        (_, false) => &[
            "This session has no messages between agents: commit early and in small parts, so that others see your work.",
            "Text that is pasted into this pane is meant for you as a whole: read all of it before you act.",
        ],
    };
    let steps: Vec<String> =
        steps.iter().enumerate().map(|(at, step)| format!("{}. {step}", at + 1)).collect();
    format!("## BOOT INSTRUCTIONS - DO NOT REMOVE\n\n{}", steps.join("\n"))
}

/// As code, whatever is in it.
fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

#[cfg(test)]
pub(super) mod tests;
