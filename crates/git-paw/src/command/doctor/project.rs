//! The project: whether the programs of its gates exist, and which specs were found.

use std::path::Path;

use paw_core::config::{Layer, PawConfig};
use paw_core::text::plural;
use paw_host::git::Repo;
use paw_host::process::find_program;
use paw_session::specs::{self, SpecError};
use paw_supervisor::gates::{self, GateStep};

use super::DoctorCheck;
use crate::context::Context;

const GROUP: &str = "Project";

pub(super) fn check(config: &PawConfig, repo: &Repo, context: &Context) -> Vec<DoctorCheck> {
    let mut checks = check_gates(config, repo, context);
    checks.extend(check_specs(config, repo));
    checks
}

fn check_gates(config: &PawConfig, repo: &Repo, context: &Context) -> Vec<DoctorCheck> {
    let supervisor = config.supervisor.clone().unwrap_or_default();
    let steps = gates::plan(&supervisor, &Layer::default()).steps;
    let exists = |program: &str| {
        if program.contains('/') {
            repo.root.join(program).is_file()
        } else {
            find_program(program, &context.search_path).is_some()
        }
    };
    let checks: Vec<_> = steps
        .iter()
        .map(|GateStep { gate, command }| {
            let missing: Vec<_> = programs(command).into_iter().filter(|program| !exists(program)).collect();
            let check =
                DoctorCheck::ok(GROUP, gate.key().trim_start_matches("supervisor."), command.as_str());
            if missing.is_empty() {
                return check;
            }
            let detail = format!("{command}: {} not found", missing.join(", "));
            DoctorCheck { detail, ..check }.warn("install it, or correct the command")
        })
        .collect();
    if checks.is_empty() {
        let none = DoctorCheck::ok(GROUP, "gates", "none: 'verify' and 'merge' cannot prove anything");
        return vec![none.offer("set test_command under [supervisor] in .git-paw/config.toml")];
    }
    checks
}

/// The programs that a shell command starts, as far as they are plain words. Words of the shell itself are left out.
fn programs(command: &str) -> Vec<&str> {
    const SHELL: [&str; 18] = [
        ".", ":", "[", "case", "cd", "echo", "eval", "exit", "export", "false", "for", "if", "set", "test",
        "true", "until", "while", "exec",
    ];
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
    };
    let is_plain = |word: &str| word.chars().all(|c| c.is_alphanumeric() || "._/+-".contains(c));
    let mut found: Vec<&str> = Vec::new();
    // Text in quotes may contain anything.
    if command.contains(['\'', '"', '`', '$', '(', '\n']) {
        let word = command.split_whitespace().find(|word| !is_assignment(word));
        return word.into_iter().filter(|word| is_plain(word) && !SHELL.contains(word)).collect();
    }
    for part in command.split(['&', '|', ';']) {
        let word = part.split_whitespace().find(|word| !is_assignment(word));
        found.extend(word.filter(|word| is_plain(word) && !SHELL.contains(word) && !found.contains(word)));
    }
    found
}

fn check_specs(config: &PawConfig, repo: &Repo) -> Vec<DoctorCheck> {
    let check = |detail: String| DoctorCheck::ok(GROUP, "specs", detail);
    match specs::scan(&repo.root, config.specs.as_ref(), None, &config.branch_prefix()) {
        Ok(scan) => {
            let (found, dir) = (specs::units(&scan.entries).len(), shown(&scan.dir));
            let pending = check(format!("{} pending ({} in {dir})", plural(found, "spec"), scan.format));
            let skipped = scan.warnings.into_iter().map(|warning| {
                DoctorCheck::ok(GROUP, "specs", warning)
                    .warn("correct it; 'git paw help sessions' says what a spec needs")
            });
            [pending].into_iter().chain(skipped).collect()
        }
        Err(SpecError::NotFound { .. }) => vec![check("none".to_owned())],
        Err(error) => {
            let remedy = "correct [specs] type and dir";
            vec![check(error.to_string()).warn(remedy)]
        }
    }
}

fn shown(dir: &Path) -> String {
    dir.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_gate_are_found_in_plain_commands() {
        for (command, expected) in [
            ("cargo test", &["cargo"][..]),
            ("RUST_BACKTRACE=1 cargo test && npm test | tee log", &["cargo", "npm", "tee"]),
            ("./scripts/test --all", &["./scripts/test"]),
            ("cd web && npm test; npm run lint", &["npm"]),
            ("sh -c 'a; b'", &["sh"]),
            ("\"my tool\" x", &[]),
            ("true", &[]),
            ("", &[]),
        ] {
            assert_eq!(programs(command), expected, "{command}");
        }
    }
}
