//! The work of an agent, file by file, and comments on its lines.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use paw_core::{AgentId, PawError};
use paw_worktree::WorkDiff;
use serde::Deserialize;
use serde_json::json;

use super::{query, questions, read};
use crate::app::{App, blocking};
use crate::response::{Response, WebRefusal, json};

/// A longer patch of one file is cut, with a note.
const LONGEST_PATCH: usize = 400_000;

#[derive(Deserialize)]
struct CommentRequest {
    path: String,
    line: u64,
    /// The text of the line, so that the agent finds it when the file has changed.
    quote: String,
    text: String,
}

/// The list of files, or with `file` the patch of one; `old` is its path before it was renamed.
pub(crate) async fn load(app: &Arc<App>, head: &Parts, agent: AgentId) -> Result<Response, WebRefusal> {
    app.require_login(head)?;
    let (file, old) = (query(&head.uri, "file"), query(&head.uri, "old"));
    let app = Arc::clone(app);
    blocking(move || {
        if app.is_elsewhere(&agent)? {
            return load_elsewhere(&app, &agent, file.as_deref(), old.as_deref());
        }
        let worktree = find_worktree(&app, &agent)?;
        let work = WorkDiff::take(&app.repo, &worktree).map_err(PawError::from)?;
        let files = work.files().map_err(PawError::from)?;
        let Some(file) = file else {
            return Ok(json(&json!({
                "base": work.base(), "committed": work.is_committed(), "files": files,
            })));
        };
        let wanted =
            files.iter().find(|change| change.path.to_string_lossy() == file).ok_or(WebRefusal::NotFound)?;
        let paths: Vec<PathBuf> =
            [Some(&wanted.path), wanted.old_path.as_ref()].into_iter().flatten().cloned().collect();
        Ok(cut(work.patch(&["--unified=3", "--no-color"], &paths).map_err(PawError::from)?))
    })
    .await
}

/// The work of an agent on another machine, as `git paw diff` shows it: read there, or its last snapshot.
fn load_elsewhere(
    app: &App,
    agent: &AgentId,
    file: Option<&str>,
    old: Option<&str>,
) -> Result<Response, WebRefusal> {
    let Some(file) = file else {
        return Ok(json(&app.run_own(&["diff", agent.as_str(), "--json"])?));
    };
    let words: Vec<_> = ["diff", agent.as_str(), "--", file].into_iter().chain(old).collect();
    let patch = app.print_own(&words)?;
    if patch.is_empty() { Err(WebRefusal::NotFound) } else { Ok(cut(patch)) }
}

fn cut(mut patch: Vec<u8>) -> Response {
    let is_cut = patch.len() > LONGEST_PATCH;
    patch.truncate(LONGEST_PATCH);
    json(&json!({"patch": String::from_utf8_lossy(&patch), "cut": is_cut}))
}

fn find_worktree(app: &App, agent: &AgentId) -> Result<PathBuf, WebRefusal> {
    let receipt = app.session()?.receipt;
    let place = receipt.agent_ids().iter().position(|id| id == agent).ok_or(WebRefusal::NotFound)?;
    receipt.worktrees.get(place).map(|member| member.worktree_path.clone()).ok_or(WebRefusal::NotFound)
}

pub(crate) async fn comment(
    app: &Arc<App>,
    head: &Parts,
    body: Incoming,
    agent: AgentId,
) -> Result<Response, WebRefusal> {
    app.require_act(head)?;
    let comment: CommentRequest = read(head, body).await?;
    let CommentRequest { path, line, quote, text } = comment;
    if text.trim().is_empty() {
        return Err(WebRefusal::BadRequest("the comment is empty".to_owned()));
    }
    let quote: String = quote.chars().take(200).collect();
    let comment = format!("comment on {path}:{line} (`{}`): {text}", quote.trim());
    Ok(json(&questions::send(app, agent, comment).await?))
}
