//! Pressing the one key that says yes: only into the very prompt that was judged, seen again a moment before.

use paw_agent::cli;
use paw_agent::deliver::Look;
use paw_agent::screen::Ask;
use paw_agent::state::{Life, State};
use paw_host::tmux::{Paste, Tmux, TmuxError};

/// Says yes to `ask` if the pane still asks exactly this. Says whether a key was sent.
pub fn press(tmux: &Tmux, pane_id: &str, cli: &str, ask: &Ask) -> Result<bool, TmuxError> {
    let look = Look::take(tmux, pane_id)?;
    let same = matches!(look.read(cli::descriptor(cli)).state, State::WaitingApproval(now) if now == *ask);
    match keys(ask) {
        Some(keys) if same && look.life() == Life::Running => {
            tmux.paste_if(pane_id, &look.condition(), &keys, Paste::Keys)
        }
        _ => Ok(false),
    }
}

/// Whether we know which keys say yes to it.
pub fn is_possible(ask: &Ask) -> bool {
    keys(ask).is_some()
}

/// What a terminal sends for the keys of a prompt. A key that is not known is not pressed.
fn keys(ask: &Ask) -> Option<Vec<u8>> {
    let byte = |key: &&str| match key.as_bytes() {
        b"Enter" => Some(b'\r'),
        [letter] if letter.is_ascii_graphic() => Some(*letter),
        _ => None,
    };
    ask.keys?.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use paw_agent::screen::{AskKind, AskSubject};

    use super::*;

    #[test]
    fn only_keys_that_are_known_are_pressed() {
        let ask = |keys| Ask { kind: AskKind::Command, subject: AskSubject::Command("ls".into()), keys };
        assert_eq!(keys(&ask(Some(&["1"]))), Some(b"1".to_vec()));
        assert_eq!(keys(&ask(Some(&["y", "Enter"]))), Some(b"y\r".to_vec()));
        assert_eq!(keys(&ask(Some(&["BTab"]))), None);
        assert_eq!(keys(&ask(None)), None);
    }
}
