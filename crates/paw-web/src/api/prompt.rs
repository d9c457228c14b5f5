//! The prompt that an agent waits at.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use paw_broker::message::FeedbackMessage;
use paw_core::{AgentId, text};
use paw_host::clock;
use paw_supervisor::approval::ApprovalVerdict;
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
        let session = app.session()?;
        let prompt = PendingPrompt::find(&session, agent.as_str(), clock::now())?;
        let (allowed, reason) = match prompt.verdict(&app.dirs)? {
            ApprovalVerdict::Allow { reason } => (true, reason),
            ApprovalVerdict::Ask { reason } => (false, reason),
        };
        let refused = prompt.check(PromptReply::Approve, &AgentId::operator()).err();
        Ok(json(&json!({
            "text": text::block(&prompt.text()),
            "cli": prompt.cli(),
            "allowed": allowed,
            "reason": text::line(&reason),
            "refused": refused.map(|refused| refused.to_string()),
        })))
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
    let (asked, id) = (Arc::clone(app), agent.clone());
    let done = blocking(move || {
        let session = asked.session()?;
        let prompt = PendingPrompt::find(&session, id.as_str(), clock::now())?;
        if text::block(&prompt.text()) != request.text {
            return Err(WebRefusal::Outdated);
        }
        prompt.reply(&session, reply, &AgentId::operator(), clock::now())?;
        Ok(json(&json!({"agent": prompt.agent()})))
    })
    .await?;
    if let Some(text) = instead {
        let errors = vec![format!("[directive] {text}")];
        let message = FeedbackMessage::new(agent, AgentId::operator(), errors);
        questions::publish(app, message.into()).await?;
    }
    Ok(done)
}
