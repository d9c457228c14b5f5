//! What became of an unattended session, for people and for programs.

use std::time::Duration;

use paw_core::text::short_commit;
use paw_core::{AgentId, BranchName, PawError};
use paw_supervisor::merge;
use paw_supervisor::unattended::Outcome;
use serde_json::{Value, json};

use crate::command::merge::show;
use crate::context::Context;
use crate::output::Style;

/// Why it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Every agent has come to an end.
    Complete,
    TimeOver,
    Interrupted,
    /// Somebody has ended the session.
    SessionGone,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::TimeOver => "time_over",
            Self::Interrupted => "interrupted",
            Self::SessionGone => "session_gone",
        }
    }
}

pub(super) struct Summary {
    pub(super) session: String,
    pub(super) end: End,
    pub(super) took: Duration,
    pub(super) outcomes: Vec<(AgentId, BranchName, Outcome)>,
    pub(super) questions: Vec<(AgentId, String)>,
    pub(super) merged: Option<merge::Report>,
    /// Why there is no merge, or not a whole one.
    pub(super) merge_error: Option<String>,
    pub(super) wanted_merge: bool,
}

impl Summary {
    fn verified(&self) -> usize {
        self.outcomes.iter().filter(|(_, _, outcome)| outcome.is_verified()).count()
    }

    /// Everything is verified, and merged where that was wanted.
    pub(super) fn is_good(&self) -> bool {
        let all = self.verified() == self.outcomes.len();
        let merged = self.merged.as_ref().is_some_and(merge::Report::is_complete);
        all && (merged || !self.wanted_merge)
    }

    pub(super) fn show(&self, context: &Context) -> Result<(), PawError> {
        let output = context.output;
        if output.wants_json() {
            return output.document(&self.document());
        }
        let row = |(_, branch, outcome): &(AgentId, BranchName, Outcome)| {
            let commit = outcome.commit().map(short_commit);
            [
                branch.to_string(),
                self.word(branch, outcome).to_owned(),
                commit.unwrap_or("-").to_owned(),
                outcome.to_string(),
            ]
        };
        output.table(["BRANCH", "RESULT", "COMMIT", ""], self.outcomes.iter().map(row).collect())?;
        for (agent, question) in &self.questions {
            output.say(&format!("{agent} asks: {question}"))?;
        }
        if let Some(merged) = &self.merged {
            merged.notes.iter().for_each(|note| output.note(note));
            output.say(&merged.summary())?;
        }
        if let Some(error) = &self.merge_error {
            output.say(&format!("not merged: {error}"))?;
        }
        let style = if self.is_good() { Style::Good } else { Style::Doubtful };
        let counted =
            output.paint(style, &format!("{} of {} verified", self.verified(), self.outcomes.len()));
        let how = match self.end {
            End::Complete => "",
            End::TimeOver => ", then the time was over",
            End::Interrupted => ", then you interrupted",
            End::SessionGone => ", then the session was ended",
        };
        output.say(&format!("{counted} in {}{how}", time(self.took)))?;
        self.hints().iter().for_each(|hint| output.note(hint));
        Ok(())
    }

    /// Main has it, or what the gates say.
    fn word(&self, branch: &BranchName, outcome: &Outcome) -> &'static str {
        let entries = self.merged.iter().flat_map(|merged| &merged.entries);
        let entry = entries.into_iter().find(|entry| entry.branch == *branch);
        match entry.and_then(|entry| entry.outcome()) {
            Some(merge::Outcome::Merged { .. }) => "merged",
            _ => outcome.word(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        let parked = self.outcomes.iter().any(|(_, _, outcome)| matches!(outcome, Outcome::Parked { .. }));
        let open = self.end != End::SessionGone && (self.end != End::Complete || !self.is_good());
        if parked {
            hints.push(
                "hint: git paw attach shows what is parked, git paw sweep detect-stuck lists it".to_owned(),
            );
        }
        if !self.questions.is_empty() {
            hints.push("hint: git paw say answer <agent> \"…\" answers a question".to_owned());
        }
        match self.end {
            End::SessionGone => hints.push("hint: git paw start brings the session back".to_owned()),
            _ if open => hints.push(format!(
                "hint: session '{}' goes on; git paw start --unattended goes on watching it, git paw stop ends it",
                self.session
            )),
            _ => hints.push(format!("hint: session '{}' is still there; git paw purge clears it away", self.session)),
        }
        hints
    }

    fn document(&self) -> Value {
        let agent = |(agent, branch, outcome): &(AgentId, BranchName, Outcome)| {
            let errors = match outcome {
                Outcome::Failed { errors, .. } => errors.clone(),
                _ => Vec::new(),
            };
            json!({"agent": agent, "branch": branch, "result": self.word(branch, outcome),
                   "commit": outcome.commit(), "detail": outcome.to_string(), "errors": errors})
        };
        let question = |(agent, question): &(AgentId, String)| json!({"agent": agent, "question": question});
        json!({
            "session": self.session,
            "end": self.end.word(),
            "good": self.end == End::Complete && self.is_good(),
            "seconds": self.took.as_secs(),
            "agents": self.outcomes.iter().map(agent).collect::<Vec<_>>(),
            "questions": self.questions.iter().map(question).collect::<Vec<_>>(),
            "merge": self.merged.as_ref().map(show::document),
            "merge_error": self.merge_error,
        })
    }
}

/// As people say it.
pub(super) fn time(took: Duration) -> String {
    let (hours, minutes, seconds) = (took.as_secs() / 3600, took.as_secs() / 60 % 60, took.as_secs() % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {seconds}s"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    }
}
