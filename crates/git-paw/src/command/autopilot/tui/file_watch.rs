//! Reads the project again when its files change. Idle otherwise.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use paw_screen::autopilot::NavigatorEvent;
use tokio::sync::mpsc;

use super::project_reader::ProjectReader;

/// Changes come in bursts; one read covers a burst.
const SETTLE: Duration = Duration::from_millis(30);

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Files,
    Head,
}

/// The thread ends when its receiver is dropped.
pub(super) struct FileWatch {
    _thread: thread::JoinHandle<()>,
}

impl FileWatch {
    pub(super) fn start(
        reader: ProjectReader,
        updates: mpsc::Sender<NavigatorEvent>,
    ) -> notify::Result<Self> {
        let (sender, changes) = channel();
        let watcher = notify::recommended_watcher(move |event| on_event(event, &sender))?;
        let mut thread = WatchThread { reader, watcher, places: HashMap::new() };
        let spawned = thread::Builder::new()
            .name("paw-follow".to_owned())
            .spawn(move || thread.run(&changes, &updates))
            .map_err(notify::Error::io)?;
        Ok(Self { _thread: spawned })
    }
}

fn on_event(event: notify::Result<notify::Event>, sender: &Sender<Change>) {
    // An error means that events may have been lost.
    let (changed, head) = match event {
        Ok(event) => {
            let head = event.paths.iter().any(|path| path.file_name().is_some_and(|name| name == "HEAD"));
            let git = event.paths.iter().all(|path| path.components().any(|part| part.as_os_str() == ".git"));
            (is_change(event.kind) && (head || !git), head)
        }
        Err(_) => (true, true),
    };
    if changed {
        let _ = sender.send(if head { Change::Head } else { Change::Files });
    }
}

/// Reads are not changes. Closing a written file is one, which also covers a released lock.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(kind) => !matches!(kind, ModifyKind::Metadata(_)),
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        EventKind::Any | EventKind::Other => false,
    }
}

struct WatchThread {
    reader: ProjectReader,
    watcher: RecommendedWatcher,
    /// The watched directories with their inode numbers.
    places: HashMap<PathBuf, u64>,
}

impl WatchThread {
    fn run(&mut self, changes: &Receiver<Change>, updates: &mpsc::Sender<NavigatorEvent>) {
        loop {
            let mut view = self.reader.look();
            // Read again to see changes from before the watch started.
            while self.watch() {
                view = self.reader.look();
            }
            if updates.blocking_send(NavigatorEvent::View(Box::new(view))).is_err() {
                return;
            }
            let Ok(first) = changes.recv() else { return };
            let mut head = first == Change::Head;
            loop {
                match changes.recv_timeout(SETTLE) {
                    Ok(moved) => head |= moved == Change::Head,
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            if head {
                self.reader.look_at_head();
            }
        }
    }

    /// Watches the existing directories. Returns whether any of them is new.
    fn watch(&mut self) -> bool {
        let mut new = false;
        let wanted = self.reader.places();
        self.places.retain(|place, _| {
            let keep = wanted.contains(place);
            if !keep {
                let _ = self.watcher.unwatch(place);
            }
            keep
        });
        for place in wanted {
            let Ok(number) = inode(&place) else {
                self.places.remove(&place);
                continue;
            };
            if self.places.get(&place) == Some(&number) {
                continue;
            }
            // A directory that was removed and created again needs a new watch.
            let _ = self.watcher.unwatch(&place);
            if self.watcher.watch(&place, RecursiveMode::NonRecursive).is_ok() {
                self.places.insert(place, number);
                new = true;
            }
        }
        new
    }
}

fn inode(place: &Path) -> io::Result<u64> {
    Ok(place.metadata()?.ino())
}
