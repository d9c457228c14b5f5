//! The tasks as agents of the session that is running here: what they are about to change, what they change, and how it
//! ended; and what the session's own radar says about them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use paw_autopilot::fleet::PlannedTask;
use paw_broker::client::{Client, Who};
use paw_broker::identity::Keyring;
use paw_broker::log::SqliteLog;
use paw_broker::message::{Extra, Intent, IntentFile, Status};
use paw_broker::radar::{Facts, Kind, Level};
use paw_broker::{Message, SessionId};
use paw_core::config::BrokerConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, PawError};
use paw_host::git::Repo;
use paw_host::sqlite::Durability;
use paw_host::{clock, config};
use serde_json::Map;

use super::super::ending::{Ending, State};
use super::Sailor;
use super::words::{Collision, Fits};
use crate::context::Context;

/// How long what a task is about to change is reserved for it, unless it ends before.
const RESERVED: u64 = 4 * 60 * 60;

#[derive(Debug)]
pub(super) struct Desk {
    repo: Repo,
    config: BrokerConfig,
    session: SessionId,
    /// The session's own agents.
    members: Vec<AgentId>,
    keyring: Keyring,
    clients: BTreeMap<AgentId, Client>,
}

/// Nothing where no session with a broker is running.
pub(super) fn open(context: &Context) -> Result<Option<Desk>, PawError> {
    let Some(session) = context.find_session()? else { return Ok(None) };
    if !session.receipt.has_broker() || session.look()?.is_none() {
        return Ok(None);
    }
    let repo = session.repo.clone();
    let dir = PawDir::of(&repo.common_dir);
    let log = SqliteLog::open(&dir.log(), Durability::Process)
        .map_err(|error| PawError::SessionError(error.to_string()))?;
    let config = config::load_layers(Some(&repo.root), None)?.resolve()?.broker;
    let id = SessionId::new(&session.receipt.session_id());
    Ok(Some(Desk {
        keyring: Keyring::new(&log, dir.path()),
        repo,
        config,
        session: id,
        members: session.receipt.agent_ids(),
        clients: BTreeMap::new(),
    }))
}

impl Desk {
    pub(super) fn members(&self) -> &[AgentId] {
        &self.members
    }

    /// Says what the task is about to change, as far as its words name it.
    pub(super) fn begin(
        &mut self,
        agent: &AgentId,
        task: &PlannedTask,
        inside: &Path,
    ) -> Result<(), PawError> {
        let token = self.keyring.mint(&self.session, agent)?;
        let who = Who { agent: Some(agent.to_string()), token: Some(token.reveal().to_owned()), url: None };
        let (dir, config) = (&self.repo.common_dir, self.config.clone());
        let client = Client::new(dir, config, who, Some(self.session.clone()))?;
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
        let intent = Intent {
            agent_id: agent.clone(),
            files,
            summary: title,
            valid_for_seconds: RESERVED,
            extra: Extra::default(),
        };
        self.say(agent, &Message::Intent(intent))
    }

    pub(super) fn say(&self, agent: &AgentId, message: &Message) -> Result<(), PawError> {
        if let Some(client) = self.clients.get(agent) {
            client.say(message, clock::now())?;
        }
        Ok(())
    }

    pub(super) fn end(&self, agent: &AgentId, ending: &Ending) -> Result<(), PawError> {
        let word = match ending.state {
            State::Done => "done",
            State::Paused | State::Skipped | State::Interrupted => "idle",
            State::Failed => "failed",
        };
        let said = match &ending.reason {
            Some(reason) => format!("autopilot: {}: {reason}", ending.state.as_str()),
            None => format!("autopilot: {}", ending.state.as_str()),
        };
        self.say(agent, &status(agent, word, Some(said)))
    }

    /// What the session's radar has told the tasks about the session's agents. Nobody speaks for them any more then.
    pub(super) fn close(&mut self, crew: &[Sailor]) -> Vec<Collision> {
        let mut standing: BTreeMap<(String, String, String), Facts> = BTreeMap::new();
        for sailor in crew {
            let Some(client) = self.clients.remove(&sailor.agent) else { continue };
            let told = client.inbox(0, Duration::ZERO).map(|inbox| inbox.messages).unwrap_or_default();
            for facts in told.iter().filter_map(|stored| Facts::find(&stored.message)) {
                let known = |agent: &AgentId| crew.iter().any(|other| other.agent == *agent);
                if facts.kind == Kind::Forward || facts.you != sailor.agent || known(&facts.other) {
                    continue;
                }
                for file in &facts.files {
                    let key = (sailor.task.to_string(), facts.other.to_string(), file.path.clone());
                    standing.insert(key, facts.clone());
                }
            }
            // One that stays good is good for nothing but its own words.
            let _ = self.keyring.revoke(&self.session, &sailor.agent);
        }
        standing
            .into_iter()
            .filter_map(|((task, other, path), facts)| collision(task, &other, path, &facts))
            .collect()
    }
}

fn collision(task: String, other: &str, path: String, facts: &Facts) -> Option<Collision> {
    let file = facts.files.iter().find(|file| file.path == path)?;
    let fits = match facts.level {
        Level::Cleared => return None,
        Level::Additive => Fits::Yes,
        Level::Overlap | Level::Escalated => Fits::Unknown,
        Level::Conflict => Fits::No { own: file.your_lines.clone(), others: file.their_lines.clone() },
    };
    Some(Collision { task, other: format!("agent {other}"), path, fits })
}

fn status(agent: &AgentId, word: &str, message: Option<String>) -> Message {
    Message::Status(Status {
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
