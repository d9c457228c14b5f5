//! What an entry of the stream changes. Pure.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use paw_broker::log::{
    MessageDraft, Origin, ReplicaState, ReplicatedMessage, StreamCursor, StreamId, StreamPosition,
    StreamProgress,
};
use paw_broker::message::Message;
use paw_core::{AgentId, HostName};
use sha2::{Digest as _, Sha256};

use crate::batch::{Batch, BatchError, BatchRow, ClaimedBatch, MessageId, PayloadHash};
use crate::outbox::LogEpochs;
use crate::roster::Roster;

/// An entry as it is stored in the stream.
#[derive(Debug, Clone, Copy)]
pub struct StreamEntry<'a> {
    pub seq: u64,
    /// The host in its subject.
    pub host: &'a str,
    pub signature: Option<&'a str>,
    pub payload: &'a [u8],
}

impl StreamEntry<'_> {
    fn digest(&self, payload: &PayloadHash) -> String {
        let mut hash = Sha256::new();
        for part in [self.host.as_bytes(), self.signature.unwrap_or_default().as_bytes(), payload.as_bytes()]
        {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Why an entry, or a message in it, was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    #[error(transparent)]
    Batch(#[from] BatchError),
    #[error("the batch names the host '{0}'")]
    OtherHost(HostName),
    #[error("the host is not part of the session")]
    UnknownHost,
    #[error("the batch belongs to another stream")]
    OtherStream,
    #[error("messages before it are missing")]
    Gap,
    #[error("the host does not run the agent '{0}'")]
    NotItsAgent(AgentId),
    #[error("message {0} is of a type that this version does not know")]
    UnknownMessage(u64),
}

/// An entry that was skipped, completely or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    pub seq: u64,
    pub host: String,
    pub reason: SkipReason,
}

/// The stream has to be read again from [`StreamReader::start`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAgain;

/// Reads the stream of a session in order. Nothing it returns is stored twice, whatever the stream holds.
#[derive(Debug)]
pub struct StreamReader {
    stream: StreamId,
    host: HostName,
    epochs: LogEpochs,
    roster: Roster,
    origins: HashMap<Origin, u64>,
    position: StreamPosition,
    incarnation: String,
    /// The entry at the cursor is still the one that was read.
    is_confirmed: bool,
    /// An entry of this host is in the stream without the one before it.
    has_own_gap: bool,
    /// Hosts that were not in the roster when an entry of theirs was read.
    unknown_hosts: BTreeSet<String>,
    /// Hosts for which the stream was read again from its beginning because messages were missing.
    read_again_for: BTreeSet<HostName>,
    messages: Vec<ReplicatedMessage>,
    changed_origins: HashMap<Origin, u64>,
    has_new_roster: bool,
    has_progress: bool,
    skipped: Vec<SkippedEntry>,
}

impl StreamReader {
    /// A reader that continues where the log is. The newer of the saved roster and `roster` counts.
    pub fn new(stream: StreamId, host: HostName, state: ReplicaState, roster: Roster) -> Self {
        let saved = state.roster.and_then(|text| serde_json::from_str::<Roster>(&text).ok());
        let saved = saved.filter(|saved| saved.hub == roster.hub && saved.version > roster.version);
        Self {
            stream,
            host,
            epochs: LogEpochs::new(state.epochs),
            roster: saved.unwrap_or(roster),
            origins: state.origins.into_iter().collect(),
            position: state.position,
            incarnation: String::new(),
            is_confirmed: false,
            has_own_gap: false,
            unknown_hosts: BTreeSet::new(),
            read_again_for: BTreeSet::new(),
            messages: Vec::new(),
            changed_origins: HashMap::new(),
            has_new_roster: false,
            has_progress: false,
            skipped: Vec::new(),
        }
    }

    pub fn epochs(&self) -> &LogEpochs {
        &self.epochs
    }

    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    pub fn position(&self) -> &StreamPosition {
        &self.position
    }

    /// The number of the entry to start with, in a stream of this incarnation that ends with `last`. The entry at the cursor is
    /// read again, to see that it is the same.
    pub fn start(&mut self, incarnation: &str, last: u64) -> u64 {
        incarnation.clone_into(&mut self.incarnation);
        let is_same = |cursor: &&StreamCursor| cursor.incarnation == incarnation && cursor.seq <= last;
        match self.position.cursor.as_ref().filter(is_same) {
            Some(cursor) => {
                self.is_confirmed = false;
                cursor.seq
            }
            None => self.start_over(),
        }
    }

    fn start_over(&mut self) -> u64 {
        self.position = StreamPosition::default();
        self.is_confirmed = true;
        1
    }

    /// Reads the next entry.
    pub fn read(&mut self, entry: &StreamEntry<'_>) -> Result<(), ReadAgain> {
        let hash = PayloadHash::of(entry.payload);
        let digest = entry.digest(&hash);
        if let Some(cursor) = &self.position.cursor {
            if !self.is_confirmed {
                if entry.seq != cursor.seq || digest != cursor.digest {
                    self.start_over();
                    return Err(ReadAgain);
                }
                self.is_confirmed = true;
            }
            if entry.seq <= cursor.seq {
                return Ok(());
            }
        }
        if entry.host == self.host.as_str() {
            self.position.own_seq = entry.seq;
        }
        match self.read_batch(entry, &hash) {
            Ok(true) => {}
            Ok(false) => {
                self.start_over();
                return Err(ReadAgain);
            }
            Err(reason) => self.skip(entry, reason),
        }
        let incarnation = self.incarnation.clone();
        self.position.cursor = Some(StreamCursor { incarnation, seq: entry.seq, digest });
        self.has_progress = true;
        Ok(())
    }

    fn skip(&mut self, entry: &StreamEntry<'_>, reason: SkipReason) {
        self.skipped.push(SkippedEntry { seq: entry.seq, host: entry.host.to_owned(), reason });
    }

    /// Returns false if the stream has to be read again from its beginning.
    fn read_batch(&mut self, entry: &StreamEntry<'_>, hash: &PayloadHash) -> Result<bool, SkipReason> {
        let claimed = ClaimedBatch::read(entry.payload)?;
        if claimed.host().as_str() != entry.host {
            return Err(SkipReason::OtherHost(claimed.host().clone()));
        }
        let Some(member) = self.roster.members.get(claimed.host()) else {
            self.unknown_hosts.insert(entry.host.to_owned());
            return Err(SkipReason::UnknownHost);
        };
        let Batch { header, rows } = claimed.open(hash, entry.signature.unwrap_or_default(), &member.key)?;
        let host = header.host;
        if header.stream != self.stream {
            return Err(SkipReason::OtherStream);
        }
        if let Some(roster) = header.roster
            && host == self.roster.hub
            && self.adopt(roster)
        {
            return Ok(false);
        }
        if !rows.is_empty() && header.after.as_ref().is_some_and(|after| !self.has(&host, after)) {
            if host == self.host {
                self.has_own_gap = true;
            } else if self.read_again_for.insert(host) {
                return Ok(false);
            }
            return Err(SkipReason::Gap);
        }
        self.read_rows(entry, &Origin { host, epoch: header.epoch }, &rows);
        Ok(true)
    }

    /// Takes a newer roster. Returns whether entries of hosts that were not known before have to be read again.
    fn adopt(&mut self, roster: Roster) -> bool {
        if roster.version <= self.roster.version || roster.hub != self.roster.hub {
            return false;
        }
        self.roster = roster;
        self.has_new_roster = true;
        self.read_again_for.clear();
        let known = |host: &String| self.roster.members.keys().any(|member| member.as_str() == host);
        let missed = self.unknown_hosts.iter().any(known);
        self.unknown_hosts.retain(|host| !known(host));
        missed
    }

    /// Whether a message was stored, or is a local one that is in the stream.
    fn has(&self, host: &HostName, id: &MessageId) -> bool {
        if *host == self.host && self.epochs.contains(id) {
            return id.seq <= self.position.sent;
        }
        let origin = Origin { host: host.clone(), epoch: id.epoch.clone() };
        self.origins.get(&origin).is_some_and(|newest| *newest >= id.seq)
    }

    /// Reads the rows of a batch: local ones that are now in the stream, and those that are not stored yet.
    fn read_rows(&mut self, entry: &StreamEntry<'_>, origin: &Origin, rows: &[BatchRow<'_>]) {
        let known = self.origins.get(origin).copied().unwrap_or_default();
        let mut newest = known;
        for row in rows {
            let is_local =
                origin.host == self.host && self.epochs.find(row.seq).is_some_and(|own| *own == origin.epoch);
            if is_local {
                self.position.sent = self.position.sent.max(row.seq);
            } else if row.seq > newest {
                newest = row.seq;
                if let Err(reason) = self.read_row(origin, row) {
                    self.skip(entry, reason);
                }
            }
        }
        if newest > known {
            self.origins.insert(origin.clone(), newest);
            self.changed_origins.insert(origin.clone(), newest);
        }
    }

    fn read_row(&mut self, origin: &Origin, row: &BatchRow<'_>) -> Result<(), SkipReason> {
        let message = Message::parse(row.body.as_bytes()).map_err(|_| SkipReason::UnknownMessage(row.seq))?;
        if !self.roster.may_send(&origin.host, &message) {
            let sender = message.sender().unwrap_or_else(|| message.subject());
            return Err(SkipReason::NotItsAgent(sender.clone()));
        }
        if self.roster.is_farewell_of_moved(&origin.host, &message) {
            return Ok(());
        }
        let draft = MessageDraft::new(message, row.at);
        self.messages.push(ReplicatedMessage { origin: origin.clone(), seq: row.seq, draft });
        Ok(())
    }

    /// What was read since the last call, to be stored at once.
    pub fn take_progress(&mut self) -> Option<StreamProgress> {
        if !std::mem::take(&mut self.has_progress) {
            return None;
        }
        let roster = std::mem::take(&mut self.has_new_roster).then(|| serde_json::to_string(&self.roster));
        Some(StreamProgress {
            messages: std::mem::take(&mut self.messages),
            origins: self.changed_origins.drain().collect(),
            position: self.position.clone(),
            roster: roster.and_then(Result::ok),
        })
    }

    /// Whether messages of other hosts, or a roster, wait to be stored. A position alone may be lost: what follows it is read again.
    pub fn has_news(&self) -> bool {
        !self.messages.is_empty() || self.has_new_roster
    }

    pub fn has_progress(&self) -> bool {
        self.has_progress
    }

    /// Whether an own entry was stored without the one before it, so that messages have to be sent again.
    pub fn take_own_gap(&mut self) -> bool {
        std::mem::take(&mut self.has_own_gap)
    }

    /// What was skipped since the last call.
    pub fn take_skipped(&mut self) -> Vec<SkippedEntry> {
        std::mem::take(&mut self.skipped)
    }
}

#[cfg(test)]
mod tests;
