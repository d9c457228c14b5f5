//! `git paw start`, and `git paw` alone.

mod agents;
mod dry_run;
mod existing;
mod show;
mod unattended;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Args;
use paw_agent::detect_clis;
use paw_agent::hooks::HookEnvironment;
use paw_core::config::PawConfig;
use paw_core::{Diagnostic as _, PawError, Receipt};
use paw_host::clock;
use paw_host::config::Layers;
use paw_host::git::{Repo, GitWorktree};
use paw_host::process::own_program;
use paw_host::tmux::Tmux;
use paw_session::Receipts;
use paw_session::launch::{self, LaunchServices, LaunchProgress, LaunchOptions};
use paw_session::lifecycle::Session;
use paw_session::logs;
use paw_session::plan::{self, SessionPlan, PlanContext, StartRequest};
use paw_session::recover::RunningSessions;
use paw_session::specs::SpecFormat;
use paw_worktree::Worktrees;

use crate::approval::{self, Consent};
use crate::context::Context;
use crate::output::Style;
use crate::prompt::TerminalPrompter;
use show::StartOutcome;
use unattended::UnattendedArgs;

/// Start a session: a worktree, a pane and an AI CLI for each branch
///
/// Without flags you are asked for branches and CLIs. A session that is there already is attached to, resumed or
/// built again, whatever it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  git paw start --cli claude --branches feat/api,feat/ui
  git paw start --supervisor --from-all-specs
  git paw start --specs add-auth,fix-session --dry-run
  git paw start --unattended --from-all-specs --cli claude --time-limit 2h --merge")]
pub(crate) struct StartArgs {
    /// CLI for every agent; git paw list-clis shows what there is
    #[arg(long, value_name = "NAME")]
    cli: Option<String>,
    /// Branches to work on; new ones are made
    #[arg(long, value_name = "BRANCH,…", value_delimiter = ',')]
    branches: Vec<String>,
    /// Launch every discovered spec: one agent for each, on a branch of its own
    #[arg(long, alias = "from-specs")]
    from_all_specs: bool,
    /// Launch only these specs; without a name, choose them from a list
    #[arg(long, value_name = "NAME,…", num_args = 0.., value_delimiter = ',', conflicts_with = "from_all_specs")]
    specs: Option<Vec<String>>,
    /// How specs are written: openspec, markdown, speckit or superpowers
    #[arg(long, value_name = "FORMAT")]
    specs_format: Option<SpecFormat>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Branches and CLI of this preset in the configuration
    #[arg(long, value_name = "NAME", conflicts_with_all = ["branches", "specs", "from_all_specs"])]
    preset: Option<String>,
    /// Start a supervisor that watches, checks and merges the others
    #[arg(long, conflicts_with = "no_supervisor")]
    supervisor: bool,
    /// Disable the supervisor for this session, overriding [supervisor] enabled = true
    #[arg(long)]
    no_supervisor: bool,
    /// Do not warn about specs that are not committed
    #[arg(long)]
    force: bool,
    /// Leave existing branches where they are, instead of rebasing them onto the default branch
    #[arg(long)]
    no_rebase: bool,
    /// Approve the CLIs and commands that this repository brings along
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    alone: UnattendedArgs,
}

pub(crate) fn run(args: &StartArgs, context: &Context) -> Result<ExitCode, PawError> {
    if args.alone.is_wanted() && !args.dry_run {
        return unattended::run(args, context);
    }
    if let Some(StartedSession { tmux, receipt, state }) = begin(args, context)? {
        show::session(&tmux, &receipt, state, context)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A session that runs now.
struct StartedSession {
    tmux: Tmux,
    receipt: Receipt,
    state: StartOutcome,
}

/// Starts a session, or takes up the one that is there. Nothing with `--dry-run`, which only says what would be done.
fn begin(args: &StartArgs, context: &Context) -> Result<Option<StartedSession>, PawError> {
    let site = StartContext {
        repo: context.require_repo()?,
        layers: context.load_config()?,
        receipts: Receipts::at(context.dirs.sessions_dir()),
        consent: if args.dry_run { Consent::Never } else { Consent::of_flag(args.trust) },
    };
    if args.dry_run {
        dry_run::run(args, &site, context)?;
        return Ok(None);
    }
    Tmux::default().require_minimum()?;
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let program = own_program()?;
    let _lock = launch::lock(&site.repo)?;
    let session = Session::find(&site.repo, &site.receipts)?;
    let tmux = match &session {
        Some(session) => session.tmux.clone(),
        None => Tmux::on_socket(site.layers.resolve()?.tmux.socket),
    };
    let doors = LaunchServices { worktrees: &worktrees, receipts: &site.receipts, tmux: &tmux, program: &program };
    let living = RunningSessions::load(doors)?;
    let (receipt, state) = match session {
        Some(session) => {
            if args.is_for_a_new_session() {
                note_ignored_flags(&session, context);
            }
            existing::bring_back(doors, existing::follow_moved_repo(session, context)?, &site, &living, context)?
        }
        None => (start_new(args, doors, &site, &living, context)?, StartOutcome::Launched),
    };
    Ok(Some(StartedSession { tmux, receipt, state }))
}

fn note_ignored_flags(session: &Session, context: &Context) {
    context.output.note(&format!(
        "there is a session already, '{}': flags are for a new one (git paw add <branch> adds an agent)",
        session.receipt.session_name
    ));
}

/// The configuration as far as it may be followed.
fn config(args: &StartArgs, site: &StartContext, context: &Context) -> Result<PawConfig, PawError> {
    let config = approval::session_config(&site.layers, &site.repo, site.consent, context)?;
    Ok(if args.alone.is_wanted() { unattended::with_broker(config) } else { config })
}

/// Where a session is started.
struct StartContext {
    repo: Repo,
    layers: Layers,
    receipts: Receipts,
    consent: Consent,
}

fn start_new(
    args: &StartArgs,
    doors: LaunchServices<'_>,
    site: &StartContext,
    living: &RunningSessions,
    context: &Context,
) -> Result<Receipt, PawError> {
    let config = config(args, site, context)?;
    let plan = make_plan(args, site, &config, living, context)?;
    let preparation = approval::preparation(&site.layers, &config, &site.repo, site.consent, context)?;
    let wishes = LaunchOptions {
        config: &config,
        config_dir: context.dirs.config_dir(),
        preparation: &preparation,
        now: clock::now(),
    };
    prune_logs(&plan, &config, living, context);
    let shown = Mutex::new(());
    let launched = launch::launch(doors, &plan, wishes, &|progress| tell(&progress, &shown, context))?;
    for note in &launched.notes {
        context.output.warn(note);
    }
    Ok(launched.receipt)
}

impl StartArgs {
    fn wants_specs(&self) -> bool {
        self.from_all_specs || self.specs.is_some()
    }

    pub(crate) fn wants_json(&self) -> bool {
        self.alone.wants_json()
    }

    /// Whether it says something that only a session to be made can follow.
    fn is_for_a_new_session(&self) -> bool {
        let rest = Self { alone: UnattendedArgs::default(), trust: false, dry_run: false, ..self.clone() };
        rest != Self::default()
    }
}

/// Asks for what is left open, and decides everything else.
fn make_plan(
    args: &StartArgs,
    site: &StartContext,
    config: &PawConfig,
    living: &RunningSessions,
    context: &Context,
) -> Result<SessionPlan, PawError> {
    let repo = &site.repo;
    let found = detect_clis(&config.clis, &context.search_path);
    for missing in &found.missing {
        context.output.warn(&missing.to_string());
    }
    if found.clis.is_empty() {
        return Err(PawError::NoCLIsFound);
    }
    let listing = site.receipts.all()?;
    for file in &listing.unreadable {
        context.output.warn(&format!("{} was passed over: {}", file.path.display(), file.problem.report()));
    }
    let git = repo.git();
    let (branches, worktrees) = (git.branches()?, git.worktrees()?);
    let own = worktrees.first().filter(|_| !repo.bare).and_then(GitWorktree::branch);
    let asking = agents::AgentSelection { args, repo, config, clis: &found.clis, branches: &branches, own };
    let prompter = TerminalPrompter;
    let supervised = !args.alone.is_wanted() && agents::wants_supervisor(args, config, &prompter)?;
    let (wanted, supervisor) = asking.gather(supervised, &prompter, context)?;
    let unattended = args.alone.is_wanted();
    let request = StartRequest { agents: wanted, supervisor, unattended, rebase: !args.no_rebase };
    let site = PlanContext {
        repo,
        config,
        clis: &found.clis,
        hooks: &HookEnvironment::load(&own_program()?),
        worktrees: &worktrees,
        branches: &git.local_branches()?,
    };
    let taken = |name: &_| living.has_name(name) || listing.has_name(name);
    Ok(plan::plan(&request, &site, taken, Path::exists)?)
}

/// Logs of earlier sessions that are too old or too many. Nothing depends on it.
fn prune_logs(plan: &SessionPlan, config: &PawConfig, living: &RunningSessions, context: &Context) {
    let (Some(dir), Some(logging)) = (&plan.log_dir, &config.logging) else { return };
    let limits = logs::LogLimits::configured(logging.max_megabytes, logging.max_age_days);
    match logs::prune::prune(&plan.repo.root, dir, limits, clock::now(), &living.names()) {
        Ok(pruned) => pruned.problems.iter().for_each(|problem| context.output.warn(problem)),
        Err(error) => context.output.warn(&error.to_string()),
    }
}

fn tell(progress: &LaunchProgress, shown: &Mutex<()>, context: &Context) {
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
