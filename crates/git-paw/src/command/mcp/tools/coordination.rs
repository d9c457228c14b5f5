//! Talking to the other agents, and seeing what they are about to do.

use paw_core::PawError;
use paw_host::clock;
use paw_screen::text::Text;
use paw_session::lifecycle::status;
use paw_view::{AgentView, ConflictView, SessionView, ViewEvent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet::Coordination;
use super::Nothing;
use crate::command::inbox::{self, InboxArgs};
use crate::command::say::{self, MessageArgs};
use crate::context::Context;

/// Clients give up on a call after a minute.
const LONGEST_WAIT: u64 = 50;
/// MessageArgs a model can take in at once.
const DEFAULT_PAGE: u64 = 50;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Coordination,
            "say",
            Effect::Adds,
            "Send a message. status: what you do. intent: files you are about to change. artifact: something others can \
             use. blocked: you wait for `to`. question: to the supervisor. answer, feedback: to the agent `to`.",
            say,
        ),
        Tool::new(
            Coordination,
            "inbox",
            Effect::Reads,
            "The messages for you, oldest first; `more` says that there are further ones. Reading removes nothing: pass \
             `last_seq` of the answer as `since` next time.",
            |args: ReadInbox, context| {
                let limit = usize::try_from(args.limit.unwrap_or(DEFAULT_PAGE)).unwrap_or(usize::MAX).max(1);
                inbox::page(&args.into(), limit, context)
            },
        ),
        Tool::new(
            Coordination,
            "intents",
            Effect::Reads,
            "Which files the agents of the session have announced to change, as long as that holds.",
            |_: Nothing, context| intents(context),
        ),
        Tool::new(
            Coordination,
            "conflicts",
            Effect::Reads,
            "Who is in whose way now: file, lines, both agents, and whether git can merge it.",
            |_: Nothing, context| {
                let view = view(context)?;
                Ok(json!({"conflicts": view.conflicts.iter().map(conflict).collect::<Vec<_>>()}))
            },
        ),
        Tool::new(
            Coordination,
            "agents",
            Effect::Reads,
            "The agents of the session: branch, CLI, state, changed files and last words of each.",
            |_: Nothing, context| {
                let view = view(context)?;
                Ok(json!({"agents": view.listed().map(agent).collect::<Vec<_>>()}))
            },
        ),
    ]
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MessageKind {
    Status,
    Intent,
    Artifact,
    Blocked,
    Question,
    Answer,
    Feedback,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Say {
    /// MessageArgs kind of message it is
    r#type: MessageKind,
    /// The message itself; for intent what you plan, for blocked what you need
    text: Option<String>,
    /// status, artifact: one word, such as working or done
    status: Option<String>,
    /// blocked, answer, feedback: the id of the other agent
    to: Option<String>,
    /// intent, artifact: paths in the repository
    #[serde(default)]
    files: Vec<String>,
    /// artifact: names that others can use now
    #[serde(default)]
    exports: Vec<String>,
    /// answer: what it answers
    re: Option<String>,
    /// intent: how long it holds, in seconds (default 3600)
    seconds: Option<u64>,
}

fn say(args: Say, context: &Context) -> Result<Value, PawError> {
    say::answer(&message_args(args)?, context)
}

/// The message that is meant. A field it needs and does not have is named.
fn message_args(args: Say) -> Result<MessageArgs, PawError> {
    let Say { r#type: kind, text, status, to, files, exports, re, seconds } = args;
    let need = |name: &str, value: Option<String>| {
        let word = format!("{kind:?}").to_lowercase();
        value.filter(|value| !value.trim().is_empty()).ok_or_else(|| {
            PawError::ConfigError(format!("a message of type {word} needs `{name}`"))
                .hint(format!("call it again with `{name}`"))
        })
    };
    Ok(match kind {
        MessageKind::Status => {
            MessageArgs::Status { status: need("status", status)?, message: text, phase: None }
        }
        MessageKind::Artifact => MessageArgs::Artifact { status: need("status", status)?, exports, files },
        MessageKind::Blocked => MessageArgs::Blocked { needs: need("text", text)?, from: need("to", to)? },
        MessageKind::Question => MessageArgs::Question { question: need("text", text)? },
        MessageKind::Intent => {
            need("files", files.first().cloned())?;
            let ttl = seconds.unwrap_or(paw_broker::message::IntentMessage::DEFAULT_SECONDS);
            MessageArgs::Intent { files, summary: need("text", text)?, ttl }
        }
        MessageKind::Answer => {
            MessageArgs::Answer { agent: need("to", to)?, answer: need("text", text)?, re }
        }
        MessageKind::Feedback => {
            MessageArgs::Feedback { agent: need("to", to)?, errors: vec![need("text", text)?] }
        }
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadInbox {
    /// Only what came after this number (default 0: everything)
    #[serde(default)]
    since: u64,
    /// Wait up to this many seconds for something to come, at most 50
    #[serde(default)]
    wait: u64,
    /// At most this many messages (default 50)
    limit: Option<u64>,
}

impl From<ReadInbox> for InboxArgs {
    fn from(args: ReadInbox) -> Self {
        Self { since: args.since, wait: args.wait.min(LONGEST_WAIT), follow: false, json: true }
    }
}

/// The running session, or the last one, as its receipt and its messages tell it.
fn view(context: &Context) -> Result<SessionView, PawError> {
    let repo = context.require_repo()?;
    let mut view = SessionView::new(0);
    if let Some(session) = context.find_session()? {
        view.apply(ViewEvent::Members(status::members(&session.receipt)));
    }
    let loaded = paw_session::messages::load(&repo.common_dir, None, &mut view);
    loaded.map_err(|error| PawError::SessionError(format!("cannot read the messages: {error}")))?;
    Ok(view)
}

/// The newest plan of every agent, as long as it holds.
fn intents(context: &Context) -> Result<Value, PawError> {
    let (view, now) = (view(context)?, clock::now());
    let plans = view.agents.iter().filter_map(|agent| Some((&agent.id, agent.plan.as_ref()?)));
    let intents = plans.filter(|(_, plan)| plan.until > now).map(|(id, plan)| {
        json!({"agent_id": id, "files": plan.files, "summary": plan.summary,
            "announced_at": plan.announced.to_string(), "until": plan.until.to_string()})
    });
    Ok(json!({"intents": intents.collect::<Vec<_>>()}))
}

fn line(raw: &str) -> String {
    Text::line(raw).to_string()
}

fn conflict(conflict: &ConflictView) -> Value {
    json!({"kind": conflict.kind.word(), "file": line(&conflict.file), "lines": conflict.lines,
        "agents": conflict.agents, "since": conflict.since.to_string(),
        "story": Text::new(&conflict.details).as_str()})
}

fn agent(agent: &AgentView) -> Value {
    let files: Vec<_> = agent.files().iter().map(|file| line(file)).collect();
    let branch = agent.branch().map(|branch| line(branch.as_str())).unwrap_or_default();
    json!({"agent_id": agent.id, "branch": branch, "cli": line(agent.cli()), "state": line(agent.status().1),
        "files": files, "last_seen": agent.last_seen().map(|at| at.to_string()),
        "last_message": line(&agent.last_message)})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: Value) -> Result<MessageArgs, PawError> {
        message_args(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn a_message_without_what_it_needs_names_it() {
        for (message, name) in [
            (json!({"type": "status", "text": "x"}), "status"),
            (json!({"type": "blocked", "text": "x"}), "to"),
            (json!({"type": "question", "text": "  "}), "text"),
            (json!({"type": "intent", "text": "x"}), "files"),
            (json!({"type": "answer", "to": "a"}), "text"),
        ] {
            let error = parse(message).unwrap_err().to_string();
            assert!(error.contains(&format!("needs `{name}`")), "{error}");
        }
    }

    #[test]
    fn nobody_vouches_for_work_by_saying_so() {
        assert!(serde_json::from_value::<Say>(json!({"type": "verified", "to": "a"})).is_err());
    }
}
