//! An isolated environment for one test.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::TestRepo;

/// System programs that tests may use. AI CLIs of this machine stay invisible.
const TOOLS: [&str; 36] = [
    "awk", "basename", "bash", "bwrap", "cat", "chmod", "cp", "date", "dirname", "env", "false", "git",
    "grep", "head", "kill", "less", "ln", "ls", "mkdir", "mktemp", "mv", "printf", "ps", "pwd", "rm", "sed",
    "setsid", "sh", "sleep", "stty", "tail", "tmux", "touch", "tr", "true", "uname",
];

/// A home directory, a PATH, a tmux server and repositories, all deleted at the end.
#[derive(Debug)]
pub struct Sandbox {
    dir: TempDir,
    variables: BTreeMap<OsString, OsString>,
}

/// The exit code and output of a program. Paths of the sandbox are replaced by `[SANDBOX]` for snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl std::fmt::Display for RunOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "exit {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(f, "--- {name}\n{}", text.trim_end_matches('\n'))?;
            }
        }
        Ok(())
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    pub fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    /// A sandbox in a directory, for example on a disk of its own.
    pub fn new_in(parent: &Path) -> Self {
        let dir =
            tempfile::Builder::new().prefix("paw-").tempdir_in(parent).expect("a directory for the sandbox");
        let root = dir.path().canonicalize().expect("the sandbox's real path");
        for name in ["home", "bin", "tools", "tmux", "tmp"] {
            fs::create_dir(root.join(name)).expect("a directory in the sandbox");
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        for tool in TOOLS {
            let found = std::env::split_paths(&path).map(|dir| dir.join(tool)).find(|file| file.is_file());
            if let Some(found) = found {
                symlink(found, root.join("tools").join(tool)).expect("a link to a tool");
            }
        }
        let config =
            "[user]\n\tname = Paw Test\n\temail = paw@test.invalid\n[init]\n\tdefaultBranch = main\n";
        fs::write(root.join("home/.gitconfig"), config).expect("git's configuration");
        let own_path = std::env::join_paths([root.join("bin"), root.join("tools")]).expect("a PATH");
        let variables = [
            ("HOME", root.join("home").into_os_string()),
            ("PATH", own_path),
            ("TMPDIR", root.join("tmp").into_os_string()),
            ("TMUX_TMPDIR", root.join("tmux").into_os_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("LANG", "C.UTF-8".into()),
            ("SHELL", "/bin/sh".into()),
            ("TERM", "xterm-256color".into()),
        ];
        Self { dir, variables: variables.map(|(name, value)| (name.into(), value)).into_iter().collect() }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("the sandbox's real path")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The user's configuration file of git-paw.
    pub fn user_config(&self) -> PathBuf {
        self.home().join(".config/git-paw/config.toml")
    }

    /// Sets an environment variable for every program that the sandbox runs.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    pub fn unset(&mut self, name: &str) {
        self.variables.remove(OsStr::new(name));
    }

    /// A repository with one commit, in a directory of the sandbox.
    pub fn repo(&self, name: &str) -> TestRepo {
        TestRepo::init(self.root().join(name))
    }

    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories for a file");
        fs::write(&path, text).expect("a file in the sandbox");
        path
    }

    /// Installs a program first on the sandbox's PATH.
    pub fn install_program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.write(&format!("bin/{name}"), script);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable program");
        path
    }

    /// Installs this machine's `python3` in the sandbox. Returns false, and prints that the test is skipped, if there is none.
    #[must_use]
    #[expect(
        clippy::disallowed_macros,
        clippy::print_stderr,
        reason = "a skipped test reports that in its output"
    )]
    pub fn install_python(&self) -> bool {
        let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let Some(found) = output.ok().filter(|output| output.status.success()) else {
            eprintln!("skipped: this machine has no python3");
            return false;
        };
        let program = String::from_utf8_lossy(&found.stdout);
        self.install_program("python3", &format!("#!/bin/sh\nexec '{}' -S \"$@\"\n", program.trim()));
        true
    }

    /// Removes a tool from the sandbox's PATH.
    pub fn uninstall_tool(&self, name: &str) {
        fs::remove_file(self.root().join("tools").join(name)).expect("an installed tool");
    }

    /// A command with only the environment of the sandbox.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.variables).current_dir(self.root());
        command
    }

    /// The environment variables of the sandbox.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Runs a program in a directory of the sandbox.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        dir: &Path,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> RunOutput {
        let mut command = self.command(program);
        command.current_dir(dir).args(args).stdin(std::process::Stdio::null());
        let output = command.output().unwrap_or_else(|error| panic!("{command:?} did not run: {error}"));
        RunOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: self.redact(&String::from_utf8_lossy(&output.stdout)),
            stderr: self.redact(&String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Replaces the path of the sandbox in a text.
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.root().display().to_string(), "[SANDBOX]")
    }

    /// Runs tmux on the server of this sandbox.
    pub fn tmux<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> RunOutput {
        self.run(&self.root(), "tmux", args)
    }
}

impl Sandbox {
    /// The sockets of the sandbox's tmux servers, including stopped ones.
    pub fn tmux_sockets(&self) -> Vec<PathBuf> {
        let entries = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
        let dirs = entries(self.root().join("tmux")).map(|entry| entry.path());
        dirs.flat_map(entries).map(|entry| entry.path()).collect()
    }
}

impl Sandbox {
    /// The sessions' processes of this sandbox, which outlive tmux. A child of such a process that has not started its own
    /// program yet looks the same and is left out.
    pub fn session_processes(&self) -> Vec<u32> {
        let root = self.root();
        let is_ours = |pid: &u32| {
            let cwd = fs::read_link(format!("/proc/{pid}/cwd"));
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            cwd.is_ok_and(|cwd| cwd.starts_with(&root)) && command.ends_with(b"\0__session\0")
        };
        let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let found = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours);
        let found: Vec<u32> = found.collect();
        let is_child = |pid: &u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
            parent.is_some_and(|parent: u32| found.contains(&parent))
        };
        found.iter().copied().filter(|pid| !is_child(pid)).collect()
    }

    fn end_session_processes(&self) {
        let start = std::time::Instant::now();
        loop {
            let running = self.session_processes();
            if running.is_empty() {
                return;
            }
            let signal = if start.elapsed().as_secs() < 5 { "-TERM" } else { "-KILL" };
            let pids = running.iter().map(u32::to_string);
            let _ = self.command(self.root().join("tools/kill")).arg(signal).args(pids).output();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        for socket in self.tmux_sockets() {
            let tmux = self.root().join("tools/tmux");
            let _ = self.command(tmux).arg("-S").arg(socket).arg("kill-server").output();
        }
        self.end_session_processes();
    }
}
