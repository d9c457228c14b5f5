//! Checks the data directory, the broker's port, and leftovers of earlier sessions.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use paw_core::SessionName;
use paw_core::config::PawConfig;
use paw_host::files::{self, Dirs};
use paw_host::git::Git;
use paw_host::process::shell_quote;
use paw_host::tmux::Tmux;
use serde::Deserialize;

use super::DoctorCheck;

const GROUP: &str = "State";

pub(super) fn check(config: &PawConfig, repo_root: Option<&Path>, dirs: &Dirs) -> Vec<DoctorCheck> {
    let mut checks = vec![check_data_dir(dirs), check_port(config)];
    checks.extend(load_receipts(&dirs.sessions_dir()).into_iter().filter_map(|(file, receipt)| {
        let (why, remedy) = match receipt {
            Ok(receipt) => receipt.why_stale(&file)?,
            Err(error) => (error, remove_receipt(&file)),
        };
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Some(DoctorCheck::ok(GROUP, name, why).warn(remedy))
    }));
    checks.extend(repo_root.map(check_worktrees).unwrap_or_default());
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

fn check_port(config: &PawConfig) -> DoctorCheck {
    let address = (config.broker.bind.as_str(), config.broker.port);
    let shown = format!("{}:{}", address.0, address.1);
    match TcpListener::bind(address) {
        Ok(_) => DoctorCheck::ok(GROUP, "broker port", format!("{shown} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            DoctorCheck::ok(GROUP, "broker port", format!("{shown} is in use"))
                .warn("sessions use the next free port; set [broker] port to choose one")
        }
        Err(error) => DoctorCheck::ok(GROUP, "broker port", format!("cannot listen on {shown}: {error}"))
            .fail("set [broker] bind to an address of this machine, such as 127.0.0.1"),
    }
}

/// The part of a receipt that shows whether its session still exists.
#[derive(Debug, Deserialize)]
struct Receipt {
    session_name: SessionName,
    repo_path: PathBuf,
    status: String,
    #[serde(default)]
    tmux_socket: Option<String>,
}

impl Receipt {
    /// Why the session is stale, and the remedy.
    fn why_stale(&self, file: &Path) -> Option<(String, String)> {
        let repo = self.repo_path.display();
        if !self.repo_path.exists() {
            return Some((format!("repository {repo} not found"), remove_receipt(file)));
        }
        let tmux = Tmux::on_socket(self.tmux_socket.clone());
        let alive = tmux.has_session(&self.session_name).unwrap_or(true);
        (self.status != "stopped" && !alive).then(|| {
            (
                format!("recorded as {}, but tmux has no such session", self.status),
                format!("in {repo}, restore it with 'git paw start' or remove it with 'git paw purge'"),
            )
        })
    }
}

fn load_receipts(dir: &Path) -> Vec<(PathBuf, Result<Receipt, String>)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let load = |file: PathBuf| {
        let text = fs::read(&file).map_err(|error| format!("cannot be read: {error}"));
        let receipt = text
            .and_then(|text| serde_json::from_slice(&text).map_err(|error| format!("is damaged: {error}")));
        (file, receipt)
    };
    files.into_iter().map(load).collect()
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
