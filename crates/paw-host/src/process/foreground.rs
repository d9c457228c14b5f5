//! What runs in front of a terminal, beyond the name that tmux has for it.

use std::path::PathBuf;

/// The script that the shell in front of a terminal is running; nothing when it waits for somebody to type, or when
/// this cannot be known. `leader` is the terminal's first process.
///
/// A program that is a shell script has the shell's own name, and would be taken for a bare shell.
pub fn find_foreground_script(leader: u32) -> Option<PathBuf> {
    script(&system::command_line(system::foreground(leader)?)?)
}

/// `sh /path/script …`, as the kernel starts one. With options before it, it may as well be an option's value, and the
/// shell one that waits.
fn script(words: &[String]) -> Option<PathBuf> {
    let word = words.get(1)?;
    (word.contains('/') && !word.starts_with(['-', '+'])).then(|| PathBuf::from(word))
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    /// The leader of the group of processes that gets what is typed.
    pub(super) fn foreground(leader: u32) -> Option<u32> {
        let stat = fs::read(format!("/proc/{leader}/stat")).ok()?;
        let after_name = stat.get(stat.iter().rposition(|byte| *byte == b')')? + 1..)?;
        std::str::from_utf8(after_name).ok()?.split_whitespace().nth(5)?.parse().ok()
    }

    pub(super) fn command_line(pid: u32) -> Option<Vec<String>> {
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        Some(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::process::Command;

    fn ask(field: &str, pid: u32) -> Option<String> {
        let answer = Command::new("ps").args(["-o", field, "-p", &pid.to_string()]).capture().ok()?;
        Some(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
    }

    /// The leader of the group of processes that gets what is typed.
    pub(super) fn foreground(leader: u32) -> Option<u32> {
        ask("tpgid=", leader)?.parse().ok()
    }

    /// Words with blanks in them come apart, which does not matter for telling a script from none.
    pub(super) fn command_line(pid: u32) -> Option<Vec<String>> {
        let line = ask("args=", pid)?;
        (!line.is_empty()).then(|| line.split_whitespace().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<PathBuf> {
        script(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_shell_that_runs_a_script_is_told_from_one_that_waits() {
        for waiting in
            ["bash", "-bash", "/bin/zsh -l", "sh -i", "bash --rcfile /etc/rc", "sh -c /bin/x", "sh x"]
        {
            assert_eq!(of(waiting), None, "{waiting}");
        }
        assert_eq!(of("/bin/sh /opt/agent --model x"), Some("/opt/agent".into()));
        assert_eq!(of("bash ./agent"), Some("./agent".into()));
    }
}
