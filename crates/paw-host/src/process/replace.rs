//! Becoming another program: it gets our terminal, our place in it and every signal, as if we had never been there.
#![expect(clippy::disallowed_methods, reason = "a door of its own: nothing is started, we are replaced")]

use std::io;
use std::os::unix::process::CommandExt as _;

/// Runs a line of a POSIX shell in our place. Returns only when that is not possible.
pub fn become_shell_line(line: &str) -> io::Error {
    std::process::Command::new("/bin/sh").args(["-c", line]).exec()
}
