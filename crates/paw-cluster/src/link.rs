//! How a host reaches the stream: the hub tells it over a connection that stays open, and the host's session reads it from a file.

use std::io::{BufRead, Write};
use std::path::Path;

use paw_core::paths::PawDir;
use paw_core::{ErrorCode, PawError, text};
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

/// The host's side of the connection: keeps the file until the hub is gone.
pub fn serve(dir: &PawDir, mut input: impl BufRead, mut output: impl Write) -> Result<(), PawError> {
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
        // The hub sends nothing else; it closes the connection, or loses it.
        let _ = std::io::copy(&mut input, &mut std::io::sink());
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
    use super::*;

    fn line(id: &str) -> String {
        let servers = vec!["nats://127.0.0.1:1".to_owned()];
        let link = HostLink { servers, login: None, id: id.to_owned(), hub: "a:/app".to_owned(), pid: None };
        serde_json::to_string(&link).unwrap() + "\n"
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
        serve(&dir, hub, &mut said).unwrap();
        assert!(is_linked(&said), "{said:?}");
        assert_eq!(HostLink::load(&dir).unwrap(), None);
        assert!(serve(&dir, b"rubbish\n".as_slice(), &mut said).is_err());
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
        let refused = serve(&dir, second.as_bytes(), &mut Vec::new()).unwrap_err().report();
        assert_eq!(refused.message, "the hub of this session is a:/app, and it is connected");
        assert!(!refused.hints.is_empty(), "{refused:?}");
        assert_eq!(HostLink::load(&dir).unwrap().unwrap().id, "1");
        // The same hub, after it has lost its connection.
        serve(&dir, line("3").as_bytes(), &mut Vec::new()).unwrap();
        // Another one, after the first one has ended.
        first.pid = Some(u32::MAX / 2);
        save(&first);
        serve(&dir, second.as_bytes(), &mut Vec::new()).unwrap();
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
