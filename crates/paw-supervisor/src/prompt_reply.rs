//! A person's reply to the approval prompt of an agent, given in the agent's pane.

use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use paw_agent::cli;
use paw_agent::screen::{ApprovalRequest, ApprovalSubject, may_be_cut};
use paw_agent::state::AgentActivity;
use paw_core::{AgentId, Diagnostic, ErrorCode, ErrorReport, PawError, Receipt, text};
use paw_host::clock::Stopwatch;
use paw_host::files::Dirs;
use paw_session::lifecycle::Session;
use serde::Serialize;

use crate::approval::log::VerdictLog;
use crate::approval::{self, ApprovalVerdict};
use crate::monitor::{press, verdict};
use crate::sweep::{self, AgentSnapshot};
use crate::wide_pane;

/// The prompt that an agent shows.
#[derive(Debug)]
pub struct PendingPrompt {
    agent: AgentSnapshot,
    pane: String,
    ask: ApprovalRequest,
    receipt: Receipt,
}

/// What a person has to know before deciding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptSummary {
    pub agent: AgentId,
    pub cli: String,
    /// The whole command, or the file to edit.
    pub text: String,
    /// Whether the user's rules allow it, and why.
    pub allowed: bool,
    pub reason: String,
    /// Why it cannot be approved, if it cannot.
    pub refused: Option<String>,
}

/// How long a CLI may take to draw a prompt.
const DRAWN: Duration = Duration::from_secs(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What the person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptReply {
    Approve,
    Deny,
}

/// Why a prompt cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum PromptReplyError {
    #[error("{agent} is not waiting for an approval ({state})")]
    NotWaiting { agent: AgentId, state: String },
    #[error("{agent} has no pane: {reason}")]
    NoPane { agent: AgentId, reason: String },
    #[error("cannot read {agent}'s prompt; the pane may be too narrow")]
    NotShown { agent: AgentId },
    #[error("cannot read the prompt of {agent}: {why}")]
    Unreadable { agent: AgentId, why: &'static str },
    #[error("the prompt of {agent} is not a known one")]
    UnknownChoices { agent: AgentId },
    #[error("the prompt of {agent} has changed; no key was pressed")]
    Changed { agent: AgentId },
    #[error("{agent} cannot approve for itself")]
    OwnPrompt { agent: AgentId },
}

impl Diagnostic for PromptReplyError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::NotShown { agent } | Self::Unreadable { agent, .. } | Self::UnknownChoices { agent } => {
                report.hint(format!("answer it in the agent's pane: git paw attach {agent}"))
            }
            Self::NotWaiting { .. } | Self::NoPane { .. } | Self::Changed { .. } | Self::OwnPrompt { .. } => {
                report
            }
        }
    }
}

impl PendingPrompt {
    /// The prompt in the pane of the agent that `name` means.
    pub fn find(session: &Session, name: &str, now: Timestamp) -> Result<Self, PawError> {
        let watch = Stopwatch::start();
        loop {
            match Self::find_on_screen(session, name, now)? {
                Ok(prompt) => return Ok(prompt),
                // A hook tells of a prompt before it is drawn.
                Err(PromptReplyError::NotShown { .. }) if !watch.remaining(DRAWN).is_zero() => {
                    thread::sleep(BETWEEN_LOOKS);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn find_on_screen(
        session: &Session,
        name: &str,
        now: Timestamp,
    ) -> Result<Result<Self, PromptReplyError>, PawError> {
        let agent = sweep::find(session, name, now)?;
        let id = agent.id.clone();
        let Some(pane) = &agent.pane else {
            return Ok(Err(PromptReplyError::NoPane { agent: id, reason: agent.known.reason }));
        };
        let cli = cli::descriptor(&agent.cli);
        let (pane, reading) = (pane.id.clone(), pane.look.read(cli));
        let wide = match &agent.pane {
            Some(seen) if may_be_cut(cli, &seen.look.screen, &reading) => {
                wide_pane::read_prompt(&session.tmux, &pane, cli, &session.repo.common_dir)?
            }
            _ => None,
        };
        Ok(match (wide.unwrap_or(reading).state, &agent.known.state) {
            (AgentActivity::WaitingApproval(ask), _) => {
                Ok(Self { agent, pane, ask, receipt: session.receipt.clone() })
            }
            (_, AgentActivity::WaitingApproval(_)) => Err(PromptReplyError::NotShown { agent: id }),
            (_, state) => Err(PromptReplyError::NotWaiting { agent: id, state: state.to_string() }),
        })
    }

    pub fn agent(&self) -> &AgentId {
        &self.agent.id
    }

    pub fn cli(&self) -> &str {
        &self.agent.cli
    }

    pub fn ask(&self) -> &ApprovalRequest {
        &self.ask
    }

    /// The whole command, or the file to edit.
    pub fn text(&self) -> String {
        verdict::describe(&self.ask)
    }

    /// Checks that the prompt asks for what a person saw: the text of an earlier [`PromptSummary`].
    pub fn require_text(&self, seen: &str) -> Result<(), PromptReplyError> {
        if text::block(&self.text()) == seen {
            return Ok(());
        }
        Err(PromptReplyError::Changed { agent: self.agent.id.clone() })
    }

    pub fn summary(&self, dirs: &Dirs) -> Result<PromptSummary, PawError> {
        let (allowed, reason) = match self.verdict(dirs)? {
            ApprovalVerdict::Allow { reason } => (true, reason),
            ApprovalVerdict::Ask { reason } => (false, reason),
        };
        let refused = self.check(PromptReply::Approve, &AgentId::operator()).err();
        Ok(PromptSummary {
            agent: self.agent.id.clone(),
            cli: self.agent.cli.clone(),
            text: text::block(&self.text()).into_owned(),
            allowed,
            reason: text::line(&reason).into_owned(),
            refused: refused.map(|refused| refused.to_string()),
        })
    }

    /// How git paw itself judges it.
    pub fn verdict(&self, dirs: &Dirs) -> Result<ApprovalVerdict, PawError> {
        let (configured, mut place) = approval::load_rules(&self.agent.worktree, dirs)?;
        let configured = configured.in_session(&self.receipt);
        if self.agent.id.as_str() == AgentId::SUPERVISOR {
            return Ok(verdict::judge_supervisor_ask(&self.ask, &configured, &mut place, None));
        }
        Ok(verdict::judge_ask(&self.ask, &configured.rules, &place))
    }

    /// Checks that the reply can be given. A prompt that is not shown whole can only be denied.
    pub fn check(&self, reply: PromptReply, by: &AgentId) -> Result<(), PromptReplyError> {
        let agent = self.agent.id.clone();
        match (&self.ask.subject, reply) {
            _ if *by == agent => Err(PromptReplyError::OwnPrompt { agent }),
            (_, PromptReply::Deny) => Ok(()),
            (ApprovalSubject::Unreadable(why), _) => Err(PromptReplyError::Unreadable { agent, why }),
            _ if !press::has_approval_keys(&self.ask) => Err(PromptReplyError::UnknownChoices { agent }),
            _ => Ok(()),
        }
    }

    /// Records the reply and presses its keys, if the pane still shows this prompt.
    pub fn reply(
        &self,
        session: &Session,
        reply: PromptReply,
        by: &AgentId,
        now: Timestamp,
    ) -> Result<(), PawError> {
        self.check(reply, by)?;
        let said = match reply {
            PromptReply::Approve => ApprovalVerdict::Allow { reason: format!("approved by {by}") },
            PromptReply::Deny => ApprovalVerdict::Ask { reason: format!("denied by {by}") },
        };
        let log = VerdictLog::of(&session.repo.common_dir);
        verdict::record_decision(&log, &session.receipt, &self.agent.id, &self.ask, (&said, by), now)?;
        let (tmux, common_dir) = (&session.tmux, &session.repo.common_dir);
        let pressed = match reply {
            PromptReply::Approve => {
                press::press_approval_keys(tmux, &self.pane, self.cli(), &self.ask, common_dir)
            }
            PromptReply::Deny => {
                press::press_denial_keys(tmux, &self.pane, self.cli(), &self.ask, common_dir)
            }
        };
        if pressed? { Ok(()) } else { Err(PromptReplyError::Changed { agent: self.agent.id.clone() }.into()) }
    }
}
