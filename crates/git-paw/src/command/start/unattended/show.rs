//! An unattended session, for people and for programs.

use paw_core::{AgentId, BranchName, PawError};
use paw_supervisor::unattended::{End, Notice, Outcome, Summary, Tone, duration};

use crate::context::Context;
use crate::output::{Output, Style};

/// One line while it is followed.
pub(super) fn notice(notice: Notice<'_>, output: Output) {
    match notice {
        Notice::Agent { branch, tone, word, detail } => {
            let word = output.paint_note(style(tone), word);
            let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
            output.note(&format!("{branch}: {word}{detail}"));
        }
        Notice::Note(line) => output.note(line),
        Notice::Warning(line) => output.warn(line),
        Notice::Progress(line) => output.progress(line),
    }
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Started => Style::Bold,
        Tone::Routine => Style::Dim,
        Tone::Good => Style::Good,
        Tone::Doubtful => Style::Doubtful,
        Tone::Bad => Style::Bad,
    }
}

/// What became of it.
pub(super) fn summary(summary: &Summary, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    if output.wants_json() {
        return output.document(&summary.document());
    }
    let row = |(_, branch, outcome): &(AgentId, BranchName, Outcome)| {
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
    let style = if summary.is_good() { Style::Good } else { Style::Doubtful };
    let counted =
        output.paint(style, &format!("{} of {} verified", summary.verified(), summary.outcomes.len()));
    let how = match summary.end {
        End::Complete => "",
        End::TimeOver => ", then the time was over",
        End::Interrupted => ", then you interrupted",
        End::SessionGone => ", then the session was ended",
    };
    output.say(&format!("{counted} in {}{how}", duration(summary.took)))?;
    for hint in hints(summary) {
        output.note(&hint);
    }
    Ok(())
}

fn hints(summary: &Summary) -> Vec<String> {
    let mut hints = Vec::new();
    let parked = summary.outcomes.iter().any(|(_, _, outcome)| matches!(outcome, Outcome::Parked { .. }));
    let open = summary.end != End::SessionGone && (summary.end != End::Complete || !summary.is_good());
    if parked {
        hints.push(
            "hint: git paw attach shows what is parked, git paw sweep detect-stuck lists it".to_owned(),
        );
    }
    if !summary.questions.is_empty() {
        hints.push("hint: git paw say answer <agent> \"…\" answers a question".to_owned());
    }
    match summary.end {
        End::SessionGone => hints.push("hint: git paw start brings the session back".to_owned()),
        _ if open => hints.push(format!(
            "hint: session '{}' goes on; git paw start --unattended goes on watching it, git paw stop ends it",
            summary.session
        )),
        _ => hints.push(format!("hint: session '{}' is still there; git paw purge clears it away", summary.session)),
    }
    hints
}
