//! The foreground program of a terminal, beyond the process name that tmux reports.

use std::path::PathBuf;

/// The script that the foreground shell of a terminal is running; `None` if the shell is at its prompt or this cannot
/// be determined. `leader` is the first process of the terminal.
///
/// A shell script has the process name of its shell, so the name alone looks like a shell at its prompt.
pub fn find_foreground_script(leader: u32) -> Option<PathBuf> {
    script(&system::command_line(system::foreground(leader)?)?)
}

/// `sh /path/script …`, as the kernel starts a script. After options, the path may be the value of an option of an
/// interactive shell.
fn script(words: &[String]) -> Option<PathBuf> {
    let word = words.get(1)?;
    (word.contains('/') && !word.starts_with(['-', '+'])).then(|| PathBuf::from(word))
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    /// The leader of the foreground process group.
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

    /// The leader of the foreground process group.
    pub(super) fn foreground(leader: u32) -> Option<u32> {
        ask("tpgid=", leader)?.parse().ok()
    }

    /// Splits arguments that contain blanks, which does not matter for detecting a script.
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
    fn a_shell_running_a_script_differs_from_one_at_its_prompt() {
        for waiting in
            ["bash", "-bash", "/bin/zsh -l", "sh -i", "bash --rcfile /etc/rc", "sh -c /bin/x", "sh x"]
        {
            assert_eq!(of(waiting), None, "{waiting}");
        }
        assert_eq!(of("/bin/sh /opt/agent --model x"), Some("/opt/agent".into()));
        assert_eq!(of("bash ./agent"), Some("./agent".into()));
    }
}
