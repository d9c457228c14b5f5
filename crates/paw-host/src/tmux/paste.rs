//! Text into a pane, without showing it to `ps` and without a shell in between.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Tmux, TmuxCommand, TmuxError, said};

/// How a text arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasteMode {
    /// As one paste, if the program in the pane has asked to be told pastes from keys.
    Bracketed,
    /// As if typed.
    Keys,
}

impl Tmux {
    /// Puts `bytes` into a pane if `condition`, a tmux format, is true of it at that very moment. Says whether it was.
    /// Unlike `send-keys` this reaches the program also while somebody scrolls the pane.
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
            return Err(TmuxError::Unexpected(format!("'{pane_id}' as the id of a pane")));
        }
        let buffer = format!("paw-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let brackets = if paste == PasteMode::Bracketed { "-p " } else { "" };
        let yes = format!("paste-buffer {brackets}-d -b {buffer} -t '{pane_id}'");
        let no = format!("delete-buffer -b {buffer} ; display-message -p no");
        let command = TmuxCommand::new("load-buffer")
            .args(["-b", &buffer, "-", ";", "if-shell", "-F", "-t", pane_id, condition, &yes, &no]);
        let answer = said(&command, &self.command(command.words()).input(bytes).capture()?);
        if answer.is_err() {
            // What nobody got is nobody's business.
            let _ = self.run(&TmuxCommand::new("delete-buffer").args(["-b", &buffer]));
        }
        Ok(answer?.trim() != "no")
    }
}
