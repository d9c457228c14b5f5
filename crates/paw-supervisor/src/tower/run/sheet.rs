//! What is written down about one agent between two looks.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_agent::cli::{self, Cli};
use paw_agent::hooks::notes::{Note, Reader};
use paw_agent::hooks::transcript;
use paw_agent::screen::{Ask, AskSubject};
use paw_agent::state::Known;
use paw_broker::message::Message;
use paw_core::AgentId;

use super::Settings;
use super::border::Border;
use crate::approval::log::VerdictLog;
use crate::stall::Watch;
use crate::tower::agent::Agent;
use crate::tower::ask::Standing;
use crate::tower::by_hand::LeftToPeople;
use crate::tower::{verdict, words};

/// What was told longer ago is over, and was said when it was told.
const FRESH_SECONDS: i64 = 60;

/// One agent.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) agent: Agent,
    pub(super) reader: Reader,
    pub(super) standing: Standing,
    pub(super) watch: Watch,
    pub(super) border: Border,
    pub(super) pane: Option<String>,
    pub(super) worktree: PathBuf,
    left: LeftToPeople,
    /// Where its conversation is kept.
    transcript: Option<PathBuf>,
    /// The CLI that keeps it.
    keeper: &'static Cli,
    /// It was told of since it was last weighed.
    is_told: bool,
    tokens: Option<u64>,
}

impl Sheet {
    pub(super) fn new(agent: Agent, reader: Reader, worktree: PathBuf) -> Self {
        Self {
            agent,
            reader,
            standing: Standing::default(),
            watch: Watch::default(),
            border: Border::default(),
            pane: None,
            worktree,
            left: LeftToPeople::default(),
            transcript: None,
            keeper: cli::descriptor(""),
            is_told: false,
            tokens: None,
        }
    }

    /// Where the command would run that it asks about. Nothing where its CLI leaves that open.
    pub(super) fn directory_of(&self, ask: &Ask, worktree: &Path) -> Option<PathBuf> {
        let hooks = cli::descriptor(self.agent.cli()).hooks;
        match (hooks.and_then(|hooks| hooks.command_directory), &ask.subject) {
            (Some(load_directory), AskSubject::Command(command)) => {
                load_directory(self.transcript.as_deref()?, command, worktree)
            }
            _ => Some(worktree.to_path_buf()),
        }
    }

    /// How large its conversation is, in tokens.
    pub(super) fn tokens(&self) -> Option<u64> {
        self.tokens
    }

    /// What the agent is doing, and a message if that is new.
    pub(super) fn news(&mut self, id: &AgentId, now: Timestamp) -> (Known, Vec<Message>) {
        let (known, changed) = self.agent.conclude(now);
        let said = changed.then(|| words::status(id, self.agent.cli(), &known)).into_iter().collect();
        (known, said)
    }

    /// What a record says beside the agent's state. Returns what others have to know.
    pub(super) fn take_note(
        &mut self,
        note: &Note,
        id: &AgentId,
        settings: &Settings,
        now: Timestamp,
    ) -> Vec<Message> {
        if let Some(transcript) = note.transcript() {
            self.transcript = Some(transcript.to_path_buf());
            self.keeper = cli::descriptor(&note.cli);
            self.is_told = true;
        }
        let approved = self.left.hear(note).filter(|_| settings.config.manual_approvals_log);
        if let Some(approved) = approved {
            let log = VerdictLog::of(&settings.repo.common_dir);
            let written = verdict::record_by_hand(&log, &settings.session, id, &approved, note.at);
            if let Err(error) = written {
                tracing::warn!(target: "paw::tower", "what was approved by hand is not written down: {error}");
            }
        }
        let is_fresh = now.duration_since(note.at).as_secs() < FRESH_SECONDS;
        note.breach.iter().filter(|_| is_fresh).flat_map(|breach| words::out_of_role(id, breach)).collect()
    }

    /// Looks how large the conversation has become, once for everything that was told.
    pub(super) fn weigh(&mut self) {
        if let Some(transcript) = self.transcript.as_ref().filter(|_| self.is_told) {
            self.tokens = transcript::load_tokens(self.keeper, transcript).or(self.tokens);
            self.is_told = false;
        }
    }
}
