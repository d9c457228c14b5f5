//! `git paw host`, against a real ssh server with its own home directory and PATH.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use paw_testkit::{RunOutput, Sandbox, wait_until};
use serde_json::json;

use crate::paw::{PROGRAM, document};

const SSHD: &str = "/usr/sbin/sshd";
const SSH: &str = "/usr/bin/ssh";

/// A machine that is reached by ssh.
struct Machine {
    sandbox: Sandbox,
    port: u16,
    server: Option<Child>,
}

impl Machine {
    /// `None`, with a note in the test's output, where no server can run.
    #[expect(
        clippy::disallowed_macros,
        clippy::print_stderr,
        reason = "a skipped test reports that in its output"
    )]
    fn start() -> Option<Self> {
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        if !is_root || !Path::new(SSHD).exists() || !Path::new(SSH).exists() {
            eprintln!("skipped: this needs root and an ssh server (scripts/install-tools installs it)");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut machine = Self { sandbox: Sandbox::new(), port, server: None };
        // The server separates privileges in this directory.
        fs::create_dir_all("/run/sshd").unwrap();
        for dir in [machine.bin(), machine.there(), machine.keys()] {
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

    fn keys(&self) -> PathBuf {
        self.sandbox.root().join("keys")
    }

    /// The program under test. Without symbols it is copied faster.
    fn program(&self) -> PathBuf {
        self.keys().join("git-paw")
    }

    fn key(&self, name: &str) -> PathBuf {
        self.keys().join(name)
    }

    /// The home directory on the machine.
    fn there(&self) -> PathBuf {
        self.sandbox.root().join("there")
    }

    /// The programs on the machine.
    fn bin(&self) -> PathBuf {
        self.sandbox.root().join("there-bin")
    }

    fn make_key(&self, name: &str) {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(self.key(name));
        assert!(keygen.status().unwrap().success());
    }

    /// The shell there must not read the files of the user who runs the tests.
    fn write_server_config(&self) {
        let (home, bin) = (self.there(), self.bin());
        let text = format!(
            "ListenAddress 127.0.0.1\nPort {}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
             PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             SetEnv HOME={} PATH={}:/usr/bin:/bin\n",
            self.port,
            self.key("server").display(),
            self.key("authorized").display(),
            home.display(),
            bin.display(),
        );
        fs::write(self.key("sshd_config"), text).unwrap();
    }

    /// ssh looks for its files in the home directory of the password database, not in `$HOME`.
    fn write_client_config(&self, user: &str) {
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

    fn know_server(&self) {
        let key = fs::read_to_string(self.key("server.pub")).unwrap();
        fs::write(self.key("known"), format!("[127.0.0.1]:{} {key}", self.port)).unwrap();
    }

    fn run(&mut self) {
        let server = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(self.key("sshd_config"))
            .stderr(Stdio::null())
            .spawn();
        self.server = Some(server.unwrap());
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", self.port)).ok());
    }

    fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Puts a program on the machine that prints one line.
    fn install(&self, name: &str, line: &str) {
        let path = self.bin().join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("#!/bin/sh\necho '{line}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn host(&self, args: &[&str]) -> RunOutput {
        let args: Vec<&str> = ["host"].into_iter().chain(args.iter().copied()).collect();
        self.sandbox.run(&self.sandbox.root(), self.program(), &args)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn a_machine_is_added_when_it_is_ready_and_the_program_is_copied_on_request() {
    let Some(machine) = Machine::start() else { return };
    let missing = machine.host(&["add", "big", "big"]);
    assert_eq!(missing.code, 1, "{missing}");
    assert!(missing.stderr.contains("big is not ready: git-paw is not installed"), "{missing}");
    assert!(missing.stderr.contains("--install"), "{missing}");
    assert!(document(&machine.host(&["list", "--json"]))["hosts"].as_array().unwrap().is_empty());
    let added = machine.host(&["add", "big", "big", "--install"]);
    assert!(added.code == 0 && added.stdout.contains("added 'big' (big) to"), "{added}");
    let copy = machine.there().join(".local/bin/git-paw");
    assert_eq!(fs::metadata(&copy).unwrap().len(), fs::metadata(machine.program()).unwrap().len());
    assert_eq!(fs::read_dir(copy.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
    let listed = document(&machine.host(&["list", "--json"]));
    assert_eq!(listed["hosts"], json!([{"name": "big", "ssh": "big"}]));
    let checked = document(&machine.host(&["doctor", "--json"]));
    assert_eq!(
        (&checked["ok"], &checked["hosts"][0]["facts"]["user"]),
        (&json!(true), &json!("root")),
        "{checked}"
    );
    let removed = machine.host(&["remove", "big"]);
    assert_eq!(removed.code, 0, "{removed}");
    let again = machine.host(&["remove", "big"]);
    assert!(again.code == 1 && again.stderr.contains("no host 'big' in your configuration"), "{again}");
}

#[test]
fn doctor_names_what_is_wrong_with_a_machine() {
    let Some(mut machine) = Machine::start() else { return };
    machine.sandbox.write("home/.config/git-paw/config.toml", "# mine\n[hosts.big]\nssh = \"big\"\n");
    assert!(machine.sandbox.user_config().exists());
    let problem = |machine: &Machine| {
        let ran = machine.host(&["doctor", "big", "--json"]);
        let found = document(&ran);
        assert_eq!((ran.code, &found["ok"]), (1, &json!(false)), "{ran}");
        found["hosts"][0]["problems"][0]["message"].as_str().unwrap().to_owned()
    };
    machine.install("git-paw", "git-paw 0.0.1");
    assert!(problem(&machine).starts_with("git-paw is 0.0.1 there and "), "{}", problem(&machine));
    machine.install("git-paw", &format!("git-paw {}", env!("CARGO_PKG_VERSION")));
    machine.install("tmux", "tmux 2.8");
    assert_eq!(problem(&machine), "tmux 2.8 is too old; 3.2 or newer is needed");
    machine.install("tmux", "tmux 3.4");
    machine.install("date", "1000000000");
    let skewed = machine.host(&["doctor"]);
    assert!(skewed.code == 0 && skewed.stdout.contains("its clock is off by -"), "only a warning: {skewed}");

    machine.write_client_config("no-such-user");
    assert_eq!(problem(&machine), "big refuses this user or key");
    machine.write_client_config("root");
    fs::write(machine.key("known"), "").unwrap();
    assert_eq!(problem(&machine), "the host key of big is not known");
    let other = fs::read_to_string(machine.key("user.pub")).unwrap();
    fs::write(machine.key("known"), format!("[127.0.0.1]:{} {other}", machine.port)).unwrap();
    assert_eq!(problem(&machine), "the host key of big has changed");
    machine.know_server();
    machine.stop();
    assert!(problem(&machine).starts_with("cannot reach big: "), "{}", problem(&machine));

    let unknown = machine.host(&["doctor", "gpu"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("no host 'gpu'"), "{unknown}");
    for bad in ["-oProxyCommand=touch x", "a;b", "$(touch x)"] {
        let refused = machine.host(&["add", "big", "--", bad]);
        assert_eq!(refused.code, 2, "{refused}");
    }
}
