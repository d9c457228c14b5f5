//! `POST /watch`: starts watching another worktree.

use std::path::PathBuf;

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use paw_core::AgentId;
use serde::Deserialize;

use super::response::{ApiError, Response, accepted};
use super::{ServerContext, access, publish};
use crate::message::{MessageError, agent_id, is_placeholder};

/// A worktree and the agent that works in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRequest {
    pub agent_id: AgentId,
    pub worktree_path: PathBuf,
    pub cli: Option<String>,
}

#[derive(Deserialize)]
struct WatchBody {
    agent_id: String,
    worktree_path: String,
    cli: Option<String>,
}

impl WatchRequest {
    fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let wire: WatchBody =
            serde_json::from_slice(body).map_err(|error| MessageError::Json(error.to_string()))?;
        let path = wire.worktree_path.trim();
        if path.is_empty() || is_placeholder(path) {
            return Err(ApiError::bad_request("worktree_path must be the path of a worktree"));
        }
        Ok(Self {
            agent_id: agent_id("agent_id", &wire.agent_id)?,
            worktree_path: PathBuf::from(wire.worktree_path),
            cli: wire.cli,
        })
    }
}

pub(super) async fn watch(app: &ServerContext, head: &Parts, body: Incoming) -> Result<Response, ApiError> {
    let caller = access::caller(app, &head.headers).await?;
    if !caller.is_privileged() {
        return Err(ApiError::not_privileged());
    }
    if !access::is_json(&head.headers) {
        return Err(ApiError::not_json());
    }
    let _open = app.waiting.admit_body(&caller).ok_or_else(ApiError::too_many_bodies)?;
    let body = publish::read_body(app, &head.headers, body).await?;
    let request = WatchRequest::parse(&body)?;
    app.watches.try_send(request).map_err(|_| {
        ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the broker does not watch worktrees, or too many requests are pending",
        )
    })?;
    Ok(accepted())
}
