//! Becoming another program: it gets our terminal, our place in it and every signal, as if we had never been there.
#![expect(clippy::disallowed_methods, reason = "a door of its own: nothing is started, we are replaced")]

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use super::ScriptFile;

/// Runs a line of a POSIX shell in our place. Returns only when that is not possible.
pub fn exec_shell_line(line: &str) -> io::Error {
    std::process::Command::new("/bin/sh").args(["-c", line]).exec()
}

/// Runs a script in our place by what its first line names, which is told that it is called `name`. Whoever looks at our
/// terminal then finds that name, and not the shell's. Any other program keeps its own name.
pub fn exec_script(name: &str, program: &Path, arguments: &[OsString], search_path: &OsStr) -> io::Error {
    // One program for many commands does what its name says.
    let script = ScriptFile::read(program, search_path)
        .filter(|script| !script.interpreter_names().iter().any(|name| name == "busybox"));
    match script {
        Some(script) => std::process::Command::new(&script.interpreter)
            .arg0(name)
            .args(script.argument)
            .arg(program)
            .args(arguments)
            .exec(),
        None => std::process::Command::new(program).args(arguments).exec(),
    }
}
