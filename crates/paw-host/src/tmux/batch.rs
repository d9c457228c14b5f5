//! Several tmux commands in one tmux process.

use std::os::unix::ffi::OsStrExt as _;

use super::TmuxCommand;

/// Commands in order. Runs as a script in tmux's configuration language.
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
            // On one line, so that tmux stops at the first command that fails.
            if number > 0 {
                script.extend_from_slice(b"; ");
            }
            command.write_script(&mut script);
        }
        script.push(b'\n');
        script
    }
}

impl TmuxCommand {
    /// The command in tmux's configuration language.
    pub(super) fn write_script(&self, script: &mut Vec<u8>) {
        for word in self.words() {
            quote(word.as_bytes(), script);
            script.push(b' ');
        }
    }
}

impl FromIterator<TmuxCommand> for Batch {
    fn from_iter<I: IntoIterator<Item = TmuxCommand>>(commands: I) -> Self {
        Self(commands.into_iter().collect())
    }
}

/// Single-quotes a word; nothing is special between single quotes. A single quote itself is double-quoted.
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
    fn batch_scripts_quote_words_for_tmux() {
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
