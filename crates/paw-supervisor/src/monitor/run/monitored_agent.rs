//! What the monitor keeps about one agent between two polls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_agent::cli::{self, Cli};
use paw_agent::hooks::notes::{HookNote, NoteReader};
use paw_agent::hooks::transcript::{self, TranscriptUsage};
use paw_agent::screen::{ApprovalRequest, ApprovalSubject};
use paw_agent::state::ObservedState;
use paw_broker::message::Message;
use paw_core::AgentId;
use paw_view::AgentState;

use super::activity_note::ActivityNote;
use super::border::PaneBorder;
use super::{MonitorEvent, MonitorSettings};
use crate::approval::log::VerdictLog;
use crate::monitor::agent_tracker::AgentTracker;
use crate::monitor::manual_approvals::PendingApprovals;
use crate::monitor::prompt::CurrentPrompt;
use crate::monitor::{messages, verdict};
use crate::stall::StallDetector;
use crate::sweep::observe;

/// Older violations were reported before.
const FRESH_SECONDS: i64 = 60;

/// One agent, as the monitor watches it.
#[derive(Debug)]
pub(super) struct MonitoredAgent {
    pub(super) tracker: AgentTracker,
    pub(super) reader: NoteReader,
    pub(super) prompt: CurrentPrompt,
    pub(super) stall: StallDetector,
    pub(super) border: PaneBorder,
    pub(super) activity: ActivityNote,
    pub(super) pane: Option<String>,
    pub(super) worktree: PathBuf,
    /// Its state, as last concluded.
    known: Option<ObservedState>,
    /// The state that was last reported, and what it waits for.
    observed: Option<(AgentState, Option<String>)>,
    pending_approvals: PendingApprovals,
    /// The transcript of its conversation.
    transcript: Option<PathBuf>,
    /// The CLI that writes the transcript.
    transcript_cli: &'static Cli,
    /// Whether a note mentioned the transcript since its tokens were last counted.
    transcript_changed: bool,
    usage: Option<TranscriptUsage>,
    /// The cost of each of its conversations, in millionths of a US dollar.
    costs: BTreeMap<String, u64>,
}

impl MonitoredAgent {
    pub(super) fn new(tracker: AgentTracker, reader: NoteReader, worktree: PathBuf) -> Self {
        Self {
            tracker,
            reader,
            prompt: CurrentPrompt::default(),
            stall: StallDetector::default(),
            border: PaneBorder::default(),
            activity: ActivityNote::default(),
            pane: None,
            worktree,
            known: None,
            observed: None,
            pending_approvals: PendingApprovals::default(),
            transcript: None,
            transcript_cli: cli::descriptor(""),
            transcript_changed: false,
            usage: None,
            costs: BTreeMap::new(),
        }
    }

    /// The directory in which a requested command would run; `None` if its CLI does not report it.
    pub(super) fn directory_of(&self, ask: &ApprovalRequest, worktree: &Path) -> Option<PathBuf> {
        let hooks = cli::descriptor(self.tracker.cli()).hooks;
        match (hooks.and_then(|hooks| hooks.command_directory), &ask.subject) {
            (Some(load_directory), ApprovalSubject::Command(command)) => {
                load_directory(self.transcript.as_deref()?, command, worktree)
            }
            _ => Some(worktree.to_path_buf()),
        }
    }

    /// The size of its conversation, in tokens.
    pub(super) fn tokens(&self) -> Option<u64> {
        self.usage.and_then(|usage| usage.context_tokens)
    }

    /// What was concluded last, if it was not reported before.
    pub(super) fn observation(&mut self, id: &AgentId, now: Timestamp) -> Option<MonitorEvent> {
        let seen = observe(self.known.as_ref()?, now);
        let key = (seen.state, seen.waits_for.clone());
        if self.observed.as_ref() == Some(&key) {
            return None;
        }
        self.observed = Some(key);
        Some(MonitorEvent::Observed { agent: id.clone(), seen })
    }

    /// The agent's state, and a status message if it changed. `None` as long as nothing is known.
    pub(super) fn status_change(
        &mut self,
        id: &AgentId,
        now: Timestamp,
    ) -> Option<(ObservedState, Vec<Message>)> {
        let (known, changed) = self.tracker.conclude(now)?;
        if changed {
            self.find_tokens();
        }
        self.known = Some(known.clone());
        let status = || messages::status(id, self.tracker.cli(), &known, self.usage.as_ref());
        let message = changed.then(status).into_iter().collect();
        Some((known, message))
    }

    /// Applies what a hook note contains besides the agent's state. Returns messages to publish.
    pub(super) fn apply_note(
        &mut self,
        note: &HookNote,
        id: &AgentId,
        settings: &MonitorSettings,
        now: Timestamp,
    ) -> Vec<Message> {
        if let Some(transcript) = note.transcript() {
            self.transcript = Some(transcript.to_path_buf());
            self.transcript_cli = cli::descriptor(&note.cli);
            self.transcript_changed = true;
        }
        if let Some(usage) = note.usage() {
            self.add_usage(usage, note.event().map(|event| event.conversation).unwrap_or_default());
        }
        let approved = self.pending_approvals.apply(note).filter(|_| settings.config.manual_approvals_log);
        if let Some(approved) = approved {
            let log = VerdictLog::of(&settings.repo.common_dir);
            let written = verdict::record_manual_approval(&log, &settings.session, id, &approved, note.at);
            if let Err(error) = written {
                tracing::warn!(target: "paw::monitor", "cannot record a manual approval: {error}");
            }
        }
        let is_fresh = now.duration_since(note.at).as_secs() < FRESH_SECONDS;
        note.violation
            .iter()
            .filter(|_| is_fresh)
            .flat_map(|breach| messages::out_of_role(id, breach))
            .collect()
    }

    /// Takes what one of its conversations has used. The agent pays for all of them.
    fn add_usage(&mut self, usage: TranscriptUsage, conversation: String) {
        if let Some(cost) = usage.cost_usd_micros {
            self.costs.insert(conversation, cost);
        }
        let before = self.usage.unwrap_or_default();
        let cost: u64 = self.costs.values().sum();
        self.usage = Some(TranscriptUsage {
            context_tokens: usage.context_tokens.or(before.context_tokens),
            total_tokens: usage.total_tokens.or(before.total_tokens),
            cost_usd_micros: (cost > 0).then_some(cost),
        });
    }

    /// Counts the tokens of a CLI without hooks.
    fn find_tokens(&mut self) {
        let transcript = cli::descriptor(self.tracker.cli()).transcript;
        let home = std::env::home_dir();
        let found = transcript.zip(home).and_then(|(found, home)| found.load_usage(&home, &self.worktree));
        self.usage = found.or(self.usage);
    }

    /// Counts the tokens of the conversation, once for all new notes.
    pub(super) fn update_tokens(&mut self) {
        if let Some(transcript) = self.transcript.as_ref().filter(|_| self.transcript_changed) {
            self.usage = transcript::load_usage(self.transcript_cli, transcript).or(self.usage);
            self.transcript_changed = false;
        }
    }
}
