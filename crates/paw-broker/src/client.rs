//! What an agent or a person uses to speak and to listen: over HTTP when a broker runs, else straight to the log,
//! under the same rules. Blocking, without a runtime. The only HTTP client of the workspace.
//!
//! - [`BrokerClient`]: one who speaks and listens; `direct` is its way to the log, `listen` everything as it is said
//! - [`BrokerConnection`]: a broker at an address, its status and its events; [`probe`]: what listens on a port
//! - `request`: one HTTP request; `events`: server-sent events

mod connection;
mod direct;
mod events;
mod listen;
mod request;

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
use crate::log::{LogError, SessionId, StoredMessage};
use crate::message::{Message, MessageError};

/// How often a broker that is just starting is asked again.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
/// How long whoever follows waits at a time.
const FOLLOW: Duration = Duration::from_secs(20);
/// How long one request waits at most. A broker lets nobody wait for longer than a minute, and may end meanwhile.
const ROUND: Duration = Duration::from_secs(25);

/// A message that could not be sent, or an inbox that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Refused(#[from] SendRefusal),
    #[error("the broker refused it ({status}): {text}")]
    Http { status: u16, text: String, hints: Vec<String> },
    #[error("cannot talk to the broker at {url}: {source}")]
    Connection { url: String, source: io::Error },
    #[error(
        "this session does not know you: the token in GIT_PAW_BROKER_TOKEN is of another session, or not whole"
    )]
    UnknownToken,
    #[error("you say you are '{0}' (GIT_PAW_AGENT_ID), but nothing proves it")]
    NoToken(AgentId),
    #[error("the session does not know you: your own token ({}) is missing or old", .0.display())]
    NoOperator(PathBuf),
    #[error("no session of this repository yet")]
    NoSession,
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
            Self::UnknownToken => report.hint(
                "type it in the agent's own pane, or speak as yourself: unset GIT_PAW_AGENT_ID GIT_PAW_BROKER_TOKEN",
            ),
            Self::NoToken(_) => report
                .hint("type it in that agent's own pane, or speak as yourself: unset GIT_PAW_AGENT_ID"),
            Self::NoOperator(_) => report
                .hint("git paw pause, then git paw start; that makes a new one, and the agents keep working"),
            Self::NoSession => report.hint("git paw start"),
            Self::Log(error) => error.report(),
            Self::Identity(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}

/// Who speaks: what a pane's environment says, or nothing for the person at the keyboard.
#[derive(Debug, Clone, Default)]
pub struct ClientIdentity {
    /// `GIT_PAW_AGENT_ID`
    pub agent: Option<String>,
    /// `GIT_PAW_BROKER_TOKEN`
    pub token: Option<String>,
    /// `GIT_PAW_BROKER_URL`, for when there is no `endpoint.json`.
    pub url: Option<String>,
}

/// Which way a message went.
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

/// What was in an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbox {
    pub messages: Vec<StoredMessage>,
    /// Ask again after this number. Never lower than the one that was asked with.
    pub last_seq: u64,
    /// Whether there is more right away.
    pub more: bool,
}

/// One who speaks and listens in a repository.
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
    /// `session`: which one to use while no broker runs; the last one if not given.
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

    /// The same, but whether a commit is followed by a request to verify it, while no broker runs, is as said.
    #[must_use]
    pub fn with_nudge(self, nudge: bool) -> Self {
        Self { nudge, ..self }
    }

    /// Who speaks.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Sends a message. When it returns, the message is stored.
    pub fn publish(&self, message: &Message, now: Timestamp) -> Result<SendReceipt, ClientError> {
        // The same rules for every way in.
        let message = Message::from_json(message.to_json())?;
        let body = message.to_text();
        match self.ask(&HttpRequest::post("/publish", &body))? {
            Some(answer) => {
                let answer = self.accepted(answer)?;
                Ok(SendReceipt { seq: answer.head.seq.unwrap_or_default(), route: SendRoute::Broker })
            }
            None => Ok(SendReceipt { seq: self.write_down(message, now)?, route: SendRoute::Log }),
        }
    }

    /// Has the broker watch another worktree. Says whether one runs.
    pub fn watch(&self, agent: &AgentId, worktree: &Path, cli: &str) -> Result<bool, ClientError> {
        let body =
            json!({"agent_id": agent, "worktree_path": worktree.to_string_lossy(), "cli": cli}).to_string();
        match self.ask(&HttpRequest::post("/watch", &body))? {
            Some(answer) => self.accepted(answer).map(|_| true),
            None => Ok(false),
        }
    }

    /// The own inbox after `since`, waiting up to `wait` for something to come.
    pub fn inbox(&self, since: u64, wait: Duration) -> Result<Inbox, ClientError> {
        self.inbox_of(&self.agent, since, wait)
    }

    /// Anybody's inbox.
    pub fn inbox_of(&self, agent: &AgentId, since: u64, wait: Duration) -> Result<Inbox, ClientError> {
        let watch = Stopwatch::start();
        let mut failures = 0;
        loop {
            let looked = self.look_in(agent, since, watch.remaining(wait).min(ROUND));
            let left = watch.remaining(wait);
            match looked {
                Ok(inbox) if !inbox.messages.is_empty() || inbox.last_seq > since || left.is_zero() => {
                    return Ok(inbox);
                }
                Ok(_) => failures = 0,
                // The broker ended in the middle of it. What it has stored is in the log.
                Err(ClientError::Connection { .. }) if failures < TRIES && !left.is_zero() => failures += 1,
                Err(error) => return Err(error),
            }
            // A broker that ends answers at once.
            thread::sleep(BETWEEN_TRIES.min(left));
        }
    }

    /// One look, over the broker or at the log.
    fn look_in(&self, agent: &AgentId, since: u64, wait: Duration) -> Result<Inbox, ClientError> {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let path = format!("/messages/{agent}?since={since}&wait={seconds}&entries=1");
        match self.ask(&HttpRequest::get(&path).waiting(Duration::from_secs(seconds)))? {
            Some(answer) => Ok(InboxPage::read(&self.accepted(answer)?.body)?.into_inbox(since)),
            None => self.look_up(agent, since, wait),
        }
    }

    /// Everything that comes after `since`, with or without a broker, until `each` has had enough. An empty inbox is
    /// handed out now and then, so that whoever follows can end.
    pub fn follow(
        &self,
        mut since: u64,
        mut each: impl FnMut(&Inbox) -> ControlFlow<()>,
    ) -> Result<(), ClientError> {
        loop {
            let inbox = self.inbox(since, FOLLOW)?;
            since = inbox.last_seq;
            if each(&inbox).is_break() {
                return Ok(());
            }
        }
    }

    /// A good answer. One that refuses whoever asks speaks of headers, which only programs send.
    fn accepted(&self, answer: HttpResponse) -> Result<HttpResponse, ClientError> {
        answer.ok().map_err(|error| match error {
            ClientError::Http { status: 401, .. } => self.stranger(),
            error => error,
        })
    }

    /// Why nobody here believes who we are.
    fn stranger(&self) -> ClientError {
        match &self.token {
            _ if self.agent.as_str() == AgentId::OPERATOR => {
                ClientError::NoOperator(self.dir.operator_token())
            }
            Some(_) => ClientError::UnknownToken,
            None => ClientError::NoToken(self.agent.clone()),
        }
    }

    /// Asks the broker, or says that there is none.
    fn ask(&self, request: &HttpRequest<'_>) -> Result<Option<HttpResponse>, ClientError> {
        for _ in 0..TRIES {
            let Some(url) = self.find_broker()? else { return Ok(None) };
            let Some(address) = endpoint::parse_address(&url) else { return Ok(None) };
            match request.send(address, self.token.as_ref()) {
                Ok(answer) => return Ok(Some(answer)),
                // It is about to listen, or has just ended. Nothing was sent.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    thread::sleep(BETWEEN_TRIES);
                }
                Err(source) => return Err(ClientError::Connection { url, source }),
            }
        }
        Ok(None)
    }

    /// Whether a broker runs right now.
    pub fn has_broker(&self) -> Result<bool, ClientError> {
        Ok(self.find_broker()?.is_some())
    }

    /// Where the broker listens. A port alone proves nothing: only a running broker holds the lock.
    fn find_broker(&self) -> Result<Option<String>, ClientError> {
        if !self.dir.path().is_dir() || Lock::try_take(&self.dir.broker_lock())?.is_some() {
            return Ok(None);
        }
        let endpoint = Endpoint::load(&self.dir)?.map(|endpoint| endpoint.url);
        Ok(endpoint.or_else(|| self.url.clone()))
    }
}

/// An answer of `/messages?entries=1`.
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
            messages: self.entries.into_iter().filter_map(WireEntry::stored).collect(),
            last_seq: self.last_seq.max(since),
            more: self.more,
        }
    }
}
