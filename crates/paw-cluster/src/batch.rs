//! Messages of one host as an entry of the stream: a line of JSON about the batch, then one line per message.

use std::borrow::Cow;
use std::fmt::Write as _;

use jiff::Timestamp;
use paw_broker::log::{LogEpoch, StreamId};
use paw_core::HostName;
use paw_host::signing::{PublicKey, SecretKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::roster::Roster;

/// The format this version writes and reads.
const FORMAT: u32 = 2;
/// Signed in front of the hash of a batch, so that a signature means nothing else.
const PURPOSE: &[u8] = b"git paw batch 2\n";
/// Sequence numbers that every reader can store.
const LARGEST_SEQ: u64 = 1 << 53;

/// The id of a message within its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageId {
    pub epoch: LogEpoch,
    pub seq: u64,
}

/// What a batch says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchHeader {
    pub format: u32,
    pub stream: StreamId,
    pub host: HostName,
    /// The epoch of all messages.
    pub epoch: LogEpoch,
    /// The host's message before these. A reader that does not have it must not read on.
    pub after: Option<MessageId>,
    /// Differs in each attempt to send, so that equal entries at the same place mean equal streams.
    pub nonce: String,
    /// The hosts of the session, if this batch announces a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roster: Option<Roster>,
}

/// A message in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRow<'a> {
    pub seq: u64,
    pub at: Timestamp,
    /// The message as JSON.
    pub body: Cow<'a, str>,
}

impl BatchRow<'_> {
    /// The size of its line, at most.
    pub fn size(&self) -> usize {
        self.body.len() + 48
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<'a> {
    pub header: BatchHeader,
    pub rows: Vec<BatchRow<'a>>,
}

/// A batch as it is stored in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedBatch {
    pub payload: Vec<u8>,
    /// In hexadecimal digits.
    pub signature: String,
}

/// An entry that is not a batch of its host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    #[error("the entry is not a batch: {0}")]
    Malformed(String),
    #[error("the batch has format {0}, this version reads {FORMAT}")]
    Format(u32),
    #[error("the signature does not belong to the batch")]
    Unsigned,
}

impl BatchHeader {
    pub fn new(stream: StreamId, host: HostName, epoch: LogEpoch, nonce: String) -> Self {
        Self { format: FORMAT, stream, host, epoch, after: None, nonce, roster: None }
    }
}

impl Batch<'_> {
    pub fn sign(&self, key: &SecretKey) -> SignedBatch {
        let size = self.rows.iter().map(BatchRow::size).sum::<usize>();
        let mut text = String::with_capacity(size + 512);
        // Neither can fail: the header has only text and numbers, and a string takes everything.
        text.push_str(&serde_json::to_string(&self.header).unwrap_or_default());
        for row in &self.rows {
            let _ = write!(text, "\n{} {} {}", row.seq, row.at.as_microsecond(), row.body);
        }
        let payload = text.into_bytes();
        let signature = key.sign(&signed_bytes(&PayloadHash::of(&payload)));
        SignedBatch { payload, signature }
    }
}

#[cfg(test)]
impl<'a> Batch<'a> {
    /// The batch, if `key` has signed it.
    fn open(payload: &'a [u8], signature: &str, key: &PublicKey) -> Result<Self, BatchError> {
        ClaimedBatch::read(payload)?.open(&PayloadHash::of(payload), signature, key)
    }
}

/// A batch whose header says whose key has to fit. Nothing in it is trusted yet.
#[derive(Debug)]
pub struct ClaimedBatch<'a> {
    header: BatchHeader,
    payload: &'a [u8],
}

impl<'a> ClaimedBatch<'a> {
    pub fn read(payload: &'a [u8]) -> Result<Self, BatchError> {
        let header = payload.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(Self { header: parse_header(header)?, payload })
    }

    pub fn host(&self) -> &HostName {
        &self.header.host
    }

    /// The batch, if `key` has signed it. `hash` is the one of its payload.
    pub fn open(self, hash: &PayloadHash, signature: &str, key: &PublicKey) -> Result<Batch<'a>, BatchError> {
        let Self { header, payload } = self;
        if !key.has_signed(&signed_bytes(hash), signature) {
            return Err(BatchError::Unsigned);
        }
        let malformed = |what: &str| BatchError::Malformed(what.to_owned());
        let text = std::str::from_utf8(payload).map_err(|_| malformed("not UTF-8"))?;
        let lines = text.split('\n').skip(1);
        let mut rows: Vec<BatchRow<'a>> = Vec::new();
        for line in lines {
            let row = parse_row(line).ok_or_else(|| malformed("a line is not a message"))?;
            if rows.last().is_some_and(|last| last.seq >= row.seq) {
                return Err(malformed("sequence numbers do not ascend"));
            }
            rows.push(row);
        }
        Ok(Batch { header, rows })
    }
}

/// The SHA-256 of a payload. It is signed instead of the payload, so that each reader hashes the payload once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadHash([u8; 32]);

impl PayloadHash {
    pub fn of(payload: &[u8]) -> Self {
        Self(Sha256::digest(payload).into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn signed_bytes(hash: &PayloadHash) -> Vec<u8> {
    [PURPOSE, hash.as_bytes()].concat()
}

fn parse_header(line: &[u8]) -> Result<BatchHeader, BatchError> {
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let malformed = |error: serde_json::Error| BatchError::Malformed(error.to_string());
    let Versioned { format } = serde_json::from_slice(line).map_err(malformed)?;
    if format != FORMAT {
        return Err(BatchError::Format(format));
    }
    serde_json::from_slice(line).map_err(malformed)
}

fn parse_row(line: &str) -> Option<BatchRow<'_>> {
    let mut parts = line.splitn(3, ' ');
    let seq = parts.next()?.parse().ok().filter(|seq| (1..=LARGEST_SEQ).contains(seq))?;
    let at = Timestamp::from_microsecond(parts.next()?.parse().ok()?).ok()?;
    Some(BatchRow { seq, at, body: parts.next()?.into() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(name: &str) -> SecretKey {
        let dir = tempfile::tempdir().unwrap();
        SecretKey::open(&dir.path().join(name)).unwrap()
    }

    fn batch<'a>(bodies: &[&'a str]) -> Batch<'a> {
        let host = HostName::new("big").unwrap();
        let header = BatchHeader::new(StreamId::random(), host, LogEpoch::random(), "1".into());
        let row =
            |(seq, body): (u64, &&'a str)| BatchRow { seq, at: Timestamp::UNIX_EPOCH, body: (*body).into() };
        Batch { header, rows: (1..).zip(bodies).map(row).collect() }
    }

    #[test]
    fn a_signed_batch_is_read_as_it_was_written() {
        let (key, mut batch) = (key("a"), batch(&[r#"{"type":"x y"}"#, "{}"]));
        batch.header.after = Some(MessageId { epoch: LogEpoch::random(), seq: 9 });
        batch.header.roster = Some(Roster::new(HostName::new("hub").unwrap(), key.public()));
        let SignedBatch { payload, signature } = batch.sign(&key);
        assert_eq!(ClaimedBatch::read(&payload).unwrap().host().as_str(), "big");
        assert_eq!(Batch::open(&payload, &signature, &key.public()).unwrap(), batch);
        batch.rows.clear();
        let SignedBatch { payload, signature } = batch.sign(&key);
        assert_eq!(Batch::open(&payload, &signature, &key.public()).unwrap(), batch);
    }

    #[test]
    fn a_batch_with_another_signature_is_refused() {
        let (own, other) = (key("a"), key("b"));
        let SignedBatch { payload, signature } = batch(&["{}"]).sign(&own);
        let refused = |payload: &[u8], signature: &str, key: &SecretKey| {
            assert_eq!(Batch::open(payload, signature, &key.public()), Err(BatchError::Unsigned));
        };
        refused(&payload, &signature, &other);
        refused(&payload, "", &own);
        refused(&payload, &batch(&["{}"]).sign(&own).signature, &own);
        refused(&[payload.as_slice(), b" "].concat(), &signature, &own);
        refused(&payload, &own.sign(&payload), &own);
        refused(&payload, &own.sign(PayloadHash::of(&payload).as_bytes()), &own);
    }

    #[test]
    fn a_batch_whose_numbers_do_not_ascend_is_malformed() {
        let key = key("a");
        let mut batch = batch(&["{}", "{}"]);
        for numbers in [[2, 2], [3, 1], [0, 1], [1, u64::MAX]] {
            for (row, seq) in batch.rows.iter_mut().zip(numbers) {
                row.seq = seq;
            }
            let SignedBatch { payload, signature } = batch.sign(&key);
            let error = Batch::open(&payload, &signature, &key.public()).unwrap_err();
            assert!(matches!(error, BatchError::Malformed(_)), "{numbers:?}: {error}");
        }
        batch.header.format = FORMAT + 1;
        let SignedBatch { payload, .. } = batch.sign(&key);
        assert_eq!(ClaimedBatch::read(&payload).unwrap_err(), BatchError::Format(FORMAT + 1));
    }

    proptest! {
        #[test]
        fn no_bytes_crash_the_parser(payload in prop::collection::vec(any::<u8>(), 0..200), text in ".{0,200}") {
            let key = key("a");
            for payload in [payload.as_slice(), text.as_bytes()] {
                let _ = Batch::open(payload, &key.sign(&signed_bytes(&PayloadHash::of(payload))), &key.public());
                let line = [br#"{"format":2}"#.as_slice(), b"\n", payload].concat();
                let _ = Batch::open(&line, &key.sign(&signed_bytes(&PayloadHash::of(&line))), &key.public());
            }
        }
    }
}
