//! The machine: git, tmux, the repository, the AI CLIs.

use std::collections::BTreeSet;

use paw_agent::launch::supports_level;
use paw_agent::{cli, detect_clis};
use paw_cluster::{credentials, server};
use paw_core::config::{Approval, PawConfig, SandboxLevel};
use paw_core::{Diagnostic as _, PawError};
use paw_host::git::{self, Git, Repo};
use paw_host::process::own_program;
use paw_host::sandbox;
use paw_host::tmux::{self, Tmux};
use paw_worktree::run_sandbox::level_in_force;

use super::DoctorCheck;
use crate::context::Context;

const GROUP: &str = "Environment";
const INSTALL_GIT: &str = "brew install git, or sudo apt install git";
const INSTALL_BUBBLEWRAP: &str = "sudo apt install bubblewrap, and allow user namespaces; or set [sandbox] runs = \"off\" in your configuration";
const INSTALL_TMUX: &str = "brew install tmux, or sudo apt install tmux";

pub(super) fn check(context: &Context, repo: &Result<Option<Repo>, PawError>) -> Vec<DoctorCheck> {
    let git = match Git::at(&context.cwd).version() {
        Ok(version) if version < git::MINIMUM_VERSION => {
            DoctorCheck::ok(GROUP, "git", format!("{version}, older than {}", git::MINIMUM_VERSION))
                .fail(INSTALL_GIT)
        }
        Ok(version) => DoctorCheck::ok(GROUP, "git", version.to_string()),
        Err(error) => DoctorCheck::ok(GROUP, "git", error.to_string()).fail(INSTALL_GIT),
    };
    let tmux = match Tmux::default().version() {
        Ok(version) if version < tmux::MINIMUM_VERSION => {
            DoctorCheck::ok(GROUP, "tmux", format!("{version}, older than {}", tmux::MINIMUM_VERSION))
                .fail(INSTALL_TMUX)
        }
        Ok(version) => DoctorCheck::ok(GROUP, "tmux", version.to_string()),
        Err(error) => DoctorCheck::ok(GROUP, "tmux", error.to_string()).fail(INSTALL_TMUX),
    };
    vec![git, tmux, check_repo(repo)]
}

fn check_repo(repo: &Result<Option<Repo>, PawError>) -> DoctorCheck {
    let check = |detail: String| DoctorCheck::ok(GROUP, "repository", detail);
    match repo {
        Ok(Some(repo)) if repo.bare => check(format!("{} is bare", repo.root.display()))
            .warn("sessions need a checkout: run 'git worktree add ../checkout <branch>' and work there"),
        Ok(Some(repo)) => match repo.git().find(["rev-parse", "--verify", "--quiet", "HEAD"]) {
            Ok(Some(_)) => check(repo.root.display().to_string()),
            Ok(None) => check(format!("{} has no commit yet", repo.root.display()))
                .warn("worktrees need a commit: git commit --allow-empty -m 'first commit'"),
            Err(error) => check(error.to_string()).fail("git cannot read this repository; run 'git fsck'"),
        },
        Ok(None) => {
            check("not inside a git repository".to_owned()).warn("change to a repository, or run 'git init'")
        }
        Err(error) => check(error.to_string()).fail("git refuses this repository for the reason above"),
    }
}

/// The sandbox of gates, setup and test runs.
pub(super) fn check_sandbox(config: &PawConfig) -> DoctorCheck {
    let check = |detail: String| DoctorCheck::ok(GROUP, "sandbox", detail);
    match (level_in_force(config.sandbox.runs), sandbox::require_engine()) {
        (Ok(SandboxLevel::Guard), _) => check("guard, by bubblewrap".to_owned()),
        (Ok(SandboxLevel::Off), Ok(())) => check("off: [sandbox] runs = \"off\"".to_owned()),
        (Ok(SandboxLevel::Off), Err(reason)) => check(format!("off: {reason}")).warn(INSTALL_BUBBLEWRAP),
        (Err(error), _) => check(error.to_string()).fail(INSTALL_BUBBLEWRAP),
    }
}

/// The NATS server that a session on several machines starts, or the login for the user's own. Needed only where such
/// machines are configured.
pub(super) fn check_nats_server(config: &PawConfig, context: &Context) -> Option<DoctorCheck> {
    if config.hosts.is_empty() {
        return None;
    }
    if !config.cluster.servers.is_empty() {
        let check = |detail: String| DoctorCheck::ok(GROUP, "NATS servers", detail);
        return Some(match credentials::load_access(&config.cluster) {
            Ok((servers, _)) => check(servers.join(", ")),
            Err(error) => check(error.to_string()).fail(error.report().hints.join("; ")),
        });
    }
    let check = |detail: String| DoctorCheck::ok(GROUP, server::PROGRAM, detail);
    Some(match server::require_program(&context.search_path) {
        Ok(version) => check(version),
        Err(error) => check(error.to_string()).warn(error.report().hints.join("; ")),
    })
}

/// git opens the manual page for `git paw --help`.
pub(super) fn check_manual(context: &Context) -> DoctorCheck {
    const PAGE: &str = "git-paw.1";
    let check = |detail: &str| DoctorCheck::ok(GROUP, "manual page", detail);
    let beside = std::env::split_paths(&context.search_path);
    let beside = beside.filter_map(|dir| Some(dir.parent()?.join("share/man/man1")));
    let own = own_program().ok().and_then(|own| Some(own.parent()?.parent()?.join("share/man/man1")));
    if beside.chain(own).any(|dir| dir.join(PAGE).is_file()) {
        check("installed, for 'git paw --help'")
    } else {
        check("not installed, so git cannot show 'git paw --help'")
            .offer("run 'git paw man' to install it; 'git paw -h' and 'git paw help' work without it")
    }
}

pub(super) fn check_clis(config: &PawConfig, context: &Context) -> Vec<DoctorCheck> {
    const GROUP: &str = "CLIs";
    let found = detect_clis(&config.clis, &context.search_path);
    let mut checks: Vec<_> = found
        .clis
        .iter()
        .map(|cli| {
            DoctorCheck::ok(GROUP, &cli.binary_name, format!("{}, {}", cli.path.display(), cli.source))
        })
        .collect();
    if found.clis.is_empty() {
        checks.push(DoctorCheck::ok(GROUP, "AI CLIs", "none found on PATH").warn(
            "install one (claude, codex, gemini, …), or add your own: git paw add-cli <name> <command>",
        ));
    }
    checks.extend(found.missing.iter().map(|missing| {
        DoctorCheck::ok(GROUP, &missing.name, format!("command '{}' not found", missing.command))
            .warn(format!("install it, or remove it with 'git paw remove-cli {}'", missing.name))
    }));
    for (key, name) in [
        ("default_cli", config.default_cli.as_ref()),
        ("default_spec_cli", config.default_spec_cli.as_ref()),
        ("supervisor.cli", config.supervisor.as_ref().and_then(|supervisor| supervisor.cli.as_ref())),
    ] {
        if let Some(name) = name
            && !found.clis.iter().any(|cli| cli.binary_name == *name)
        {
            checks.push(
                DoctorCheck::ok(GROUP, key, format!("CLI '{name}' not found"))
                    .warn(format!("install it, or set {key} to one of the CLIs above")),
            );
        }
    }
    checks.extend(check_levels(config));
    checks
}

/// CLIs that cannot do what the configuration asks of them.
fn check_levels(config: &PawConfig) -> Vec<DoctorCheck> {
    let Some(supervisor) = &config.supervisor else { return Vec::new() };
    let presets = config.presets.values().map(|preset| preset.cli.as_str());
    let agents = [&config.default_cli, &config.default_spec_cli].into_iter().flatten();
    let agents: BTreeSet<_> = agents.map(String::as_str).chain(presets).collect();
    let agents = agents.into_iter().map(|name| (name, supervisor.agent_approval, "agent_approval"));
    let own = supervisor.cli.as_deref().map(|name| (name, supervisor.approval(), "approval"));
    let unable = agents
        .chain(own)
        .filter(|(name, level, _)| !supports_level(cli::descriptor(name), config.clis.get(*name), *level));
    let check = |(name, level, key): (&str, Approval, &str)| {
        let detail = format!(
            "git paw knows no arguments of '{name}' for the level {level}, so it starts with its own defaults"
        );
        DoctorCheck::ok("CLIs", format!("supervisor.{key}"), detail).warn(format!(
            "set approval_args = {{ {level} = \"…\" }} under [clis.{name}], or use another level"
        ))
    };
    unable.map(check).collect()
}
