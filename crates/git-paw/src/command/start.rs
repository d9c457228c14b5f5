//! `git paw start`, and `git paw` unattended.

mod agents;
mod dry_run;
mod existing;
mod fit;
mod show;
mod unattended;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Args;
use paw_agent::detect_clis;
use paw_agent::hooks::HookEnvironment;
use paw_cluster::clone;
use paw_cluster::placement::AUTO;
use paw_core::config::{LayoutMode, PawConfig};
use paw_core::paths::PawDir;
use paw_core::{Diagnostic as _, HostName, PawError, Receipt, SessionStatus};
use paw_host::clock;
use paw_host::config::Layers;
use paw_host::files::{self, Access};
use paw_host::git::{GitWorktree, Repo};
use paw_host::locks::SessionLock;
use paw_host::process::own_program;
use paw_host::tmux::Tmux;
use paw_session::Receipts;
use paw_session::launch::{self, LaunchOptions, LaunchProgress, LaunchServices};
use paw_session::lifecycle::Session;
use paw_session::logs;
use paw_session::plan::{self, AgentRequest, PlanContext, SessionPlan, StartRequest};
use paw_session::recover::RunningSessions;
use paw_session::specs::SpecFormat;
use paw_supervisor::governance;
use paw_worktree::Worktrees;
use serde_json::json;

use crate::agent_task::TaskArgs;
use crate::approval::{self, Consent};
use crate::context::Context;
use crate::output::Style;
use crate::prompt::TerminalPrompter;
use show::StartOutcome;
use unattended::UnattendedArgs;

/// Start a session: a worktree, a pane and an AI CLI for each branch
///
/// Without flags, git paw asks for branches and CLIs. If a session already exists, git paw attaches to it, resumes it, or
/// rebuilds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  git paw start --cli claude --branches feat/api,feat/ui
  git paw start --branches feat/api=claude,feat/ui=codex --prompt \"add pagination\"
  git paw start --agents tasks.toml
  git paw start --cli claude --branches feat/api,feat/train@big
  git paw start --supervisor --from-all-specs
  git paw start --specs add-auth,fix-session --dry-run
  git paw start --unattended --from-all-specs --cli claude --time-limit 2h --merge")]
pub(crate) struct StartArgs {
    /// CLI for every agent (see git paw list-clis)
    #[arg(long, value_name = "CLI")]
    cli: Option<String>,
    /// Branches to work on, created if they do not exist; BRANCH=CLI chooses the CLI of one, BRANCH@HOST its machine,
    /// BRANCH@auto one with free slots
    #[arg(long, value_name = "BRANCH,…", value_delimiter = ',')]
    branches: Vec<String>,
    /// Read branches, CLIs, hosts and tasks from a TOML file with one [[agent]] each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["branches", "specs", "from_all_specs", "preset"])]
    agents: Option<PathBuf>,
    #[command(flatten)]
    task: TaskArgs,
    /// Launch every discovered spec, each with its own agent and branch
    #[arg(long, alias = "from-specs")]
    from_all_specs: bool,
    /// Launch only these specs; without names, choose from a list. SPEC@HOST chooses the machine of one, SPEC@auto one with
    /// free slots
    #[arg(long, value_name = "SPEC,…", num_args = 0.., value_delimiter = ',', conflicts_with = "from_all_specs")]
    specs: Option<Vec<String>>,
    /// Format of the specs: openspec, markdown, speckit or superpowers
    #[arg(long, value_name = "FORMAT")]
    specs_format: Option<SpecFormat>,
    /// The machine of all agents that name none: a host, or auto for those with free slots
    #[arg(long, value_name = "HOST")]
    on: Option<String>,
    /// Print the plan without doing anything
    #[arg(long)]
    dry_run: bool,
    /// Use the branches and the CLI of this preset in the configuration
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["branches", "specs", "from_all_specs"])]
    preset: Option<String>,
    /// Start a supervisor that watches, verifies and merges the agents
    #[arg(long, conflicts_with = "no_supervisor")]
    supervisor: bool,
    /// Disable the supervisor for this session, overriding [supervisor] enabled = true
    #[arg(long)]
    no_supervisor: bool,
    /// How panes are arranged, instead of [layout] mode: all agents in a grid, or each in its own window
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LayoutArg>,
    /// Do not warn about uncommitted specs
    #[arg(long)]
    force: bool,
    /// Do not rebase existing branches onto the default branch
    #[arg(long)]
    no_rebase: bool,
    /// Approve this repository's own CLIs and commands without asking
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    unattended: UnattendedArgs,
}

/// The arrangements of panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LayoutArg {
    Grid,
    Windows,
}

impl LayoutArg {
    fn mode(self) -> LayoutMode {
        match self {
            Self::Grid => LayoutMode::Grid,
            Self::Windows => LayoutMode::Windows,
        }
    }
}

pub(crate) fn run(args: &StartArgs, context: &Context) -> Result<ExitCode, PawError> {
    if args.unattended.is_wanted() && !args.dry_run {
        return unattended::run(args, context);
    }
    if let Some(StartedSession { tmux, receipt, state }) = begin(args, context)? {
        show::session(&tmux, &receipt, state, context)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A running session.
struct StartedSession {
    tmux: Tmux,
    receipt: Receipt,
    state: StartOutcome,
}

/// Starts a session, or brings back the existing one. Returns nothing with `--dry-run`, which only prints the plan, and if
/// there is nothing to do.
fn begin(args: &StartArgs, context: &Context) -> Result<Option<StartedSession>, PawError> {
    let site = StartContext {
        repo: context.require_repo()?,
        layers: context.load_config()?,
        receipts: Receipts::at(context.dirs.sessions_dir()),
        consent: match (args.dry_run, args.trust) {
            (true, true) => Consent::Assumed,
            (true, false) => Consent::Never,
            (false, trust) => Consent::of_flag(trust),
        },
    };
    if args.dry_run {
        dry_run::run(args, &site, context)?;
        return Ok(None);
    }
    Tmux::default().require_minimum()?;
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let program = own_program()?;
    let lock = context.lock_session(&site.repo)?;
    let session = Session::find(&site.repo, &site.receipts)?;
    let tmux = match &session {
        Some(session) => session.tmux.clone(),
        None => Tmux::on_socket(site.layers.resolve()?.tmux.socket),
    };
    let services =
        LaunchServices { worktrees: &worktrees, receipts: &site.receipts, tmux: &tmux, program: &program };
    let running = RunningSessions::load(&tmux)?;
    let (receipt, state) = match session {
        Some(session) => {
            let is_rebuilt = running.status(&session.receipt) == SessionStatus::Stopped;
            if args.is_for_a_new_session() || (args.layout.is_some() && !is_rebuilt) {
                note_ignored_flags(&session, context);
            }
            let mut receipt = existing::follow_moved_repo(session, context)?;
            if let Some(layout) = args.layout.filter(|_| is_rebuilt) {
                receipt.layout = layout.mode();
            }
            let (receipt, state) =
                existing::bring_back(services, receipt, &site, (&running, &lock), context)?;
            context.resume_remote(&receipt, state == StartOutcome::Running, args.trust)?;
            (receipt, state)
        }
        None => match start_new(args, services, &site, (&running, &lock), context)? {
            Some(receipt) => (receipt, StartOutcome::Launched),
            None => return Ok(None),
        },
    };
    Ok(Some(StartedSession { tmux, receipt, state }))
}

fn note_ignored_flags(session: &Session, context: &Context) {
    context.output.note(&format!(
        "session '{}' already exists: flags for a new session are ignored (add an agent with 'git paw add <branch>')",
        session.receipt.session_name
    ));
}

/// The approved configuration.
fn config(args: &StartArgs, site: &StartContext, context: &Context) -> Result<PawConfig, PawError> {
    let mut config = approval::session_config(&site.layers, &site.repo, site.consent, context)?;
    config.layout.mode = args.layout.map_or(config.layout.mode, LayoutArg::mode);
    let invitation = clone::load_invitation(&site.repo.common_dir)?;
    if let Some(hub) = invitation.and_then(|invitation| invitation.supervision) {
        config.supervisor = Some(hub.config);
    }
    Ok(if args.unattended.is_wanted() { unattended::with_broker(config) } else { config })
}

/// The repository, configuration and receipts of a start.
struct StartContext {
    repo: Repo,
    layers: Layers,
    receipts: Receipts,
    consent: Consent,
}

fn start_new(
    args: &StartArgs,
    services: LaunchServices<'_>,
    site: &StartContext,
    (running, lock): (&RunningSessions, &SessionLock),
    context: &Context,
) -> Result<Option<Receipt>, PawError> {
    let mut config = config(args, site, context)?;
    let Some(PlannedStart { plan, remote }) = make_plan(args, site, &config, running, context)? else {
        return Ok(None);
    };
    config.broker.enabled |= plan.broker.is_some();
    for missing in governance::load(&config.governance, &site.repo.root).missing {
        context.output.warn(&missing.to_string());
    }
    let preparation = approval::preparation(&site.layers, &config, &site.repo, site.consent, context)?;
    let options = LaunchOptions {
        config: &config,
        config_dir: context.dirs.config_dir(),
        preparation: &preparation,
        lock,
        now: clock::now(),
    };
    prune_logs(&plan, &config, running, context);
    let shown = Mutex::new(());
    let launched =
        launch::launch(services, &plan, options, &|progress| print_progress(&progress, &shown, context))?;
    for note in &launched.notes {
        context.output.warn(note);
    }
    mention_messages(&plan, site, context)?;
    if let Err(error) = context.add_remote(&remote, args.trust) {
        return Err(error.hint("the session runs without this agent; 'git paw add BRANCH@HOST' tries again"));
    }
    Ok(Some(launched.receipt))
}

/// Says once per repository that several agents could exchange messages, unless the configuration decides about it.
fn mention_messages(plan: &SessionPlan, site: &StartContext, context: &Context) -> Result<(), PawError> {
    let is_decided = site.layers.has("broker.enabled");
    let mark = PawDir::of(&plan.repo.common_dir).messages_mentioned();
    if plan.agents.len() < 2 || plan.broker.is_some() || is_decided || mark.exists() {
        return Ok(());
    }
    context.output.note(
        "agents of this session cannot send messages and are not warned about conflicts; set [broker] enabled = true to \
         change that (mentioned once)",
    );
    Ok(files::write_atomic(&mark, b"", Access::Usual)?)
}

impl StartArgs {
    fn wants_specs(&self) -> bool {
        self.from_all_specs || self.specs.is_some()
    }

    pub(crate) fn wants_json(&self) -> bool {
        self.unattended.wants_json()
    }

    /// Whether any flag is only for a new session.
    fn is_for_a_new_session(&self) -> bool {
        let rest = Self {
            unattended: UnattendedArgs::default(),
            trust: false,
            dry_run: false,
            layout: None,
            ..self.clone()
        };
        rest != Self::default()
    }
}

/// The plan of the agents on this machine, and the agents on others.
struct PlannedStart {
    plan: SessionPlan,
    remote: Vec<AgentRequest>,
}

/// The agents on other machines, which the plan does not contain.
fn take_remote(
    wanted: &mut Vec<AgentRequest>,
    args: &StartArgs,
    context: &Context,
) -> Result<Vec<AgentRequest>, PawError> {
    if let Some(name) = &args.on {
        let host = HostName::new(name.as_str())?;
        if name != AUTO {
            context.ssh_target(&host)?;
        }
        for agent in wanted.iter_mut().filter(|agent| agent.host.is_none()) {
            agent.host = Some(host.clone());
        }
    }
    context.place_agents(wanted, None)?;
    let remote: Vec<_> = wanted.extract_if(.., |agent| agent.host.is_some()).collect();
    context.require_cluster(&remote)?;
    Ok(remote)
}

/// Asks for what the flags do not set, and makes the plan. Returns nothing if specs are wanted and none is pending.
fn make_plan(
    args: &StartArgs,
    site: &StartContext,
    config: &PawConfig,
    running: &RunningSessions,
    context: &Context,
) -> Result<Option<PlannedStart>, PawError> {
    let repo = &site.repo;
    let mut found = detect_clis(&config.clis, &context.search_path);
    let of_branches = args.branches.iter().filter_map(|text| text.rsplit_once('='));
    for name in of_branches.map(|(_, name)| name).chain(args.cli.as_deref()) {
        found.add_program(name, &context.search_path);
    }
    for missing in &found.missing {
        context.output.warn(&missing.to_string());
    }
    let listing = site.receipts.all()?;
    for file in &listing.unreadable {
        context.output.warn(&format!("skipped {}: {}", file.path.display(), file.problem.report()));
    }
    let git = repo.git();
    let (branches, worktrees) = (git.branches()?, git.worktrees()?);
    let own = worktrees.first().filter(|_| !repo.bare).and_then(GitWorktree::branch);
    let unapproved = approval::unapproved_clis(&site.layers, repo, context)?;
    let specs = agents::load_specs(args, repo, config, context)?;
    let mut asking = agents::AgentSelection {
        args,
        repo,
        config,
        clis: &found.clis,
        unapproved: &unapproved,
        branches: &branches,
        own,
        specs,
        picked: Vec::new(),
    };
    asking.check(context)?;
    if let Some(reason) = asking.nothing_to_do() {
        if context.output.wants_json() {
            context.output.document(&json!({"started": false, "reason": reason}))?;
        } else {
            context.output.say(&reason)?;
        }
        return Ok(None);
    }
    if found.clis.is_empty() {
        return Err(asking.explain(PawError::NoCLIsFound));
    }
    let prompter = TerminalPrompter;
    let supervised = !args.unattended.is_wanted() && agents::wants_supervisor(args, config, &prompter)?;
    asking.offer_specs(&prompter)?;
    let gathered = asking.gather(supervised, &prompter, context);
    let (mut wanted, supervisor) = gathered.map_err(|error| asking.explain(error))?;
    let names: Vec<_> = wanted.iter().map(|agent| agent.branch.clone()).collect();
    if let Some(task) = args.task.load(&names, context)? {
        for agent in &mut wanted {
            agent.task.get_or_insert_with(|| task.clone());
        }
    }
    args.task.take_assignment(&mut wanted)?;
    let remote = take_remote(&mut wanted, args, context)?;
    let invitation = clone::load_invitation(&repo.common_dir)?;
    let mut config = config.clone();
    config.broker.enabled |= !remote.is_empty() || invitation.is_some();
    let unattended = args.unattended.is_wanted();
    let (has_remote, rebase) = (!remote.is_empty(), !args.no_rebase);
    let has_hub_supervisor = invitation.as_ref().is_some_and(|hub| hub.supervision.is_some());
    let request =
        StartRequest { agents: wanted, has_remote, supervisor, unattended, has_hub_supervisor, rebase };
    let is_layout_chosen = args.layout.is_some() || site.layers.has("layout.mode");
    let site = PlanContext {
        repo,
        config: &config,
        clis: &found.clis,
        hooks: &HookEnvironment::load(&own_program()?),
        worktrees: &worktrees,
        branches: &git.local_branches()?,
    };
    let taken = |name: &_| running.has_name(name) || listing.has_name(name);
    let planned = plan::plan(&request, &site, taken, Path::exists).map_err(PawError::from);
    let mut plan = planned.map_err(|error| asking.explain(error))?;
    if !is_layout_chosen {
        fit::fit_layout(&mut plan, context);
    }
    Ok(Some(PlannedStart { plan: SessionPlan { cluster: invitation, ..plan }, remote }))
}

/// Deletes old logs of earlier sessions. Problems are only warnings.
fn prune_logs(plan: &SessionPlan, config: &PawConfig, running: &RunningSessions, context: &Context) {
    let (Some(dir), Some(logging)) = (&plan.log_dir, &config.logging) else { return };
    let limits = logs::LogLimits::configured(logging.max_megabytes, logging.max_age_days);
    match logs::prune::prune(&plan.repo.root, dir, limits, clock::now(), &running.names()) {
        Ok(pruned) => pruned.problems.iter().for_each(|problem| context.output.warn(problem)),
        Err(error) => context.output.warn(&error.to_string()),
    }
}

fn print_progress(progress: &LaunchProgress, shown: &Mutex<()>, context: &Context) {
    let _one_at_a_time = shown.lock();
    let output = context.output;
    match progress {
        LaunchProgress::Worktrees { made, of } => output.progress(&format!("worktrees: {made} of {of}")),
        LaunchProgress::Setup { branch, line } => {
            output.note(&output.paint_note(Style::Dim, &format!("  {branch}: {line}")));
        }
    }
}

#[cfg(test)]
mod tests;
