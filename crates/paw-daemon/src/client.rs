//! A connection to a running daemon.

use std::path::Path;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use crate::error::DaemonError;
use crate::proto::conversation_service_client::ConversationServiceClient;
use crate::proto::daemon_service_client::DaemonServiceClient;
use crate::proto::worktree_service_client::WorktreeServiceClient;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// One connection, one client per service.
#[derive(Debug, Clone)]
pub struct DaemonClient {
    pub worktrees: WorktreeServiceClient<Channel>,
    pub conversations: ConversationServiceClient<Channel>,
    pub daemon: DaemonServiceClient<Channel>,
}

impl DaemonClient {
    pub async fn connect(socket: &Path) -> Result<Self, DaemonError> {
        let channel = channel(socket).await?;
        Ok(Self {
            worktrees: WorktreeServiceClient::new(channel.clone()),
            conversations: ConversationServiceClient::new(channel.clone()),
            daemon: DaemonServiceClient::new(channel),
        })
    }
}

/// Opens the connection, for other services on the same socket.
pub async fn channel(socket: &Path) -> Result<Channel, DaemonError> {
    let unreachable = |reason: String| DaemonError::Unreachable { socket: socket.to_path_buf(), reason };
    let Some(path) = socket.to_str() else {
        return Err(unreachable("its path is not UTF-8".to_owned()));
    };
    let endpoint =
        Endpoint::from_shared(format!("unix://{path}")).map_err(|error| unreachable(root_cause(&error)))?;
    endpoint.connect_timeout(CONNECT_TIMEOUT).connect().await.map_err(|error| unreachable(root_cause(&error)))
}

/// The innermost error; the outer ones only say "transport error".
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
