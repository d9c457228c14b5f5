//! Exchanging a code for a token.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use serde::Deserialize;
use serde_json::json;

use super::read;
use crate::app::App;
use crate::response::{Response, WebRefusal, empty, json};

#[derive(Deserialize)]
struct LoginRequest {
    code: String,
}

pub(crate) async fn log_in(app: &Arc<App>, head: &Parts, body: Incoming) -> Result<Response, WebRefusal> {
    let request: LoginRequest = read(head, body).await?;
    let (token, login) = app.log_in(&request.code)?;
    Ok(json(&json!({"token": token, "login": login.id, "scope": login.scope})))
}

pub(crate) fn log_out(app: &Arc<App>, head: &Parts) -> Result<Response, WebRefusal> {
    let login = app.require_login(head)?;
    app.log_out(&login);
    Ok(empty(StatusCode::NO_CONTENT))
}
