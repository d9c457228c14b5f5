//! How a host reaches the stream: the hub tells it over a connection that stays open, and the host's session reads it from a file.
//!
//! Over the same connection the hub says again and again that a command attends its session. The host's side of the connection
//! takes the attendant's place for so long, by holding its lock: it ends with the connection, and when the hub is silent. The hub also
//! says how it looks after the agents, first and whenever that changes, and that it is still there: a connection can be gone without
//! this side knowing it, and would keep the hub's place.

use std::fmt;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use paw_core::paths::PawDir;
use paw_core::{ErrorCode, PawError, text};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access, FileError};
use paw_host::git::Repo;
use paw_host::machine;
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
    /// Which hub it is, see [`hub_identity`].
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

/// The machine and the repository of a hub. A copy of a hub, for example from a backup, is another hub.
pub fn hub_identity(repo: &Repo) -> String {
    format!("{}:{}", machine::name(), repo.root.display())
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
const HERE: &str = "here";
/// What begins a line that says how the hub looks after the agents.
const SUPERVISION: &str = "supervision ";
/// How soon the hub notices a change, how often it repeats itself, and how long the host believes it.
const LOOK: Duration = Duration::from_secs(1);
const REPEAT: Duration = Duration::from_secs(4);
const LEASE: Duration = Duration::from_secs(15);
/// How often the hub says something in any case, and for how long a connection may be silent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_mins(1);

/// What the hub tells its hosts as long as they are connected.
#[derive(Clone)]
pub struct HubNews {
    /// Whether a command attends the session, in the supervisor's place.
    pub is_attended: Arc<dyn Fn() -> bool + Send + Sync>,
    /// How the hub looks after the agents, as one line of JSON. `None` if that cannot be read now.
    pub supervision: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl fmt::Debug for HubNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubNews").finish_non_exhaustive()
    }
}

/// Tells the host the news, until the connection has `ended` or cannot be written to.
pub(crate) fn tell_news(news: &HubNews, ended: &Receiver<()>, mut say: impl FnMut(&str) -> bool) {
    let mut said: Option<Stopwatch> = None;
    let mut supervised: Option<String> = None;
    let mut quiet = Stopwatch::start();
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let mut lines = Vec::new();
        if let Some(now) = (news.supervision)().filter(|now| supervised.as_ref() != Some(now)) {
            lines.push(format!("{SUPERVISION}{now}"));
            supervised = Some(now);
        }
        let is_attended = (news.is_attended)();
        let is_due = match &said {
            Some(said) => !is_attended || said.elapsed() >= REPEAT,
            None => is_attended,
        };
        if is_due {
            lines.push(if is_attended { ATTENDED } else { ALONE }.to_owned());
            said = is_attended.then(Stopwatch::start);
        }
        if lines.is_empty() && quiet.elapsed() >= KEEP_ALIVE {
            lines.push(HERE.to_owned());
        }
        if !lines.is_empty() {
            quiet = Stopwatch::start();
        }
        if !lines.iter().all(|line| say(line)) {
            return;
        }
    }
}

/// What a host does with the news of its hub.
#[derive(Debug)]
pub struct HostActions<T, S> {
    /// Takes the attendant's lock.
    pub take: T,
    /// Keeps how the hub looks after the agents.
    pub supervise: S,
}

/// How long the host believes that the hub is attended, and that it is there.
#[derive(Debug, Clone, Copy)]
struct Patience {
    lease: Duration,
    silence: Duration,
}

/// Follows the news of the hub: holds a lock while its session is attended. Returns when the connection has ended or is silent.
fn follow_news<L>(
    mut input: impl BufRead + Send + 'static,
    patience: Patience,
    actions: &HostActions<impl Fn() -> Option<L>, impl Fn(&str)>,
) {
    let (sender, lines) = channel();
    // It may wait for a silent connection for ever, so it ends with the process.
    thread::spawn(move || {
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|count| count > 0) {
            if sender.send(line.trim().to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    let (mut held, mut renewed, mut heard) = (None, Stopwatch::start(), Stopwatch::start());
    loop {
        let silence = heard.remaining(patience.silence);
        let wait = if held.is_some() { renewed.remaining(patience.lease).min(silence) } else { silence };
        let line = lines.recv_timeout(wait);
        if line.is_ok() {
            heard = Stopwatch::start();
        }
        match line.as_deref() {
            Ok(ATTENDED) => {
                renewed = Stopwatch::start();
                held = held.or_else(&actions.take);
            }
            Ok(ALONE) => held = None,
            Ok(line) => {
                if let Some(said) = line.strip_prefix(SUPERVISION) {
                    (actions.supervise)(said);
                }
            }
            Err(RecvTimeoutError::Timeout) if heard.remaining(patience.silence).is_zero() => return,
            Err(RecvTimeoutError::Timeout) => held = None,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The host's side of the connection: keeps the file until the hub is gone.
pub fn serve<L>(
    dir: &PawDir,
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
    actions: &HostActions<impl Fn() -> Option<L>, impl Fn(&str)>,
) -> Result<(), PawError> {
    let lost =
        |error: std::io::Error| PawError::SessionError(format!("the connection to the hub is lost: {error}"));
    let mut said = String::new();
    input.read_line(&mut said).map_err(lost)?;
    let mut link: HostLink = serde_json::from_str(&said).map_err(|error| {
        PawError::SessionError(format!("the hub sent something else than an address: {error}"))
    })?;
    files::create_private_dir(dir.path())?;
    require_one_hub(dir, &link.hub)?;
    let path = dir.cluster_link();
    link.pid = Some(std::process::id());
    let saved = serde_json::to_vec(&link).unwrap_or_default();
    files::write_atomic(&path, &saved, Access::Private)?;
    let answered = writeln!(output, "{LINKED}").and_then(|()| output.flush());
    if answered.is_ok() {
        follow_news(input, Patience { lease: LEASE, silence: SILENCE }, actions);
    }
    forget(dir, &link, &path)
}

/// How the refusal of [`require_one_hub`] ends.
const IS_CONNECTED: &str = "and it is connected";

/// What the user of a copy can do.
pub const COPY_HINT: &str =
    "this is a copy of that hub; use the session there, or remove the copy with 'git paw purge --force'";

/// Whether a machine refused something because another hub is connected to it.
pub fn is_other_hub(refusal: &str) -> bool {
    refusal.ends_with(IS_CONNECTED)
}

/// Fails if another hub than this one is connected. The hub itself may connect again while its lost connection still exists here.
pub fn require_one_hub(dir: &PawDir, hub: &str) -> Result<(), PawError> {
    let current = HostLink::load(dir)?.filter(|current| current.hub != hub);
    match current.filter(|current| current.pid.is_some_and(process::is_alive)) {
        None => Ok(()),
        Some(other) => {
            let problem = format!("the hub of this session is {}, {IS_CONNECTED}", text::line(&other.hub));
            Err(PawError::new(ErrorCode::FailedPrecondition, problem).hint(COPY_HINT))
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

    fn nothing() -> HostActions<impl Fn() -> Option<()>, impl Fn(&str)> {
        HostActions { take: || None, supervise: |_: &str| {} }
    }

    /// Says its lines, one after the other: each as soon as the one before it had its effect.
    struct Speaker(Vec<(&'static str, bool)>, Arc<Mutex<bool>>);

    impl std::io::Read for Speaker {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some((line, expected)) = self.0.first().copied() else { return Ok(0) };
            let has_effect = || (*self.1.lock().unwrap() == expected).then_some(());
            wait_until(&format!("before {line:?}, the lock is held: {expected}"), has_effect);
            self.0.remove(0);
            buffer[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }

    struct HeldLock(Arc<Mutex<bool>>);

    impl Drop for HeldLock {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = false;
        }
    }

    #[test]
    fn the_place_of_the_attendant_is_taken_while_the_hub_says_so_and_no_longer() {
        let is_held = Arc::new(Mutex::new(false));
        let take = || {
            *is_held.lock().unwrap() = true;
            Some(HeldLock(Arc::clone(&is_held)))
        };
        let reader = |said| std::io::BufReader::new(Speaker(said, Arc::clone(&is_held)));
        let (attended, alone) = ("attended\n", "alone\n");
        let actions = HostActions { take, supervise: |_: &str| {} };
        // Told otherwise, and silent for too long: the lock is free before the next line.
        let said =
            vec![(attended, false), (alone, true), (attended, false), ("something\n", true), ("x\n", false)];
        let silence = Duration::from_mins(5);
        follow_news(reader(said), Patience { lease: Duration::from_millis(200), silence }, &actions);
        let said = vec![(attended, false), ("x\n", true)];
        follow_news(reader(said), Patience { lease: Duration::from_mins(5), silence }, &actions);
        assert!(!*is_held.lock().unwrap(), "the connection has ended");
    }

    /// A connection that is gone without this side knowing it.
    struct Silent;

    impl std::io::Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            loop {
                std::thread::park();
            }
        }
    }

    #[test]
    fn a_silent_connection_ends_and_frees_the_lock_and_the_place_of_the_hub() {
        let is_held = Arc::new(Mutex::new(false));
        let take = || {
            *is_held.lock().unwrap() = true;
            Some(HeldLock(Arc::clone(&is_held)))
        };
        let actions = HostActions { take, supervise: |_: &str| {} };
        let input = std::io::Read::chain(std::io::Cursor::new("attended\n"), Silent);
        let patience = Patience { lease: Duration::from_mins(5), silence: Duration::from_millis(50) };
        follow_news(std::io::BufReader::new(input), patience, &actions);
        assert!(!*is_held.lock().unwrap());
    }

    #[test]
    fn the_hub_says_that_its_session_is_attended_and_that_it_no_longer_is() {
        let (sender, ended) = channel();
        let (left, mut said) = (Mutex::new(vec![true, true, false, false, true]), Vec::new());
        let rules = Mutex::new(vec![Some("1"), Some("1"), None, Some("2")]);
        let mut sender = Some(sender);
        let next = |left: &mut Vec<bool>| if left.is_empty() { false } else { left.remove(0) };
        let is_attended = Arc::new(move || next(&mut left.lock().unwrap()));
        let next =
            |rules: &mut Vec<Option<&'static str>>| if rules.is_empty() { None } else { rules.remove(0) };
        let supervision = Arc::new(move || next(&mut rules.lock().unwrap()).map(str::to_owned));
        tell_news(&HubNews { is_attended, supervision }, &ended, |line| {
            said.push(line.to_owned());
            if said.len() == 6 {
                sender.take();
            }
            true
        });
        assert_eq!(said, ["supervision 1", "attended", "alone", "supervision 2", "attended", "alone"]);
    }

    /// Ends the connection, and looks at the file first.
    struct Hub(PawDir, std::io::Cursor<Vec<u8>>);

    impl std::io::Read for Hub {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = std::io::Read::read(&mut self.1, buffer)?;
            if count == 0 {
                assert!(
                    HostLink::load(&self.0).unwrap().is_some(),
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
        let hub = std::io::BufReader::new(Hub(dir.clone(), std::io::Cursor::new(line("1").into_bytes())));
        serve(&dir, hub, &mut said, &nothing()).unwrap();
        assert!(is_linked(&said), "{said:?}");
        assert_eq!(HostLink::load(&dir).unwrap(), None);
        assert!(serve(&dir, b"rubbish\n".as_slice(), &mut said, &nothing()).is_err());
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
        let bytes = |text: &str| std::io::Cursor::new(text.as_bytes().to_vec());
        let refused = serve(&dir, bytes(&second), &mut Vec::new(), &nothing()).unwrap_err().report();
        assert_eq!(refused.message, "the hub of this session is a:/app, and it is connected");
        assert!(is_other_hub(&refused.message) && !refused.hints.is_empty(), "{refused:?}");
        assert_eq!(HostLink::load(&dir).unwrap().unwrap().id, "1");
        // The same hub, after it has lost its connection.
        serve(&dir, bytes(&line("3")), &mut Vec::new(), &nothing()).unwrap();
        // Another one, after the first one has ended.
        first.pid = Some(u32::MAX / 2);
        save(&first);
        serve(&dir, bytes(&second), &mut Vec::new(), &nothing()).unwrap();
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
