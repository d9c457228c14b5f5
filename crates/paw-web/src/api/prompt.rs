//! The prompt that an agent waits at.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use paw_broker::message::FeedbackMessage;
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_supervisor::prompt_reply::{PendingPrompt, PromptReply};
use serde::Deserialize;
use serde_json::json;

use super::{questions, read};
use crate::app::{App, blocking};
use crate::response::{Response, WebRefusal, json};

/// What was shown to the person who decides.
#[derive(Deserialize)]
struct ReplyRequest {
    /// The text of the prompt, exactly as it was shown.
    text: String,
    /// What to do instead.
    #[serde(default)]
    tell: Option<String>,
}

pub(crate) async fn load(app: &Arc<App>, head: &Parts, agent: AgentId) -> Result<Response, WebRefusal> {
    app.require_login(head)?;
    let app = Arc::clone(app);
    blocking(move || {
        if app.is_elsewhere(&agent)? {
            return Ok(json(&app.run_own(&["approve", agent.as_str(), "--dry-run", "--json"])?));
        }
        let session = app.session()?;
        let prompt = PendingPrompt::find(&session, agent.as_str(), clock::now())?;
        Ok(json(&prompt.summary(&app.dirs)?))
    })
    .await
}

pub(crate) async fn approve(
    app: &Arc<App>,
    head: &Parts,
    body: Incoming,
    agent: AgentId,
) -> Result<Response, WebRefusal> {
    reply(app, head, body, agent, PromptReply::Approve).await
}

pub(crate) async fn deny(
    app: &Arc<App>,
    head: &Parts,
    body: Incoming,
    agent: AgentId,
) -> Result<Response, WebRefusal> {
    reply(app, head, body, agent, PromptReply::Deny).await
}

async fn reply(
    app: &Arc<App>,
    head: &Parts,
    body: Incoming,
    agent: AgentId,
    reply: PromptReply,
) -> Result<Response, WebRefusal> {
    app.require_act(head)?;
    let request: ReplyRequest = read(head, body).await?;
    let instead = request.tell.filter(|text| !text.trim().is_empty());
    let (asked, id, tell) = (Arc::clone(app), agent.clone(), instead.clone());
    let is_told = blocking(move || {
        if asked.is_elsewhere(&id)? {
            reply_elsewhere(&asked, &id, reply, &request.text, tell)?;
            return Ok(true);
        }
        let session = asked.session()?;
        let prompt = PendingPrompt::find(&session, id.as_str(), clock::now())?;
        prompt.require_text(&request.text).map_err(PawError::from)?;
        prompt.reply(&session, reply, &AgentId::operator(), clock::now())?;
        Ok(false)
    })
    .await?;
    let done = json(&json!({"agent": agent}));
    if let Some(text) = instead.filter(|_| !is_told) {
        let errors = vec![format!("[directive] {text}")];
        let message = FeedbackMessage::new(agent, AgentId::operator(), errors);
        questions::publish(app, message.into()).await?;
    }
    Ok(done)
}

/// The agent's machine compares the prompt, presses the keys and tells the agent what to do instead.
fn reply_elsewhere(
    app: &App,
    agent: &AgentId,
    reply: PromptReply,
    seen: &str,
    instead: Option<String>,
) -> Result<(), PawError> {
    let expect = format!("--expect={seen}");
    let tell = instead.map(|text| format!("--tell={text}"));
    let mut words = match reply {
        PromptReply::Approve => vec!["approve", "--yes"],
        PromptReply::Deny => vec!["deny"],
    };
    words.extend(["--json", &expect, agent.as_str()]);
    words.extend(tell.as_deref().filter(|_| reply == PromptReply::Deny));
    app.run_own(&words).map(drop)
}
