//! `GET /status`: which broker this is and, for callers with a token, the state of the agents.

use hyper::http::request::Parts;
use paw_host::clock;
use serde_json::{Value, json};

use super::response::{Response, json_text};
use super::{ServerContext, access};
use crate::endpoint::repository_hash;
use crate::record::AgentRecord;

pub(super) async fn status(app: &ServerContext, head: &Parts) -> Response {
    let mut status = json!({
        "git_paw": true,
        "version": env!("CARGO_PKG_VERSION"),
        "repository_hash": repository_hash(&app.repository),
    });
    // The part without a token lets a caller that knows the repository find out whether the port belongs to it.
    if access::caller(app, &head.headers).await.is_ok() {
        let now = clock::now();
        status["repository"] = app.repository.to_string_lossy().into();
        status["session"] = app.bus.session().as_str().into();
        status["auth"] = app.auth.as_str().into();
        status["uptime_seconds"] = app.started.elapsed().as_secs().into();
        status["last_seq"] = app.bus.head().into();
        status["agents"] = app.bus.records().iter().map(|record| agent(record, now)).collect();
    }
    json_text(status.to_string())
}

fn agent(record: &AgentRecord, now: jiff::Timestamp) -> Value {
    let mut agent = json!({
        "agent_id": record.agent_id,
        "cli": record.cli,
        "status": record.status,
        "last_seen_seconds": now.duration_since(record.last_seen).as_secs().max(0),
        "modified_files": record.modified_files,
    });
    if let Some(phase) = &record.phase {
        agent["phase"] = phase.as_str().into();
    }
    agent
}
