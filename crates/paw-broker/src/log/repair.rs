//! Rebuilds a damaged log: messages from the audit trail, tokens from the damaged file as far as they can be read.
//!
//! Agents can write the audit trail, so a rebuilt message is marked and proves nothing: a `verified` or an `answer` gets a
//! type that no reader counts.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::AgentId;
use paw_core::paths::PawDir;
use paw_host::files::{self, Lock};
use paw_host::sqlite;
use serde_json::{Value, json};

use super::database::MIGRATIONS;
use super::{LogEntry, LogError, SessionId, open, tokens};
use crate::audit;
use crate::identity::{IdentityError, Keyring, TokenHash};
use crate::message::Message;
use crate::route::Audience;

/// Numbers that are skipped: messages that are not in the trail had them, and readers may have seen those.
const SKIPPED: u64 = 100_000;
/// The field of a rebuilt message.
const MARK: &str = "rebuilt";
/// Types of messages that others act on as a proof or a permission.
const PROOFS: [&str; 2] = ["agent.verified", "agent.answer"];

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRepair {
    /// The damaged file.
    pub aside: PathBuf,
    pub messages: usize,
    pub tokens: usize,
    /// Lines of the trail that are not messages.
    pub unreadable: usize,
}

/// What is wrong with the log at `path`. Reads the whole file.
pub fn find_damage(path: &Path) -> Option<String> {
    sqlite::find_damage(path, MIGRATIONS)
}

/// Sets a damaged log aside and rebuilds it. The caller holds the broker's lock. The messages of a session that is replicated come
/// back from its stream: those in the trail have no origin, and would be sent to all hosts again.
pub fn repair(
    dir: &PawDir,
    trail: &Path,
    replicated: Option<&SessionId>,
    _lock: &Lock,
    now: Timestamp,
) -> Result<LogRepair, LogError> {
    let saved = load_tokens(&dir.log());
    let aside = files::set_aside(&dir.log(), now).map_err(|error| LogError::Failed(error.to_string()))?;
    let (mut messages, unreadable) = read_trail(trail);
    let log = open(&dir.log())?;
    let head = messages.last().map_or(0, |(_, entry)| entry.seq);
    messages.retain(|(session, _)| Some(session) != replicated);
    log.restore(&messages, head + SKIPPED)?;
    for (session, agent, hash) in &saved {
        let session = (!session.is_empty()).then(|| SessionId::new(session));
        log.save_token(session.as_ref(), agent, *hash)?;
    }
    // The operator's token is in a file of its own.
    let failed = |error: IdentityError| LogError::Failed(error.to_string());
    Keyring::new(&log, dir.path()).operator().map_err(failed)?;
    Ok(LogRepair { aside, messages: messages.len(), tokens: saved.len(), unreadable })
}

/// The tokens that can be read from a damaged file.
fn load_tokens(path: &Path) -> Vec<(String, AgentId, TokenHash)> {
    rusqlite::Connection::open(path).and_then(|connection| tokens::load_all(&connection)).unwrap_or_default()
}

/// The messages of all files of the trail, in the order of their numbers, and the number of unreadable lines.
fn read_trail(trail: &Path) -> (Vec<(SessionId, LogEntry)>, usize) {
    let (mut messages, mut unreadable) = (Vec::new(), 0);
    for path in audit::files_of(trail) {
        let Ok(file) = File::open(path) else { continue };
        for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
            match parse_line(&line) {
                Some(message) => messages.push(message),
                None => unreadable += 1,
            }
        }
    }
    messages.sort_by_key(|(_, entry)| entry.seq);
    messages.dedup_by_key(|(_, entry)| entry.seq);
    (messages, unreadable)
}

fn parse_line(line: &[u8]) -> Option<(SessionId, LogEntry)> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let seq = line["seq"].as_u64().filter(|seq| (1..=1 << 53).contains(seq))?;
    let sender = AgentId::new(line["sender"].as_str()?).ok()?;
    let message = Message::from_json(line["message"].clone()).ok()?;
    let mut body = message.to_json();
    let fields = body.as_object_mut()?;
    fields.insert(MARK.to_owned(), json!(true));
    let is_proof = PROOFS.contains(&message.type_name());
    if is_proof {
        fields.insert("type".to_owned(), json!(format!("{MARK}.{}", message.type_name())));
    }
    let entry = LogEntry {
        seq,
        at: line["at"].as_str()?.parse().ok()?,
        sender,
        audience: if is_proof { Audience::None } else { message.audience() },
        body: body.to_string().into(),
        is_replicated: false,
    };
    Some((SessionId::new(line["session"].as_str()?), entry))
}
