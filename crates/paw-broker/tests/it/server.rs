//! A broker in a temporary directory, and a plain HTTP connection to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use paw_broker::http::ServerLimits;
use paw_broker::identity::Token;
use paw_broker::{Broker, BrokerSettings, SessionId};
use paw_core::AgentId;
use paw_core::config::{BrokerAuth, BrokerConfig};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const SESSION: &str = "paw-test";

pub(crate) fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

pub(crate) fn settings(dir: &Path) -> BrokerSettings {
    let config = BrokerConfig { port: 0, ..BrokerConfig::default() };
    let session = SessionId::new(SESSION);
    BrokerSettings {
        nudge: false,
        ..BrokerSettings::new(dir.join(".git"), dir.to_path_buf(), session, config)
    }
}

/// A running broker. The directory outlives it, so that it can be started again.
pub(crate) struct Server {
    pub(crate) broker: Broker,
    pub(crate) dir: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    pub(crate) fn start_with(change: impl FnOnce(&mut BrokerSettings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = settings(dir.path());
        change(&mut settings);
        Self { broker: Broker::start(settings).unwrap(), dir }
    }

    pub(crate) fn without_tokens() -> Self {
        Self::start_with(|settings| settings.config.auth = BrokerAuth::None)
    }

    pub(crate) fn with_limits(limits: ServerLimits) -> Self {
        Self::start_with(|settings| settings.limits = limits)
    }

    pub(crate) fn restart(self) -> Self {
        self.restart_after(|| ())
    }

    /// Restarts the broker, and runs `meanwhile` while it is down.
    pub(crate) fn restart_after(self, meanwhile: impl FnOnce()) -> Self {
        self.broker.shutdown();
        meanwhile();
        Self { broker: Broker::start(settings(self.dir.path())).unwrap(), dir: self.dir }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        paw_broker::endpoint::parse_address(self.broker.url()).unwrap()
    }

    pub(crate) fn connect(&self) -> Http {
        Http::connect(self.address())
    }

    pub(crate) fn token(&self, agent: &str) -> Token {
        self.broker.keyring().mint(&SessionId::new(SESSION), &id(agent)).unwrap()
    }

    /// A connection with the token of `agent`.
    pub(crate) fn agent(&self, agent: &str) -> Http {
        let token = match agent {
            "operator" => self.broker.keyring().operator().unwrap(),
            agent => self.token(agent),
        };
        self.connect().speaking(token)
    }
}

/// One keep-alive connection.
pub(crate) struct Http {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    pub(crate) token: Option<Token>,
}

#[derive(Debug)]
pub(crate) struct AnswerMessage {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl AnswerMessage {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn seq(&self) -> u64 {
        self.header("x-git-paw-seq").unwrap_or_else(|| panic!("{self:?}")).parse().unwrap()
    }

    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap().to_owned()
    }
}

impl Http {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap()
    }

    pub(crate) fn try_connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { stream: BufReader::new(stream), address, token: None })
    }

    pub(crate) fn speaking(self, token: Token) -> Self {
        Self { token: Some(token), ..self }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    pub(crate) fn head(&self, method: &str, path: &str, more: &str) -> String {
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {}\r\n", token.reveal()));
        let token = token.unwrap_or_default();
        format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{token}{more}\r\n", self.address)
    }

    pub(crate) fn get(&mut self, path: &str) -> AnswerMessage {
        self.send(self.head("GET", path, "").as_bytes()).unwrap();
        self.answer().unwrap()
    }

    pub(crate) fn publish(&mut self, body: &Value) -> AnswerMessage {
        self.post("/publish", "application/json", body.to_string().as_bytes())
    }

    pub(crate) fn post(&mut self, path: &str, kind: &str, body: &[u8]) -> AnswerMessage {
        self.try_post(path, kind, body).unwrap()
    }

    pub(crate) fn try_post(&mut self, path: &str, kind: &str, body: &[u8]) -> std::io::Result<AnswerMessage> {
        let more = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
        let mut bytes = self.head("POST", path, &more).into_bytes();
        bytes.extend_from_slice(body);
        self.send(&bytes)?;
        self.answer()
    }

    /// The response, if it has arrived.
    pub(crate) fn answer_now(&mut self) -> Option<AnswerMessage> {
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).unwrap();
        let arrived = stream.peek(&mut [0]).is_ok_and(|bytes| bytes > 0);
        stream.set_nonblocking(false).unwrap();
        if arrived { self.answer().ok() } else { None }
    }

    /// Reads one response with a known length.
    pub(crate) fn answer(&mut self) -> std::io::Result<AnswerMessage> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let mut headers = Vec::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some((key, value)) = line.trim_end().split_once(':') else { break };
            headers.push((key.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = headers.iter().find(|(key, _)| key == "content-length");
        let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
        self.stream.read_exact(&mut body)?;
        Ok(AnswerMessage { status, headers, body })
    }

    /// The next line of a stream.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line
    }
}
