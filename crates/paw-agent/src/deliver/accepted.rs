//! Whether a CLI accepted the typed prompt. Pure: takes snapshots in order.

use std::time::Duration;

use super::ready::is_text;
use super::snapshot::PaneSnapshot;
use crate::cli::Cli;
use crate::state::AgentActivity;

/// During a redraw the input is empty for a moment.
const EMPTY: Duration = Duration::from_millis(400);
/// An unrecognized screen may be half drawn.
const UNCLEAR: Duration = Duration::from_secs(2);

/// What a snapshot shows about the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    /// The prompt is still in the input, or nothing has changed.
    Unchanged,
    /// The input is empty.
    Empty,
    /// The screen is not recognized.
    Unclear,
    /// The CLI is working on the prompt.
    Accepted,
}

fn read_signal(cli: &Cli, text: &str, before: &PaneSnapshot, now: &PaneSnapshot) -> Signal {
    let reading = now.read(cli);
    let changed = now.screen != before.screen;
    match (&reading.state, reading.typed.as_deref()) {
        (_, Some(typed)) if is_text(typed, text) => Signal::Unchanged,
        _ if !changed => Signal::Unchanged,
        _ if cli.screen.is_none() => Signal::Accepted,
        (AgentActivity::Idle, Some("")) => Signal::Empty,
        (AgentActivity::Idle, _) => Signal::Unchanged,
        (AgentActivity::Unknown | AgentActivity::Starting, _) => Signal::Unclear,
        _ => Signal::Accepted,
    }
}

/// Follows the snapshots after an Enter.
#[derive(Debug, Clone)]
pub(super) struct AcceptanceCheck {
    before: PaneSnapshot,
    /// The last signal, and when it was first seen.
    last: Option<(Signal, Duration)>,
}

impl AcceptanceCheck {
    pub(super) fn new(before: PaneSnapshot) -> Self {
        Self { before, last: None }
    }

    /// Whether the prompt was accepted, given a snapshot taken `at` this time after the Enter.
    pub(super) fn update(&mut self, cli: &Cli, text: &str, now: &PaneSnapshot, at: Duration) -> bool {
        let signal = read_signal(cli, text, &self.before, now);
        let since = match self.last {
            Some((last, since)) if last == signal => since,
            _ => at,
        };
        self.last = Some((signal, since));
        let held = at.saturating_sub(since);
        match signal {
            Signal::Unchanged => false,
            Signal::Empty => held >= EMPTY,
            Signal::Unclear => held >= UNCLEAR,
            Signal::Accepted => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;
    use crate::screen::Screen;

    const TEXT: &str = "Read AGENTS.md and begin.";

    fn look(screen: &str) -> PaneSnapshot {
        PaneSnapshot {
            program: "node".into(),
            dead: false,
            cursor_visible: true,
            screen: Screen::parse(screen),
        }
    }

    fn claude(above: &str, typed: &str) -> PaneSnapshot {
        look(&format!("{above}\n{rule}\n❯ {typed}\n{rule}\n  ? for shortcuts", rule = "─".repeat(40)))
    }

    /// The index of the snapshot, one every 150 ms, at which the prompt counts as accepted.
    fn accepted_at(cli: &str, before: &PaneSnapshot, looks: &[PaneSnapshot]) -> Option<usize> {
        let mut check = AcceptanceCheck::new(before.clone());
        looks.iter().enumerate().position(|(at, look)| {
            let at = Duration::from_millis(150) * u32::try_from(at).unwrap();
            check.update(cli::descriptor(cli), TEXT, look, at)
        })
    }

    #[test]
    fn a_redraw_is_not_an_accepted_prompt() {
        let typed = claude("", TEXT);
        let looks = [look(""), claude("", ""), claude("● hello", ""), claude("● hello", TEXT)];
        assert_eq!(accepted_at("claude", &typed, &looks), None);
        let looks: Vec<_> = std::iter::repeat_n(claude("● hello", TEXT), 40).collect();
        assert_eq!(accepted_at("claude", &typed, &looks), None, "new output above the input does not count");
    }

    #[test]
    fn a_working_agent_accepted_immediately_and_an_idle_one_after_a_moment() {
        let typed = claude("", TEXT);
        let working = claude("✻ Thinking… (esc to interrupt)", "");
        assert_eq!(accepted_at("claude", &typed, &[typed.clone(), working]), Some(1));
        let resting: Vec<_> = std::iter::repeat_n(claude("● Ready.", ""), 5).collect();
        assert_eq!(accepted_at("claude", &typed, &resting), Some(3));
    }

    #[test]
    fn an_unrecognized_screen_counts_as_accepted_after_a_while() {
        let looks: Vec<_> = (0..40).map(|at| look(&format!("something new {at}"))).collect();
        assert_eq!(accepted_at("claude", &claude("", TEXT), &looks), Some(14));
        assert_eq!(accepted_at("mine", &look("> Read AGENTS.md and begin."), &looks), Some(0));
    }
}
