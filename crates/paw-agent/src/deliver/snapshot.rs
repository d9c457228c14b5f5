//! A snapshot of a pane: the program in the foreground, and the screen.

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneSnapshot {
    /// The program in the foreground.
    pub program: String,
    pub dead: bool,
    pub cursor_visible: bool,
    pub screen: Screen,
}

impl PaneSnapshot {
    pub fn capture(tmux: &Tmux, pane_id: &str) -> Result<Self, TmuxError> {
        const FORMAT: &str = "#{pane_dead} #{cursor_flag} #{pane_current_command}";
        let command = TmuxCommand::new("display-message").args([
            "-p",
            "-t",
            pane_id,
            FORMAT,
            ";",
            "capture-pane",
            "-p",
            "-e",
            "-t",
            pane_id,
        ]);
        let answer = tmux.run(&command)?;
        let (fields, shown) = answer.split_once('\n').unwrap_or((&answer, ""));
        let mut fields = fields.splitn(3, ' ');
        let (Some(dead), Some(cursor), Some(program)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(TmuxError::Unexpected(answer));
        };
        // For a pane that no longer exists tmux prints empty fields.
        if dead.is_empty() {
            return Err(TmuxError::Unexpected(format!("there is no pane {pane_id}")));
        }
        Ok(Self {
            program: program.to_owned(),
            dead: dead == "1",
            cursor_visible: cursor == "1",
            screen: Screen::parse(shown),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

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
