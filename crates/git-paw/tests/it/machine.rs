//! A machine that is reached by ssh: a real ssh server with its own home directory, PATH and tmux server.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use paw_testkit::{RunOutput, Sandbox, wait_until};

use crate::paw::PROGRAM;

const SSHD: &str = "/usr/sbin/sshd";
const SSH: &str = "/usr/bin/ssh";

/// A machine that is reached by ssh.
pub(crate) struct Machine {
    pub(crate) sandbox: Sandbox,
    pub(crate) port: u16,
    server: Option<Child>,
}

impl Machine {
    /// `None`, with a note in the test's output, where no server can run.
    #[expect(
        clippy::disallowed_macros,
        clippy::print_stderr,
        reason = "a skipped test reports that in its output"
    )]
    pub(crate) fn start() -> Option<Self> {
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        if !is_root || !Path::new(SSHD).exists() || !Path::new(SSH).exists() {
            eprintln!("skipped: this needs root and an ssh server (scripts/install-tools installs it)");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut machine = Self { sandbox: Sandbox::new(), port, server: None };
        // The server separates privileges in this directory.
        fs::create_dir_all("/run/sshd").unwrap();
        for dir in [machine.bin(), machine.there(), machine.keys(), machine.tmux_there()] {
            fs::create_dir_all(dir).unwrap();
        }
        machine.make_key("user");
        machine.make_key("server");
        fs::copy(machine.key("user.pub"), machine.key("authorized")).unwrap();
        let stripped = Command::new("strip").arg("-o").arg(machine.program()).arg(PROGRAM).status();
        if !stripped.is_ok_and(|status| status.success()) {
            fs::copy(PROGRAM, machine.program()).unwrap();
        }
        machine.write_server_config();
        machine.write_client_config("root");
        machine.know_server();
        for tool in ["git", "tmux"] {
            let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
            let path = String::from_utf8(found.stdout).unwrap();
            std::os::unix::fs::symlink(path.trim(), machine.bin().join(tool)).unwrap();
        }
        machine.run();
        Some(machine)
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.sandbox.root().join("keys")
    }

    /// The program under test. Without symbols it is copied faster.
    pub(crate) fn program(&self) -> PathBuf {
        self.keys().join("git-paw")
    }

    pub(crate) fn key(&self, name: &str) -> PathBuf {
        self.keys().join(name)
    }

    /// The home directory on the machine.
    pub(crate) fn there(&self) -> PathBuf {
        self.sandbox.root().join("there")
    }

    /// The sockets of tmux on the machine.
    pub(crate) fn tmux_there(&self) -> PathBuf {
        self.sandbox.root().join("tmux-there")
    }

    /// The programs on the machine.
    pub(crate) fn bin(&self) -> PathBuf {
        self.sandbox.root().join("there-bin")
    }

    pub(crate) fn make_key(&self, name: &str) {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(self.key(name));
        assert!(keygen.status().unwrap().success());
    }

    /// The shell there must not read the files of the user who runs the tests.
    pub(crate) fn write_server_config(&self) {
        let (home, bin) = (self.there(), self.bin());
        let text = format!(
            "ListenAddress 127.0.0.1\nPort {}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
             PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             SetEnv HOME={} PATH={}:/usr/bin:/bin TMUX_TMPDIR={}\n",
            self.port,
            self.key("server").display(),
            self.key("authorized").display(),
            home.display(),
            bin.display(),
            self.tmux_there().display(),
        );
        fs::write(self.key("sshd_config"), text).unwrap();
    }

    /// ssh looks for its files in the home directory of the password database, not in `$HOME`.
    pub(crate) fn write_client_config(&self, user: &str) {
        let text = format!(
            "Host big\nHostName 127.0.0.1\nPort {}\nUser {user}\nIdentityFile {}\nIdentitiesOnly yes\n\
             UserKnownHostsFile {}\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n",
            self.port,
            self.key("user").display(),
            self.key("known").display(),
        );
        let config = self.key("ssh_config");
        fs::write(&config, text).unwrap();
        self.sandbox
            .install_program("ssh", &format!("#!/bin/sh\nexec {SSH} -F {} \"$@\"\n", config.display()));
    }

    pub(crate) fn know_server(&self) {
        let key = fs::read_to_string(self.key("server.pub")).unwrap();
        fs::write(self.key("known"), format!("[127.0.0.1]:{} {key}", self.port)).unwrap();
    }

    pub(crate) fn run(&mut self) {
        let server = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(self.key("sshd_config"))
            .stderr(Stdio::null())
            .spawn();
        self.server = Some(server.unwrap());
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", self.port)).ok());
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Ends the connections that are open, as a network that fails.
    pub(crate) fn end_connections(&self) {
        let config = self.key("ssh_config").display().to_string();
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_ours = |pid: &u32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).into_owned();
            command.starts_with(SSH) && command.contains(&config)
        };
        for pid in pids.filter(is_ours) {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    }

    /// Puts a program on the machine that prints one line.
    pub(crate) fn install(&self, name: &str, line: &str) {
        let path = self.bin().join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("#!/bin/sh\necho '{line}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The machine loses a program that is also installed on this system: its other programs get a directory of their own.
    pub(crate) fn remove_program(&mut self, name: &str) {
        let others = self.sandbox.root().join("there-others");
        fs::create_dir_all(&others).unwrap();
        for entry in fs::read_dir("/usr/bin").unwrap().map(Result::unwrap) {
            if entry.file_name() != *name {
                std::os::unix::fs::symlink(entry.path(), others.join(entry.file_name())).unwrap();
            }
        }
        fs::remove_file(self.bin().join(name)).unwrap();
        let config = fs::read_to_string(self.key("sshd_config")).unwrap();
        fs::write(self.key("sshd_config"), config.replace("/usr/bin:/bin", &others.display().to_string()))
            .unwrap();
        self.stop();
        self.run();
    }

    /// Asks the tmux server of the machine.
    pub(crate) fn tmux(&self, args: &[&str]) -> RunOutput {
        let tmux = self.sandbox.root().join("tools/tmux");
        let output =
            self.sandbox.command(tmux).env("TMUX_TMPDIR", self.tmux_there()).args(args).output().unwrap();
        RunOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn host(&self, args: &[&str]) -> RunOutput {
        let args: Vec<&str> = ["host"].into_iter().chain(args.iter().copied()).collect();
        self.sandbox.run(&self.sandbox.root(), self.program(), &args)
    }
}

/// Another machine in the same sandbox, with the same programs and a home directory of its own.
pub(crate) struct SecondMachine {
    home: PathBuf,
    tmux_dir: PathBuf,
    tmux: PathBuf,
    server: Child,
}

impl SecondMachine {
    pub(crate) fn start(first: &Machine) -> Self {
        let root = first.sandbox.root();
        let (home, tmux_dir) = (root.join("gpu"), root.join("tmux-gpu"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&tmux_dir).unwrap();
        fs::copy(first.there().join(".profile"), home.join(".profile")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let replaced = |text: String| {
            text.replace(&format!("Port {}", first.port), &format!("Port {port}"))
                .replace(&format!("HOME={}", first.there().display()), &format!("HOME={}", home.display()))
                .replace(&first.tmux_there().display().to_string(), &tmux_dir.display().to_string())
        };
        let config = first.key("sshd_config_gpu");
        fs::write(&config, replaced(fs::read_to_string(first.key("sshd_config")).unwrap())).unwrap();
        let client = fs::read_to_string(first.key("ssh_config")).unwrap();
        let second = replaced(client.clone()).replace("Host big", "Host gpu");
        fs::write(first.key("ssh_config"), format!("{client}{second}")).unwrap();
        let key = fs::read_to_string(first.key("server.pub")).unwrap();
        let known = fs::read_to_string(first.key("known")).unwrap();
        fs::write(first.key("known"), format!("{known}[127.0.0.1]:{port} {key}")).unwrap();
        let server =
            Command::new(SSHD).args(["-D", "-e", "-f"]).arg(&config).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the second server listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        Self { home, tmux_dir, tmux: root.join("tools/tmux"), server }
    }

    /// The home directory there.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }
}

impl Drop for SecondMachine {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = Command::new(&self.tmux).env("TMUX_TMPDIR", &self.tmux_dir).arg("kill-server").output();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop();
        self.tmux(&["kill-server"]);
    }
}
