//! The stream of a session in NATS JetStream.
//!
//! JetStream keeps what a host sent in the order it was stored. It acknowledges before it syncs to disk, it can be deleted and
//! restored, and hosts can store entries under subjects that they may not publish to: readers rely on none of that.

#[cfg(feature = "nats")]
mod jetstream;
#[cfg(not(feature = "nats"))]
mod unavailable;

use std::time::Duration;

use paw_broker::log::StreamId;
use paw_core::{Diagnostic, ErrorCode, ErrorReport, HostName};
use serde::{Deserialize, Serialize};

#[cfg(feature = "nats")]
pub(crate) use jetstream::check_credentials;
#[cfg(feature = "nats")]
pub use jetstream::{NatsEntries, NatsEntry, NatsStream};
#[cfg(not(feature = "nats"))]
pub(crate) use unavailable::check_credentials;
#[cfg(not(feature = "nats"))]
pub use unavailable::{AbsentEntries as NatsEntries, AbsentEntry as NatsEntry, AbsentStream as NatsStream};

/// The server must take a batch with one message of the largest size.
const LARGEST_ENTRY: i32 = 1 << 20;
const DELETE_LIMIT: Duration = Duration::from_secs(10);

/// Fails if this program was built without a client for NATS.
pub fn require_client() -> Result<(), NatsError> {
    if cfg!(feature = "nats") { Ok(()) } else { Err(NatsError::NoClient) }
}

/// A user of the server. `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NatsLogin {
    Password {
        user: String,
        password: String,
    },
    /// The content of a credentials file.
    Credentials {
        credentials: String,
    },
}

impl std::fmt::Debug for NatsLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Password { user, .. } => {
                f.debug_struct("Password").field("user", user).finish_non_exhaustive()
            }
            Self::Credentials { .. } => f.debug_struct("Credentials").finish_non_exhaustive(),
        }
    }
}

/// How to reach the stream.
#[derive(Debug, Clone)]
pub struct NatsSettings {
    /// URLs, such as `nats://127.0.0.1:4222`.
    pub servers: Vec<String>,
    pub login: Option<NatsLogin>,
    pub stream: StreamId,
    pub host: HostName,
    /// The hub creates the stream if it is missing.
    pub is_hub: bool,
    /// On how many servers of a cluster the stream is stored.
    pub replicas: usize,
}

/// The stream cannot be used right now.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    #[error("this program was built without NATS, so it cannot run agents on other machines")]
    NoClient,
    #[error("not an address of a NATS server: {0}")]
    Address(String),
    #[error("not the content of a credentials file: {0}")]
    Credentials(String),
    #[error("cannot reach the NATS server: {0}")]
    Unreachable(String),
    #[error("the NATS server takes only {0} bytes per message; {LARGEST_ENTRY} are needed")]
    SmallPayload(usize),
    #[error("the stream {0} does not exist yet; the hub creates it")]
    NoStream(String),
    #[error("the NATS server refused a request: {0}")]
    Refused(String),
    #[error("reading the stream was interrupted: {0}")]
    Interrupted(String),
}

impl Diagnostic for NatsError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::NoClient => {
                report(ErrorCode::FailedPrecondition).hint("build it with the cargo feature 'nats'")
            }
            Self::Address(_) => report(ErrorCode::InvalidArgument).hint("use nats://HOST:PORT"),
            Self::Credentials(_) => report(ErrorCode::InvalidArgument),
            Self::SmallPayload(_) => {
                report(ErrorCode::FailedPrecondition).hint("set max_payload in the server's configuration")
            }
            Self::NoStream(_) => report(ErrorCode::FailedPrecondition),
            Self::Unreachable(_) | Self::Refused(_) | Self::Interrupted(_) => report(ErrorCode::Internal),
        }
    }
}

/// The stream as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamState {
    /// Random, chosen when the stream was created.
    pub incarnation: String,
    /// The number of the last entry.
    pub last: u64,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// It is stored under this number.
    Stored(u64),
    /// Another entry is the host's last one.
    NotNext,
    /// It may or may not be stored.
    Unknown(String),
}

/// Deletes the stream of a session that was purged: nothing of it runs any more, so nothing fills it again.
pub fn delete_stream(settings: NatsSettings) -> Result<(), NatsError> {
    let unreachable = |problem: String| NatsError::Unreachable(problem);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| unreachable(error.to_string()))?;
    runtime.block_on(async {
        let deleted = tokio::time::timeout(DELETE_LIMIT, async {
            let stream = NatsStream::connect(settings).await?;
            stream.wait_until_connected().await;
            stream.delete().await
        });
        deleted.await.map_err(|_| unreachable("no answer".to_owned()))?
    })
}

/// The users in the URLs. The client takes one for all servers.
pub fn split_logins(servers: &[String]) -> (Vec<String>, Option<NatsLogin>) {
    let mut login = None;
    let plain = servers.iter().map(|url| {
        let (scheme, rest) = url.split_once("://").unwrap_or(("nats", url));
        let Some((user, address)) = rest.rsplit_once('@') else { return format!("{scheme}://{rest}") };
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        login = Some(NatsLogin::Password { user: user.to_owned(), password: password.to_owned() });
        format!("{scheme}://{address}")
    });
    (plain.collect(), login)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_a_server_is_taken_from_its_url() {
        let url = |text: &str| split_logins(&[text.to_owned()]);
        assert_eq!(url("nats://a:4222"), (vec!["nats://a:4222".to_owned()], None));
        assert_eq!(url("a:4222").0, ["nats://a:4222"]);
        let (servers, login) = url("tls://me:p@ss@a:1");
        assert_eq!(servers, ["tls://a:1"]);
        let expected = NatsLogin::Password { user: "me".to_owned(), password: "p@ss".to_owned() };
        assert_eq!(login, Some(expected));
    }
}
