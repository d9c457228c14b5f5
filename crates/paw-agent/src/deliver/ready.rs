//! Whether a prompt may be typed now.

use std::time::Duration;

use super::snapshot::PaneSnapshot;
use super::text::trace;
use crate::cli::Cli;
use crate::screen::DialogKind;
use crate::state::{AgentActivity, PaneProcess};

/// How long the screen of a CLI has to be unchanged before it counts.
const SETTLED: Duration = Duration::from_millis(400);
/// The same for a CLI without screen rules.
const SETTLED_WITHOUT_RULES: Duration = Duration::from_millis(2500);

/// Whether a prompt can be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// The input already contains the text, from an earlier attempt.
    AlreadyTyped,
    NotYet(Obstacle),
}

/// Why a prompt cannot be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The program in the pane has exited.
    Dead,
    /// A shell is in the foreground and would execute the prompt.
    Shell(String),
    Dialog(DialogKind),
    /// The input contains other text.
    Occupied,
    /// The agent is in another state.
    NotIdle(&'static str),
    /// The screen is still changing.
    Unsettled,
}

impl Obstacle {
    /// Whether both are the same obstacle for a person. A screen that changes now and then is still not ready.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_unready = |one: &Self| matches!(one, Self::Unsettled | Self::NotIdle(_));
        self == other || (is_unready(self) && is_unready(other))
    }
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Dead => f.write_str("the program in the pane has exited"),
            Self::Shell(shell) => {
                write!(f, "the pane shows a shell ({shell}), not the CLI: it did not start or has exited")
            }
            Self::Dialog(kind) => write!(f, "the CLI asks {kind}: answer it in its pane"),
            Self::Occupied => f.write_str("its input already contains text: send or delete it"),
            Self::NotIdle(state) if *state == AgentActivity::Unknown.name() => {
                f.write_str("the CLI's screen is not recognized, so nothing is typed into it")
            }
            Self::NotIdle(state) => write!(f, "the CLI is not ready for input (it is {state})"),
            Self::Unsettled => f.write_str("the CLI's screen is still changing"),
        }
    }
}

/// Judges a pane whose screen has been unchanged for `settled`.
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
    // A rate limit message stays on the screen until the next prompt.
    let state = match &reading.state {
        AgentActivity::RateLimited { .. } if ignore_rate_limit => &AgentActivity::Idle,
        state => state,
    };
    match (state, reading.typed.as_deref()) {
        (AgentActivity::Idle, Some("")) => waiting(SETTLED),
        (AgentActivity::Idle, Some(typed)) if is_text(typed, text) => Readiness::AlreadyTyped,
        // Without rules, the hint in an empty input looks like typed text.
        (AgentActivity::Idle, Some(_)) if cli.screen.is_none() => waiting(SETTLED_WITHOUT_RULES),
        (AgentActivity::Idle, Some(_)) => Readiness::NotYet(Obstacle::Occupied),
        (AgentActivity::Unknown, _) if cli.screen.is_none() && look.cursor_visible => {
            waiting(SETTLED_WITHOUT_RULES)
        }
        (state, _) => Readiness::NotYet(Obstacle::NotIdle(state.name())),
    }
}

/// Whether the visible content of an input is `text`.
pub(super) fn is_text(typed: &str, text: &str) -> bool {
    let trace = trace(text);
    let letters: String = typed.chars().filter(|letter| letter.is_alphanumeric()).collect();
    !trace.is_empty() && letters.ends_with(&trace)
}

/// Whether the visible content of an input is a part of `text`, as in an input that scrolls.
pub(super) fn is_part(typed: &str, text: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>();
    let typed = letters(typed);
    !typed.is_empty() && letters(text).contains(&typed)
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
    fn a_rate_limited_cli_is_ready_only_when_the_limit_is_ignored() {
        let limited =
            |typed: &str| look("claude", &format!("You've hit your limit · resets 3pm\n{}", claude(typed)));
        let judge =
            |look: &PaneSnapshot, past| super::judge(cli::descriptor("claude"), look, LONG, "continue", past);
        assert_eq!(judge(&limited(""), false), Readiness::NotYet(Obstacle::NotIdle("rate_limited")));
        assert_eq!(judge(&limited(""), true), Readiness::Ready);
        assert_eq!(judge(&limited("something of mine"), true), Readiness::NotYet(Obstacle::Occupied));
    }

    #[test]
    fn remnants_of_a_rule_in_the_input_are_not_typed_text() {
        let judge = |typed: &str| judge("claude", &look("claude", &claude(typed)), LONG, "continue");
        assert_eq!([judge(" ──"), judge("──────")], [Readiness::Ready, Readiness::Ready]);
        assert_eq!(judge("continue ───"), Readiness::AlreadyTyped);
        assert_eq!([judge("a─"), judge("mine ──")], [const { Readiness::NotYet(Obstacle::Occupied) }; 2]);
    }

    fn claude(typed: &str) -> String {
        format!("{rule}\n❯ {typed}\n{rule}\n  ? for shortcuts", rule = "─".repeat(40))
    }

    #[test]
    fn a_shell_is_never_ready() {
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
    fn a_prompt_that_is_already_typed_is_not_typed_again() {
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
