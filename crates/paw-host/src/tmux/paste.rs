//! Pastes text into a pane, without a shell and invisible to `ps`.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Tmux, TmuxCommand, TmuxError, stdout_of};

/// How the pane receives the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasteMode {
    /// As a bracketed paste, if the program in the pane has enabled that mode.
    Bracketed,
    /// As if typed.
    Keys,
}

impl Tmux {
    /// Pastes `bytes` into a pane if the tmux format `condition` is true at that moment, and returns whether it was. Unlike
    /// `send-keys`, this reaches the program even while the pane is in copy mode.
    pub fn paste_if(
        &self,
        pane_id: &str,
        condition: &str,
        bytes: &[u8],
        paste: PasteMode,
    ) -> Result<bool, TmuxError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let digits = pane_id.strip_prefix('%').unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(TmuxError::Unexpected(format!("'{pane_id}' is not a pane id")));
        }
        let buffer = format!("paw-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let brackets = if paste == PasteMode::Bracketed { "-p " } else { "" };
        let yes = format!("paste-buffer {brackets}-d -b {buffer} -t '{pane_id}'");
        let no = format!("delete-buffer -b {buffer} ; display-message -p no");
        let command = TmuxCommand::new("load-buffer")
            .args(["-b", &buffer, "-", ";", "if-shell", "-F", "-t", pane_id, condition, &yes, &no]);
        let answer = stdout_of(&command, &self.command(command.words()).input(bytes).capture()?);
        if answer.is_err() {
            // The buffer was not pasted; do not leave its content on the server.
            let _ = self.run(&TmuxCommand::new("delete-buffer").args(["-b", &buffer]));
        }
        Ok(answer?.trim() != "no")
    }
}
