//! The messages of a merge to the agents and the user. Pure.

use paw_broker::Message;
use paw_broker::message::{AdvancedMainMessage, Extra, FeedbackMessage, QuestionMessage, StatusMessage};
use paw_core::text::short_commit;
use paw_core::{AgentId, BranchName};
use serde_json::{Map, Value, json};

use super::outcome::{MergeOutcome, MergeSkip};
use super::plan::MergeEntry;
use super::verifications::MARK;

/// A message and the mark that identifies it when the merge is resumed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MarkedMessage {
    pub(super) mark: String,
    pub(super) message: Message,
}

/// Builds the messages of one merge.
#[derive(Debug, Clone)]
pub(super) struct MergeMessages<'a> {
    pub(super) run: String,
    pub(super) me: &'a AgentId,
    pub(super) base: &'a BranchName,
}

impl MergeMessages<'_> {
    /// The message about the result of a branch, if there is one.
    pub(super) fn about(&self, entry: &MergeEntry, merged_at: &str) -> Option<MarkedMessage> {
        let MergeEntry { agent, branch, tip, .. } = entry;
        let base = self.base;
        match entry.outcome()? {
            MergeOutcome::Merged { commit, rebased_from, .. } => {
                let mark = self.mark("advanced", commit);
                let rebased = rebased_from.as_ref().map(|was| {
                    format!("{branch} was rebased onto {base} first (it was at {})", short_commit(was))
                });
                let message = AdvancedMainMessage {
                    from: self.me.clone(),
                    merged_branch: branch.to_string(),
                    new_main_sha: commit.clone(),
                    base: base.to_string(),
                    merged_at: merged_at.to_owned(),
                    summary: rebased,
                    extra: Extra { envelope: marked(&mark), payload: Map::new() },
                };
                Some(MarkedMessage { mark, message: message.into() })
            }
            MergeOutcome::Regression { commit, errors, rescue, main_fails } => {
                let first = format!(
                    "{branch} was not merged: its gates fail on top of {base} ({}; kept as {rescue})",
                    short_commit(commit)
                );
                let too = main_fails
                    .then(|| format!("the gates fail on {base} too, so your change may not be the cause"));
                let all = [first].into_iter().chain(too).chain(errors.iter().cloned());
                let errors = all.map(|error| format!("[regression] {error}")).collect();
                let mut marked = self.feedback("regression", agent, commit, errors);
                // The failure is about this tip: it is not shown as verified any longer.
                if let Message::Feedback(feedback) = &mut marked.message {
                    feedback.extra.payload.insert("commit".to_owned(), tip.clone().into());
                }
                Some(marked)
            }
            MergeOutcome::Skipped { why } => {
                let text = ask_for(why, branch, base)?;
                Some(self.feedback("skipped", agent, tip, vec![text]))
            }
            MergeOutcome::UpToDate | MergeOutcome::Cycle { .. } => None,
        }
    }

    /// Asks the user how to merge a dependency cycle.
    pub(super) fn about_cycle(&self, cycle: &[AgentId]) -> MarkedMessage {
        let names: Vec<_> = cycle.iter().map(AgentId::as_str).collect();
        let names = names.join(", ");
        let question = match cycle {
            [one] => {
                format!("{one} depends on itself, so it was not merged. Merge it anyway?")
            }
            _ => format!("{names} depend on each other, so none of them was merged. Which one goes first?"),
        };
        let mark = self.mark("cycle", &names);
        let hint = " (git paw merge --only <branch> merges a single branch)";
        let mut message = QuestionMessage::new(self.me.clone(), question + hint);
        message.extra.payload = marked(&mark);
        MarkedMessage { mark, message: message.into() }
    }

    /// The summary: which branches were merged, and why the others were not.
    pub(super) fn summary(&self, entries: &[MergeEntry]) -> MarkedMessage {
        let text = summary(entries);
        let mark = self.mark("summary", &text);
        let mut message = StatusMessage::new(self.me.clone(), "merged");
        message.message = Some(text);
        message.phase = Some("merge".to_owned());
        let details = entries.iter().map(|entry| {
            let outcome = entry.outcome();
            json!({"branch": entry.branch, "agent": entry.agent,
                   "outcome": outcome.map(MergeOutcome::word), "detail": outcome.map(ToString::to_string)})
        });
        message.detail = Some(Value::Array(details.collect()));
        message.extra.payload = marked(&mark);
        MarkedMessage { mark, message: message.into() }
    }

    fn feedback(&self, kind: &str, agent: &AgentId, commit: &str, errors: Vec<String>) -> MarkedMessage {
        let mark = self.mark(kind, &format!("{agent}/{commit}"));
        let mut message = FeedbackMessage::new(agent.clone(), self.me.clone(), errors);
        message.extra.payload = marked(&mark);
        MarkedMessage { mark, message: message.into() }
    }

    fn mark(&self, kind: &str, about: &str) -> String {
        format!("{}/{kind}/{about}", self.run)
    }
}

fn marked(mark: &str) -> Map<String, Value> {
    Map::from_iter([(MARK.to_owned(), Value::from(mark))])
}

/// What the agent can do about a skipped branch; `None` if nothing.
fn ask_for(why: &MergeSkip, branch: &BranchName, base: &BranchName) -> Option<String> {
    Some(match why {
        MergeSkip::Diverged => format!(
            "[merge] {branch} was not merged: it and {base} have diverged. \
             Rebase it (git rebase {base}), resolve the conflicts, and ask for verification again"
        ),
        MergeSkip::Conflicts { reason } => format!(
            "[merge] {branch} was not merged: it cannot be rebased onto {base} ({reason}). \
             Rebase it yourself, resolve the conflicts, and ask for verification again"
        ),
        MergeSkip::NotReady { why } => format!(
            "[merge] {branch} was not merged: it needs a rebase onto {base}, but {why}. \
             Finish and commit, rebase (git rebase {base}), and ask for verification again"
        ),
        MergeSkip::Waits { .. }
        | MergeSkip::Unreachable { .. }
        | MergeSkip::Unproven { .. }
        | MergeSkip::Refused { .. }
        | MergeSkip::BaseKeptMoving => return None,
    })
}

/// One line: `merged: feat/a; skipped: feat/b (diverged: …); regressions: feat/c`.
pub(super) fn summary(entries: &[MergeEntry]) -> String {
    let of = |word: &str, with_why: bool| {
        let those = entries.iter().filter_map(|entry| entry.outcome().map(|outcome| (entry, outcome)));
        let those = those.filter(|(_, outcome)| outcome.word() == word);
        let name = |(entry, outcome): (&MergeEntry, &MergeOutcome)| {
            if with_why { format!("{} ({outcome})", entry.branch) } else { entry.branch.to_string() }
        };
        those.map(name).collect::<Vec<_>>().join(", ")
    };
    let parts = [
        ("merged", of("merged", false)),
        ("nothing to merge", of("up_to_date", false)),
        ("skipped", of("skipped", true)),
        ("regressions", of("regression", false)),
        ("dependency cycle", of("cycle", false)),
    ];
    let parts: Vec<_> = parts
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {names}"))
        .collect();
    if parts.is_empty() { "nothing to merge".to_owned() } else { parts.join("; ") }
}
