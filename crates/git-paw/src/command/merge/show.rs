//! A merge, for people and for programs.

use paw_core::PawError;
use paw_core::text::short_commit;
use paw_supervisor::merge::{Entry, Merge, MergeReport, Move, Outcome, Skip};
use serde_json::json;

use crate::context::Context;
use crate::output::Style;

/// What would be done.
pub(super) fn forecast(merge: &Merge, rebase: bool, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let moves = merge.forecast(rebase)?;
    let over = merge.entries().iter().filter_map(|entry| entry.outcome().map(|outcome| (entry, outcome)));
    let over = over.map(|(entry, outcome)| (entry, outcome.word(), outcome.to_string()));
    let rows: Vec<_> = moves.iter().map(|(entry, next)| (entry, word(next), why(next))).chain(over).collect();
    if output.wants_json() {
        let branch = |(entry, word, why): &(&Entry, &str, String)| {
            json!({"branch": entry.branch, "agent": entry.agent, "tip": entry.tip, "needs": entry.needs,
                   "verified": entry.verified, "move": word, "detail": why})
        };
        return output.document(&json!({
            "dry_run": true,
            "branches": rows.iter().map(branch).collect::<Vec<_>>(),
            "cycles": merge.cycles(),
            "notes": merge.notes(),
        }));
    }
    let verified = |entry: &Entry| if entry.verified { "yes" } else { "no" };
    let row = |(entry, word, why): (&Entry, &str, String)| {
        [entry.branch.to_string(), verified(entry).to_owned(), word.replace('_', " "), why]
    };
    merge.notes().iter().for_each(|note| output.warn(note));
    output.table(["BRANCH", "VERIFIED", "WOULD BE", ""], rows.into_iter().map(row).collect())
}

fn word(next: &Move) -> &'static str {
    match next {
        Move::Nothing => "up_to_date",
        Move::FastForward => "fast_forwarded",
        Move::Rebase => "rebased",
        Move::Skip(_) => "skipped",
    }
}

fn why(next: &Move) -> String {
    match next {
        Move::FastForward | Move::Rebase => "if its tests pass".to_owned(),
        Move::Nothing => "nothing to merge".to_owned(),
        Move::Skip(why) => why.to_string(),
    }
}

/// What was done.
pub(super) fn report(report: &MergeReport, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    if output.wants_json() {
        return output.document(&report.document());
    }
    let row = |entry: &Entry| {
        let word = entry.outcome().map(Outcome::word).unwrap_or_default().replace('_', " ");
        [entry.branch.to_string(), word, entry.outcome().map(ToString::to_string).unwrap_or_default()]
    };
    if report.resumed {
        output.note("went on with a merge that had been interrupted");
    }
    output.table(["BRANCH", "RESULT", ""], report.entries.iter().map(row).collect())?;
    report.notes.iter().for_each(|note| output.note(note));
    let diverged = |entry: &Entry| matches!(entry.outcome(), Some(Outcome::Skipped { why: Skip::Diverged }));
    if report.entries.iter().any(diverged) {
        output.note("hint: git paw merge --rebase puts a branch that has diverged on top of main first");
    }
    if !report.cycles.is_empty() {
        output.note("hint: git paw merge --only <branch> merges one of a circle by itself");
    }
    let style = if report.is_complete() { Style::Good } else { Style::Doubtful };
    let at = short_commit(&report.after);
    let moved = if report.before == report.after { "stays" } else { "is now" };
    output.say(&format!("{} {moved} at {at}", output.paint(style, report.base.as_str())))
}
