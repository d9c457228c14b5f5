//! Receives updates from the broker of a repository, in another process on this machine, and sends answers to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use paw_broker::client::{BrokerClient, BrokerConnection, BrokerEvent, ConnectionError};
use paw_broker::endpoint::Endpoint;
use paw_broker::identity::Token;
use paw_broker::message::{self, Message};
use paw_broker::{SessionId, StoredMessage};
use paw_core::AgentId;
use paw_core::paths::PawDir;
use paw_host::{clock, files};
use paw_view::{BrokerView, LOOK_BACK, SessionFacts, ViewEvent};
use tokio::sync::mpsc;

use crate::dashboard::{DashboardUpdate, OperatorAnswer};
use crate::text::Text;

const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// Why a broker cannot be followed right now.
#[derive(Debug, thiserror::Error)]
enum RemoteError {
    #[error("no broker is running")]
    NoBroker,
    #[error("the view was closed")]
    ViewClosed,
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    File(#[from] files::FileError),
}

/// The repository of a broker, and a token for it.
#[derive(Debug, Clone)]
pub struct RemoteBroker {
    /// The directory that all worktrees of the repository share.
    pub common_dir: PathBuf,
    pub token: Option<Token>,
    /// The last message that the view has. `None` for a view without messages.
    pub since: Option<u64>,
}

/// What to do without a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostConnection {
    /// The broker was restarted: connect again at once.
    Restarted,
    /// Show this reason and wait.
    Wait(String),
}

/// Sends updates from the broker of a repository on a separate thread, until the view is closed. `on_message` is called with
/// every message and must not block. Without a connection, `on_lost` is called with the reason, and may restart the broker.
pub fn follow(
    remote: RemoteBroker,
    updates: mpsc::Sender<DashboardUpdate>,
    on_message: impl FnMut(&StoredMessage) + Send + 'static,
    on_lost: impl FnMut(String) -> LostConnection + Send + 'static,
) -> io::Result<()> {
    let mut follower = Follower { remote, updates, on_message, on_lost };
    thread::Builder::new().name("paw-follow".into()).spawn(move || follower.run()).map(drop)
}

struct Follower<M, F> {
    remote: RemoteBroker,
    updates: mpsc::Sender<DashboardUpdate>,
    on_message: M,
    on_lost: F,
}

impl<M, F> Follower<M, F>
where
    M: FnMut(&StoredMessage),
    F: FnMut(String) -> LostConnection,
{
    fn run(&mut self) {
        while !self.updates.is_closed() {
            let reason = match self.follow_once() {
                Err(RemoteError::ViewClosed) => return,
                Err(error) => error.to_string(),
                Ok(()) => "it stopped".to_owned(),
            };
            let LostConnection::Wait(reason) = (self.on_lost)(reason) else { continue };
            if self.send([DashboardUpdate::Disconnected(Text::line(&reason))]).is_err() {
                return;
            }
            thread::sleep(BETWEEN_TRIES);
        }
    }

    /// Follows the broker until it stops or the view is closed.
    fn follow_once(&mut self) -> Result<(), RemoteError> {
        let dir = PawDir::of(&self.remote.common_dir);
        let address =
            Endpoint::load(&dir)?.and_then(|endpoint| endpoint.address()).ok_or(RemoteError::NoBroker)?;
        let connection = BrokerConnection { address, token: self.remote.token.as_ref() };
        let status = connection.status()?;
        let broker = BrokerView {
            url: Some(format!("http://{address}")),
            port: Some(address.port()),
            running: true,
            open_to_all: Some(status.auth == "none"),
            ..BrokerView::default()
        };
        let facts = SessionFacts {
            session: status.session.as_ref().map_or("", SessionId::as_str).to_owned(),
            repository: status.repository.unwrap_or_default(),
            broker: Some(broker),
            ..SessionFacts::default()
        };
        let from = self.remote.since.unwrap_or(status.last_seq.saturating_sub(LOOK_BACK));
        let events = connection.events(from)?;
        self.send([DashboardUpdate::Connected, DashboardUpdate::View(ViewEvent::Session(Box::new(facts)))])?;
        for event in events {
            match event.map_err(ConnectionError::from)? {
                BrokerEvent::Message(stored) => {
                    self.remote.since = Some(stored.seq);
                    (self.on_message)(&stored);
                    self.send([DashboardUpdate::View(ViewEvent::Message(Arc::from(stored)))])?;
                }
                BrokerEvent::Heartbeat => self.send([])?,
            }
        }
        Ok(())
    }

    fn send(&self, updates: impl IntoIterator<Item = DashboardUpdate>) -> Result<(), RemoteError> {
        for update in updates {
            self.updates.blocking_send(update).map_err(|_| RemoteError::ViewClosed)?;
        }
        if self.updates.is_closed() { Err(RemoteError::ViewClosed) } else { Ok(()) }
    }
}

/// Sends answers to the broker, or writes them to the log while no broker is running.
pub async fn answer(
    client: BrokerClient,
    mut answers: mpsc::Receiver<OperatorAnswer>,
    feeds: mpsc::Sender<DashboardUpdate>,
) {
    while let Some(answer) = answers.recv().await {
        let question = answer.question;
        let client = client.clone();
        let sent = tokio::task::spawn_blocking(move || {
            let message = answer_message(answer).map_err(|error| error.to_string())?;
            client.publish(&message, clock::now()).map_err(|error| error.to_string())
        });
        let reason = match sent.await {
            Ok(Ok(_)) => continue,
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        };
        let _ = feeds.send(DashboardUpdate::AnswerFailed { question, reason: reason.as_str().into() }).await;
    }
}

/// The message for an answer. The user of the dashboard is the operator.
fn answer_message(answer: OperatorAnswer) -> Result<Message, message::MessageError> {
    let mut message = message::AnswerMessage::new(answer.asker, AgentId::operator(), answer.text);
    message.re = Some(answer.quoted);
    // Reject what the broker would reject, while the user can still change it.
    Message::from_json(Message::from(message).to_json())
}
