//! Verification and merge.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use paw_core::AgentId;
use paw_supervisor::pane_request::RequestedRun;
use serde::Deserialize;
use serde_json::json;

use super::read;
use crate::app::{App, blocking};
use crate::response::{Response, WebRefusal, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MergeWanted {
    /// Only these branches, verified or not; all verified ones if empty.
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    rebase: bool,
}

/// What a merge would do.
pub(crate) async fn forecast(app: &Arc<App>, head: &Parts) -> Result<Response, WebRefusal> {
    app.require_login(head)?;
    let app = Arc::clone(app);
    blocking(move || Ok(json(&app.run_own(&["merge", "--dry-run", "--json"])?))).await
}

pub(crate) async fn merge(app: &Arc<App>, head: &Parts, body: Incoming) -> Result<Response, WebRefusal> {
    app.require_act(head)?;
    let MergeWanted { only, rebase } = read(head, body).await?;
    Ok(json(&json!({"job": app.jobs.start(RequestedRun::Merge { only, rebase })?})))
}

pub(crate) fn verify(app: &Arc<App>, head: &Parts, agent: &AgentId) -> Result<Response, WebRefusal> {
    app.require_act(head)?;
    let branch = app.feed.read(|view| view.find(agent).and_then(|agent| agent.branch().cloned()));
    let branch = branch.ok_or(WebRefusal::NotFound)?.to_string();
    let verify = RequestedRun::Verify { branch, gates: Vec::new(), rerun: false };
    Ok(json(&json!({"job": app.jobs.start(verify)?})))
}
