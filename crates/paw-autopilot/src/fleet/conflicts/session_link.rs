//! Publishes the tasks as agents of the running session: what they plan to change, what they change, and how they
//! end. Also reads the session's conflict messages about them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use paw_broker::client::{BrokerClient, ClientIdentity};
use paw_broker::conflict::{ConflictCategory, ConflictLevel, ConflictReport};
use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_broker::message::{Extra, IntentFile, IntentMessage, StatusMessage};
use paw_broker::{Message, SessionId};
use paw_core::config::BrokerConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, PawError};
use paw_host::git::Repo;
use paw_host::{clock, config};
use paw_session::lifecycle::Session;
use serde_json::Map;

use super::TaskAgent;
use super::conflict::{Mergeability, TaskConflict};
use crate::fleet::PlannedTask;
use crate::fleet::outcome::{TaskOutcome, TaskState};

/// How long a task's intended files stay reserved, unless it ends earlier.
const RESERVED: u64 = 4 * 60 * 60;

#[derive(Debug)]
pub(super) struct SessionLink {
    repo: Repo,
    config: BrokerConfig,
    session: SessionId,
    /// The agents of the session.
    members: Vec<AgentId>,
    keyring: Keyring,
    clients: BTreeMap<AgentId, BrokerClient>,
}

impl SessionLink {
    /// `None` unless the session is running with a broker.
    pub(super) fn open(session: &Session) -> Result<Option<Self>, PawError> {
        if !session.receipt.has_broker() || session.find_window()?.is_none() {
            return Ok(None);
        }
        let repo = session.repo.clone();
        let dir = PawDir::of(&repo.common_dir);
        let log = log::open(&dir.log())?;
        let config = config::load_layers(Some(&repo.root), None)?.resolve()?.broker;
        let id = SessionId::new(&session.receipt.session_id());
        Ok(Some(Self {
            keyring: Keyring::new(&log, dir.path()),
            repo,
            config,
            session: id,
            members: session.receipt.agent_ids(),
            clients: BTreeMap::new(),
        }))
    }

    pub(super) fn members(&self) -> &[AgentId] {
        &self.members
    }

    /// Announces the files the task plans to change, as far as its text names them.
    pub(super) fn begin(
        &mut self,
        agent: &AgentId,
        task: &PlannedTask,
        inside: &Path,
    ) -> Result<(), PawError> {
        let token = self.keyring.mint(&self.session, agent)?;
        let who = ClientIdentity {
            agent: Some(agent.to_string()),
            token: Some(token.reveal().to_owned()),
            url: None,
        };
        let (dir, config) = (&self.repo.common_dir, self.config.clone());
        let client = BrokerClient::new(dir, config, who, Some(self.session.clone()))?;
        self.clients.insert(agent.clone(), client);
        let title = format!("autopilot: task {}: {}", task.member.task, task.member.title);
        self.say(agent, &status(agent, "working", Some(title.clone())))?;
        let files = task.member.files.iter().map(|path| IntentFile {
            path: inside.join(path).to_string_lossy().into_owned(),
            regions: Vec::new(),
            extra: Map::new(),
        });
        let files: Vec<IntentFile> = files.collect();
        if files.is_empty() {
            return Ok(());
        }
        let intent = IntentMessage {
            agent_id: agent.clone(),
            files,
            summary: title,
            clear: Some(true),
            valid_for_seconds: RESERVED,
            extra: Extra::default(),
        };
        self.say(agent, &Message::Intent(intent))
    }

    pub(super) fn say(&self, agent: &AgentId, message: &Message) -> Result<(), PawError> {
        if let Some(client) = self.clients.get(agent) {
            client.publish(message, clock::now())?;
        }
        Ok(())
    }

    pub(super) fn end(&self, agent: &AgentId, outcome: &TaskOutcome) -> Result<(), PawError> {
        let word = match outcome.state {
            TaskState::Done => "done",
            TaskState::Paused | TaskState::Skipped | TaskState::Interrupted => "idle",
            TaskState::Failed => "failed",
        };
        let message = match &outcome.reason {
            Some(reason) => format!("autopilot: {}: {reason}", outcome.state.as_str()),
            None => format!("autopilot: {}", outcome.state.as_str()),
        };
        self.say(agent, &status(agent, word, Some(message)))
    }

    /// Collects the conflicts reported between tasks and session agents, and revokes the tasks' tokens.
    pub(super) fn close(&mut self, agents: &[TaskAgent]) -> Vec<TaskConflict> {
        let mut latest: BTreeMap<(String, String, String), ConflictReport> = BTreeMap::new();
        for task in agents {
            let Some(client) = self.clients.remove(&task.agent) else { continue };
            let messages = client.inbox(0, Duration::ZERO).map(|inbox| inbox.messages).unwrap_or_default();
            for facts in messages.iter().filter_map(|stored| ConflictReport::find(&stored.message)) {
                let known = |agent: &AgentId| agents.iter().any(|other| other.agent == *agent);
                if facts.kind == ConflictCategory::Forward || facts.you != task.agent || known(&facts.other) {
                    continue;
                }
                for file in &facts.files {
                    let key = (task.task.to_string(), facts.other.to_string(), file.path.clone());
                    latest.insert(key, facts.clone());
                }
            }
            // A token that stays valid can only send this task's messages.
            let _ = self.keyring.revoke(&self.session, &task.agent);
        }
        latest
            .into_iter()
            .filter_map(|((task, other, path), facts)| conflict(task, &other, path, &facts))
            .collect()
    }
}

fn conflict(task: String, other: &str, path: String, facts: &ConflictReport) -> Option<TaskConflict> {
    let file = facts.files.iter().find(|file| file.path == path)?;
    let fits = match facts.level {
        ConflictLevel::Cleared => return None,
        ConflictLevel::Additive => Mergeability::Yes,
        ConflictLevel::Overlap | ConflictLevel::Escalated => Mergeability::Unknown,
        ConflictLevel::Conflict => {
            Mergeability::No { own: file.your_lines.clone(), others: file.their_lines.clone() }
        }
    };
    Some(TaskConflict { task, other: format!("agent {other}"), path, fits })
}

fn status(agent: &AgentId, word: &str, message: Option<String>) -> Message {
    Message::Status(StatusMessage {
        agent_id: agent.clone(),
        status: word.to_owned(),
        modified_files: None,
        message,
        cli: Some("autopilot".to_owned()),
        phase: None,
        detail: None,
        extra: Extra::default(),
    })
}
