//! Delivers boot prompts in the background, as soon as each CLI is ready. Pending prompts stay in the receipt.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::thread;

use paw_agent::cli;
use paw_agent::deliver::{DeliveryError, DeliveryOptions, deliver};
use paw_core::config::CliConfig;
use paw_core::{Diagnostic as _, PawError, Receipt, SessionName};
use paw_host::files::Lock;
use paw_host::process::shell_quote;
use paw_host::tmux::{Tmux, TmuxCommand, TmuxError, TmuxSession};

use crate::panes::{MARK, SUPERVISOR, plain};
use crate::receipts::Receipts;
use crate::recover::RunningSessions;

/// The hidden command that delivers prompts.
pub const DELIVER_COMMAND: &str = "__deliver";

/// Whether any prompt is pending.
pub fn is_pending(receipt: &Receipt) -> bool {
    let supervisor = receipt.supervisor.iter().map(|supervisor| &supervisor.pending_boot_prompt);
    let agents = receipt.worktrees.iter().map(|agent| &agent.pending_boot_prompt);
    supervisor.chain(agents).any(Option::is_some)
}

/// The tmux command that delivers pending prompts in a background process of the tmux server.
pub fn background_command(receipt: &Receipt, receipts: &Receipts, program: &Path) -> Option<TmuxCommand> {
    if !is_pending(receipt) {
        return None;
    }
    let socket = receipt.tmux_socket.iter().flat_map(|socket| ["--socket", socket]).map(OsStr::new);
    let words = [
        program.as_os_str(),
        OsStr::new(DELIVER_COMMAND),
        OsStr::new("--receipts"),
        receipts.dir().path().as_os_str(),
    ]
    .into_iter()
    .chain(socket)
    .chain([OsStr::new(receipt.session_name.as_str())])
    .map(shell_quote)
    .collect::<Vec<_>>();
    // tmux would show its output in a pane.
    let line = format!("{} >/dev/null 2>&1", words.join(" "));
    Some(TmuxCommand::new("run-shell").args(["-b", &plain(&line).replace('%', "%%")]))
}

/// A prompt that was not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PendingPrompt {
    mark: String,
    cli: String,
    text: String,
    /// A previous delivery failed.
    failed: bool,
}

fn pending(receipt: &Receipt) -> Vec<PendingPrompt> {
    let one = |mark: &str, cli: &str, text: &Option<String>, problem: &Option<String>| {
        let failed = problem.is_some();
        text.clone().map(|text| PendingPrompt { mark: mark.to_owned(), cli: cli.to_owned(), text, failed })
    };
    let supervisor = receipt.supervisor.iter();
    let supervisor = supervisor
        .filter_map(|it| one(SUPERVISOR, &it.cli, &it.pending_boot_prompt, &it.boot_prompt_problem));
    let agents = receipt.worktrees.iter().zip(receipt.agent_ids());
    let agents = agents
        .filter_map(|(it, id)| one(id.as_str(), &it.cli, &it.pending_boot_prompt, &it.boot_prompt_problem));
    supervisor.chain(agents).collect()
}

/// Delivers all pending prompts in parallel and records the results, until no new prompt is pending. If another process is
/// delivering, waits for it and then does not retry the prompts that failed there.
pub fn deliver_all(
    tmux: &Tmux,
    receipts: &Receipts,
    session: &SessionName,
    clis: &BTreeMap<String, CliConfig>,
    patience: DeliveryOptions,
) -> Result<(), PawError> {
    let file = receipts.dir().delivery_lock(session);
    let (_lock, mut again) = match Lock::try_take(&file)? {
        Some(lock) => (lock, true),
        None => (Lock::wait(&file)?, false),
    };
    let mut tried = Vec::new();
    loop {
        let Some(receipt) = receipts.load(session)? else { return Ok(()) };
        let left = pending(&receipt).into_iter().filter(|one| !tried.contains(one) && (again || !one.failed));
        let left: Vec<_> = left.collect();
        if left.is_empty() {
            return Ok(());
        }
        again = false;
        deliver_prompts(&left, tmux, receipts, session, clis, patience)?;
        tried.extend(left.into_iter().map(|one| PendingPrompt { failed: false, ..one }));
    }
}

fn deliver_prompts(
    prompts: &[PendingPrompt],
    tmux: &Tmux,
    receipts: &Receipts,
    session: &SessionName,
    clis: &BTreeMap<String, CliConfig>,
    patience: DeliveryOptions,
) -> Result<(), PawError> {
    let target = receipts.load(session)?.and_then(|receipt| {
        let running = RunningSessions::load(tmux).ok()?;
        running.find(&receipt).map(TmuxSession::target)
    });
    let target = target.ok_or_else(|| TmuxError::NoSession(session.clone()))?;
    let panes = tmux.target_panes_with(&target, MARK)?;
    thread::scope(|scope| {
        for one in prompts {
            let pane = panes.iter().find(|(_, mark)| *mark == one.mark).map(|(id, _)| id.clone());
            scope.spawn(move || {
                let patience = patience.with_config(clis.get(&one.cli));
                let problem = match pane {
                    Some(pane) => deliver(tmux, &pane, cli::descriptor(&one.cli), &one.text, patience)
                        .err()
                        .map(|error| first_line(&error)),
                    None => Some("its pane is gone".to_owned()),
                };
                let written = receipts.lock().and_then(|lock| {
                    receipts.update(session, &lock, |receipt| record_result(receipt, one, problem))
                });
                if let Err(error) = written {
                    tracing::warn!(target: "paw::session", "cannot record the delivery of a prompt: {error}");
                }
            });
        }
    });
    Ok(())
}

/// The first line of the error. The rest shows the content of the pane.
fn first_line(error: &DeliveryError) -> String {
    error.report().message.lines().next().unwrap_or_default().to_owned()
}

/// Records the result of a delivery. A prompt that was replaced in the meantime stays pending.
fn record_result(receipt: &mut Receipt, one: &PendingPrompt, problem: Option<String>) {
    let ids = receipt.agent_ids();
    let (prompt, why) = if one.mark == SUPERVISOR {
        let Some(supervisor) = &mut receipt.supervisor else { return };
        (&mut supervisor.pending_boot_prompt, &mut supervisor.boot_prompt_problem)
    } else {
        let Some(at) = ids.iter().position(|id| id.as_str() == one.mark) else { return };
        let agent = &mut receipt.worktrees[at];
        (&mut agent.pending_boot_prompt, &mut agent.boot_prompt_problem)
    };
    if problem.is_none() && prompt.as_deref() == Some(one.text.as_str()) {
        *prompt = None;
    }
    *why = problem;
}

#[cfg(test)]
mod tests {
    use paw_core::{AgentReceipt, BranchName, SessionMode, SupervisorReceipt};

    use super::*;

    fn receipt() -> Receipt {
        let name = SessionName::new("paw-app").unwrap();
        let mut receipt = Receipt::new(name, "/app".into(), "app", "2025-01-15T10:30:00Z".parse().unwrap());
        receipt.mode = SessionMode::Supervisor;
        receipt.supervisor = Some(SupervisorReceipt {
            cli: "claude".into(),
            pending_boot_prompt: Some("watch".into()),
            ..SupervisorReceipt::default()
        });
        receipt.worktrees = ["feat/a", "feat/b"]
            .map(|branch| AgentReceipt::new(BranchName::new(branch).unwrap(), "/w".into(), "codex"))
            .into();
        receipt.worktrees[1].pending_boot_prompt = Some("begin".into());
        receipt
    }

    #[test]
    fn pending_prompts_are_those_not_delivered_yet() {
        let marks: Vec<_> =
            pending(&receipt()).into_iter().map(|one| (one.mark, one.cli, one.text)).collect();
        let expected = [("supervisor", "claude", "watch"), ("feat-b", "codex", "begin")];
        assert_eq!(marks, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    }

    #[test]
    fn delivery_result_is_recorded_in_the_receipt() {
        let mut receipt = receipt();
        let pending = pending(&receipt);
        record_result(&mut receipt, &pending[0], None);
        record_result(&mut receipt, &pending[1], Some("a shell is in front".into()));
        assert_eq!(receipt.supervisor.as_ref().unwrap().pending_boot_prompt, None);
        assert_eq!(receipt.worktrees[1].pending_boot_prompt.as_deref(), Some("begin"), "it can be retried");
        assert_eq!(receipt.worktrees[1].boot_prompt_problem.as_deref(), Some("a shell is in front"));
        assert!(is_pending(&receipt));
        record_result(&mut receipt, &pending[1], None);
        assert!(!is_pending(&receipt));
        assert_eq!(receipt.worktrees[1].boot_prompt_problem, None);
    }

    #[test]
    fn prompt_replaced_during_delivery_stays_pending() {
        let mut receipt = receipt();
        let pending = pending(&receipt);
        receipt.worktrees[1].pending_boot_prompt = Some("something else".into());
        record_result(&mut receipt, &pending[1], None);
        assert_eq!(receipt.worktrees[1].pending_boot_prompt.as_deref(), Some("something else"));
    }

    #[test]
    fn background_delivery_starts_only_for_pending_prompts_and_prints_nothing() {
        let receipts = Receipts::at("/data/it's %H #(x)");
        let mut receipt = receipt();
        receipt.tmux_socket = Some("own".into());
        let command = background_command(&receipt, &receipts, Path::new("/bin/git-paw")).unwrap();
        let words: Vec<_> = command.words().map(|word| word.to_str().unwrap().to_owned()).collect();
        assert_eq!(
            words[2],
            r"/bin/git-paw __deliver --receipts '/data/it'\''s %%H ##(x)' --socket own paw-app >/dev/null 2>&1"
        );
        receipt.supervisor = None;
        receipt.worktrees[1].pending_boot_prompt = None;
        assert_eq!(background_command(&receipt, &receipts, Path::new("/p")), None);
    }
}
