//! What the supervisor may run without asking: its own commands, and what only reads.
//!
//! The supervisor works in the user's main checkout, so it changes no file there. Its own commands act only through git paw,
//! which checks who calls it.

use super::characters::quoted;
use super::{ApprovalRules, ApprovalVerdict, CommandContext, judge, simple_commands};

/// Its own commands. `merge` is in this list only if the user allows it.
const OWN: [&str; 15] = [
    "git paw say *",
    "git paw inbox *",
    "git paw status *",
    "git paw sweep *",
    "git paw verify *",
    "git paw audit *",
    "git paw diff *",
    "git paw explain *",
    "git paw tell *",
    "git paw proof show *",
    "git paw proof check *",
    "git paw undo",
    "git paw report *",
    "git paw help *",
    "git paw merge --dry-run *",
];
const MERGE: &str = "git paw merge *";

/// Programs that only read and print.
const READERS: [&str; 20] = [
    "[", "cat", "cd", "cut", "date", "diff", "echo", "grep", "head", "jq", "ls", "printf", "pwd", "rg",
    "sleep", "sort", "tail", "test", "true", "wc",
];
const GIT_READERS: [&str; 11] = [
    "paw",
    "blame",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "merge-base",
    "rev-parse",
    "show",
    "status",
];

/// Judges a command of the supervisor. `rules` are those of its agents: if they are off, only its own commands pass.
pub fn judge_supervisor(
    command: &str,
    rules: &ApprovalRules,
    may_merge: bool,
    place: &CommandContext,
) -> ApprovalVerdict {
    let own = OWN.into_iter().chain(may_merge.then_some(MERGE));
    let verdict = judge(command, &rules.for_reading(own), place);
    match changing_command(command).filter(|_| verdict.is_allow()) {
        Some(program) => ApprovalVerdict::Ask {
            reason: format!("the supervisor may not run {} in your checkout", quoted(&program)),
        },
        None => verdict,
    }
}

/// The first command of a line that could change something: agents may commit on their own branches, but the supervisor
/// works where the user does.
fn changing_command(line: &str) -> Option<String> {
    let Some(commands) = simple_commands(line) else { return Some("a line that cannot be read".to_owned()) };
    commands.iter().find_map(|words| match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => None,
        ["git", verb, ..] => (!GIT_READERS.contains(verb)).then(|| format!("git {verb}")),
        [program, ..] => (!READERS.contains(program)).then(|| (*program).to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use paw_core::config::{AutoApproveConfig, SupervisorConfig};

    use super::*;

    fn allows(command: &str, rules: &ApprovalRules, may_merge: bool) -> bool {
        let dir = tempfile::tempdir().unwrap();
        judge_supervisor(command, rules, may_merge, &CommandContext::at(dir.path())).is_allow()
    }

    #[test]
    fn the_supervisors_own_commands_pass_at_every_level() {
        let off = AutoApproveConfig { enabled: false, ..AutoApproveConfig::default() };
        let off = SupervisorConfig { auto_approve: Some(off), ..SupervisorConfig::default() };
        for rules in [ApprovalRules::default(), ApprovalRules::from_config(&off)] {
            for command in [
                "git paw say status working --phase baseline --message \"supervisor online\"",
                "git paw inbox --json --since 42 --wait 60",
                "git paw verify feat/parser",
                "git paw audit feat/parser --commit 1a2b3c4 --pass dod-1,dod-2 --fail 'adr-1=no record'",
                "git paw sweep approve feat-parser",
                "git paw tell feat-parser --now \"read your inbox\"",
                "git paw merge --dry-run",
                "git paw status --json && git paw sweep status",
            ] {
                assert!(allows(command, &rules, false), "{command}");
            }
        }
        assert!(allows("git paw inbox --json | tail -n 5", &ApprovalRules::default(), false));
        assert!(!allows("git log --oneline", &ApprovalRules::from_config(&off), false));
    }

    #[test]
    fn the_supervisor_may_not_write_approve_for_itself_or_run_other_programs() {
        for command in [
            "git paw merge --rebase",
            "git paw trust",
            "git paw approve supervisor",
            "git paw purge --force",
            "git paw start --trust",
            "git paw say status $(rm -rf x)",
            "git paw inbox > src/lib.rs",
            "git paw verify feat/x; rm -rf .",
            "git -c alias.paw='!sh' paw say x",
            "PATH=/tmp git paw say x",
            "git commit -am x",
            "git add .",
            "git stash",
            "git branch -D x",
            "timeout 5 git commit -am x",
            "cargo test --offline",
            "git push",
            "touch x",
            "sed -i s/a/b/ x",
            "echo x > y",
            "git paw proof export HEAD --output x",
        ] {
            assert!(!allows(command, &ApprovalRules::default(), false), "{command}");
        }
        assert!(allows("git paw merge --rebase", &ApprovalRules::default(), true));
    }
}
