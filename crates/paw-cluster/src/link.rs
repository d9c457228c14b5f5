//! How a host reaches the stream: the hub tells it over a connection that stays open, and the host's session reads it from a file.
//!
//! Over the same connection the hub says again and again that a command attends its session. The host's side of the connection
//! takes the attendant's place for so long, by holding its lock: it ends with the connection, and when the hub is silent.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use paw_core::paths::PawDir;
use paw_core::{ErrorCode, PawError, text};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access, FileError};
use paw_host::process;
use serde::{Deserialize, Serialize};

use crate::nats::NatsLogin;

/// What the hub tells a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLink {
    /// URLs as the host reaches them.
    pub servers: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<NatsLogin>,
    /// Differs with each connection.
    pub id: String,
    /// The machine and the directory of the hub. A copy of a hub is another hub.
    #[serde(default)]
    pub hub: String,
    /// The host's process that keeps this connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

impl HostLink {
    /// The current one. `None` while the hub is not connected.
    pub fn load(dir: &PawDir) -> Result<Option<Self>, FileError> {
        let text = files::load_text(&dir.cluster_link())?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

/// What the host answers.
const LINKED: &str = "git-paw-linked";

/// Whether a line is the answer of [`serve`].
pub fn is_linked(line: &[u8]) -> bool {
    line.trim_ascii() == LINKED.as_bytes()
}

/// What the hub says while a command attends its session, and when it no longer does.
const ATTENDED: &str = "attended";
const ALONE: &str = "alone";
/// How soon the hub notices a change, how often it repeats itself, and how long the host believes it.
const LOOK: Duration = Duration::from_secs(1);
const REPEAT: Duration = Duration::from_secs(4);
const LEASE: Duration = Duration::from_secs(15);

/// Tells the host whether the session is attended, until the connection has `ended` or cannot be written to.
pub(crate) fn tell_attendance(
    is_attended: impl Fn() -> bool,
    ended: &Receiver<()>,
    mut say: impl FnMut(&str) -> bool,
) {
    let mut said: Option<Stopwatch> = None;
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let is_attended = is_attended();
        let is_due = match &said {
            Some(said) => !is_attended || said.elapsed() >= REPEAT,
            None => is_attended,
        };
        if is_due && !say(if is_attended { ATTENDED } else { ALONE }) {
            return;
        }
        if is_due {
            said = is_attended.then(Stopwatch::start);
        }
    }
}

/// Holds a lock while the hub says that its session is attended. Returns when the connection has ended.
fn hold_lease<L>(mut input: impl BufRead + Send, lease: Duration, take: impl Fn() -> Option<L>) {
    let (sender, lines) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut line = String::new();
            while input.read_line(&mut line).is_ok_and(|count| count > 0) {
                if sender.send(line.trim().to_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
        let (mut held, mut renewed) = (None, Stopwatch::start());
        loop {
            let patience = if held.is_some() { renewed.remaining(lease) } else { Duration::MAX };
            match lines.recv_timeout(patience) {
                Ok(line) if line == ATTENDED => {
                    renewed = Stopwatch::start();
                    held = held.or_else(&take);
                }
                Ok(line) if line != ALONE => {}
                Ok(_) | Err(RecvTimeoutError::Timeout) => held = None,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    });
}

/// The host's side of the connection: keeps the file until the hub is gone. `take` takes the attendant's lock.
pub fn serve<L>(
    dir: &PawDir,
    mut input: impl BufRead + Send,
    mut output: impl Write,
    take: impl Fn() -> Option<L>,
) -> Result<(), PawError> {
    let lost =
        |error: std::io::Error| PawError::SessionError(format!("the connection to the hub is lost: {error}"));
    let mut said = String::new();
    input.read_line(&mut said).map_err(lost)?;
    let mut link: HostLink = serde_json::from_str(&said).map_err(|error| {
        PawError::SessionError(format!("the hub sent something else than an address: {error}"))
    })?;
    files::create_private_dir(dir.path())?;
    require_one_hub(dir, &link)?;
    let path = dir.cluster_link();
    link.pid = Some(std::process::id());
    let saved = serde_json::to_vec(&link).unwrap_or_default();
    files::write_atomic(&path, &saved, Access::Private)?;
    let answered = writeln!(output, "{LINKED}").and_then(|()| output.flush());
    if answered.is_ok() {
        hold_lease(input, LEASE, take);
    }
    forget(dir, &link, &path)
}

/// The hub itself may connect again while its lost connection still exists here; a second hub may not.
fn require_one_hub(dir: &PawDir, link: &HostLink) -> Result<(), PawError> {
    let current = HostLink::load(dir)?.filter(|current| current.hub != link.hub);
    match current.filter(|current| current.pid.is_some_and(process::is_alive)) {
        None => Ok(()),
        Some(other) => {
            let problem =
                format!("the hub of this session is {}, and it is connected", text::line(&other.hub));
            Err(PawError::new(ErrorCode::FailedPrecondition, problem)
                .hint("a session has one hub: purge the session on one of the two machines"))
        }
    }
}

/// Another connection may have replaced this one.
fn forget(dir: &PawDir, link: &HostLink, path: &Path) -> Result<(), PawError> {
    if HostLink::load(dir)?.is_some_and(|current| current.id == link.id) {
        files::delete_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use paw_testkit::wait_until;

    use super::*;

    fn line(id: &str) -> String {
        let servers = vec!["nats://127.0.0.1:1".to_owned()];
        let link = HostLink { servers, login: None, id: id.to_owned(), hub: "a:/app".to_owned(), pid: None };
        serde_json::to_string(&link).unwrap() + "\n"
    }

    fn nothing() -> Option<()> {
        None
    }

    /// Says its lines, one after the other: each as soon as the one before it had its effect.
    struct Speaker<'a>(Vec<(&'static str, bool)>, &'a Mutex<bool>);

    impl std::io::Read for Speaker<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some((line, expected)) = self.0.first().copied() else { return Ok(0) };
            let has_effect = || (*self.1.lock().unwrap() == expected).then_some(());
            wait_until(&format!("before {line:?}, the lock is held: {expected}"), has_effect);
            self.0.remove(0);
            buffer[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }

    struct HeldLock<'a>(&'a Mutex<bool>);

    impl Drop for HeldLock<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = false;
        }
    }

    #[test]
    fn the_place_of_the_attendant_is_taken_while_the_hub_says_so_and_no_longer() {
        let is_held = Mutex::new(false);
        let take = || {
            *is_held.lock().unwrap() = true;
            Some(HeldLock(&is_held))
        };
        let (attended, alone) = ("attended\n", "alone\n");
        // Told otherwise, and silent for too long: the lock is free before the next line.
        let said =
            vec![(attended, false), (alone, true), (attended, false), ("something\n", true), ("x\n", false)];
        let speaker = std::io::BufReader::new(Speaker(said, &is_held));
        hold_lease(speaker, Duration::from_millis(200), take);
        let said = vec![(attended, false), ("x\n", true)];
        hold_lease(std::io::BufReader::new(Speaker(said, &is_held)), Duration::from_mins(5), take);
        assert!(!*is_held.lock().unwrap(), "the connection has ended");
    }

    #[test]
    fn the_hub_says_that_its_session_is_attended_and_that_it_no_longer_is() {
        let (sender, ended) = channel();
        let (left, mut said) = (Mutex::new(vec![true, true, false, false, true]), Vec::new());
        let mut sender = Some(sender);
        let is_attended = || {
            let mut left = left.lock().unwrap();
            if left.is_empty() { false } else { left.remove(0) }
        };
        tell_attendance(is_attended, &ended, |line| {
            said.push(line.to_owned());
            if said.len() == 4 {
                sender.take();
            }
            true
        });
        assert_eq!(said, ["attended", "alone", "attended", "alone"]);
    }

    /// Ends the connection, and looks at the file first.
    struct Hub<'a>(&'a PawDir, std::io::Cursor<Vec<u8>>);

    impl std::io::Read for Hub<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = std::io::Read::read(&mut self.1, buffer)?;
            if count == 0 {
                assert!(
                    HostLink::load(self.0).unwrap().is_some(),
                    "the address is known while the hub is connected"
                );
            }
            Ok(count)
        }
    }

    #[test]
    fn the_address_is_known_as_long_as_the_hub_is_connected() {
        let temp = tempfile::tempdir().unwrap();
        let dir = PawDir::at(temp.path().join("paw"));
        assert_eq!(HostLink::load(&dir).unwrap(), None);
        let mut said = Vec::new();
        let hub = std::io::BufReader::new(Hub(&dir, std::io::Cursor::new(line("1").into_bytes())));
        serve(&dir, hub, &mut said, nothing).unwrap();
        assert!(is_linked(&said), "{said:?}");
        assert_eq!(HostLink::load(&dir).unwrap(), None);
        assert!(serve(&dir, b"rubbish\n".as_slice(), &mut said, nothing).is_err());
    }

    #[test]
    fn a_second_hub_is_refused_as_long_as_the_first_one_is_connected() {
        let temp = tempfile::tempdir().unwrap();
        let dir = PawDir::at(temp.path());
        let mut first: HostLink = serde_json::from_str(&line("1")).unwrap();
        first.pid = Some(std::process::id());
        let save = |link: &HostLink| {
            let text = serde_json::to_vec(link).unwrap();
            files::write_atomic(&dir.cluster_link(), &text, Access::Private).unwrap();
        };
        save(&first);
        let second = line("2").replace("a:/app", "b:/app");
        let refused = serve(&dir, second.as_bytes(), &mut Vec::new(), nothing).unwrap_err().report();
        assert_eq!(refused.message, "the hub of this session is a:/app, and it is connected");
        assert!(!refused.hints.is_empty(), "{refused:?}");
        assert_eq!(HostLink::load(&dir).unwrap().unwrap().id, "1");
        // The same hub, after it has lost its connection.
        serve(&dir, line("3").as_bytes(), &mut Vec::new(), nothing).unwrap();
        // Another one, after the first one has ended.
        first.pid = Some(u32::MAX / 2);
        save(&first);
        serve(&dir, second.as_bytes(), &mut Vec::new(), nothing).unwrap();
        assert_eq!(HostLink::load(&dir).unwrap(), None);
    }

    #[test]
    fn a_connection_that_ends_late_does_not_remove_the_address_of_the_next_one() {
        let temp = tempfile::tempdir().unwrap();
        let dir = PawDir::at(temp.path());
        files::write_atomic(&dir.cluster_link(), line("2").as_bytes(), Access::Private).unwrap();
        let old: HostLink = serde_json::from_str(&line("1")).unwrap();
        forget(&dir, &old, &dir.cluster_link()).unwrap();
        assert_eq!(HostLink::load(&dir).unwrap().unwrap().id, "2");
    }
}
