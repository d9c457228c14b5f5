//! Many tmux commands, run by one tmux process.

use std::os::unix::ffi::OsStrExt as _;

use super::TmuxCommand;

/// Commands in order, written in tmux's own configuration language when they run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch(Vec<TmuxCommand>);

impl Batch {
    pub fn push(&mut self, command: TmuxCommand) {
        self.0.push(command);
    }

    pub fn commands(&self) -> &[TmuxCommand] {
        &self.0
    }

    pub(super) fn script(&self) -> Vec<u8> {
        let mut script = Vec::new();
        for (number, command) in self.0.iter().enumerate() {
            // In one line: what follows a command that failed is not tried on whatever is there instead.
            if number > 0 {
                script.extend_from_slice(b"; ");
            }
            for word in command.words() {
                quote(word.as_bytes(), &mut script);
                script.push(b' ');
            }
        }
        script.push(b'\n');
        script
    }
}

impl FromIterator<TmuxCommand> for Batch {
    fn from_iter<I: IntoIterator<Item = TmuxCommand>>(commands: I) -> Self {
        Self(commands.into_iter().collect())
    }
}

/// Nothing has a meaning between single quotes, newlines and backslashes included; a single quote itself is put
/// between double quotes.
fn quote(word: &[u8], script: &mut Vec<u8>) {
    script.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => script.extend_from_slice(b"'\"'\"'"),
            byte => script.push(*byte),
        }
    }
    script.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_tmux() {
        let batch: Batch = [
            TmuxCommand::new("new-session").args(["-s", "a b"]),
            TmuxCommand::new("send-keys").arg("it's $HOME"),
        ]
        .into_iter()
        .collect();
        assert_eq!(
            String::from_utf8(batch.script()).unwrap(),
            "'new-session' '-s' 'a b' ; 'send-keys' 'it'\"'\"'s $HOME' \n"
        );
    }
}
