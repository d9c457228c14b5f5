//! Keeps the dashboard's list of agents current: agents are added and removed, and prompts are delivered, by other processes
//! that write the session's receipt.

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use paw_core::paths::PawDir;
use paw_host::files::Dirs;
use paw_screen::dashboard::DashboardUpdate;
use paw_session::lifecycle::Session;
use paw_view::ViewEvent;
use tokio::sync::mpsc;

/// Sends the agents whenever the receipt changes, or whether other machines can be reached. The watcher stops when it is dropped. Without one, the list is as old as
/// the dashboard.
pub(super) fn watch(
    session: &Session,
    dirs: &Dirs,
    updates: mpsc::Sender<DashboardUpdate>,
) -> Option<RecommendedWatcher> {
    let name = session.receipt.session_name.to_string();
    let paw = PawDir::of(&session.repo.common_dir);
    let hosts = paw.hosts();
    let has_hosts = session.receipt.cluster.is_some();
    let session = session.clone();
    let on_event = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        let is_ours = |path: &std::path::PathBuf| {
            path.file_stem().is_some_and(|stem| stem == name.as_str()) || *path == hosts
        };
        let is_change = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_));
        if is_change && event.paths.iter().any(is_ours) {
            let snapshot = session.reload().ok().flatten().and_then(|session| session.snapshot().ok());
            let Some(snapshot) = snapshot else { return };
            for event in [ViewEvent::Members(snapshot.agents), ViewEvent::Supervisor(snapshot.supervisor)] {
                let _ = updates.blocking_send(DashboardUpdate::View(event));
            }
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).ok()?;
    watcher.watch(&dirs.sessions_dir(), RecursiveMode::NonRecursive).ok()?;
    if has_hosts {
        let _ = watcher.watch(paw.path(), RecursiveMode::NonRecursive);
    }
    Some(watcher)
}
