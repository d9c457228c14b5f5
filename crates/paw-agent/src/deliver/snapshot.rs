//! A snapshot of a pane: the program in the foreground, and the screen.

use std::collections::BTreeMap;

use paw_host::tmux::{Tmux, TmuxCommand, TmuxError};

use crate::cli::Cli;
use crate::screen::{self, Screen, ScreenReading};
use crate::state::PaneProcess;

/// Programs that execute what is typed.
const SHELLS: [&str; 15] = [
    "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "sh", "tcsh",
    "xonsh", "zsh",
];

/// Whether a program, as tmux names it, is a shell. A login shell's name starts with a dash.
pub fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    SHELLS.contains(&name.trim_start_matches('-'))
}

/// The state of a pane at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PaneSnapshot {
    /// The program in the foreground.
    pub program: String,
    pub dead: bool,
    pub cursor_visible: bool,
    pub screen: Screen,
}

impl PaneSnapshot {
    pub fn capture(tmux: &Tmux, pane_id: &str) -> Result<Self, TmuxError> {
        let found = Self::capture_all(tmux, &[pane_id])?.remove(pane_id);
        found.ok_or_else(|| TmuxError::Unexpected(format!("there is no pane {pane_id}")))
    }

    /// Captures several panes at the same moment. Fails if one of them has been closed.
    pub fn capture_all(tmux: &Tmux, panes: &[&str]) -> Result<BTreeMap<String, Self>, TmuxError> {
        let mut words: Vec<&str> = Vec::new();
        for pane in panes {
            words.extend(["display-message", "-p", "-t", pane, FACTS, ";"]);
            words.extend(["capture-pane", "-p", "-e", "-t", pane, ";"]);
        }
        let [first, rest @ .., _] = words.as_slice() else { return Ok(BTreeMap::new()) };
        let answer = tmux.run(&TmuxCommand::new(first).args(rest.iter().copied()))?;
        parse_captures(&answer).ok_or(TmuxError::Unexpected("half of a pane".to_owned()))
    }

    pub fn read(&self, cli: &Cli) -> ScreenReading {
        screen::read(cli, &self.screen)
    }

    /// Whether the CLI is in the foreground, or what is instead.
    pub fn process(&self) -> PaneProcess {
        match self.dead {
            true => PaneProcess::Dead,
            false if is_shell(&self.program) => PaneProcess::Shell(self.program.clone()),
            false => PaneProcess::Running,
        }
    }

    /// A tmux condition: the pane is alive, and the same program is in the foreground.
    pub fn condition(&self) -> String {
        let program = self.program.replace('#', "##").replace(',', "#,").replace('}', "#}");
        format!("#{{&&:#{{==:#{{pane_dead}},0}},#{{==:#{{pane_current_command}},{program}}}}}")
    }
}

/// A header line for each pane, followed by as many lines as the pane is high.
const FACTS: &str = "#{pane_id} #{pane_height} #{pane_dead} #{cursor_flag} #{pane_current_command}";

/// A pane can show anything, so its lines are counted and never searched.
fn parse_captures(answer: &str) -> Option<BTreeMap<String, PaneSnapshot>> {
    let mut looks = BTreeMap::new();
    let mut lines = answer.split_inclusive('\n');
    while let Some(facts) = lines.next() {
        let mut facts = facts.trim_end_matches('\n').splitn(5, ' ');
        let id = facts.next().filter(|id| id.starts_with('%'))?.to_owned();
        let height: usize = facts.next()?.parse().ok()?;
        let (dead, cursor) = (facts.next()? == "1", facts.next()? == "1");
        let program = facts.next()?.to_owned();
        let mut shown = String::new();
        for _ in 0..height {
            shown.push_str(lines.next()?);
        }
        looks.insert(
            id,
            PaneSnapshot { program, dead, cursor_visible: cursor, screen: Screen::parse(&shown) },
        );
    }
    Some(looks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn captures_are_split_by_line_count_whatever_the_panes_show() {
        let answer = "%1 3 0 1 claude\na\n%2 1 0 1 bash\n\n%2 2 1 0 my cli\nx\ny\n";
        let looks = parse_captures(answer).unwrap();
        assert_eq!(looks.len(), 2);
        assert_eq!(looks["%1"].screen, Screen::parse("a\n%2 1 0 1 bash\n\n"));
        assert_eq!(looks["%2"].program, "my cli");
        assert!(looks["%2"].dead && !looks["%2"].cursor_visible);
    }

    proptest! {
        #[test]
        fn parsing_tmux_output_never_panics(answer in "[%0-9a-z \n]{0,80}") {
            let _ = parse_captures(&answer);
        }
    }

    #[test]
    fn is_shell_recognizes_paths_and_login_shells() {
        for shell in ["bash", "-zsh", "/bin/sh", "fish"] {
            assert!(is_shell(shell), "{shell}");
        }
        for program in ["claude", "node", "python3", "", "shfmt"] {
            assert!(!is_shell(program), "{program}");
        }
    }
}
