//! `git paw move`

use clap::Args;
use paw_broker::log::ReadMark;
use paw_cluster::hub::{self, Hub, HubAssignment, HubError, KnownRead, RemoteAgentRequest};
use paw_cluster::relocate::{self, MovedWork};
use paw_core::receipt::{ClusterReceipt, RemoteAgentReceipt};
use paw_core::{AgentId, BranchName, ErrorCode, ErrorReport, HostName, PawError};
use paw_host::clock;
use paw_host::process::{Command, own_program};
use paw_session::lifecycle::Session;
use paw_session::lifecycle::remove::RemoveAgentOptions;
use paw_worktree::{Worktrees, moved};

use crate::context::Context;
use crate::rescue::print_rescue;
use crate::session::own_pane;

/// Continue an agent on another machine
///
/// Stops the agent, brings its commits and its uncommitted changes there, and starts its CLI again with its task. The worktree
/// that it leaves is removed; uncommitted changes are saved first. If the agent's machine cannot be reached, or with
/// --from-snapshot, it continues from its last snapshot.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw move feat/train --to big
  git paw move feat/train --to local
  git paw move feat/train --to local --from-snapshot   (its machine is lost, or was set up again)")]
pub(crate) struct MoveArgs {
    /// The agent, by branch, id or a unique prefix
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The machine, by its name in 'git paw host list'; 'local' is this one
    #[arg(long, value_name = "HOST")]
    to: String,
    /// Do not ask the agent's machine, but continue from its last snapshot; what the agent did since is saved there and removed
    /// when the machine answers as before
    #[arg(long)]
    from_snapshot: bool,
    /// Approve this repository's own CLIs and commands there without asking
    #[arg(long)]
    trust: bool,
}

/// The name of this machine in `--to`.
const LOCAL: &str = "local";

pub(crate) fn run(args: &MoveArgs, context: &Context) -> Result<(), PawError> {
    context.require_user("move an agent to another machine")?;
    let session = context.require_session()?;
    context.ensure_process(&session);
    let to = match args.to.as_str() {
        LOCAL | ClusterReceipt::HUB => None,
        name => Some(HostName::new(name)?),
    };
    match (context.find_remote(&args.agent)?, to) {
        // An earlier move there was killed.
        (Some((session, agent)), Some(to)) if agent.host == to && agent.unfinished => {
            context.complete_remote(&session, &agent, args.trust)?;
            context.follow_remote();
            Ok(())
        }
        (Some((_, agent)), Some(to)) if agent.host == to => Err(already_there(&agent.branch, &args.to)),
        (Some((session, agent)), to) => from_host(&session, &agent, to.as_ref(), args, context),
        (None, _) if args.from_snapshot => {
            let (agent, _) = session.receipt.find_named(&args.agent)?;
            let problem = format!("{} runs on this machine, so its work needs no snapshot", agent.branch);
            Err(PawError::new(ErrorCode::InvalidArgument, problem).hint("omit --from-snapshot"))
        }
        (None, Some(to)) => from_here(&session, args, &to, context),
        (None, None) => {
            let (agent, _) = session.receipt.find_named(&args.agent)?;
            Err(already_there(&agent.branch, LOCAL))
        }
    }
}

fn already_there(branch: &BranchName, name: &str) -> PawError {
    PawError::new(ErrorCode::FailedPrecondition, format!("{branch} already runs on {name}"))
}

fn from_here(session: &Session, args: &MoveArgs, to: &HostName, context: &Context) -> Result<(), PawError> {
    let (agent, id) = session.receipt.find_named(&args.agent)?;
    let branch = agent.branch.clone();
    context.require_machine(session, to)?;
    context.output.progress(&format!("stopping {id}"));
    let lock = context.lock_session(&session.repo)?;
    let taken = relocate::take(session, id.as_str())?;
    drop(lock);
    let (cli, task) = (taken.cli, relocate::moved_task(taken.task.as_deref()));
    if let Err(error) = context.start_moved(to, (&branch, &cli), (task, KnownRead::Here), args.trust) {
        return Err(resumed(error, run_here(session, &["start"], Vec::new()), &id));
    }
    let _lock = context.lock_session(&session.repo)?;
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let own_pane = own_pane();
    let options = RemoveAgentOptions { keep_worktree: false, force: true, own_pane: own_pane.as_deref() };
    let removed = context.require_session()?.remove_agent(&worktrees, branch.as_str(), options)?;
    if let Some(rescue) = removed.worktree.as_ref().and_then(|removed| removed.rescue.as_ref()) {
        print_rescue(rescue, context);
    }
    context.output.say(&format!("moved {branch} to {to}"))
}

fn from_host(
    session: &Session,
    agent: &RemoteAgentReceipt,
    to: Option<&HostName>,
    args: &MoveArgs,
    context: &Context,
) -> Result<(), PawError> {
    let host = hub::require_host(&session.repo, session.receipt.cluster.as_ref(), &agent.host)?;
    if let Some(to) = to {
        context.require_machine(session, to)?;
    }
    let (id, branch) = (&agent.agent_id, &agent.branch);
    let work = if args.from_snapshot {
        relocate::bring_last(&session.repo, &host.name, agent, format!("{} was not asked", host.name))?
    } else {
        context.output.progress(&format!("stopping {id} on {}", agent.host));
        relocate::bring(&session.repo, &host, agent).map_err(|error| {
            let has_choice = !error.is_other_hub() && !matches!(error, HubError::InUse { .. });
            let error = PawError::from(error);
            if has_choice {
                error.hint("--from-snapshot continues from its last snapshot, without asking that machine")
            } else {
                error
            }
        })?
    };
    let task = match &work {
        MovedWork::Live(taken) => taken.task.as_deref().or(agent.task.as_deref()),
        MovedWork::Last { reason, snapshot } => {
            let since = snapshot.as_ref().map(|snapshot| snapshot.at);
            warn_of_age(agent, reason, since, context);
            agent.task.as_deref()
        }
    };
    let task = relocate::moved_task(task);
    let read = match &work {
        MovedWork::Live(taken) => Some(taken.read.clone()),
        MovedWork::Last { .. } => None,
    };
    let started = match to {
        Some(to) => {
            let read = read.map_or(KnownRead::Nowhere, KnownRead::Marks);
            context.start_moved(to, (branch, &agent.cli), (task, read), args.trust)
        }
        None => start_here(session, agent, (task, read), context),
    };
    if let Err(error) = started {
        let again = match &work {
            MovedWork::Live(_) => host.run(&["start"], Vec::new()).map(drop).map_err(PawError::from),
            MovedWork::Last { .. } => Ok(()),
        };
        return Err(resumed(error, again, id));
    }
    moved::forget(&session.repo, branch)?;
    let now = context.require_session()?;
    let receipt = (&now.receipts, &now.receipt.session_name);
    let hub = Hub { session: &now, dirs: &context.dirs };
    let cleaned = match work {
        MovedWork::Live(_) => {
            let cleaned = relocate::clean(&now.repo, receipt, (&agent.host, id));
            cleaned.map(|_| context.fetch_rescues(session, &agent.host))
        }
        MovedWork::Last { .. } => hub.clean_later(&agent.host, id),
    };
    if let Err(error) = cleaned {
        context.output.warn(&format!("{} still has the worktree of {branch}: {error}", agent.host));
        hub.clean_later(&agent.host, id)?;
    }
    context.announce_receipt();
    context.output.say(&format!(
        "moved {branch} from {} to {}",
        agent.host,
        to.map_or("this machine", HostName::as_str)
    ))
}

fn warn_of_age(agent: &RemoteAgentReceipt, reason: &str, since: Option<jiff::Timestamp>, context: &Context) {
    let from = match since {
        Some(at) => {
            let age = clock::now().duration_since(at).as_secs().max(0);
            format!("its snapshot of {} ({age} s ago)", at.strftime("%Y-%m-%d %H:%M:%S UTC"))
        }
        None => "the commits that are here, because no snapshot has arrived".to_owned(),
    };
    context.output.warn(&format!("{reason}; {} continues from {from}", agent.branch));
    context.output.note(&format!(
        "what it did there since stays on {0}; when {0} answers as before, it is saved there and removed",
        agent.host
    ));
}

/// Starts an agent of another machine on this one.
fn start_here(
    session: &Session,
    agent: &RemoteAgentReceipt,
    (task, read): (String, Option<Vec<ReadMark>>),
    context: &Context,
) -> Result<(), PawError> {
    let hub = Hub { session, dirs: &context.dirs };
    hub.take_back(agent, read)?;
    context.announce_receipt();
    let named = format!("{}={}", agent.branch, agent.cli);
    let args = ["add", &named, "--no-rebase", "--from-hub"];
    let assignment = HubAssignment { task: Some(task), spec: context.find_spec(session, &agent.branch)? };
    run_here(session, &args, serde_json::to_vec(&assignment).unwrap_or_default()).inspect_err(|_| {
        if let Err(error) = hub.put_back(agent) {
            context.output.warn(&error.to_string());
        }
        context.announce_receipt();
    })
}

/// Runs another command of this program, which takes the locks that it needs.
fn run_here(session: &Session, args: &[&str], input: Vec<u8>) -> Result<(), PawError> {
    let output = Command::new(own_program()?).args(args).dir(&session.repo.root).input(input).capture()?;
    if output.exit.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let (problem, hints) = ErrorReport::find_printed(&stderr).unwrap_or_default();
    Err(hints.iter().fold(PawError::SessionError(problem), |error, hint| error.hint(hint.clone())))
}

/// A move that failed, after the agent was started again where it was.
fn resumed(error: PawError, again: Result<(), PawError>, id: &AgentId) -> PawError {
    match again {
        Ok(()) => error.hint(format!("{id} stays where it was")),
        Err(problem) => error.hint(format!("{id} was stopped and did not start again: {problem}")),
    }
}

impl Context {
    /// Checks a machine before an agent is stopped.
    fn require_machine(&self, session: &Session, to: &HostName) -> Result<(), PawError> {
        self.require_server()?;
        let target = self.ssh_target(to)?;
        Ok(Hub { session, dirs: &self.dirs }.require_ready(to, &target)?)
    }

    fn start_moved(
        &self,
        to: &HostName,
        (branch, cli): (&BranchName, &str),
        (task, read): (String, KnownRead),
        trust: bool,
    ) -> Result<(), PawError> {
        let session = self.require_session()?;
        let request = RemoteAgentRequest {
            target: self.ssh_target(to)?,
            host: to.clone(),
            branch: branch.clone(),
            cli: cli.to_owned(),
            task: Some(task),
            spec: self.find_spec(&session, branch)?,
            is_moved: true,
            read,
            trust,
            supervision: self.supervision(&session)?,
        };
        self.output.progress(&format!("starting {branch} on {to}"));
        Hub { session: &session, dirs: &self.dirs }.add(&request, &|| self.apply_receipt())?;
        self.follow_remote();
        Ok(())
    }
}
