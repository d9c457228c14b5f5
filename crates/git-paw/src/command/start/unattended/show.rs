//! Output of an unattended session.

use paw_core::{AgentId, BranchName, PawError};
use paw_supervisor::unattended::{
    AgentOutcome, NoticeTone, ProgressNotice, UnattendedEnd, UnattendedSummary, format_duration,
};

use crate::context::Context;
use crate::output::{Output, Style};

/// Prints one notice while the session is watched.
pub(super) fn notice(notice: ProgressNotice<'_>, output: Output) {
    match notice {
        ProgressNotice::Agent { branch, tone, word, detail } => {
            let word = output.paint_note(style(tone), word);
            let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
            output.note(&format!("{branch}: {word}{detail}"));
        }
        ProgressNotice::Note(line) => output.note(line),
        ProgressNotice::Warning(line) => output.warn(line),
        ProgressNotice::Progress(line) => output.progress(line),
    }
}

fn style(tone: NoticeTone) -> Style {
    match tone {
        NoticeTone::Started => Style::Bold,
        NoticeTone::Routine => Style::Dim,
        NoticeTone::Good => Style::Success,
        NoticeTone::Doubtful => Style::Warning,
        NoticeTone::Bad => Style::Error,
    }
}

/// Prints the summary.
pub(super) fn summary(summary: &UnattendedSummary, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    if output.wants_json() {
        return output.document(&summary.document());
    }
    let row = |(_, branch, outcome): &(AgentId, BranchName, AgentOutcome)| {
        let commit = outcome.commit().map(|commit| commit.get(..10).unwrap_or(commit));
        [
            branch.to_string(),
            summary.word(branch, outcome).to_owned(),
            commit.unwrap_or("-").to_owned(),
            outcome.to_string(),
        ]
    };
    output.table(["BRANCH", "RESULT", "COMMIT", ""], summary.outcomes.iter().map(row).collect())?;
    for (agent, question) in &summary.questions {
        output.say(&format!("{agent} asks: {question}"))?;
    }
    if let Some(merged) = &summary.merged {
        merged.notes.iter().for_each(|note| output.note(note));
        output.say(&merged.summary())?;
    }
    if let Some(error) = &summary.merge_error {
        output.say(&format!("not merged: {error}"))?;
    }
    let style = if summary.is_good() { Style::Success } else { Style::Warning };
    let counted =
        output.paint(style, &format!("{} of {} verified", summary.verified(), summary.outcomes.len()));
    let how = match summary.end {
        UnattendedEnd::Complete => "",
        UnattendedEnd::TimeOver => ", then the time limit was reached",
        UnattendedEnd::Interrupted => ", then you interrupted",
        UnattendedEnd::SessionGone => ", then the session ended",
    };
    output.say(&format!("{counted} in {}{how}", format_duration(summary.took)))?;
    for hint in hints(summary) {
        output.note(&hint);
    }
    Ok(())
}

fn hints(summary: &UnattendedSummary) -> Vec<String> {
    let mut hints = Vec::new();
    let parked =
        summary.outcomes.iter().any(|(_, _, outcome)| matches!(outcome, AgentOutcome::Parked { .. }));
    let open = summary.end != UnattendedEnd::SessionGone
        && (summary.end != UnattendedEnd::Complete || !summary.is_good());
    if parked {
        hints.push(
            "hint: list the parked agents with 'git paw sweep detect-stuck'; open them with 'git paw attach'"
                .to_owned(),
        );
    }
    if !summary.questions.is_empty() {
        hints.push("hint: answer a question with 'git paw say answer <agent> \"…\"'".to_owned());
    }
    match summary.end {
        UnattendedEnd::SessionGone => hints.push("hint: restore the session with 'git paw start'".to_owned()),
        _ if open => hints.push(format!(
            "hint: session '{}' keeps running; keep watching it with 'git paw start --unattended', or stop it with 'git paw stop'",
            summary.session
        )),
        _ => hints.push(format!("hint: session '{}' still exists; remove it with 'git paw purge'", summary.session)),
    }
    hints
}
