//! Finds damaged files, sets them aside, and rebuilds what can be rebuilt.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Duration;

use paw_autopilot::artifacts::run_dir;
use paw_broker::SessionId;
use paw_broker::hooks;
use paw_broker::log::repair as log_repair;
use paw_core::PawError;
use paw_core::paths::{CheckoutDir, DataDir, PawDir};
use paw_core::text::plural;
use paw_host::clock::{self, Stopwatch};
use paw_host::files::{self, Lock};
use paw_host::git::Repo;
use paw_session::lifecycle::Session;
use paw_session::session_process;
use paw_worktree::repair as registry_repair;

use super::DoctorCheck;
use crate::context::Context;

const GROUP: &str = "Files";
const REMEDY: &str = "run 'git paw doctor --repair' to set it aside and rebuild what can be rebuilt";
/// How long a broker may take to exit.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) fn check(repo: Option<&Repo>, context: &Context) -> Vec<DoctorCheck> {
    let damaged = |path: &Path, problem: &str| {
        DoctorCheck::ok(GROUP, "damaged", format!("{}: {problem}", path.display())).fail(REMEDY)
    };
    let mut checks = Vec::new();
    if let Some(problem) = registry_repair::find_damage(context.dirs.data_dir()) {
        checks.push(damaged(&DataDir::of(context.dirs.data_dir()).registry(), &problem));
    }
    let Some(repo) = repo else { return checks };
    let dir = PawDir::of(&repo.common_dir);
    if let Some(problem) = log_repair::find_damage(&dir.log()) {
        checks.push(damaged(&dir.log(), &problem));
    }
    if files::load_text(&dir.operator_token()).is_err() {
        checks.push(damaged(&dir.operator_token(), "it is not text"));
    }
    if let Some(file) = hooks::find_damage(&repo.common_dir) {
        checks.push(damaged(&file, "it does not hold our settings; git may fail in agents' worktrees"));
    }
    let project = repo.worktree.as_ref().unwrap_or(&repo.root);
    checks.extend(run_dir::find_damaged(project).iter().map(|path| damaged(path, "it is not a checkpoint")));
    checks
}

/// Repairs everything that [`check`] and the check of receipts find. Prints what was done and what is lost.
pub(super) fn repair(repo: Option<&Repo>, context: &Context) -> Result<(), PawError> {
    repair_receipts(context)?;
    repair_registry(repo, context)?;
    let Some(repo) = repo else { return Ok(()) };
    let dir = PawDir::of(&repo.common_dir);
    if files::load_text(&dir.operator_token()).is_err() {
        say_aside(&dir.operator_token(), context)?;
        context.output.say("  a new one is created when the session's process starts")?;
    }
    if let Some(file) = hooks::find_damage(&repo.common_dir) {
        hooks::repair(&repo.common_dir)?;
        context.output.say(&format!("wrote {} again", file.display()))?;
    }
    repair_log(repo, context)?;
    let project = repo.worktree.as_ref().unwrap_or(&repo.root);
    for path in run_dir::find_damaged(project) {
        say_aside(&path, context)?;
        context.output.say("  not rebuilt: the interrupted step of the run")?;
        context.output.say("  'git paw autopilot' continues the task after its last finished subtask")?;
    }
    Ok(())
}

fn say_aside(path: &Path, context: &Context) -> Result<(), PawError> {
    let aside = files::set_aside(path, clock::now())?;
    context.output.say(&format!("set aside {} as {}", path.display(), name(&aside)))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn repair_receipts(context: &Context) -> Result<(), PawError> {
    let receipts = context.receipts();
    if receipts.all()?.unreadable.is_empty() {
        return Ok(());
    }
    for repair in receipts.repair(&receipts.lock()?, clock::now())? {
        context.output.say(&format!("set aside {} as {}", repair.path.display(), name(&repair.aside)))?;
        context.output.say(if repair.restored {
            "  restored it from its copy"
        } else {
            "  not rebuilt: which agents the session had; their worktrees and branches are kept"
        })?;
    }
    Ok(())
}

fn repair_registry(repo: Option<&Repo>, context: &Context) -> Result<(), PawError> {
    let data_dir = context.dirs.data_dir();
    if registry_repair::find_damage(data_dir).is_none() {
        return Ok(());
    }
    let receipts = context.receipts().all()?.receipts;
    let roots = receipts.iter().map(|receipt| receipt.repo_path.as_path());
    let roots: BTreeSet<_> = roots.chain(repo.map(|repo| repo.root.as_path())).collect();
    let repos: Vec<_> = roots.into_iter().filter_map(|root| Repo::discover(root).ok()).collect();
    let repair = registry_repair::repair(data_dir, &repos, clock::now())?;
    let file = DataDir::of(data_dir).registry();
    context.output.say(&format!("set aside {} as {}", file.display(), name(&repair.aside)))?;
    let (adopted, repos) = (plural(repair.adopted.len(), "worktree"), plural(repos.len(), "repository"));
    context.output.say(&format!("  registered {adopted} of {repos} again, from git's own list"))?;
    for (path, problem) in &repair.skipped {
        context.output.say(&format!("  not registered: {}: {problem}", path.display()))?;
    }
    context.output.say(
        "  not rebuilt: conversations of the daemon, worktrees of other repositories ('git paw worktree adopt' \
         registers one), and which branches git paw created",
    )
}

/// Ends the session's process, because it holds the log open, and starts it again.
fn repair_log(repo: &Repo, context: &Context) -> Result<(), PawError> {
    let dir = PawDir::of(&repo.common_dir);
    if log_repair::find_damage(&dir.log()).is_none() {
        return Ok(());
    }
    let session_lock = context.lock_session(repo)?;
    session_process::end(repo);
    let lock = take_broker_lock(&dir)?;
    let trail = CheckoutDir::of(&repo.root).audit_trail();
    let session =
        Session::find(repo, &context.receipts())?.filter(|session| session.receipt.cluster.is_some());
    let replicated = session.map(|session| SessionId::new(&session.receipt.session_id()));
    let repair = log_repair::repair(&dir, &trail, replicated.as_ref(), &lock, clock::now())?;
    drop((lock, session_lock));
    context.output.say(&format!("set aside {} as {}", dir.log().display(), name(&repair.aside)))?;
    context.output.say(&format!(
        "  rebuilt {} from {}; they are marked, and none of them counts as verified or as an answer",
        plural(repair.messages, "message"),
        trail.display()
    ))?;
    if replicated.is_some() {
        context.output.say("  messages of the session on several machines come back from its stream")?;
    }
    if repair.unreadable > 0 {
        context
            .output
            .say(&format!("  not rebuilt: {} there", plural(repair.unreadable, "unreadable line")))?;
    }
    context.output.say("  not rebuilt: messages that were not written there yet, and open intents")?;
    if repair.tokens == 0 {
        context.output.say("  not rebuilt: the agents' tokens; run 'git paw stop', then 'git paw start'")?;
    }
    if let Some(session) = Session::find(repo, &context.receipts())? {
        context.ensure_process(&session);
    }
    Ok(())
}

fn take_broker_lock(dir: &PawDir) -> Result<Lock, PawError> {
    let watch = Stopwatch::start();
    loop {
        if let Some(lock) = Lock::try_take(&dir.broker_lock())? {
            return Ok(lock);
        }
        if watch.remaining(SHUTDOWN_TIMEOUT).is_zero() {
            return Err(PawError::SessionError("a broker uses the damaged message log".to_owned())
                .hint("end 'git paw serve' in its terminal, then run the command again"));
        }
        thread::sleep(POLL_INTERVAL);
    }
}
