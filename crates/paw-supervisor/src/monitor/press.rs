//! Presses the keys that approve or deny a prompt, after checking that the pane still shows the prompt that was judged.

use std::path::Path;

use paw_agent::cli;
use paw_agent::deliver::PaneSnapshot;
use paw_agent::screen::rules::ApprovalKeys;
use paw_agent::screen::{ApprovalRequest, ScreenReading};
use paw_agent::state::{AgentActivity, PaneProcess};
use paw_host::tmux::{PasteMode, Tmux, TmuxError};

use crate::wide_pane::WidePane;

/// Approves `ask` if the pane still shows exactly this prompt. Returns whether keys were sent.
pub fn press_approval_keys(
    tmux: &Tmux,
    pane_id: &str,
    cli: &str,
    ask: &ApprovalRequest,
    common_dir: &Path,
) -> Result<bool, TmuxError> {
    press(tmux, pane_id, cli, ask, approval_keys(ask), common_dir)
}

/// Denies `ask` if the pane still shows exactly this prompt. Returns whether keys were sent.
pub fn press_denial_keys(
    tmux: &Tmux,
    pane_id: &str,
    cli: &str,
    ask: &ApprovalRequest,
    common_dir: &Path,
) -> Result<bool, TmuxError> {
    let keys = cli::descriptor(cli).screen.and_then(|screen| bytes(screen.deny));
    press(tmux, pane_id, cli, ask, keys, common_dir)
}

fn press(
    tmux: &Tmux,
    pane_id: &str,
    cli: &str,
    ask: &ApprovalRequest,
    keys: Option<Vec<u8>>,
    common_dir: &Path,
) -> Result<bool, TmuxError> {
    let Some(keys) = keys else { return Ok(false) };
    let cli = cli::descriptor(cli);
    let is_same =
        |reading: &ScreenReading| matches!(&reading.state, AgentActivity::WaitingApproval(now) if now == ask);
    let press = |look: &PaneSnapshot| {
        let is_running = look.process() == PaneProcess::Running;
        Ok(is_running && tmux.paste_if(pane_id, &look.condition(), &keys, PasteMode::Keys)?)
    };
    let look = PaneSnapshot::capture(tmux, pane_id)?;
    if is_same(&look.read(cli)) {
        return press(&look);
    }
    // It may have been read in a wide window.
    let Some(wide) = WidePane::open(tmux, pane_id, common_dir)? else { return Ok(false) };
    wide.read(cli, is_same)?.map_or(Ok(false), |look| press(&look))
}

/// Whether the keys that approve it are known.
pub fn has_approval_keys(ask: &ApprovalRequest) -> bool {
    approval_keys(ask).is_some()
}

fn approval_keys(ask: &ApprovalRequest) -> Option<Vec<u8>> {
    bytes(ask.keys?)
}

/// The bytes a terminal sends for these keys; `None` if one of them is unknown.
fn bytes(keys: ApprovalKeys) -> Option<Vec<u8>> {
    let byte = |key: &&str| match key.as_bytes() {
        b"Enter" => Some(b'\r'),
        b"Escape" => Some(b'\x1b'),
        [letter] if letter.is_ascii_graphic() => Some(*letter),
        _ => None,
    };
    keys.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use paw_agent::screen::{ApprovalKind, ApprovalSubject};

    use super::*;

    #[test]
    fn only_known_keys_are_pressed() {
        let ask = |keys| ApprovalRequest {
            kind: ApprovalKind::Command,
            subject: ApprovalSubject::Command("ls".into()),
            keys,
        };
        assert_eq!(approval_keys(&ask(Some(&["1"]))), Some(b"1".to_vec()));
        assert_eq!(approval_keys(&ask(Some(&["y", "Enter"]))), Some(b"y\r".to_vec()));
        assert_eq!(approval_keys(&ask(Some(&["BTab"]))), None);
        assert_eq!(approval_keys(&ask(None)), None);
        assert_eq!(bytes(&["Escape"]), Some(b"\x1b".to_vec()));
    }
}
