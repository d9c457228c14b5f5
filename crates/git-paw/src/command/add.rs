//! `git paw add`

use std::path::Path;

use clap::Args;
use paw_agent::detect_clis;
use paw_agent::hooks::HookEnvironment;
use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError, SessionMode};
use paw_host::clock;
use paw_session::launch::{self, Doors, Wishes};
use paw_session::lifecycle::Session;
use paw_session::lifecycle::add::Added;
use paw_session::plan::{self, Plan, Site, StartRequest, Wanted};
use paw_session::specs::{self, SpecEntry};
use paw_worktree::Worktrees;

use crate::approval::Consent;
use crate::command::start::trusted::{self, Asking};
use crate::context::Context;

/// Add an agent to the running session
///
/// It gets a worktree, a pane and a CLI like the others, and is told what to do as soon as its CLI listens.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw add feat/docs
  git paw add feat/docs --cli codex
  git paw add --from-spec add-auth")]
pub(crate) struct AddArgs {
    /// The branch it works on; a new one is made
    #[arg(required_unless_present = "from_spec")]
    branch: Option<String>,
    /// Its CLI; without it, what the spec says, then what the first agent uses
    #[arg(long, value_name = "NAME")]
    cli: Option<String>,
    /// The spec it works on, which also names the branch
    #[arg(long, value_name = "NAME", conflicts_with = "branch")]
    from_spec: Option<String>,
    /// Approve the CLIs and commands that this repository brings along
    #[arg(long)]
    trust: bool,
}

pub(crate) fn run(args: &AddArgs, context: &Context) -> Result<(), PawError> {
    let _lock = launch::lock(&context.require_repo()?)?;
    let session = context.require_session()?;
    let repo = &session.repo;
    let layers = context.load_config()?;
    let asking = Asking::About(if args.trust { Consent::Given } else { Consent::Ask });
    let config = trusted::config(&layers, repo, asking, context)?;
    let plan = make_plan(args, &session, &config, context)?;
    let preparation = trusted::preparation(&layers, &config, repo, asking, context)?;
    let wishes = Wishes {
        config: &config,
        config_dir: context.dirs.config_dir(),
        preparation: &preparation,
        now: clock::now(),
    };
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let program = Context::program()?;
    let doors =
        Doors { worktrees: &worktrees, receipts: &session.receipts, tmux: &session.tmux, program: &program };
    let added = session.add_agent(doors, &plan, wishes, &|_| {})?;
    for note in &added.notes {
        context.output.warn(note);
    }
    if session.receipt.has_broker()
        && let Err(error) = have_watched(&added, context)
    {
        context.output.warn(&format!("nobody watches the new worktree yet: {error}"));
    }
    context.output.say(&format!("added {} → {}", added.agent.branch, added.agent.cli))
}

/// A broker that does not run watches everybody as soon as it does.
fn have_watched(added: &Added, context: &Context) -> Result<(), PawError> {
    let client = context.broker_client()?;
    client.watch(&added.id, &added.agent.worktree_path, &added.agent.cli)?;
    Ok(())
}

/// The plan of a start with this one agent.
fn make_plan(
    args: &AddArgs,
    session: &Session,
    config: &PawConfig,
    context: &Context,
) -> Result<Plan, PawError> {
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
        agents: vec![Wanted { branch, cli: cli.ok_or(PawError::NoCLIsFound)?, spec }],
        supervisor: receipt.supervisor.as_ref().map(|it| it.cli.clone()).filter(|_| supervised(session)),
        unattended: receipt.unattended,
        rebase: true,
    };
    let (worktrees, branches) = (git.worktrees()?, git.local_branches()?);
    // The session may have been started with another configuration.
    let mut config = config.clone();
    config.broker.enabled = receipt.has_broker();
    let site = Site {
        repo,
        config: &config,
        clis: &found.clis,
        hooks: &HookEnvironment::load(&Context::program()?),
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
            Err(PawError::SpecError(format!(
                "'{name}' is more than one agent's work\nhint: name one of: {}",
                ids.join(", ")
            )))
        }
    }
}
