//! Looking again when files change. Nothing is looked at while nothing happens.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use paw_screen::autopilot::Event;
use tokio::sync::mpsc;

use super::picture::Reader;

/// Changes come in bunches; one look is enough for all of them.
const SETTLE: Duration = Duration::from_millis(30);

/// What a change was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    Files,
    Head,
}

/// Ends when nobody receives its news any more.
pub(super) struct Following {
    _thread: thread::JoinHandle<()>,
}

impl Following {
    pub(super) fn start(reader: Reader, news: mpsc::Sender<Event>) -> notify::Result<Self> {
        let (moved, told) = channel();
        let watcher = notify::recommended_watcher(move |event| on_event(event, &moved))?;
        let mut follower = Follower { reader, watcher, places: HashMap::new() };
        let spawned = thread::Builder::new()
            .name("paw-follow".to_owned())
            .spawn(move || follower.run(&told, &news))
            .map_err(notify::Error::io)?;
        Ok(Self { _thread: spawned })
    }
}

fn on_event(event: notify::Result<notify::Event>, moved: &Sender<Moved>) {
    // An error means that something was missed.
    let (told, head) = match event {
        Ok(event) => {
            let head = event.paths.iter().any(|path| path.file_name().is_some_and(|name| name == "HEAD"));
            let git = event.paths.iter().all(|path| path.components().any(|part| part.as_os_str() == ".git"));
            (is_change(event.kind) && (head || !git), head)
        }
        Err(_) => (true, true),
    };
    if told {
        let _ = moved.send(if head { Moved::Head } else { Moved::Files });
    }
}

/// Reading is no change, and a file that was written is one once it is closed: that is also how a lock is let go.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(kind) => !matches!(kind, ModifyKind::Metadata(_)),
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        EventKind::Any | EventKind::Other => false,
    }
}

struct Follower {
    reader: Reader,
    watcher: RecommendedWatcher,
    /// What is watched, each with the number of the directory it was.
    places: HashMap<PathBuf, u64>,
}

impl Follower {
    fn run(&mut self, told: &Receiver<Moved>, news: &mpsc::Sender<Event>) {
        loop {
            let mut picture = self.reader.look();
            // What has happened in a directory before it was watched is seen by looking again.
            while self.watch() {
                picture = self.reader.look();
            }
            if news.blocking_send(Event::Picture(Box::new(picture))).is_err() {
                return;
            }
            let Ok(first) = told.recv() else { return };
            let mut head = first == Moved::Head;
            loop {
                match told.recv_timeout(SETTLE) {
                    Ok(moved) => head |= moved == Moved::Head,
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            if head {
                self.reader.look_at_head();
            }
        }
    }

    /// Watches what is there now. Says whether something of it is new.
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
            let Ok(number) = number_of(&place) else {
                self.places.remove(&place);
                continue;
            };
            if self.places.get(&place) == Some(&number) {
                continue;
            }
            // A directory that was removed and made again is another one.
            let _ = self.watcher.unwatch(&place);
            if self.watcher.watch(&place, RecursiveMode::NonRecursive).is_ok() {
                self.places.insert(place, number);
                new = true;
            }
        }
        new
    }
}

fn number_of(place: &Path) -> io::Result<u64> {
    Ok(place.metadata()?.ino())
}
