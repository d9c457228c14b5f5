//! Replaces this process with another program (`exec`), which inherits the terminal and receives every signal.
#![expect(clippy::disallowed_methods, reason = "exec starts no process, it replaces this one")]

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use super::ScriptFile;

/// Replaces this process with a shell that runs `line`. Returns only on failure.
pub fn exec_shell_line(line: &str) -> io::Error {
    std::process::Command::new("/bin/sh").args(["-c", line]).exec()
}

/// Replaces this process with a program. Returns only on failure.
pub fn exec_program<A: AsRef<OsStr>>(program: &OsStr, arguments: impl IntoIterator<Item = A>) -> io::Error {
    std::process::Command::new(program).args(arguments).exec()
}

/// Replaces this process with the interpreter of a script, with `name` as its `argv[0]`. tmux then shows that name
/// instead of the shell's. A program that is not a script keeps its own name.
pub fn exec_script(name: &str, program: &Path, arguments: &[OsString], search_path: &OsStr) -> io::Error {
    // busybox selects the command to run by `argv[0]`.
    let script = ScriptFile::read(program, search_path)
        .filter(|script| !script.interpreter_names().iter().any(|name| name == "busybox"));
    match script {
        Some(script) => std::process::Command::new(&script.interpreter)
            .arg0(name)
            .args(script.argument)
            .arg(program)
            .args(arguments)
            .exec(),
        None => exec_program(program.as_os_str(), arguments),
    }
}
