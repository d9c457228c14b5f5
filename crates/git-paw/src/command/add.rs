//! `git paw add`

use std::path::Path;

use clap::Args;
use paw_agent::hooks::HookEnvironment;
use paw_agent::{cli, detect_clis};
use paw_broker::client::BrokerClient;
use paw_cluster::placement::AUTO;
use paw_core::config::PawConfig;
use paw_core::{BranchName, ErrorCode, PawError, SessionMode};
use paw_host::clock;
use paw_host::locks::SessionLock;
use paw_host::process::own_program;
use paw_session::launch::{LaunchOptions, LaunchServices};
use paw_session::lifecycle::Session;
use paw_session::lifecycle::add::AddedAgent;
use paw_session::plan::{self, AgentRequest, NamedAgent, PlanContext, SessionPlan, StartRequest};
use paw_session::specs::{self, SpecEntry};
use paw_worktree::{Preparation, Worktrees};

use crate::agent_task::{self, TaskArgs};
use crate::approval::{self, Consent};
use crate::context::Context;

/// Add agents to the running session
///
/// Creates a worktree and a pane for each, starts the CLI, and sends it its first prompt as soon as it is ready.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw add feat/docs
  git paw add feat/docs=codex feat/tests --prompt \"cover the parser\"
  git paw add feat/train@big
  git paw add --from-spec add-auth
  git paw add --from-spec add-auth@big")]
pub(crate) struct AddArgs {
    /// The branches to work on, created if they do not exist; BRANCH=CLI chooses the CLI of one, BRANCH@HOST its machine,
    /// BRANCH@auto one with free slots
    #[arg(required_unless_present = "from_spec", value_name = "BRANCH")]
    branches: Vec<String>,
    /// The agent's CLI [default: the spec's, else the first agent's]
    #[arg(long, value_name = "CLI")]
    cli: Option<String>,
    /// The spec to work on, which also sets the branch; SPEC@HOST or SPEC@auto chooses the machine
    #[arg(long, value_name = "SPEC", conflicts_with = "branches")]
    from_spec: Option<String>,
    #[command(flatten)]
    task: TaskArgs,
    /// Do not rebase existing branches onto the default branch
    #[arg(long)]
    no_rebase: bool,
    /// Approve this repository's own CLIs and commands without asking
    #[arg(long)]
    trust: bool,
}

pub(crate) fn run(args: &AddArgs, context: &Context) -> Result<(), PawError> {
    // Before the lock, which the start of the process needs.
    let session = context.require_session()?;
    context.ensure_process(&session);
    let broker = if session.receipt.has_broker() { Some(context.broker_client()?) } else { None };
    let lock = context.lock_session(&session.repo)?;
    let session = context.require_session()?;
    let layers = context.load_config()?;
    let consent = Consent::of_flag(args.trust);
    let mut config = approval::session_config(&layers, &session.repo, consent, context)?;
    if let Some(hub) = session.receipt.hub_supervision() {
        config.supervisor = Some(hub.config.clone());
    }
    let mut wanted = gather(args, &session, &config, context)?;
    args.task.take_assignment(&mut wanted)?;
    context.place_agents(&mut wanted, Some(&session.receipt))?;
    let (remote, wanted): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|agent| agent.host.is_some());
    context.require_cluster(&remote)?;
    let preparation = approval::preparation(&layers, &config, &session.repo, consent, context)?;
    for request in wanted {
        // The agent before it changed the receipt.
        let session = context.require_session()?;
        let plan = make_plan(request, &session, &config, !args.no_rebase, context)?;
        let added = add(&plan, &session, &config, (&preparation, &lock), context)?;
        if let Some(broker) = &broker
            && let Err(error) = watch_worktree(&added, broker)
        {
            context.output.warn(&format!("the session is not watching the new worktree yet: {error}"));
        }
        context.output.say(&format!("added {} → {}", added.agent.branch, added.agent.cli))?;
    }
    // The session's process may have to start again for it.
    drop(lock);
    context.add_remote(&remote, args.trust)
}

fn add(
    plan: &SessionPlan,
    session: &Session,
    config: &PawConfig,
    (preparation, lock): (&Preparation, &SessionLock),
    context: &Context,
) -> Result<AddedAgent, PawError> {
    let options =
        LaunchOptions { config, config_dir: context.dirs.config_dir(), preparation, lock, now: clock::now() };
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let program = own_program()?;
    let services = LaunchServices {
        worktrees: &worktrees,
        receipts: &session.receipts,
        tmux: &session.tmux,
        program: &program,
    };
    let added = session.add_agent(services, plan, options, &|_| {})?;
    for note in &added.notes {
        context.output.warn(note);
    }
    Ok(added)
}

/// Asks the running broker to watch the new worktree. A broker that starts later watches all of them.
fn watch_worktree(added: &AddedAgent, broker: &BrokerClient) -> Result<(), PawError> {
    broker.watch(&added.id, &added.agent.worktree_path, &added.agent.cli)?;
    Ok(())
}

/// The agents to add, checked before the first one is created.
fn gather(
    args: &AddArgs,
    session: &Session,
    config: &PawConfig,
    context: &Context,
) -> Result<Vec<AgentRequest>, PawError> {
    let is_host = |name: &str| name == AUTO || config.hosts.contains_key(name);
    let mut clis = detect_clis(&config.clis, &context.search_path);
    for (_, name) in args.branches.iter().filter_map(|text| text.rsplit_once('=')) {
        clis.add_program(name, &context.search_path);
    }
    let is_cli = |name: &str| clis.has(name) || cli::find(name).is_some();
    let branches = session.repo.git().branches()?;
    let named = |text: &String| NamedAgent::parse(text, is_cli, is_host, &branches);
    let named: Vec<_> = args.branches.iter().map(named).collect::<Result<_, _>>()?;
    let (spec, spec_host) = match &args.from_spec {
        Some(text) => {
            let (name, host) = plan::split_host(text, is_host)?;
            (Some(require_spec(name, session, config, context)?), host)
        }
        None => (None, None),
    };
    let branches: Vec<_> = named
        .iter()
        .map(|agent| &agent.branch)
        .chain(spec.iter().map(|spec| &spec.branch))
        .cloned()
        .collect();
    let elsewhere = |branch: &&BranchName| {
        spec_host.is_some() || named.iter().any(|agent| agent.branch == **branch && agent.host.is_some())
    };
    let here = branches.iter().filter(|branch| !elsewhere(branch));
    here.into_iter().try_for_each(|branch| session.require_room_for(branch))?;
    let task = args.task.load(&branches, context)?;
    let cli = |own: Option<String>| {
        let of_first = || session.receipt.worktrees.first().map(|agent| agent.cli.clone());
        let default = || config.default_cli.clone();
        own.or_else(|| args.cli.clone()).or_else(of_first).or_else(default).ok_or(PawError::NoCLIsFound)
    };
    if let Some(spec) = spec {
        let cli = cli(args.cli.clone().or_else(|| spec.cli.clone()))?;
        return Ok(vec![AgentRequest {
            branch: spec.branch.clone(),
            cli,
            spec: Some(spec),
            task,
            host: spec_host,
        }]);
    }
    let request = |agent: NamedAgent| {
        let task = agent_task::load_task(&agent, task.as_ref(), context)?;
        Ok(AgentRequest { cli: cli(agent.cli)?, branch: agent.branch, spec: None, task, host: agent.host })
    };
    named.into_iter().map(request).collect()
}

/// The start plan for one agent.
fn make_plan(
    request: AgentRequest,
    session: &Session,
    config: &PawConfig,
    rebase: bool,
    context: &Context,
) -> Result<SessionPlan, PawError> {
    let (repo, receipt) = (&session.repo, &session.receipt);
    session.require_room_for(&request.branch)?;
    let mut found = detect_clis(&config.clis, &context.search_path);
    found.add_program(&request.cli, &context.search_path);
    let git = repo.git();
    let request = StartRequest {
        has_remote: false,
        agents: vec![request],
        supervisor: receipt.supervisor.as_ref().map(|it| it.cli.clone()).filter(|_| supervised(session)),
        unattended: receipt.unattended,
        has_hub_supervisor: receipt.hub_supervision().is_some(),
        rebase,
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
