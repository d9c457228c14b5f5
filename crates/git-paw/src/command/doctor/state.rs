//! What we keep on this machine: writable directories, a free port, and leftovers of earlier sessions.

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

use super::Check;

const GROUP: &str = "State";

pub(super) fn check(config: &PawConfig, repo_root: Option<&Path>, dirs: &Dirs) -> Vec<Check> {
    let mut checks = vec![check_data_dir(dirs), check_port(config)];
    checks.extend(load_receipts(&dirs.sessions_dir()).into_iter().filter_map(|(file, receipt)| {
        let (why, remedy) = match receipt {
            Ok(receipt) => receipt.why_stale(&file)?,
            Err(error) => (error, forget(&file)),
        };
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Some(Check::ok(GROUP, name, why).warn(remedy))
    }));
    checks.extend(repo_root.map(check_worktrees).unwrap_or_default());
    checks
}

fn check_data_dir(dirs: &Dirs) -> Check {
    let dir = dirs.data_dir();
    let written = files::create_dir(dir).map_err(|error| error.to_string()).and_then(|()| {
        tempfile::tempfile_in(dir).map_err(|error| format!("cannot write to {}: {error}", dir.display()))
    });
    match written {
        Ok(_) => Check::ok(GROUP, "data directory", dir.display().to_string()),
        Err(error) => Check::ok(GROUP, "data directory", error)
            .fail("make it writable, or point XDG_DATA_HOME to a directory that is"),
    }
}

fn check_port(config: &PawConfig) -> Check {
    let address = (config.broker.bind.as_str(), config.broker.port);
    let shown = format!("{}:{}", address.0, address.1);
    match TcpListener::bind(address) {
        Ok(_) => Check::ok(GROUP, "broker port", format!("{shown} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Check::ok(GROUP, "broker port", format!("{shown} is in use"))
                .warn("a session takes the next free port; set [broker] port to choose one yourself")
        }
        Err(error) => Check::ok(GROUP, "broker port", format!("cannot listen on {shown}: {error}"))
            .fail("set [broker] bind to an address of this machine, usually 127.0.0.1"),
    }
}

/// The part of a session's receipt that tells whether it is still good for anything.
#[derive(Debug, Deserialize)]
struct Receipt {
    session_name: SessionName,
    repo_path: PathBuf,
    status: String,
    #[serde(default)]
    tmux_socket: Option<String>,
}

impl Receipt {
    /// Why it is no session that runs or was stopped, and what to do about it.
    fn why_stale(&self, file: &Path) -> Option<(String, String)> {
        let repo = self.repo_path.display();
        if !self.repo_path.exists() {
            return Some((format!("its repository {repo} is gone"), forget(file)));
        }
        let tmux = Tmux::on_socket(self.tmux_socket.clone());
        let alive = tmux.has_session(&self.session_name).unwrap_or(true);
        (self.status != "stopped" && !alive).then(|| {
            (
                format!("it says {}, but tmux does not know the session", self.status),
                format!("git paw start in {repo} brings it back, git paw purge there removes it"),
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

fn forget(file: &Path) -> String {
    format!("the worktrees stay as they are; to forget the session: rm {}", shell_quote(file.as_os_str()))
}

fn check_worktrees(root: &Path) -> Vec<Check> {
    let Ok(worktrees) = Git::at(root).worktrees() else { return Vec::new() };
    let gone = |reason: &str, path: &Path| format!("{}: {}", path.display(), reason.trim());
    worktrees
        .iter()
        .filter_map(|worktree| Some((worktree, worktree.prunable.as_deref()?)))
        .map(|(worktree, reason)| {
            Check::ok(GROUP, "worktree", gone(reason, &worktree.path))
                .warn("bring the directory back, or let git forget it: git worktree prune")
        })
        .collect()
}
