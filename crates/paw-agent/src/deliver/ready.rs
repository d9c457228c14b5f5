//! Whether a prompt may be typed now.

use std::time::Duration;

use super::snapshot::PaneSnapshot;
use super::text::trace;
use crate::cli::Cli;
use crate::screen::DialogKind;
use crate::state::{AgentActivity, PaneProcess};

/// How long the screen of a CLI has to stay as it is before we believe it.
const SETTLED: Duration = Duration::from_millis(400);
/// The same where we have no rules and no cursor to go by, only a screen that waits.
const SETTLED_WITHOUT_RULES: Duration = Duration::from_millis(2500);

/// What to do about a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// The very text stands in the input already, from an earlier attempt.
    AlreadyTyped,
    NotYet(Obstacle),
}

/// Why a prompt may not be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The program has ended and so has the pane.
    Dead,
    /// Whatever is typed would be run.
    Shell(String),
    Dialog(DialogKind),
    /// Somebody else has typed something.
    Occupied,
    /// The agent does something else.
    NotIdle(&'static str),
    /// The screen is still changing.
    Unsettled,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Dead => f.write_str("the program in the pane has ended"),
            Self::Shell(shell) => {
                write!(f, "the pane shows a shell ({shell}), not the CLI: it did not start, or it has ended")
            }
            Self::Dialog(kind) => write!(f, "the CLI asks {kind}: answer it in its pane"),
            Self::Occupied => f.write_str("something else is typed in its input: send or delete it"),
            Self::NotIdle(state) => write!(f, "the CLI is not ready for input (it is {state})"),
            Self::Unsettled => f.write_str("the CLI's screen is still changing"),
        }
    }
}

/// Judges one look at a pane that has shown the same for `settled`.
pub(super) fn judge(
    cli: &Cli,
    look: &PaneSnapshot,
    settled: Duration,
    text: &str,
    ignore_rate_limit: bool,
) -> Readiness {
    match look.process() {
        PaneProcess::Dead => return Readiness::NotYet(Obstacle::Dead),
        PaneProcess::Shell(shell) => return Readiness::NotYet(Obstacle::Shell(shell)),
        PaneProcess::Running => {}
    }
    let reading = look.read(cli);
    if let Some(dialog) = reading.dialog {
        return Readiness::NotYet(Obstacle::Dialog(dialog));
    }
    let waiting = |needed: Duration| {
        if settled >= needed { Readiness::Ready } else { Readiness::NotYet(Obstacle::Unsettled) }
    };
    // What it has said of a limit stands there until it is told something.
    let state = match &reading.state {
        AgentActivity::RateLimited { .. } if ignore_rate_limit => &AgentActivity::Idle,
        state => state,
    };
    match (state, reading.typed.as_deref()) {
        (AgentActivity::Idle, Some("")) => waiting(SETTLED),
        (AgentActivity::Idle, Some(typed)) if is_text(typed, text) => Readiness::AlreadyTyped,
        // Without rules a hint in an empty input cannot be told from a text.
        (AgentActivity::Idle, Some(_)) if cli.screen.is_none() => waiting(SETTLED_WITHOUT_RULES),
        (AgentActivity::Idle, Some(_)) => Readiness::NotYet(Obstacle::Occupied),
        (AgentActivity::Unknown, _) if cli.screen.is_none() && look.cursor_visible => {
            waiting(SETTLED_WITHOUT_RULES)
        }
        (state, _) => Readiness::NotYet(Obstacle::NotIdle(state.name())),
    }
}

/// Whether what stands in an input is `text`, as far as can be seen.
pub(super) fn is_text(typed: &str, text: &str) -> bool {
    let trace = trace(text);
    let letters: String = typed.chars().filter(|letter| letter.is_alphanumeric()).collect();
    !trace.is_empty() && letters.ends_with(&trace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;
    use crate::screen::Screen;

    const LONG: Duration = Duration::from_secs(5);

    fn look(program: &str, screen: &str) -> PaneSnapshot {
        PaneSnapshot {
            program: program.into(),
            dead: false,
            cursor_visible: true,
            screen: Screen::parse(screen),
        }
    }

    fn judge(cli: &str, look: &PaneSnapshot, settled: Duration, text: &str) -> Readiness {
        super::judge(cli::descriptor(cli), look, settled, text, false)
    }

    #[test]
    fn a_cli_that_waits_for_the_end_of_a_limit_is_ready_only_for_whoever_knows_that_it_is_over() {
        let limited =
            |typed: &str| look("claude", &format!("You've hit your limit · resets 3pm\n{}", claude(typed)));
        let judge =
            |look: &PaneSnapshot, past| super::judge(cli::descriptor("claude"), look, LONG, "go on", past);
        assert_eq!(judge(&limited(""), false), Readiness::NotYet(Obstacle::NotIdle("rate_limited")));
        assert_eq!(judge(&limited(""), true), Readiness::Ready);
        assert_eq!(judge(&limited("something of mine"), true), Readiness::NotYet(Obstacle::Occupied));
    }

    fn claude(typed: &str) -> String {
        format!("{rule}\n❯ {typed}\n{rule}\n  ? for shortcuts", rule = "─".repeat(40))
    }

    #[test]
    fn a_shell_is_never_ready_whatever_it_shows() {
        for cli in ["claude", "my-agent"] {
            let judged = judge(cli, &look("bash", &claude("")), LONG, "x");
            assert_eq!(judged, Readiness::NotYet(Obstacle::Shell("bash".into())));
        }
    }

    #[test]
    fn an_empty_input_is_ready_once_the_screen_has_settled() {
        let look = look("claude", &claude(""));
        assert_eq!(judge("claude", &look, Duration::ZERO, "x"), Readiness::NotYet(Obstacle::Unsettled));
        assert_eq!(judge("claude", &look, LONG, "x"), Readiness::Ready);
    }

    #[test]
    fn a_text_that_is_typed_already_is_not_typed_again() {
        let judged =
            judge("claude", &look("claude", &claude("fix the parser")), LONG, "Please fix the parser.");
        assert_eq!(judged, Readiness::NotYet(Obstacle::Occupied));
        let judged = judge("claude", &look("claude", &claude("fix the parser")), LONG, "fix the parser");
        assert_eq!(judged, Readiness::AlreadyTyped);
    }

    #[test]
    fn a_cli_without_rules_is_ready_at_a_cursor_and_not_at_a_question() {
        assert_eq!(judge("mine", &look("mine", "hello\n> "), LONG, "x"), Readiness::Ready);
        assert_eq!(judge("mine", &look("mine", "hello\n│ > say it │"), LONG, "x"), Readiness::Ready);
        for screen in ["", "Trust this? (y/n)", "❯ 1. Yes\n  2. No", "thinking (esc to interrupt)\n> "] {
            assert!(
                matches!(judge("mine", &look("mine", screen), LONG, "x"), Readiness::NotYet(_)),
                "{screen}"
            );
        }
    }
}
