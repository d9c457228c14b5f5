//! The live terminal of an agent, and its text.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, StatusCode};
use paw_core::{AgentId, PawError, text};
use paw_session::lifecycle::terminal::TERMINAL_COMMAND;
use serde_json::json;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::query;
use crate::app::{App, blocking};
use crate::login::Login;
use crate::response::{Response, WebRefusal, empty, json};
use crate::terminal::{self, PanePlace, TerminalTarget};

/// A ticket for one WebSocket.
pub(crate) fn ticket(app: &Arc<App>, head: &Parts) -> Result<Response, WebRefusal> {
    let login = app.require_login(head)?;
    Ok(json(&json!({"ticket": app.create_ticket(&login)?})))
}

pub(crate) fn take(app: &Arc<App>, head: &Parts, agent: &AgentId) -> Result<Response, WebRefusal> {
    let login = app.require_act(head)?;
    Ok(json(&app.take_over(agent, &login)))
}

pub(crate) fn release(app: &Arc<App>, head: &Parts, agent: &AgentId) -> Result<Response, WebRefusal> {
    let login = app.require_login(head)?;
    app.release(agent, &login);
    Ok(empty(StatusCode::NO_CONTENT))
}

/// What the pane shows, as plain text, for screen readers.
pub(crate) async fn text(app: &Arc<App>, head: &Parts, agent: AgentId) -> Result<Response, WebRefusal> {
    app.require_login(head)?;
    let app = Arc::clone(app);
    blocking(move || {
        let shown = if app.is_elsewhere(&agent)? {
            let shown = app.print_own(&[TERMINAL_COMMAND, agent.as_str(), "--text"])?;
            String::from_utf8_lossy(&shown).into_owned()
        } else {
            app.session()?.pane_text(&agent).map_err(PawError::from)?
        };
        Ok(json(&json!({"text": text::block(&shown)})))
    })
    .await
}

/// Upgrades to a WebSocket. The ticket stands in the query because a browser cannot send a header.
pub(crate) async fn open(app: &Arc<App>, mut request: Request<Incoming>) -> Result<Response, WebRefusal> {
    let login = check(app, &request)?;
    let agent = query(request.uri(), "agent").and_then(|agent| agent.parse::<AgentId>().ok());
    let agent = agent.ok_or(WebRefusal::NotFound)?;
    let permit = Arc::clone(&app.streams).try_acquire_owned().map_err(|_| WebRefusal::TooMany)?;
    let key = request.headers().get(header::SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
    let accept = key.map(derive_accept_key).and_then(|accept| HeaderValue::from_str(&accept).ok());
    let accept = accept.ok_or_else(|| WebRefusal::BadRequest("this is not a WebSocket".to_owned()))?;
    let asked = Arc::clone(app);
    let target = blocking(move || find_target(&asked, &agent)).await?;
    let upgrade = hyper::upgrade::on(&mut request);
    let app = Arc::clone(app);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            terminal::serve(app, upgraded, target, login).await;
        }
        drop(permit);
    });
    let mut response = empty(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

fn check(app: &App, request: &Request<Incoming>) -> Result<Login, WebRefusal> {
    let is_socket = request
        .headers()
        .get(header::UPGRADE)
        .is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    if !is_socket {
        return Err(WebRefusal::BadRequest("this is not a WebSocket".to_owned()));
    }
    let ticket = query(request.uri(), "ticket").ok_or(WebRefusal::NoLogin)?;
    app.take_ticket(&ticket).ok_or(WebRefusal::NoLogin)
}

fn find_target(app: &App, agent: &AgentId) -> Result<TerminalTarget, WebRefusal> {
    let place = if app.is_elsewhere(agent)? {
        PanePlace::Elsewhere { command: app.own_command(&[TERMINAL_COMMAND, agent.as_str()])? }
    } else {
        let session = app.session()?;
        let window = session.find_window().map_err(PawError::from)?;
        let window = window.ok_or_else(|| PawError::SessionError("the session is not running".to_owned()))?;
        let pane = window.find_pane(agent.as_str()).map(|pane| pane.id.clone());
        let pane = pane.ok_or_else(|| PawError::SessionError(format!("{agent} has no pane")))?;
        PanePlace::Here { tmux: session.tmux.clone(), target: window.session.clone(), pane }
    };
    Ok(TerminalTarget { agent: agent.clone(), place })
}
