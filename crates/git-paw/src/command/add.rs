//! `git paw add`

use std::path::Path;

use clap::Args;
use paw_agent::detect_clis;
use paw_agent::hooks::HookEnvironment;
use paw_core::config::PawConfig;
use paw_core::{BranchName, ErrorCode, PawError, SessionMode};
use paw_host::clock;
use paw_host::process::own_program;
use paw_session::launch::{self, LaunchOptions, LaunchServices};
use paw_session::lifecycle::Session;
use paw_session::lifecycle::add::AddedAgent;
use paw_session::plan::{self, AgentRequest, PlanContext, SessionPlan, StartRequest};
use paw_session::specs::{self, SpecEntry};
use paw_worktree::Worktrees;

use crate::approval::{self, Consent};
use crate::context::Context;

/// Add an agent to the running session
///
/// Creates a worktree and a pane, starts the CLI, and sends it its first prompt as soon as it is ready.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw add feat/docs
  git paw add feat/docs --cli codex
  git paw add --from-spec add-auth")]
pub(crate) struct AddArgs {
    /// The branch to work on; created if it does not exist
    #[arg(required_unless_present = "from_spec")]
    branch: Option<String>,
    /// The agent's CLI [default: the spec's, else the first agent's]
    #[arg(long, value_name = "NAME")]
    cli: Option<String>,
    /// The spec to work on, which also sets the branch
    #[arg(long, value_name = "NAME", conflicts_with = "branch")]
    from_spec: Option<String>,
    /// Approve this repository's own CLIs and commands without asking
    #[arg(long)]
    trust: bool,
}

pub(crate) fn run(args: &AddArgs, context: &Context) -> Result<(), PawError> {
    let _lock = launch::lock(&context.require_repo()?)?;
    let session = context.require_session()?;
    let repo = &session.repo;
    let layers = context.load_config()?;
    let consent = Consent::of_flag(args.trust);
    let config = approval::session_config(&layers, repo, consent, context)?;
    let plan = make_plan(args, &session, &config, context)?;
    let preparation = approval::preparation(&layers, &config, repo, consent, context)?;
    let options = LaunchOptions {
        config: &config,
        config_dir: context.dirs.config_dir(),
        preparation: &preparation,
        now: clock::now(),
    };
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let program = own_program()?;
    let services = LaunchServices {
        worktrees: &worktrees,
        receipts: &session.receipts,
        tmux: &session.tmux,
        program: &program,
    };
    let added = session.add_agent(services, &plan, options, &|_| {})?;
    for note in &added.notes {
        context.output.warn(note);
    }
    if session.receipt.has_broker()
        && let Err(error) = watch_worktree(&added, context)
    {
        context.output.warn(&format!("the session is not watching the new worktree yet: {error}"));
    }
    context.output.say(&format!("added {} → {}", added.agent.branch, added.agent.cli))
}

/// Asks the running broker to watch the new worktree. A broker that starts later watches all of them.
fn watch_worktree(added: &AddedAgent, context: &Context) -> Result<(), PawError> {
    let client = context.broker_client()?;
    client.watch(&added.id, &added.agent.worktree_path, &added.agent.cli)?;
    Ok(())
}

/// The start plan for this one agent.
fn make_plan(
    args: &AddArgs,
    session: &Session,
    config: &PawConfig,
    context: &Context,
) -> Result<SessionPlan, PawError> {
    let (repo, receipt) = (&session.repo, &session.receipt);
    let spec =
        args.from_spec.as_ref().map(|name| require_spec(name, session, config, context)).transpose()?;
    let branch = match (&spec, &args.branch) {
        (Some(spec), _) => spec.branch.clone(),
        (None, name) => BranchName::new(name.clone().unwrap_or_default())?,
    };
    session.require_room_for(&branch)?;
    let of_spec = || spec.as_ref().and_then(|spec| spec.cli.clone());
    let of_first = || receipt.worktrees.first().map(|agent| agent.cli.clone());
    let cli = args.cli.clone().or_else(of_spec).or_else(of_first).or_else(|| config.default_cli.clone());
    let found = detect_clis(&config.clis, &context.search_path);
    let git = repo.git();
    let request = StartRequest {
        agents: vec![AgentRequest { branch, cli: cli.ok_or(PawError::NoCLIsFound)?, spec }],
        supervisor: receipt.supervisor.as_ref().map(|it| it.cli.clone()).filter(|_| supervised(session)),
        unattended: receipt.unattended,
        rebase: true,
    };
    let (worktrees, branches) = (git.worktrees()?, git.local_branches()?);
    // The session may have been started with a different configuration.
    let mut config = config.clone();
    config.broker.enabled = receipt.has_broker();
    let site = PlanContext {
        repo,
        config: &config,
        clis: &found.clis,
        hooks: &HookEnvironment::load(&own_program()?),
        worktrees: &worktrees,
        branches: &branches,
    };
    Ok(plan::plan(&request, &site, |_| false, Path::exists)?)
}

fn supervised(session: &Session) -> bool {
    session.receipt.mode == SessionMode::Supervisor
}

fn require_spec(
    name: &str,
    session: &Session,
    config: &PawConfig,
    context: &Context,
) -> Result<SpecEntry, PawError> {
    let scan = specs::scan(&session.repo.root, config.specs.as_ref(), None, &config.branch_prefix())?;
    for warning in &scan.warnings {
        context.output.warn(warning);
    }
    let mut found = specs::resolve(&[name.to_owned()], &scan.entries)?;
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (last, _) => {
            let ids: Vec<_> = found.iter().chain(&last).map(|entry| entry.id.as_str()).collect();
            let problem = format!("spec '{name}' has several parts, one per agent");
            Err(PawError::new(ErrorCode::FailedPrecondition, problem)
                .hint(format!("name one of: {}", ids.join(", "))))
        }
    }
}
