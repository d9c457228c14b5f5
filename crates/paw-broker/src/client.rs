//! The client of the broker: over HTTP if a broker is running, otherwise directly on the log, with the same rules.
//! Blocking, without a runtime. The only HTTP client of the workspace.
//!
//! - [`BrokerClient`]: publishes and reads messages; `direct` uses the log, `listen` follows all messages, `run` has the
//!   session's process run something
//! - [`BrokerConnection`]: status and events of a broker at an address; [`probe`]: what listens on a port
//! - `request`: one HTTP request; `events`: server-sent events

mod connection;
mod direct;
mod events;
mod listen;
mod request;
mod run;

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use paw_core::config::BrokerConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, Diagnostic, ErrorCode, ErrorReport};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, FileError, Lock};
use serde::Deserialize;
use serde_json::json;

pub use self::connection::{BrokerConnection, BrokerStatus, ConnectionError, PortOwner, probe};
use self::events::WireEntry;
pub use self::events::{BrokerEvent, EventStream};
pub use self::listen::ListenEvent;
use self::request::{HttpRequest, HttpResponse};
use crate::endpoint::{self, Endpoint};
use crate::identity::{IdentityError, SendRefusal, Token};
use crate::log::{LogError, SendId, SessionId, StoredMessage};
use crate::message::{Message, MessageError};

/// Attempts to reach a broker that is starting.
const ATTEMPTS: u32 = 10;
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// How often a message is sent to a broker that does not answer, before it is written to the log.
const PUBLISH_ATTEMPTS: u32 = 3;
/// The statuses of a broker that cannot serve a request now, or not for this sender.
const BUSY: [u16; 2] = [503, 429];
/// How long [`BrokerClient::follow`] waits at a time.
const FOLLOW_WAIT: Duration = Duration::from_secs(20);
/// The longest wait of one request. A broker ends a long poll after a minute.
const MAX_REQUEST_WAIT: Duration = Duration::from_secs(25);

/// A message cannot be sent, or an inbox cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Refused(#[from] SendRefusal),
    #[error("the broker refused the request ({status}): {text}")]
    Http { status: u16, text: String, hints: Vec<String> },
    #[error("cannot connect to the broker at {url}: {source}")]
    Connection { url: String, source: io::Error },
    #[error("the token in GIT_PAW_BROKER_TOKEN is not valid in this session")]
    UnknownToken,
    #[error("this command runs as agent '{0}', but GIT_PAW_BROKER_TOKEN is not set")]
    NoToken(AgentId),
    #[error("agent '{agent}' is not allowed to {action}")]
    NotPrivileged { agent: AgentId, action: &'static str },
    #[error("the operator token {} is missing or not valid in this session", .0.display())]
    NoOperator(PathBuf),
    #[error("this repository has no session")]
    NoSession,
    #[error("cannot reach the session's process, which runs gates for agents: no broker is running")]
    NoProcess,
    #[error("the session's process ended before the run was finished")]
    RunLost,
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for ClientError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Message(error) => error.report(),
            Self::Refused(error) => error.report(),
            Self::Http { hints, .. } => report.with_hints(hints.clone()),
            Self::Connection { .. } => report,
            Self::UnknownToken | Self::NoToken(_) => {
                report.hint("run the command in the pane that git paw started for the agent")
            }
            Self::NotPrivileged { .. } => report.hint("ask the supervisor or the user"),
            Self::NoOperator(_) => report.hint(
                "run 'git paw pause', then 'git paw start' to create a new one; the agents keep working",
            ),
            Self::NoSession => report.hint("start one with 'git paw start'"),
            Self::NoProcess => report
                .hint("ask the user to run it in a terminal of their own, or to set [broker] enabled = true"),
            Self::RunLost => report.hint("'git paw status' shows its state; run the command again"),
            Self::Log(error) => error.report(),
            Self::Identity(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}

/// The identity of a client, from a pane's environment. Empty for the operator.
#[derive(Debug, Clone, Default)]
pub struct ClientIdentity {
    /// `GIT_PAW_AGENT_ID`
    pub agent: Option<String>,
    /// `GIT_PAW_BROKER_TOKEN`
    pub token: Option<String>,
    /// `GIT_PAW_BROKER_URL`, used if there is no `endpoint.json`.
    pub url: Option<String>,
}

/// How a message was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendRoute {
    Broker,
    Log,
}

/// A message that was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendReceipt {
    pub seq: u64,
    pub route: SendRoute,
}

/// A page of an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbox {
    pub messages: Vec<StoredMessage>,
    /// The `since` of the next request. Never lower than that of this request.
    pub last_seq: u64,
    /// Whether more messages are available now.
    pub more: bool,
}

/// Publishes and reads the messages of a repository.
#[derive(Debug, Clone)]
pub struct BrokerClient {
    dir: PawDir,
    config: BrokerConfig,
    agent: AgentId,
    token: Option<Token>,
    session: Option<SessionId>,
    url: Option<String>,
    nudge: bool,
}

impl BrokerClient {
    /// `session` is used while no broker is running. Default: the last session.
    pub fn new(
        common_dir: &Path,
        config: BrokerConfig,
        who: ClientIdentity,
        session: Option<SessionId>,
    ) -> Result<Self, ClientError> {
        let dir = PawDir::of(common_dir);
        let set = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (agent, token) = if let Some(agent) = set(who.agent) {
            let token = set(who.token).map(|token| Token::from_text(&token));
            (crate::message::agent_id("GIT_PAW_AGENT_ID", &agent)?, token)
        } else {
            let file = dir.operator_token();
            (AgentId::operator(), files::load_text(&file)?.map(|token| Token::from_text(&token)))
        };
        Ok(Self { dir, config, agent, token, session, url: set(who.url), nudge: true })
    }

    /// Sets whether a request to verify follows each commit message while no broker is running.
    #[must_use]
    pub fn with_nudge(self, nudge: bool) -> Self {
        Self { nudge, ..self }
    }

    /// The sender of this client's messages.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Publishes a message. When it returns, the message is stored, once: a broker that does not answer may have stored
    /// it, so the message has an id, under which it is sent again and then written to the log.
    pub fn publish(&self, message: &Message, now: Timestamp) -> Result<SendReceipt, ClientError> {
        self.publish_once(message, now, SendId::random())
    }

    /// Like [`Self::publish`], unless the sender's message with this id is stored already.
    pub fn publish_once(
        &self,
        message: &Message,
        now: Timestamp,
        id: SendId,
    ) -> Result<SendReceipt, ClientError> {
        // The broker and the log apply the same rules.
        let message = Message::from_json(message.to_json())?;
        let body = message.to_text();
        let request = HttpRequest::post("/publish", &body).with_id(&id);
        for _ in 0..PUBLISH_ATTEMPTS {
            match self.send(&request) {
                Ok(Some(answer)) if BUSY.contains(&answer.head.status) => thread::sleep(RETRY_DELAY),
                Ok(Some(answer)) => {
                    let answer = self.accepted(answer)?;
                    let seq = answer.head.seq.unwrap_or_default();
                    return Ok(SendReceipt { seq, route: SendRoute::Broker });
                }
                Ok(None) => break,
                // The broker ended during the request, or is too busy to answer in time.
                Err(ClientError::Connection { .. }) => thread::sleep(RETRY_DELAY),
                Err(error) => return Err(error),
            }
        }
        Ok(SendReceipt { seq: self.append_to_log(message, now, id)?, route: SendRoute::Log })
    }

    /// Asks the broker to watch another worktree. Returns whether a broker is running.
    pub fn watch(&self, agent: &AgentId, worktree: &Path, cli: &str) -> Result<bool, ClientError> {
        let body =
            json!({"agent_id": agent, "worktree_path": worktree.to_string_lossy(), "cli": cli}).to_string();
        match self.send(&HttpRequest::post("/watch", &body))? {
            Some(answer) => self.accepted(answer).map(|_| true),
            None => Ok(false),
        }
    }

    /// The client's own inbox after `since`. Waits up to `wait` for a message.
    pub fn inbox(&self, since: u64, wait: Duration) -> Result<Inbox, ClientError> {
        self.inbox_of(&self.agent, since, wait)
    }

    /// The inbox of any agent.
    pub fn inbox_of(&self, agent: &AgentId, since: u64, wait: Duration) -> Result<Inbox, ClientError> {
        let watch = Stopwatch::start();
        let mut failures = 0;
        loop {
            let fetched = self.fetch_inbox(agent, since, watch.remaining(wait).min(MAX_REQUEST_WAIT));
            let left = watch.remaining(wait);
            match fetched {
                Ok(inbox) if !inbox.messages.is_empty() || inbox.last_seq > since || left.is_zero() => {
                    return Ok(inbox);
                }
                Ok(_) => failures = 0,
                // The broker ended during the request. Its messages are in the log.
                Err(ClientError::Connection { .. }) if failures < ATTEMPTS && !left.is_zero() => {
                    failures += 1;
                }
                Err(error) => return Err(error),
            }
            // A broker that is shutting down responds at once.
            thread::sleep(RETRY_DELAY.min(left));
        }
    }

    /// One request, to the broker or to the log.
    fn fetch_inbox(&self, agent: &AgentId, since: u64, wait: Duration) -> Result<Inbox, ClientError> {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let path = format!("/messages/{agent}?since={since}&wait={seconds}&entries=1");
        match self.send(&HttpRequest::get(&path).waiting(Duration::from_secs(seconds)))? {
            Some(answer) if BUSY.contains(&answer.head.status) => self.load_inbox(agent, since, wait),
            Some(answer) => Ok(InboxPage::read(&self.accepted(answer)?.body)?.into_inbox(since)),
            None => self.load_inbox(agent, since, wait),
        }
    }

    /// Calls `each` with every page of the inbox after `since`, with or without a broker, until it breaks. `each` is
    /// also called with an empty page from time to time, so that the caller can stop.
    pub fn follow(
        &self,
        mut since: u64,
        mut each: impl FnMut(&Inbox) -> ControlFlow<()>,
    ) -> Result<(), ClientError> {
        loop {
            let inbox = self.inbox(since, FOLLOW_WAIT)?;
            since = inbox.last_seq;
            if each(&inbox).is_break() {
                return Ok(());
            }
        }
    }

    /// The response if it is a success. Replaces an authentication error, which mentions headers, with our own.
    fn accepted(&self, answer: HttpResponse) -> Result<HttpResponse, ClientError> {
        answer.ok().map_err(|error| match error {
            ClientError::Http { status: 401, .. } => self.identity_error(),
            error => error,
        })
    }

    /// Why the client's identity is not accepted.
    fn identity_error(&self) -> ClientError {
        match &self.token {
            _ if self.agent.as_str() == AgentId::OPERATOR => {
                ClientError::NoOperator(self.dir.operator_token())
            }
            Some(_) => ClientError::UnknownToken,
            None => ClientError::NoToken(self.agent.clone()),
        }
    }

    /// Sends a request to the broker. `None` if no broker is running.
    fn send(&self, request: &HttpRequest<'_>) -> Result<Option<HttpResponse>, ClientError> {
        for _ in 0..ATTEMPTS {
            let Some(url) = self.find_broker()? else { return Ok(None) };
            let Some(address) = endpoint::parse_address(&url) else { return Ok(None) };
            match request.send(address, self.token.as_ref()) {
                Ok(answer) => return Ok(Some(answer)),
                // The broker is starting or has just ended. Nothing was sent.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    thread::sleep(RETRY_DELAY);
                }
                Err(source) => return Err(ClientError::Connection { url, source }),
            }
        }
        Ok(None)
    }

    /// Whether a broker is running.
    pub fn has_broker(&self) -> Result<bool, ClientError> {
        Ok(self.find_broker()?.is_some())
    }

    /// The URL of the running broker. An open port is not enough: only a running broker holds the lock.
    fn find_broker(&self) -> Result<Option<String>, ClientError> {
        if !Lock::is_held(&self.dir.broker_lock())? {
            return Ok(None);
        }
        let endpoint = Endpoint::load(&self.dir)?.map(|endpoint| endpoint.url);
        Ok(endpoint.or_else(|| self.url.clone()))
    }
}

/// A response of `/messages?entries=1`.
#[derive(Deserialize)]
struct InboxPage {
    entries: Vec<WireEntry>,
    last_seq: u64,
    more: bool,
}

impl InboxPage {
    fn read(body: &[u8]) -> Result<Self, ClientError> {
        serde_json::from_slice(body).map_err(|error| MessageError::Json(error.to_string()).into())
    }

    fn into_inbox(self, since: u64) -> Inbox {
        Inbox {
            messages: self.entries.into_iter().filter_map(WireEntry::parse).collect(),
            last_seq: self.last_seq.max(since),
            more: self.more,
        }
    }
}
