//! The client of NATS JetStream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::context::{
    CreateStreamErrorKind, GetStreamErrorKind, PublishError, PublishErrorKind,
};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, StorageType, Stream};
use async_nats::jetstream::{self, Context, ErrorCode as NatsCode};
use async_nats::{Client, ClientError, ConnectOptions, Event};
use paw_broker::log::StreamId;
use tokio::sync::watch;
use tokio_stream::StreamExt as _;

use super::{LARGEST_ENTRY, NatsError, NatsLogin, NatsSettings, SendOutcome, StreamState};
use crate::batch::SignedBatch;
use crate::reader::StreamEntry;

const SIGNATURE: &str = "Paw-Signature";
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const ACK_TIMEOUT: Duration = Duration::from_secs(2);
const PING: Duration = Duration::from_secs(5);
const LONGEST_RECONNECT: Duration = Duration::from_secs(2);
/// A client that is not used any longer. It cannot be told to stop while it has no connection.
const NEVER: Duration = Duration::from_hours(100_000);
/// Entries that are asked for at once.
const PULL: usize = 100;
const PULL_EXPIRES: Duration = Duration::from_secs(30);
const PULL_HEARTBEAT: Duration = Duration::from_secs(5);
/// The server forgets a reader that is gone for this long. It starts at its own cursor when it comes back.
const READER_LIFETIME: Duration = Duration::from_mins(1);

fn refused(error: impl std::fmt::Display) -> NatsError {
    NatsError::Refused(error.to_string())
}

impl From<&Info> for StreamState {
    fn from(info: &Info) -> Self {
        Self {
            incarnation: info.config.description.clone().unwrap_or_default(),
            last: info.state.last_sequence,
        }
    }
}

/// Checks the content of a credentials file.
pub(crate) fn check_credentials(text: &str) -> Result<(), String> {
    ConnectOptions::with_credentials(text).map(drop).map_err(|error| error.to_string())
}

/// A connection that reconnects by itself.
#[derive(Debug, Clone)]
pub struct NatsStream {
    client: Client,
    context: Context,
    settings: NatsSettings,
    /// Counts connections. Whatever was asked over an earlier one may never be answered.
    connections: watch::Receiver<u64>,
    /// Why the last attempt to connect failed.
    refusal: watch::Receiver<Option<String>>,
    _use: Arc<ClientUse>,
}

/// Notes when the last user of a client is gone.
#[derive(Debug)]
struct ClientUse(Arc<AtomicBool>);

impl Drop for ClientUse {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// How long the client waits before it tries to connect again.
fn reconnect_delay(attempts: usize, is_unused: bool) -> Duration {
    if is_unused {
        return NEVER;
    }
    Duration::from_millis(50 << attempts.min(6)).min(LONGEST_RECONNECT)
}

impl NatsStream {
    /// Returns at once; the connection is made as soon as a server answers.
    pub async fn connect(settings: NatsSettings) -> Result<Self, NatsError> {
        let (sender, connections) = watch::channel(0_u64);
        let (refused, refusal) = watch::channel(None);
        let is_unused = Arc::new(AtomicBool::new(false));
        let in_use = Arc::new(ClientUse(Arc::clone(&is_unused)));
        let options = match &settings.login {
            Some(NatsLogin::Password { user, password }) => {
                ConnectOptions::with_user_and_password(user.clone(), password.clone())
            }
            Some(NatsLogin::Credentials { credentials }) => ConnectOptions::with_credentials(credentials)
                .map_err(|error| NatsError::Credentials(error.to_string()))?,
            None => ConnectOptions::new(),
        };
        let client = options
            .name(format!("git-paw {}", settings.host))
            .custom_inbox_prefix(format!("_INBOX_{}", settings.host))
            .ping_interval(PING)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .retry_on_initial_connect()
            .max_reconnects(None)
            .reconnect_delay_callback(move |attempts| {
                reconnect_delay(attempts, is_unused.load(Ordering::SeqCst))
            })
            .event_callback(move |event| {
                match &event {
                    Event::Connected | Event::Disconnected => {
                        refused.send_replace(None);
                        sender.send_modify(|count| *count += 1);
                    }
                    Event::ClientError(ClientError::Other(problem)) => {
                        // Each attempt fails for the same reason.
                        let is_new = refused.send_if_modified(|known| {
                            let is_new = known.as_ref() != Some(problem);
                            *known = Some(problem.clone());
                            is_new
                        });
                        if is_new {
                            tracing::warn!(target: "paw::cluster", "NATS: {event}");
                        }
                    }
                    _ => tracing::warn!(target: "paw::cluster", "NATS: {event}"),
                }
                async {}
            })
            .connect(settings.servers.as_slice())
            .await
            .map_err(|error| NatsError::Address(error.to_string()))?;
        let context = jetstream::ContextBuilder::new()
            .timeout(REQUEST_TIMEOUT)
            .ack_timeout(ACK_TIMEOUT)
            .build(client.clone());
        Ok(Self { client, context, settings, connections, refusal, _use: in_use })
    }

    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    pub async fn wait_until_connected(&self) {
        let mut connections = self.connections();
        while !self.is_connected() {
            if connections.changed().await.is_err() {
                return;
            }
        }
    }

    /// Changes with every connection that is made or lost.
    pub fn connections(&self) -> watch::Receiver<u64> {
        self.connections.clone()
    }

    /// Why the last attempt to connect failed, as long as there is no connection.
    pub fn refusal(&self) -> watch::Receiver<Option<String>> {
        self.refusal.clone()
    }

    fn name(&self) -> String {
        format!("PAW_{}", self.settings.stream)
    }

    fn subject(&self) -> String {
        format!("paw.{}.{}", self.settings.stream, self.settings.host)
    }

    /// Looks the stream up. The hub creates it if it is missing.
    pub async fn open(&self) -> Result<StreamState, NatsError> {
        Ok(self.find_or_create().await?.cached_info().into())
    }

    async fn find_or_create(&self) -> Result<Stream, NatsError> {
        let limit = self.client.server_info().max_payload;
        if limit < LARGEST_ENTRY.unsigned_abs() as usize {
            return Err(NatsError::SmallPayload(limit));
        }
        match self.context.get_stream(self.name()).await {
            Ok(stream) => Ok(stream),
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(error) if error.error_code() == NatsCode::STREAM_NOT_FOUND => {
                    if !self.settings.is_hub {
                        return Err(NatsError::NoStream(self.name()));
                    }
                    self.create().await
                }
                GetStreamErrorKind::Request => Err(NatsError::Unreachable(error.to_string())),
                _ => Err(refused(error)),
            },
        }
    }

    async fn create(&self) -> Result<Stream, NatsError> {
        let config = Config {
            name: self.name(),
            subjects: vec![format!("paw.{}.>", self.settings.stream)],
            storage: StorageType::File,
            discard: DiscardPolicy::New,
            deny_delete: true,
            deny_purge: true,
            max_message_size: LARGEST_ENTRY,
            num_replicas: self.settings.replicas,
            description: Some(StreamId::random().to_string()),
            ..Config::default()
        };
        match self.context.create_stream(config).await {
            Ok(stream) => Ok(stream),
            Err(error) => match error.kind() {
                CreateStreamErrorKind::JetStream(reason)
                    if reason.error_code() == NatsCode::STREAM_NAME_EXIST =>
                {
                    self.context.get_stream(self.name()).await.map_err(refused)
                }
                _ => Err(refused(error)),
            },
        }
    }

    /// Whether another process reads the stream as this host. One that was killed is gone with its connection.
    pub async fn has_other_reader(&self) -> Result<bool, NatsError> {
        let stream = self.find_or_create().await?;
        let info = stream.consumer_info(self.settings.host.as_str()).await;
        Ok(info.is_ok_and(|info| info.num_waiting > 0))
    }

    /// How far each host has read, by its reader in the server. A host that is not connected has none after a while.
    pub async fn readers(&self) -> Result<Vec<(String, u64)>, NatsError> {
        let stream = self.find_or_create().await?;
        let (mut found, mut consumers) = (Vec::new(), stream.consumers());
        while let Some(info) = consumers.next().await {
            let info = info.map_err(refused)?;
            found.push((info.name, info.delivered.stream_sequence));
        }
        Ok(found)
    }

    /// Deletes the stream with everything in it.
    pub async fn delete(&self) -> Result<(), NatsError> {
        self.context.delete_stream(self.name()).await.map(drop).map_err(refused)
    }

    /// Reads from the entry with this number on.
    pub async fn read_from(&self, start: u64) -> Result<NatsEntries, NatsError> {
        let stream = self.find_or_create().await?;
        let name = self.settings.host.as_str();
        // A reader cannot be moved; the one of an earlier connection may still exist.
        let _ = stream.delete_consumer(name).await;
        let config = pull::Config {
            name: Some(name.to_owned()),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: start.max(1) },
            ack_policy: AckPolicy::None,
            inactive_threshold: READER_LIFETIME,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.map_err(refused)?;
        let messages = consumer
            .stream()
            .max_messages_per_batch(PULL)
            .expires(PULL_EXPIRES)
            .heartbeat(PULL_HEARTBEAT)
            .messages()
            .await
            .map_err(refused)?;
        Ok(NatsEntries { messages, read: 0 })
    }

    /// Sends a batch, if the host's last entry has the number `expected`. Nothing is sent while there is no connection: the client
    /// would keep it and send it whenever there is one.
    pub async fn send(&self, batch: SignedBatch, expected: u64) -> SendOutcome {
        if !self.is_connected() {
            return SendOutcome::Unknown("there is no connection".to_owned());
        }
        let message = PublishMessage::build()
            .payload(batch.payload.into())
            .header(SIGNATURE, batch.signature.as_str())
            .expected_last_subject_sequence(expected);
        let answer = async { self.context.send_publish(self.subject(), message).await?.await };
        match answer.await {
            Ok(stored) => SendOutcome::Stored(stored.sequence),
            Err(error) => outcome_of(&error),
        }
    }
}

fn outcome_of(error: &PublishError) -> SendOutcome {
    match error.kind() {
        PublishErrorKind::WrongLastSequence => SendOutcome::NotNext,
        _ => SendOutcome::Unknown(error.to_string()),
    }
}

/// The entries of a stream, in order.
pub struct NatsEntries {
    messages: pull::Stream,
    /// The number of entries so far.
    read: u64,
}

impl std::fmt::Debug for NatsEntries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsEntries").field("read", &self.read).finish_non_exhaustive()
    }
}

/// An entry of the stream.
#[derive(Debug)]
pub struct NatsEntry {
    message: jetstream::Message,
    seq: u64,
}

impl NatsEntry {
    pub fn size(&self) -> usize {
        self.message.payload.len()
    }

    pub fn as_entry(&self) -> StreamEntry<'_> {
        let signature = self.message.headers.as_ref().and_then(|headers| headers.get(SIGNATURE));
        StreamEntry {
            seq: self.seq,
            host: host_of(&self.message.subject).unwrap_or_default(),
            signature: signature.map(async_nats::HeaderValue::as_str),
            payload: &self.message.payload,
        }
    }
}

/// The host that a subject belongs to. Another host can have entries stored under longer subjects.
fn host_of(subject: &str) -> Option<&str> {
    let mut tokens = subject.split('.');
    let host = tokens.nth(2)?;
    tokens.next().is_none().then_some(host)
}

impl NatsEntries {
    /// Waits for the next entry.
    pub async fn next(&mut self) -> Result<NatsEntry, NatsError> {
        let interrupted = |why: &dyn std::fmt::Display| NatsError::Interrupted(why.to_string());
        let message = self.messages.next().await.ok_or_else(|| interrupted(&"the server ended it"))?;
        let message = message.map_err(|error| interrupted(&error))?;
        let info = message.info().map_err(|error| interrupted(&error))?;
        self.read += 1;
        if info.consumer_sequence != self.read {
            return Err(interrupted(&"an entry was lost on its way"));
        }
        let seq = info.stream_sequence;
        Ok(NatsEntry { message, seq })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_users_does_not_connect_again() {
        let delays: Vec<_> =
            [0, 1, 3, 100].map(|attempts| reconnect_delay(attempts, false).as_millis()).into();
        assert_eq!(delays, [50, 100, 400, 2000]);
        let flag = Arc::new(AtomicBool::new(false));
        let first = Arc::new(ClientUse(Arc::clone(&flag)));
        let second = Arc::clone(&first);
        drop(first);
        assert!(!flag.load(Ordering::SeqCst));
        drop(second);
        assert_eq!(reconnect_delay(1, flag.load(Ordering::SeqCst)), NEVER);
    }
}
