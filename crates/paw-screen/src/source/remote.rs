//! A view on a broker that runs elsewhere on this machine, over HTTP.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use paw_broker::client::Client;
use paw_broker::endpoint::Endpoint;
use paw_broker::identity::Token;
use paw_core::paths::PawDir;
use paw_host::{clock, files};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::answer_message;
use super::events::{Events, Row};
use crate::dashboard::{Answer, Feed, Header};
use crate::news::{Member, News};
use crate::text::Text;

/// How long a broker may take to begin its answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// A broker that is silent for longer is gone: it says every 15 seconds that it is there.
const SILENCE: Duration = Duration::from_secs(40);
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
const LARGEST_STATUS: u64 = 4 << 20;
/// The longest line a broker sends: one message.
const LONGEST_LINE: u64 = 8 << 20;

/// Why a broker cannot be followed at the moment.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("no broker runs here")]
    NoBroker,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no answer")]
    Silent,
    #[error("refused ({0})")]
    Refused(u16),
    #[error("not an answer of a broker")]
    Unreadable,
    #[error("{0}")]
    File(#[from] files::FileError),
}

#[derive(Deserialize)]
struct Status {
    repository: String,
    #[serde(default)]
    session: String,
    #[serde(default)]
    auth: String,
    #[serde(default)]
    last_seq: u64,
}

/// Which broker, and the token that opens its stream.
#[derive(Debug, Clone)]
pub struct Remote {
    /// What all worktrees of the repository share.
    pub common_dir: PathBuf,
    pub token: Option<Token>,
}

/// Feeds a view from the broker of a repository, and finds it again after a restart, until the view is gone.
pub async fn follow(remote: Remote, members: Vec<Member>, feeds: mpsc::Sender<Feed>) {
    let mut news = News::new(members, paw_broker::record::Records::default(), 0);
    let mut since = None;
    for feed in news.agents() {
        let _ = feeds.send(feed).await;
    }
    while !feeds.is_closed() {
        let reason = match follow_once(&remote, &mut news, &mut since, &feeds).await {
            Ok(()) => "it ended".to_owned(),
            Err(error) => error.to_string(),
        };
        if feeds.send(Feed::Lost(Text::line(&reason))).await.is_err() {
            return;
        }
        sleep(BETWEEN_TRIES).await;
    }
}

/// Until the broker ends or the view is gone.
async fn follow_once(
    remote: &Remote,
    news: &mut News,
    since: &mut Option<u64>,
    feeds: &mpsc::Sender<Feed>,
) -> Result<(), RemoteError> {
    let dir = PawDir::of(&remote.common_dir);
    let address =
        Endpoint::load(&dir)?.and_then(|endpoint| endpoint.address()).ok_or(RemoteError::NoBroker)?;
    let token = remote.token.as_ref();
    let status = status(address, token).await?;
    let header = Header {
        session: Text::line(&status.session),
        repository: Text::line(&status.repository),
        address: Text::line(&address.to_string()),
        open_to_all: status.auth == "none",
    };
    let from = since.unwrap_or(status.last_seq.saturating_sub(super::LOOK_BACK));
    let mut stream = get(address, token, &format!("/events?since={from}")).await?;
    for feed in [Feed::Found, Feed::Header(header)] {
        let _ = feeds.send(feed).await;
    }
    let mut events = Events::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut stream).take(LONGEST_LINE);
        if timeout(SILENCE, bounded.read_until(b'\n', &mut line)).await.map_err(|_| RemoteError::Silent)??
            == 0
        {
            return Ok(());
        }
        let Some(stored) = events.on_line(&line).and_then(Row::stored) else { continue };
        *since = Some(stored.seq);
        for feed in news.on_message(&stored) {
            if feeds.send(feed).await.is_err() {
                return Ok(());
            }
        }
    }
}

async fn status(address: SocketAddr, token: Option<&Token>) -> Result<Status, RemoteError> {
    let stream = get(address, token, "/status").await?;
    let mut body = Vec::new();
    let read = stream.take(LARGEST_STATUS).read_to_end(&mut body).await;
    read?;
    serde_json::from_slice(&body).map_err(|_| RemoteError::Unreadable)
}

/// Asks, and returns what follows the head of a good answer. HTTP/1.0, so that the body is sent as it is.
async fn get(
    address: SocketAddr,
    token: Option<&Token>,
    path: &str,
) -> Result<BufReader<TcpStream>, RemoteError> {
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        let mut head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n");
        // A token with a line break in it would be a header of its own.
        if let Some(token) = token.filter(|token| token.reveal().bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let _ = write!(head, "Authorization: Bearer {}\r\n", token.reveal());
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await?;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if head.len() > 16 << 10 || (&mut reader).take(8 << 10).read_line(&mut head).await? == 0 {
                return Err(RemoteError::Unreadable);
            }
        }
        let code =
            head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or(RemoteError::Unreadable)?;
        if code == 200 { Ok(reader) } else { Err(RemoteError::Refused(code)) }
    };
    timeout(PATIENCE, ask).await.map_err(|_| RemoteError::Silent)?
}

/// Hands answers to the broker, or to the log while none runs.
pub async fn answer(client: Client, mut answers: mpsc::Receiver<Answer>, feeds: mpsc::Sender<Feed>) {
    while let Some(answer) = answers.recv().await {
        let question = answer.question;
        let client = client.clone();
        let said = tokio::task::spawn_blocking(move || {
            let message = answer_message(answer).map_err(|error| error.to_string())?;
            client.say(&message, clock::now()).map_err(|error| error.to_string())
        });
        let reason = match said.await {
            Ok(Ok(_)) => continue,
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        };
        let _ = feeds.send(Feed::AnswerFailed { question, reason: reason.as_str().into() }).await;
    }
}
