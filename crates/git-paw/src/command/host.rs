//! `git paw host`

use std::process::ExitCode;

use clap::{Args, Subcommand};
use paw_cluster::host::{self, HostError, HostFacts, HostProblem};
use paw_core::config::{self, HostConfig};
use paw_core::error::EXIT_FAILURE;
use paw_core::{Diagnostic as _, HostName, PawError};
use paw_host::clock;
use paw_host::ssh::SshTarget;
use serde_json::json;

use crate::context::Context;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Register other machines and check whether they are ready
///
/// A machine needs ssh without a password, git, tmux and git-paw. Hosts are kept in your own configuration; `git paw start` and
/// `git paw add` run agents on them with BRANCH@HOST.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw host add big me@big.example --install
  git paw host doctor
  git paw host remove big")]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    action: HostAction,
}

#[derive(Debug, Subcommand)]
enum HostAction {
    Add(HostAddArgs),
    List(HostListArgs),
    Doctor(HostDoctorArgs),
    Remove(HostRemoveArgs),
}

/// Check a machine and add it to your configuration
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw host add big me@big.example
  git paw host add gpu ssh://me@gpu.example:2222 --install")]
struct HostAddArgs {
    /// Its name in git paw
    name: HostName,
    /// The ssh destination: [USER@]HOST, an alias of your ssh configuration, or ssh://USER@HOST:PORT
    ssh: SshTarget,
    /// Copy this program to ~/.local/bin there, if the platform is the same
    #[arg(long)]
    install: bool,
}

/// List the machines in your configuration, without connecting to them
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw host list\n  git paw host list --json")]
struct HostListArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Check whether machines are ready: ssh, versions, clock, disk
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw host doctor\n  git paw host doctor big --json")]
struct HostDoctorArgs {
    /// Only these machines
    names: Vec<HostName>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Remove a machine from your configuration; nothing changes there
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw host remove big")]
struct HostRemoveArgs {
    /// Its name in git paw
    name: HostName,
}

impl HostArgs {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.action {
            HostAction::List(args) => args.json,
            HostAction::Doctor(args) => args.json,
            HostAction::Add(_) | HostAction::Remove(_) => false,
        }
    }
}

pub(crate) fn run(args: &HostArgs, context: &Context) -> Result<ExitCode, PawError> {
    match &args.action {
        HostAction::Add(args) => add(args, context)?,
        HostAction::List(_) => list(context)?,
        HostAction::Doctor(args) => return doctor(args, context),
        HostAction::Remove(args) => remove(args, context)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The hosts of the user's own configuration; a repository cannot name any.
fn load(context: &Context) -> Result<Vec<(HostName, HostConfig)>, PawError> {
    let config = context.load_config()?.of_user_alone().resolve()?;
    let hosts = config.hosts.into_iter().map(|(name, host)| Ok((HostName::new(name)?, host)));
    hosts.collect()
}

fn add(args: &HostAddArgs, context: &Context) -> Result<(), PawError> {
    let HostAddArgs { name, ssh, install } = args;
    context.require_user("add a host")?;
    let mut facts = HostFacts::fetch(ssh)?;
    if *install && facts.git_paw.as_deref() != Some(VERSION) {
        if !facts.is_same_platform() {
            return Err(HostError::OtherPlatform { name: name.clone(), system: facts.system }.into());
        }
        context.output.progress(&format!("copying git-paw {VERSION} to {ssh}"));
        let program = std::env::current_exe().and_then(std::fs::read).map_err(|error| {
            PawError::ConfigError(format!("cannot read this program to copy it: {error}"))
        })?;
        host::install(ssh, program)?;
        facts = HostFacts::fetch(ssh)?;
    }
    let (warnings, problems): (Vec<_>, Vec<_>) =
        facts.problems(VERSION, clock::now()).into_iter().partition(HostProblem::is_warning);
    if !problems.is_empty() {
        return Err(HostError::NotReady { name: name.clone(), problems }.into());
    }
    for warning in warnings {
        context.output.warn(&format!("{name}: {warning}"));
    }
    context.edit_user_config(|text, file| config::set_host(text, file, name, ssh.as_str()).map(Some))?;
    context.output.say(&format!("{name}: {facts}"))?;
    context.output.say(&format!("added '{name}' ({ssh}) to {}", context.dirs.config_file().display()))
}

fn list(context: &Context) -> Result<(), PawError> {
    let hosts = load(context)?;
    if context.output.wants_json() {
        let hosts: Vec<_> = hosts.iter().map(|(name, host)| json!({"name": name, "ssh": host.ssh})).collect();
        return context.output.document(&json!({"hosts": hosts}));
    }
    if hosts.is_empty() {
        context.output.note("no hosts; 'git paw host add NAME USER@HOST' adds one");
    }
    for (name, host) in hosts {
        context.output.say(&format!("{name}  {}", paw_core::text::line(&host.ssh)))?;
    }
    Ok(())
}

fn doctor(args: &HostDoctorArgs, context: &Context) -> Result<ExitCode, PawError> {
    let hosts = load(context)?;
    if let Some(unknown) = args.names.iter().find(|name| !hosts.iter().any(|(host, _)| host == *name)) {
        return Err(HostError::Unknown(unknown.clone()).into());
    }
    let wanted = hosts.iter().filter(|(name, _)| args.names.is_empty() || args.names.contains(name));
    let (mut checked, mut is_good) = (Vec::new(), true);
    for (name, host) in wanted {
        let (document, is_ready) = check(name, host, context)?;
        checked.push(document);
        is_good &= is_ready;
    }
    if context.output.wants_json() {
        context.output.document(&json!({"ok": is_good, "hosts": checked}))?;
    } else if checked.is_empty() {
        context.output.note("no hosts; 'git paw host add NAME USER@HOST' adds one");
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILURE) })
}

/// Reports on one machine. Returns the report as JSON, and whether agents could run there.
fn check(
    name: &HostName,
    host: &HostConfig,
    context: &Context,
) -> Result<(serde_json::Value, bool), PawError> {
    let facts = host.ssh.parse::<SshTarget>().and_then(|target| HostFacts::fetch(&target));
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => {
            let report = error.report();
            if !context.output.wants_json() {
                context.output.say(&format!("{name}: {error}"))?;
                for hint in &report.hints {
                    context.output.say(&format!("  {hint}"))?;
                }
            }
            let problem =
                json!({"message": error.to_string(), "hint": report.hints.first(), "warning": false});
            return Ok((
                json!({"name": name, "ssh": host.ssh, "ready": false, "problems": [problem]}),
                false,
            ));
        }
    };
    let problems = facts.problems(VERSION, clock::now());
    let is_ready = problems.iter().all(HostProblem::is_warning);
    if !context.output.wants_json() {
        context.output.say(&format!("{name}: {facts}"))?;
        for problem in &problems {
            context.output.say(&format!("  {problem}: {}", problem.hint(name.as_str())))?;
        }
    }
    let problem = |problem: &HostProblem| json!({"message": problem.to_string(), "hint": problem.hint(name.as_str()), "warning": problem.is_warning()});
    let problems: Vec<_> = problems.iter().map(problem).collect();
    let document =
        json!({"name": name, "ssh": host.ssh, "ready": is_ready, "facts": facts, "problems": problems});
    Ok((document, is_ready))
}

fn remove(args: &HostRemoveArgs, context: &Context) -> Result<(), PawError> {
    let name = &args.name;
    if !context.edit_user_config(|text, file| config::remove_host(text, file, name))? {
        return Err(HostError::Unknown(name.clone()).into());
    }
    context.output.say(&format!("removed '{name}' from {}", context.dirs.config_file().display()))
}
