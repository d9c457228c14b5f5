//! The state of one agent of an unattended session, and whether its work can be checked. Pure.

use jiff::{SignedDuration, Timestamp};
use paw_broker::message::{ArtifactMessage, Message, StatusMessage, StatusSource};
use paw_core::{AgentId, BranchName, text};

use super::outcome::AgentOutcome;

/// A state has to last this long to count.
pub(super) const HELD: SignedDuration = SignedDuration::from_secs(3);
/// A prompt unanswered for this long is for the user.
const UNANSWERED: SignedDuration = SignedDuration::from_secs(30);
/// An agent idle for this long without a new commit counts as finished.
pub(super) const LONG: SignedDuration = SignedDuration::from_mins(2);
/// The longest excerpt of an agent's text.
const LONGEST: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
enum WorkerState {
    /// Not reported yet, or not readable from its screen.
    Unknown,
    Working,
    Idle,
    WaitingApproval,
    WaitingInput,
    Limited {
        ends: bool,
    },
    Exited,
}

/// The gate result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JudgedCommit {
    /// `None` if there was no commit to check.
    pub(super) commit: Option<String>,
    pub(super) outcome: AgentOutcome,
    /// When the fix prompt was sent.
    pub(super) fix_prompt_sent: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Worker {
    pub(super) agent: AgentId,
    pub(super) branch: BranchName,
    doing: WorkerState,
    since: Timestamp,
    /// The last message from the agent itself.
    last_sign: Timestamp,
    reports_done: bool,
    /// The newest reported commit. A report without a commit id counts as a new commit.
    committed: Option<String>,
    pub(super) judged: Option<JudgedCommit>,
    pub(super) chances: u32,
    /// Its open questions.
    pub(super) questions: Vec<String>,
    /// The approval it waits for in its pane.
    approval: Option<String>,
    blocked: Option<String>,
    stall: Option<String>,
}

/// Whether an agent's work can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestState {
    Rests,
    /// From this time on, if nothing happens.
    At(Timestamp),
    No,
}

impl Worker {
    pub(super) fn new(agent: AgentId, branch: BranchName, now: Timestamp) -> Self {
        Self {
            agent,
            branch,
            doing: WorkerState::Unknown,
            since: now,
            last_sign: now,
            reports_done: false,
            committed: None,
            judged: None,
            chances: 0,
            questions: Vec::new(),
            approval: None,
            blocked: None,
            stall: None,
        }
    }

    /// Applies a message from the agent or in its name.
    pub(super) fn record(&mut self, seq: u64, at: Timestamp, message: &Message) {
        match message {
            Message::Status(status) => self.record_status(at, status),
            Message::Artifact(artifact) => {
                self.last_sign = at;
                if artifact.status == ArtifactMessage::COMMITTED {
                    let named = artifact.extra.payload.get("commit").and_then(|commit| commit.as_str());
                    self.committed = Some(named.map_or_else(|| format!("#{seq}"), str::to_owned));
                }
            }
            Message::Question(asked) if asked.is_approval() => {
                self.approval = Some(plain(&asked.question));
            }
            Message::Question(asked) => self.questions.push(plain(&asked.question)),
            Message::Blocked(blocked) => {
                self.blocked = Some(format!("waiting for {}: {}", blocked.from, plain(&blocked.needs)));
            }
            _ => {}
        }
    }

    fn record_status(&mut self, at: Timestamp, status: &StatusMessage) {
        if status.source() != Some(StatusSource::Monitor) {
            self.last_sign = at;
            self.reports_done |= status.status == "done";
            return;
        }
        let ends = status.extra.payload.contains_key("resets");
        let doing = match status.phase.as_deref() {
            Some("working" | "starting") => WorkerState::Working,
            Some("idle") => WorkerState::Idle,
            Some("waiting_approval") => WorkerState::WaitingApproval,
            Some("waiting_input") => WorkerState::WaitingInput,
            Some("rate_limited") => WorkerState::Limited { ends },
            Some("exited") => WorkerState::Exited,
            _ => return,
        };
        if doing != WorkerState::WaitingApproval {
            self.approval = None;
        }
        if doing == WorkerState::Working {
            self.stall = None;
        }
        (self.doing, self.since) = (doing, at);
    }

    pub(super) fn record_stall(&mut self, what: &str) {
        self.stall = Some(plain(what));
    }

    /// Whether it has a commit that was not checked.
    fn is_fresh(&self) -> bool {
        let looked_at = self.judged.as_ref().and_then(|judged| judged.commit.as_ref());
        self.committed.as_ref().is_some_and(|commit| Some(commit) != looked_at)
    }

    /// Records a new tip of its branch.
    pub(super) fn moved(&mut self, tip: &str) {
        self.committed = Some(tip.to_owned());
    }

    /// Records the gate result of its newest commit.
    pub(super) fn judge(&mut self, judged: JudgedCommit) {
        self.committed.clone_from(&judged.commit);
        self.reports_done = false;
        self.judged = Some(judged);
    }

    /// Whether its work can be checked now.
    pub(super) fn rest(&self, now: Timestamp) -> RestState {
        let fix_prompt_sent = self.judged.as_ref().and_then(|judged| judged.fix_prompt_sent);
        let since = fix_prompt_sent.map_or(self.since, |fix_prompt_sent| self.since.max(fix_prompt_sent));
        let ready = self.is_fresh() || self.reports_done;
        let from = match (&self.doing, ready) {
            (WorkerState::Exited, _) | (WorkerState::Idle, true) => since.checked_add(HELD),
            (WorkerState::Idle, false) => since.checked_add(LONG),
            // The screen of this CLI is not readable, so rely on its messages.
            (WorkerState::Unknown, true) => {
                self.last_sign.checked_add(if self.reports_done { HELD } else { LONG })
            }
            (
                WorkerState::Unknown
                | WorkerState::Working
                | WorkerState::WaitingApproval
                | WorkerState::WaitingInput
                | WorkerState::Limited { .. },
                _,
            ) => return RestState::No,
        };
        match from {
            Ok(from) if now >= from => RestState::Rests,
            Ok(from) => RestState::At(from),
            Err(_) => RestState::No,
        }
    }

    /// Why it waits for the user, or from when on it will.
    pub(super) fn parked(&self, now: Timestamp) -> Result<String, Option<Timestamp>> {
        let after = |how_long: SignedDuration, why: String| match self.since.checked_add(how_long) {
            Ok(from) if now >= from => Ok(why),
            from => Err(from.ok()),
        };
        match &self.doing {
            WorkerState::WaitingApproval => match &self.approval {
                Some(approval) => Ok(approval.clone()),
                None => after(UNANSWERED, "waiting for approval in its pane".to_owned()),
            },
            WorkerState::WaitingInput => after(HELD, "waiting for an answer in its pane".to_owned()),
            WorkerState::Limited { ends: false } => {
                after(HELD, "rate-limited, reset time unknown".to_owned())
            }
            WorkerState::Idle if !self.is_fresh() && !self.questions.is_empty() && !self.is_judged() => {
                after(HELD, format!("asks: {}", self.questions.join(" / ")))
            }
            WorkerState::Unknown
            | WorkerState::Working
            | WorkerState::Idle
            | WorkerState::Limited { ends: true }
            | WorkerState::Exited => Err(None),
        }
    }

    /// Whether its newest commit was checked.
    pub(super) fn is_judged(&self) -> bool {
        self.judged.is_some() && !self.is_fresh()
    }

    pub(super) fn is_at_work(&self) -> bool {
        self.doing == WorkerState::Working
    }

    pub(super) fn has_exited(&self) -> bool {
        self.doing == WorkerState::Exited
    }

    /// What it is doing or waiting for, to explain why it has not finished.
    pub(super) fn activity(&self) -> String {
        if let Some(stall) = &self.stall {
            return stall.clone();
        }
        if let Some(blocked) = self.blocked.as_ref().filter(|_| self.doing == WorkerState::Idle) {
            return blocked.clone();
        }
        match &self.doing {
            WorkerState::Unknown => "state unknown",
            WorkerState::Working => "working",
            WorkerState::Idle => "idle",
            WorkerState::WaitingApproval => "waiting for approval in its pane",
            WorkerState::WaitingInput => "waiting for an answer in its pane",
            WorkerState::Limited { .. } => "rate-limited",
            WorkerState::Exited => "its CLI exited",
        }
        .to_owned()
    }
}

fn plain(words: &str) -> String {
    text::reveal(&text::truncate_chars(words, LONGEST))
}
