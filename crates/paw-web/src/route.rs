//! The addresses of the page and of its API.

use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use paw_core::AgentId;

use crate::app::App;
use crate::response::{Response, WebRefusal, secure};
use crate::{api, assets};

/// Answers one request.
pub(crate) async fn handle(app: &Arc<App>, request: Request<Incoming>) -> Response {
    let nonce = nonce();
    let answered = match app.names.check(&request) {
        Ok(()) => dispatch(app, request, &nonce).await,
        Err(refusal) => Err(refusal),
    };
    let mut response = answered.unwrap_or_else(WebRefusal::into_response);
    secure(&mut response, &nonce);
    response
}

async fn dispatch(app: &Arc<App>, request: Request<Incoming>, nonce: &str) -> Result<Response, WebRefusal> {
    let path = request.uri().path().to_owned();
    if request.method() == "GET" {
        if path == "/" {
            return Ok(assets::page(nonce));
        }
        if let Some(asset) = assets::find(&path, request.headers()) {
            return Ok(asset);
        }
        if path == "/api/terminal" {
            return api::terminal::open(app, request).await;
        }
    }
    let (head, body) = request.into_parts();
    let Some(path) = path.strip_prefix("/api/") else { return Err(WebRefusal::NotFound) };
    match (head.method.as_str(), path) {
        ("POST", "login") => api::login::log_in(app, &head, body).await,
        ("POST", "logout") => api::login::log_out(app, &head),
        ("GET", "events") => api::events::follow(app, &head),
        ("GET", "messages") => api::messages::search(app, &head).await,
        ("GET", "timeline") => api::timeline::load(app, &head).await,
        ("GET", "runs") => api::runs::load(app, &head).await,
        ("GET", "merge") => api::work::forecast(app, &head).await,
        ("POST", "merge") => api::work::merge(app, &head, body).await,
        ("POST", "answer") => api::questions::answer(app, &head, body).await,
        (method, path) => match path.strip_prefix("agents/").and_then(|rest| rest.split_once('/')) {
            Some((agent, action)) => agent_action(app, (method, agent, action), &head, body).await,
            None => Err(WebRefusal::NotFound),
        },
    }
}

async fn agent_action(
    app: &Arc<App>,
    (method, agent, action): (&str, &str, &str),
    head: &Parts,
    body: Incoming,
) -> Result<Response, WebRefusal> {
    let agent: AgentId = agent.parse().map_err(|_| WebRefusal::NotFound)?;
    match (method, action) {
        ("GET", "prompt") => api::prompt::load(app, head, agent).await,
        ("POST", "approve") => api::prompt::approve(app, head, body, agent).await,
        ("POST", "deny") => api::prompt::deny(app, head, body, agent).await,
        ("POST", "tell") => api::questions::tell(app, head, body, agent).await,
        ("GET", "diff") => api::diff::load(app, head, agent).await,
        ("POST", "comments") => api::diff::comment(app, head, body, agent).await,
        ("POST", "verify") => api::work::verify(app, head, &agent),
        ("POST", "ticket") => api::terminal::ticket(app, head),
        ("POST", "take") => api::terminal::take(app, head, &agent),
        ("POST", "release") => api::terminal::release(app, head, &agent),
        ("GET", "text") => api::terminal::text(app, head, agent).await,
        _ => Err(WebRefusal::NotFound),
    }
}

/// Allows one `<style>` element of the page that is sent with it.
fn nonce() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness the page works, but for the colours of the terminal.
    let _ = getrandom::fill(&mut bytes);
    format!("{:032x}", u128::from_le_bytes(bytes))
}
