//! Answers, and instructions to agents.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use paw_broker::Message;
use paw_broker::message::AnswerMessage;
use paw_core::{AgentId, PawError};
use paw_host::clock;
use serde::Deserialize;
use serde_json::Value;

use super::read;
use crate::app::{App, blocking};
use crate::response::{Response, WebRefusal, empty, json};

#[derive(Deserialize)]
struct AnswerRequest {
    /// The sequence number of the question.
    question: u64,
    text: String,
}

#[derive(Deserialize)]
struct TellRequest {
    text: String,
}

pub(crate) async fn answer(app: &Arc<App>, head: &Parts, body: Incoming) -> Result<Response, WebRefusal> {
    app.require_act(head)?;
    let request: AnswerRequest = read(head, body).await?;
    let open = app.feed.read(|view| view.questions.iter().find(|open| open.seq == request.question).cloned());
    let open = open.ok_or(WebRefusal::Outdated)?;
    if request.text.trim().is_empty() {
        return Err(WebRefusal::BadRequest("the answer is empty".to_owned()));
    }
    if open.is_approval() {
        return Err(WebRefusal::BadRequest("an approval is answered at its prompt".to_owned()));
    }
    let mut message = AnswerMessage::new(open.asker, AgentId::operator(), request.text);
    message.re = Some(open.text);
    publish(app, message.into()).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

pub(crate) async fn tell(
    app: &Arc<App>,
    head: &Parts,
    body: Incoming,
    agent: AgentId,
) -> Result<Response, WebRefusal> {
    app.require_act(head)?;
    let request: TellRequest = read(head, body).await?;
    Ok(json(&send(app, agent, request.text).await?))
}

/// Sends an instruction to an agent of this session, as `git paw tell` does. Returns how it was delivered.
pub(super) async fn send(app: &Arc<App>, agent: AgentId, text: String) -> Result<Value, WebRefusal> {
    if text.trim().is_empty() {
        return Err(WebRefusal::BadRequest("the text is empty".to_owned()));
    }
    let is_known = app.feed.read(|view| view.find(&agent).is_some_and(|agent| agent.member.is_some()));
    if !is_known {
        return Err(WebRefusal::NotFound);
    }
    let app = Arc::clone(app);
    let words = ["tell", "--json", "--stdin", "--"];
    blocking(move || Ok(app.run_own_with(&[&words[..], &[agent.as_str()]].concat(), text.into_bytes())?))
        .await
}

/// Publishes what the broker would accept.
pub(super) async fn publish(app: &App, message: Message) -> Result<(), WebRefusal> {
    let checked = Message::from_json(message.to_json());
    let checked = checked.map_err(|error| WebRefusal::BadRequest(error.to_string()))?;
    app.bus.publish(checked, clock::now()).await.map_err(PawError::from)?;
    Ok(())
}
