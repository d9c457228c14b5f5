//! Checks the data directory, the broker's port, the session's process, and leftovers of earlier sessions.

use std::io;
use std::net::TcpListener;
use std::path::Path;

use paw_broker::endpoint::Endpoint;
use paw_core::config::PawConfig;
use paw_core::paths::PawDir;
use paw_core::{Receipt, ReceiptError, SessionStatus};
use paw_host::files::{self, Dirs};
use paw_host::git::{Git, Repo};
use paw_host::process::shell_quote;
use paw_host::tmux::Tmux;
use paw_session::Receipts;
use paw_session::lifecycle::Session;
use paw_session::recover::RunningSessions;

use super::DoctorCheck;
use crate::session::describe_process;

const GROUP: &str = "State";

pub(super) fn check(config: &PawConfig, repo: Option<&Repo>, dirs: &Dirs) -> Vec<DoctorCheck> {
    let receipts = Receipts::at(dirs.sessions_dir());
    let mut checks = vec![check_data_dir(dirs), check_port(config, repo)];
    checks.extend(check_receipts(&receipts));
    checks.extend(repo.and_then(|repo| check_process(repo, &receipts)));
    checks.extend(repo.map(|repo| check_worktrees(&repo.root)).unwrap_or_default());
    checks
}

fn check_data_dir(dirs: &Dirs) -> DoctorCheck {
    let dir = dirs.data_dir();
    let written = files::create_dir(dir).map_err(|error| error.to_string()).and_then(|()| {
        tempfile::tempfile_in(dir).map_err(|error| format!("cannot write to {}: {error}", dir.display()))
    });
    match written {
        Ok(_) => DoctorCheck::ok(GROUP, "data directory", dir.display().to_string()),
        Err(error) => DoctorCheck::ok(GROUP, "data directory", error)
            .fail("make it writable, or set XDG_DATA_HOME to a writable directory"),
    }
}

fn check_port(config: &PawConfig, repo: Option<&Repo>) -> DoctorCheck {
    let address = (config.broker.bind.as_str(), config.broker.port);
    let shown = format!("{}:{}", address.0, address.1);
    let endpoint = repo.and_then(|repo| Endpoint::load(&PawDir::of(&repo.common_dir)).ok().flatten());
    let own = endpoint.and_then(|endpoint| endpoint.address()).map(|own| own.port());
    match TcpListener::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && own == Some(address.1) => {
            DoctorCheck::ok(GROUP, "broker port", format!("{shown} is used by this repository's session"))
        }
        Ok(_) => DoctorCheck::ok(GROUP, "broker port", format!("{shown} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            DoctorCheck::ok(GROUP, "broker port", format!("{shown} is in use"))
                .warn("sessions use the next free port; set [broker] port to choose one")
        }
        Err(error) => DoctorCheck::ok(GROUP, "broker port", format!("cannot listen on {shown}: {error}"))
            .fail("set [broker] bind to an address of this machine, such as 127.0.0.1"),
    }
}

/// Receipts of sessions that no longer exist, and files that cannot be read.
fn check_receipts(receipts: &Receipts) -> Vec<DoctorCheck> {
    let listing = match receipts.all() {
        Ok(listing) => listing,
        Err(error) => {
            return vec![DoctorCheck::ok(GROUP, "receipts", error.to_string()).fail("make it readable")];
        }
    };
    let name = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stale = listing.receipts.iter().filter_map(|receipt| {
        let file = receipts.dir().receipt(&receipt.session_name);
        let (why, remedy) = why_stale(receipt, &file)?;
        Some(DoctorCheck::ok(GROUP, name(&file), why).warn(remedy))
    });
    let unreadable = listing.unreadable.iter().map(|file| {
        let check = DoctorCheck::ok(GROUP, name(&file.path), format!("cannot be used: {}", file.problem));
        match file.problem {
            ReceiptError::Newer { .. } => check.warn("update git-paw"),
            _ => check.fail("run 'git paw doctor --repair' to set it aside and restore its copy"),
        }
    });
    let mut checks: Vec<_> = stale.chain(unreadable).collect();
    checks.sort_by(|one, other| one.name.cmp(&other.name));
    checks
}

/// Why a session is stale, and the remedy.
fn why_stale(receipt: &Receipt, file: &Path) -> Option<(String, String)> {
    let repo = receipt.repo_path.display();
    if !receipt.repo_path.exists() {
        return Some((format!("repository {repo} not found"), remove_receipt(file)));
    }
    let running = RunningSessions::load(&Tmux::on_socket(receipt.tmux_socket.clone())).ok()?;
    (receipt.status != SessionStatus::Stopped && running.find(receipt).is_none()).then(|| {
        (
            format!("recorded as {}, but tmux has no such session", receipt.status),
            format!("in {repo}, restore it with 'git paw start' or remove it with 'git paw purge'"),
        )
    })
}

/// The session's process: whether it runs when it should, and only then.
fn check_process(repo: &Repo, receipts: &Receipts) -> Option<DoctorCheck> {
    const NAME: &str = "session process";
    let session =
        Session::find(repo, receipts).ok().flatten().filter(|session| session.receipt.has_broker())?;
    let status = session.state().ok()?.0;
    let broker = session.snapshot().ok()?.session.broker?;
    let check = |detail: String| DoctorCheck::ok(GROUP, NAME, detail);
    Some(match (broker.running, status) {
        (true, SessionStatus::Active) => {
            let running = check(describe_process(&broker));
            match broker.problem {
                Some(_) => running.warn("if it does not recover, run 'git paw pause', then 'git paw start'"),
                None => running,
            }
        }
        (true, _) => check(format!("{}, but the session is {status}", describe_process(&broker)))
            .warn("end it with 'git paw stop', or resume the session with 'git paw start'"),
        (false, SessionStatus::Active) => {
            let problem = broker.problem.unwrap_or_else(|| "not running".to_owned());
            check(problem).warn("restart it with 'git paw start'; the agents keep running")
        }
        (false, _) => return None,
    })
}

fn remove_receipt(file: &Path) -> String {
    format!("remove the receipt (the worktrees are kept): rm {}", shell_quote(file.as_os_str()))
}

fn check_worktrees(root: &Path) -> Vec<DoctorCheck> {
    let Ok(worktrees) = Git::at(root).worktrees() else { return Vec::new() };
    let gone = |reason: &str, path: &Path| format!("{}: {}", path.display(), reason.trim());
    worktrees
        .iter()
        .filter_map(|worktree| Some((worktree, worktree.prunable.as_deref()?)))
        .map(|(worktree, reason)| {
            DoctorCheck::ok(GROUP, "worktree", gone(reason, &worktree.path))
                .warn("restore the directory, or run 'git worktree prune'")
        })
        .collect()
}
