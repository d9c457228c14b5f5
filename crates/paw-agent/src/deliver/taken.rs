//! Whether a CLI has taken the prompt that was typed. Pure: looks come in, in their order.

use std::time::Duration;

use super::look::Look;
use super::ready::is_text;
use crate::cli::Cli;
use crate::state::State;

/// An input that is drawn anew is empty for a moment.
const EMPTY: Duration = Duration::from_millis(400);
/// A screen that is not understood may be one that is half drawn.
const STRANGE: Duration = Duration::from_secs(2);

/// What a look says about the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// It stands in the input, or nothing has changed.
    There,
    /// The input is empty.
    Empty,
    /// It cannot be said.
    Strange,
    /// The CLI is at it.
    Taken,
}

fn sign(cli: &Cli, text: &str, before: &Look, now: &Look) -> Sign {
    let reading = now.read(cli);
    let changed = now.screen != before.screen;
    match (&reading.state, reading.typed.as_deref()) {
        (_, Some(typed)) if is_text(typed, text) => Sign::There,
        _ if !changed => Sign::There,
        _ if cli.screen.is_none() => Sign::Taken,
        (State::Idle, Some("")) => Sign::Empty,
        (State::Idle, _) => Sign::There,
        (State::Unknown | State::Starting, _) => Sign::Strange,
        _ => Sign::Taken,
    }
}

/// Follows the looks after an Enter.
#[derive(Debug)]
pub(super) struct Taking<'a> {
    cli: &'a Cli,
    text: &'a str,
    before: &'a Look,
    /// The last sign, and when it was first seen.
    last: Option<(Sign, Duration)>,
}

impl<'a> Taking<'a> {
    pub(super) fn new(cli: &'a Cli, text: &'a str, before: &'a Look) -> Self {
        Self { cli, text, before, last: None }
    }

    /// Whether the prompt was taken, now that this is seen `at` so long after the Enter.
    pub(super) fn sees(&mut self, now: &Look, at: Duration) -> bool {
        let sign = sign(self.cli, self.text, self.before, now);
        let since = match self.last {
            Some((last, since)) if last == sign => since,
            _ => at,
        };
        self.last = Some((sign, since));
        let held = at.saturating_sub(since);
        match sign {
            Sign::There => false,
            Sign::Empty => held >= EMPTY,
            Sign::Strange => held >= STRANGE,
            Sign::Taken => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;
    use crate::screen::Screen;

    const TEXT: &str = "Read AGENTS.md and begin.";

    fn look(screen: &str) -> Look {
        Look { program: "node".into(), dead: false, cursor_visible: true, screen: Screen::parse(screen) }
    }

    fn claude(above: &str, typed: &str) -> Look {
        look(&format!("{above}\n{rule}\n❯ {typed}\n{rule}\n  ? for shortcuts", rule = "─".repeat(40)))
    }

    /// When the prompt is said to be taken, of looks that come every 150 ms.
    fn taken_at(cli: &str, before: &Look, looks: &[Look]) -> Option<usize> {
        let mut taking = Taking::new(cli::descriptor(cli), TEXT, before);
        looks
            .iter()
            .enumerate()
            .position(|(at, look)| taking.sees(look, Duration::from_millis(150) * u32::try_from(at).unwrap()))
    }

    #[test]
    fn a_screen_that_is_drawn_anew_does_not_take_a_prompt() {
        let typed = claude("", TEXT);
        let looks = [look(""), claude("", ""), claude("● hello", ""), claude("● hello", TEXT)];
        assert_eq!(taken_at("claude", &typed, &looks), None);
        let looks: Vec<_> = std::iter::repeat_n(claude("● hello", TEXT), 40).collect();
        assert_eq!(taken_at("claude", &typed, &looks), None, "other words above it are no sign");
    }

    #[test]
    fn an_agent_at_work_has_taken_it_at_once_and_one_that_rests_a_moment_later() {
        let typed = claude("", TEXT);
        let working = claude("✻ Thinking… (esc to interrupt)", "");
        assert_eq!(taken_at("claude", &typed, &[typed.clone(), working]), Some(1));
        let resting: Vec<_> = std::iter::repeat_n(claude("● Ready.", ""), 5).collect();
        assert_eq!(taken_at("claude", &typed, &resting), Some(3));
    }

    #[test]
    fn a_screen_that_nobody_understands_is_believed_after_a_while() {
        let looks: Vec<_> = (0..40).map(|at| look(&format!("something new {at}"))).collect();
        assert_eq!(taken_at("claude", &claude("", TEXT), &looks), Some(14));
        assert_eq!(taken_at("mine", &look("> Read AGENTS.md and begin."), &looks), Some(0));
    }
}
