//! Presses the keys that approve a prompt, after checking that the pane still shows the prompt that was judged.

use paw_agent::cli;
use paw_agent::deliver::PaneSnapshot;
use paw_agent::screen::ApprovalRequest;
use paw_agent::state::{AgentActivity, PaneProcess};
use paw_host::tmux::{PasteMode, Tmux, TmuxError};

/// Approves `ask` if the pane still shows exactly this prompt. Returns whether keys were sent.
pub fn press_approval_keys(
    tmux: &Tmux,
    pane_id: &str,
    cli: &str,
    ask: &ApprovalRequest,
) -> Result<bool, TmuxError> {
    let look = PaneSnapshot::capture(tmux, pane_id)?;
    let same =
        matches!(look.read(cli::descriptor(cli)).state, AgentActivity::WaitingApproval(now) if now == *ask);
    match keys(ask) {
        Some(keys) if same && look.process() == PaneProcess::Running => {
            tmux.paste_if(pane_id, &look.condition(), &keys, PasteMode::Keys)
        }
        _ => Ok(false),
    }
}

/// Whether the keys that approve it are known.
pub fn has_approval_keys(ask: &ApprovalRequest) -> bool {
    keys(ask).is_some()
}

/// The bytes a terminal sends for the keys of a prompt; `None` if one of them is unknown.
fn keys(ask: &ApprovalRequest) -> Option<Vec<u8>> {
    let byte = |key: &&str| match key.as_bytes() {
        b"Enter" => Some(b'\r'),
        [letter] if letter.is_ascii_graphic() => Some(*letter),
        _ => None,
    };
    ask.keys?.iter().map(byte).collect()
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
        assert_eq!(keys(&ask(Some(&["1"]))), Some(b"1".to_vec()));
        assert_eq!(keys(&ask(Some(&["y", "Enter"]))), Some(b"y\r".to_vec()));
        assert_eq!(keys(&ask(Some(&["BTab"]))), None);
        assert_eq!(keys(&ask(None)), None);
    }
}
