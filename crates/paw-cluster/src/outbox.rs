//! Which local messages are sent next. Pure.
//!
//! One batch is on its way at a time. Each names the entry that has to be the host's last one in the stream, so that a batch that
//! arrives late is refused instead of stored out of order. Unless a batch is known to be stored, nothing is sent until the
//! stream was read up to its end: only the stream knows what it holds.

use std::collections::VecDeque;

use paw_broker::log::{LogEpoch, StreamPosition};

use crate::batch::{BatchRow, MessageId};

/// A batch is at most this large, unless a single message is larger.
pub const BATCH_BYTES: usize = 200_000;
/// A larger message cannot be replicated: entries of the stream have at most 1 MiB.
pub const LARGEST_MESSAGE: usize = 900_000;

/// The epochs of a log, with their first sequence numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEpochs(Vec<(u64, LogEpoch)>);

impl LogEpochs {
    /// The epochs in ascending order.
    pub fn new(epochs: Vec<(u64, LogEpoch)>) -> Self {
        Self(epochs)
    }

    /// The epoch of a local message.
    pub fn find(&self, seq: u64) -> Option<&LogEpoch> {
        let after = self.0.partition_point(|(first, _)| *first <= seq);
        after.checked_sub(1).and_then(|index| self.0.get(index)).map(|(_, epoch)| epoch)
    }

    /// Whether this log has, or had, the message with this id.
    pub fn contains(&self, id: &MessageId) -> bool {
        self.find(id.seq) == Some(&id.epoch)
    }

    /// The id of a local message.
    fn id(&self, seq: u64) -> Option<MessageId> {
        Some(MessageId { epoch: self.find(seq)?.clone(), seq })
    }
}

/// What the sender may do.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SendState {
    /// The stream has to be read up to this number. `None`: its last number has to be asked for.
    Reading {
        until: Option<u64>,
    },
    Ready,
    /// A batch is on its way. It ends with this local message.
    Sending {
        through: u64,
    },
}

/// The next batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextBatch {
    /// The number in the stream that the host's last entry must have.
    pub expected: u64,
    pub epoch: LogEpoch,
    pub after: Option<MessageId>,
    pub rows: Vec<BatchRow<'static>>,
}

/// The local messages that are not in the stream yet.
#[derive(Debug)]
pub struct Outbox {
    epochs: LogEpochs,
    state: SendState,
    /// The number in the stream of the host's last entry.
    own_seq: u64,
    /// Local messages up to this one are in the stream.
    sent: u64,
    /// Messages after `sent` that were read from the log.
    waiting: VecDeque<BatchRow<'static>>,
    waiting_bytes: usize,
    /// The newest message that was read from the log.
    read: u64,
}

impl Outbox {
    /// At a start, when it is not known what the stream holds.
    pub fn new(epochs: LogEpochs) -> Self {
        let state = SendState::Reading { until: None };
        Self { epochs, state, own_seq: 0, sent: 0, waiting: VecDeque::new(), waiting_bytes: 0, read: 0 }
    }

    /// Sends nothing until the stream was read up to its end, whose number is not known yet.
    pub fn reset(&mut self) {
        self.state = SendState::Reading { until: None };
    }

    /// Whether the last number of the stream has to be asked for.
    pub fn needs_end(&self) -> bool {
        self.state == SendState::Reading { until: None }
    }

    /// The stream ends with this entry.
    pub fn ends_at(&mut self, last: u64) {
        if let SendState::Reading { until } = &mut self.state {
            *until = Some(last);
        }
    }

    /// The stream was read up to `position`. Returns true if that is its end, and messages are read from the log after [`Self::read`].
    pub fn has_read(&mut self, position: &StreamPosition) -> bool {
        let SendState::Reading { until: Some(until) } = self.state else { return false };
        if position.cursor.as_ref().map_or(0, |cursor| cursor.seq) < until {
            return false;
        }
        self.state = SendState::Ready;
        self.own_seq = position.own_seq;
        self.sent = position.sent;
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.read = self.sent;
        true
    }

    /// The newest local message that was added.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Whether more messages should be added: until there are enough for a whole batch.
    pub fn wants_more(&self) -> bool {
        self.is_known() && self.waiting_bytes < BATCH_BYTES
    }

    fn is_known(&self) -> bool {
        !matches!(self.state, SendState::Reading { .. })
    }

    /// Adds the next messages of the log, and the number up to which it was read. Other hosts' messages are not among them.
    pub fn add(&mut self, rows: impl IntoIterator<Item = BatchRow<'static>>, read: u64) {
        for row in rows {
            self.waiting_bytes += row.size();
            self.waiting.push_back(row);
        }
        self.read = self.read.max(read);
    }

    /// Whether there is a batch to send now. `is_wanted` asks for one without messages.
    pub fn can_send(&self, is_wanted: bool) -> bool {
        self.state == SendState::Ready && (is_wanted || !self.waiting.is_empty())
    }

    /// The batch to send now, if any.
    pub fn next(&mut self, is_wanted: bool) -> Option<NextBatch> {
        if !self.can_send(is_wanted) {
            return None;
        }
        let first = self.waiting.front().map_or(self.read.max(1), |row| row.seq);
        let epoch = self.epochs.find(first)?.clone();
        let (mut rows, mut size) = (Vec::new(), 0);
        while let Some(row) = self.waiting.front() {
            size += row.size();
            let is_full = !rows.is_empty() && size > BATCH_BYTES;
            if is_full || self.epochs.find(row.seq) != Some(&epoch) {
                break;
            }
            self.waiting_bytes -= row.size();
            rows.extend(self.waiting.pop_front());
        }
        let through = rows.last().map_or(self.sent, |row: &BatchRow<'_>| row.seq);
        self.state = SendState::Sending { through };
        Some(NextBatch { expected: self.own_seq, epoch, after: self.epochs.id(self.sent), rows })
    }

    /// The batch is stored under this number.
    pub fn stored(&mut self, seq: u64) {
        if let SendState::Sending { through } = self.state {
            self.own_seq = seq;
            self.sent = through;
            self.state = SendState::Ready;
        }
    }

    /// Local messages up to this one are in the stream.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_broker::log::StreamCursor;

    use super::*;

    fn row(seq: u64, bytes: usize) -> BatchRow<'static> {
        BatchRow { seq, at: Timestamp::UNIX_EPOCH, body: "x".repeat(bytes).into() }
    }

    fn position(seq: u64, own_seq: u64, sent: u64) -> StreamPosition {
        let cursor = StreamCursor { incarnation: String::new(), seq, digest: String::new() };
        StreamPosition { cursor: Some(cursor), own_seq, sent }
    }

    fn epochs() -> (LogEpochs, LogEpoch, LogEpoch) {
        let (one, two) = (LogEpoch::random(), LogEpoch::random());
        (LogEpochs::new(vec![(1, one.clone()), (6, two.clone())]), one, two)
    }

    #[test]
    fn nothing_is_sent_before_the_stream_was_read_to_its_end() {
        let (epochs, one, _) = epochs();
        let mut outbox = Outbox::new(epochs);
        assert!(outbox.needs_end() && !outbox.wants_more());
        assert!(!outbox.has_read(&position(9, 9, 2)), "its end is not known");
        outbox.ends_at(9);
        assert!(!outbox.needs_end() && !outbox.has_read(&position(8, 0, 0)) && outbox.next(true).is_none());
        assert!(outbox.has_read(&position(9, 7, 2)) && outbox.wants_more());
        outbox.add([row(3, 10)], 4);
        let next = outbox.next(false).unwrap();
        assert_eq!((next.expected, &next.epoch, next.rows.len()), (7, &one, 1));
        assert_eq!(next.after, Some(MessageId { epoch: one, seq: 2 }));
        assert!(outbox.next(true).is_none(), "one batch at a time");
        outbox.stored(12);
        outbox.add([row(5, 10)], 5);
        assert_eq!(outbox.next(false).map(|next| (next.expected, next.after.unwrap().seq)), Some((12, 3)));
        outbox.reset();
        outbox.stored(13);
        assert!(outbox.needs_end(), "an answer after a reset is too late");
    }

    #[test]
    fn messages_are_collected_for_a_whole_batch_while_one_is_on_its_way() {
        let mut outbox = Outbox::new(epochs().0);
        outbox.ends_at(0);
        assert!(outbox.has_read(&StreamPosition::default()));
        outbox.add([row(1, 10)], 1);
        assert!(outbox.wants_more() && outbox.next(false).is_some_and(|next| next.rows.len() == 1));
        for seq in 2..=5 {
            assert!(outbox.wants_more());
            outbox.add([row(seq, 60_000)], seq);
        }
        assert!(!outbox.wants_more(), "a whole batch waits");
        outbox.stored(1);
        assert_eq!(outbox.next(false).unwrap().rows.len(), 3);
        assert!(outbox.wants_more());
    }

    #[test]
    fn a_batch_has_one_epoch_and_a_limited_size() {
        let (epochs, one, two) = epochs();
        let mut outbox = Outbox::new(epochs);
        outbox.ends_at(0);
        assert!(outbox.has_read(&StreamPosition::default()));
        outbox.add([row(1, 150_000), row(2, 60_000), row(5, 250_000), row(6, 10), row(8, 10)], 8);
        let mut sizes = Vec::new();
        while let Some(next) = outbox.next(false) {
            sizes.push((next.epoch, next.rows.iter().map(|row| row.seq).collect::<Vec<_>>()));
            outbox.stored(sizes.len() as u64);
        }
        let expected = [(one.clone(), vec![1]), (one.clone(), vec![2]), (one, vec![5]), (two, vec![6, 8])];
        assert_eq!(sizes, expected);
        assert!(outbox.next(true).is_some_and(|next| next.rows.is_empty()), "to announce something");
    }
}
