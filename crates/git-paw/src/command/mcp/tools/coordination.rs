//! Messages between agents, their plans and conflicts.

use paw_core::PawError;
use paw_host::clock;
use paw_screen::text::Text;
use paw_session::lifecycle::status;
use paw_supervisor::proof;
use paw_view::{AgentView, ConflictView, SessionView, ViewEvent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet::Coordination;
use super::NoArguments;
use crate::command::inbox::{self, InboxArgs};
use crate::command::say::{self, LearningCategory, MessageArgs};
use crate::context::Context;

/// Clients give up on a call after a minute.
const LONGEST_WAIT: u64 = 50;
/// How many messages a model can handle at once.
const DEFAULT_PAGE: u64 = 50;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Coordination,
            "say",
            Effect::Adds,
            "Send a message. status: what you are doing. intent: files you are about to change. artifact: something others can \
             use. blocked: you are waiting for `to`. question: to the supervisor. answer, feedback: to the agent `to`. learning: \
             something the next session should know.",
            say,
        ),
        Tool::new(
            Coordination,
            "inbox",
            Effect::Reads,
            "Return your messages, oldest first. Reading does not remove them: pass `last_seq` of the answer as `since` \
             next time. `more` is true if there are further messages.",
            |args: ReadInbox, context| {
                let limit = usize::try_from(args.limit.unwrap_or(DEFAULT_PAGE)).unwrap_or(usize::MAX).max(1);
                inbox::page(&args.into(), limit, context)
            },
        ),
        Tool::new(
            Coordination,
            "intents",
            Effect::Reads,
            "List the files that agents have announced to change, while the announcements are valid.",
            |_: NoArguments, context| intents(context),
        ),
        Tool::new(
            Coordination,
            "conflicts",
            Effect::Reads,
            "List the current conflicts: file, lines, both agents, and whether git can merge the changes.",
            |_: NoArguments, context| {
                let view = view(context)?;
                Ok(json!({"conflicts": view.conflicts.iter().map(conflict).collect::<Vec<_>>()}))
            },
        ),
        Tool::new(
            Coordination,
            "agents",
            Effect::Reads,
            "List the agents of the session with branch, CLI, state, changed files and last message.",
            |_: NoArguments, context| {
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
    Learning,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Say {
    /// The type of the message
    r#type: MessageKind,
    /// The text; for intent what you plan, for blocked what you need
    text: Option<String>,
    /// status, artifact: one word, such as working or done
    status: Option<String>,
    /// blocked, answer, feedback: the id of the other agent; learning: the agent it concerns, if any
    to: Option<String>,
    /// intent, artifact: paths in the repository
    #[serde(default)]
    files: Vec<String>,
    /// artifact: names that others can use now
    #[serde(default)]
    exports: Vec<String>,
    /// answer: the question that it answers
    re: Option<String>,
    /// intent: how long it is valid, in seconds (default: as configured)
    seconds: Option<u64>,
    /// intent: drop what you announced before; otherwise the files are added to it
    #[serde(default)]
    clear: bool,
    /// learning: what kind it is (default other)
    category: Option<LearningCategory>,
}

fn say(args: Say, context: &Context) -> Result<Value, PawError> {
    say::answer(&message_args(args)?, context)
}

/// Builds the message. The error names a missing field.
fn message_args(args: Say) -> Result<MessageArgs, PawError> {
    let Say { r#type: kind, text, status, to, files, exports, re, seconds, clear, category } = args;
    let need = |name: &str, value: Option<String>| {
        let word = format!("{kind:?}").to_lowercase();
        value.filter(|value| !value.trim().is_empty()).ok_or_else(|| {
            PawError::ConfigError(format!("a message of type {word} needs `{name}`"))
                .hint(format!("call say again with `{name}`"))
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
            if !clear {
                need("files", files.first().cloned())?;
            }
            let summary = if clear { text } else { Some(need("text", text)?) };
            MessageArgs::Intent { files, summary, clear, ttl: seconds.map(|seconds| seconds.max(1)) }
        }
        MessageKind::Answer => {
            MessageArgs::Answer { agent: need("to", to)?, answer: need("text", text)?, re }
        }
        MessageKind::Feedback => {
            MessageArgs::Feedback { agent: need("to", to)?, errors: vec![need("text", text)?] }
        }
        MessageKind::Learning => MessageArgs::Learning {
            title: need("text", text)?,
            category: category.unwrap_or(LearningCategory::Other),
            about: to,
            detail: None,
        },
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadInbox {
    /// Return only messages after this number (default 0: all)
    #[serde(default)]
    since: u64,
    /// Wait up to this many seconds for a message, at most 50
    #[serde(default)]
    wait: u64,
    /// Return at most this many messages (default 50)
    limit: Option<u64>,
}

impl From<ReadInbox> for InboxArgs {
    fn from(args: ReadInbox) -> Self {
        Self { since: args.since, wait: args.wait.min(LONGEST_WAIT), follow: false, json: true }
    }
}

/// The running or last session, from its receipt and its messages.
fn view(context: &Context) -> Result<SessionView, PawError> {
    let repo = context.require_repo()?;
    let mut view = SessionView::new(0);
    if let Some(session) = context.find_session()? {
        view.apply(ViewEvent::Members(status::members(&session.receipt)));
    }
    let loaded = paw_session::messages::load(&repo.common_dir, None, &mut view);
    loaded.map_err(|error| PawError::SessionError(format!("cannot read the messages: {error}")))?;
    proof::add_tips(&mut view, &repo, &context.dirs);
    Ok(view)
}

/// The newest valid plan of every agent.
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
        "verification": agent.verification(), "files": files, "last_seen": agent.last_seen().map(|at| at.to_string()),
        "last_message": line(&agent.last_message)})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: Value) -> Result<MessageArgs, PawError> {
        message_args(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn say_names_a_missing_field() {
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
    fn say_cannot_mark_work_as_verified() {
        assert!(serde_json::from_value::<Say>(json!({"type": "verified", "to": "a"})).is_err());
    }
}
