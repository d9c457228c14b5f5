//! What is known about one agent that nobody watches, and whether it has come to a rest. Pure.

use jiff::{SignedDuration, Timestamp};
use paw_broker::message::{ArtifactMessage, Message, StatusMessage};
use paw_core::{AgentId, BranchName, text};

use super::outcome::AgentOutcome;
use crate::monitor::MONITOR_SOURCE;

/// A state that has lasted this long is no flicker.
pub(super) const HELD: SignedDuration = SignedDuration::from_secs(3);
/// A prompt that nobody has answered for this long is for a person.
const UNANSWERED: SignedDuration = SignedDuration::from_secs(30);
/// An agent that has rested for this long without a new commit is not about to begin.
pub(super) const LONG: SignedDuration = SignedDuration::from_mins(2);
/// How much of a stranger's words is repeated.
const LONGEST: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
enum WorkerState {
    /// Nobody has said yet, or nobody can say.
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

/// What was found out about a commit of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JudgedCommit {
    /// Nothing where there was no commit to look at.
    pub(super) commit: Option<String>,
    pub(super) outcome: AgentOutcome,
    /// It was told to mend it, then.
    pub(super) told: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Worker {
    pub(super) agent: AgentId,
    pub(super) branch: BranchName,
    doing: WorkerState,
    since: Timestamp,
    /// The last time it said anything at all.
    last_sign: Timestamp,
    reports_done: bool,
    /// The newest commit that was told of. Who tells of one without a name has another one each time.
    committed: Option<String>,
    pub(super) judged: Option<JudgedCommit>,
    pub(super) chances: u32,
    /// What it has asked and nobody has answered.
    pub(super) questions: Vec<String>,
    /// What it waits for in its pane, as somebody has put it.
    approval: Option<String>,
    blocked: Option<String>,
    stall: Option<String>,
}

/// Whether it rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestState {
    Rests,
    /// From then on, if nothing happens.
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

    /// Takes in what it has said itself, or what was said about it in its name.
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
            Message::Question(asked) if asked.question.starts_with("[approval]") => {
                self.approval = Some(plain(&asked.question));
            }
            Message::Question(asked) => self.questions.push(plain(&asked.question)),
            Message::Blocked(blocked) => {
                self.blocked = Some(format!("waits for {}: {}", blocked.from, plain(&blocked.needs)));
            }
            _ => {}
        }
    }

    fn record_status(&mut self, at: Timestamp, status: &StatusMessage) {
        let from_monitor =
            status.extra.payload.get("source").and_then(|source| source.as_str()) == Some(MONITOR_SOURCE);
        if !from_monitor {
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

    /// Whether there is a commit that nobody has looked at.
    fn is_fresh(&self) -> bool {
        let looked_at = self.judged.as_ref().and_then(|judged| judged.commit.as_ref());
        self.committed.as_ref().is_some_and(|commit| Some(commit) != looked_at)
    }

    /// Its branch is not where it was looked at.
    pub(super) fn moved(&mut self, tip: &str) {
        self.committed = Some(tip.to_owned());
    }

    /// What was found, which is about the newest commit there is as far as anybody knows.
    pub(super) fn judge(&mut self, judged: JudgedCommit) {
        self.committed.clone_from(&judged.commit);
        self.reports_done = false;
        self.judged = Some(judged);
    }

    /// Whether its work can be looked at now.
    pub(super) fn rest(&self, now: Timestamp) -> RestState {
        let told = self.judged.as_ref().and_then(|judged| judged.told);
        let since = told.map_or(self.since, |told| self.since.max(told));
        let ready = self.is_fresh() || self.reports_done;
        let from = match (&self.doing, ready) {
            (WorkerState::Exited, _) | (WorkerState::Idle, true) => since.checked_add(HELD),
            (WorkerState::Idle, false) => since.checked_add(LONG),
            // A CLI whose screen nobody can read: what it says has to do.
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

    /// Why only a person can help it, if so; or from when on.
    pub(super) fn parked(&self, now: Timestamp) -> Result<String, Option<Timestamp>> {
        let after = |how_long: SignedDuration, why: String| match self.since.checked_add(how_long) {
            Ok(from) if now >= from => Ok(why),
            from => Err(from.ok()),
        };
        match &self.doing {
            WorkerState::WaitingApproval => match &self.approval {
                Some(approval) => Ok(approval.clone()),
                None => after(UNANSWERED, "waits for an approval in its pane".to_owned()),
            },
            WorkerState::WaitingInput => after(HELD, "waits for an answer in its pane".to_owned()),
            WorkerState::Limited { ends: false } => {
                after(HELD, "has used up what it may, and does not say until when".to_owned())
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

    /// Whether its newest work was looked at, for good or until it has mended it.
    pub(super) fn is_judged(&self) -> bool {
        self.judged.is_some() && !self.is_fresh()
    }

    pub(super) fn is_at_work(&self) -> bool {
        self.doing == WorkerState::Working
    }

    pub(super) fn has_exited(&self) -> bool {
        self.doing == WorkerState::Exited
    }

    /// What keeps it from getting on, or what it is at, for whoever wants to know why it has not come to an end.
    pub(super) fn activity(&self) -> String {
        if let Some(stall) = &self.stall {
            return stall.clone();
        }
        if let Some(blocked) = self.blocked.as_ref().filter(|_| self.doing == WorkerState::Idle) {
            return blocked.clone();
        }
        match &self.doing {
            WorkerState::Unknown => "nobody knows what it does",
            WorkerState::Working => "is at work",
            WorkerState::Idle => "rests",
            WorkerState::WaitingApproval => "waits for an approval in its pane",
            WorkerState::WaitingInput => "waits for an answer in its pane",
            WorkerState::Limited { .. } => "has used up what it may",
            WorkerState::Exited => "its CLI has ended",
        }
        .to_owned()
    }
}

fn plain(words: &str) -> String {
    text::reveal(&text::truncate_chars(words, LONGEST))
}
