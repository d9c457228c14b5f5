//! Output of a merge.

use paw_core::PawError;
use paw_core::text::short_commit;
use paw_supervisor::merge::{MergeAction, MergeEntry, MergeOutcome, MergeReport, MergeSkip, PlannedMerge};
use serde_json::json;

use crate::context::Context;
use crate::output::Style;

/// Prints the plan of a dry run.
pub(super) fn forecast(merge: &PlannedMerge, rebase: bool, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let moves = merge.forecast(rebase)?;
    let over = merge.entries().iter().filter_map(|entry| entry.outcome().map(|outcome| (entry, outcome)));
    let over = over.map(|(entry, outcome)| (entry, outcome.word(), outcome.to_string()));
    let rows: Vec<_> = moves.iter().map(|(entry, next)| (entry, word(next), why(next))).chain(over).collect();
    if output.wants_json() {
        let branch = |(entry, word, why): &(&MergeEntry, &str, String)| {
            json!({"branch": entry.branch, "agent": entry.agent, "tip": entry.tip, "needs": entry.needs,
                   "verified": entry.verified, "proven": entry.proven, "move": word, "detail": why})
        };
        return output.document(&json!({
            "dry_run": true,
            "branches": rows.iter().map(branch).collect::<Vec<_>>(),
            "cycles": merge.cycles(),
            "notes": merge.notes(),
        }));
    }
    let verified = |entry: &MergeEntry| match (entry.proven, entry.verified) {
        (true, _) => "yes",
        (false, true) => "by hand",
        (false, false) => "no",
    };
    let row = |(entry, word, why): (&MergeEntry, &str, String)| {
        [entry.branch.to_string(), verified(entry).to_owned(), word.replace('_', " "), why]
    };
    merge.notes().iter().for_each(|note| output.warn(note));
    output.table(["BRANCH", "VERIFIED", "PLAN", ""], rows.into_iter().map(row).collect())
}

fn word(next: &MergeAction) -> &'static str {
    match next {
        MergeAction::Nothing => "up_to_date",
        MergeAction::FastForward => "fast_forwarded",
        MergeAction::Rebase => "rebased",
        MergeAction::Skip(_) => "skipped",
    }
}

fn why(next: &MergeAction) -> String {
    match next {
        MergeAction::FastForward | MergeAction::Rebase => "if its tests pass".to_owned(),
        MergeAction::Nothing => "nothing to merge".to_owned(),
        MergeAction::Skip(why) => why.to_string(),
    }
}

/// Prints the result.
pub(super) fn report(report: &MergeReport, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    if output.wants_json() {
        return output.document(&report.document());
    }
    let row = |entry: &MergeEntry| {
        let word = entry.outcome().map(MergeOutcome::word).unwrap_or_default().replace('_', " ");
        [entry.branch.to_string(), word, entry.outcome().map(ToString::to_string).unwrap_or_default()]
    };
    if report.resumed {
        output.note("resumed an interrupted merge");
    }
    output.table(["BRANCH", "RESULT", ""], report.entries.iter().map(row).collect())?;
    report.notes.iter().for_each(|note| output.note(note));
    let diverged = |entry: &MergeEntry| {
        matches!(entry.outcome(), Some(MergeOutcome::Skipped { why: MergeSkip::Diverged }))
    };
    if report.entries.iter().any(diverged) {
        output.note("hint: rebase diverged branches onto main with 'git paw merge --rebase'");
    }
    if !report.cycles.is_empty() {
        output.note(
            "hint: break a dependency cycle by merging one branch with 'git paw merge --only <branch>'",
        );
    }
    let style = if report.is_complete() { Style::Success } else { Style::Warning };
    let at = short_commit(&report.after);
    let moved = if report.before == report.after { "stays" } else { "is now" };
    output.say(&format!("{} {moved} at {at}", output.paint(style, report.base.as_str())))
}
