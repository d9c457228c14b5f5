//! Machines for the demo, on this computer: an ssh server with its own home directory and tmux server each. Where it is allowed, each
//! has a network namespace, and its cable can be pulled.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use paw_core::paths::ConfigDir;
use paw_core::{ErrorCode, PawError};
use paw_host::files::{self, Access};
use paw_host::process::{Command, find_program, shell_quote};

pub(super) const HUB: &str = "hub";
pub(super) const HOSTS: [&str; 2] = ["big", "gpu"];
const NETWORK: &str = "10.98.0";

/// How the machines are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separation {
    /// Each machine has a network namespace.
    Namespaces,
    /// All machines use this computer's loopback.
    Loopback,
}

pub(super) struct Machines {
    dir: PathBuf,
    program: PathBuf,
    search_path: OsString,
    pub(super) separation: Separation,
}

impl Machines {
    /// Starts the ssh servers. The hub is this user, in a network of its own if there are namespaces.
    pub(super) fn start(dir: &Path, program: &Path, search_path: &OsString) -> Result<Self, PawError> {
        // Servers are often in directories that only root has on PATH.
        let mut search_path = search_path.clone();
        search_path.push(":/usr/sbin:/sbin:/usr/local/sbin");
        let mut machines = Self {
            dir: dir.to_path_buf(),
            program: program.to_path_buf(),
            search_path,
            separation: Separation::Namespaces,
        };
        for tool in ["ssh", "ssh-keygen", "sshd"] {
            machines.require(tool)?;
        }
        if machines.create_network().is_err() {
            machines.remove_network();
            machines.separation = Separation::Loopback;
        }
        machines.make_key("user")?;
        let mut client = String::new();
        for (number, name) in (2..).zip(HOSTS) {
            client.push_str(&machines.add(number, name)?);
        }
        machines.write_client(&client)?;
        HOSTS.into_iter().try_for_each(|name| machines.connect(name))?;
        Ok(machines)
    }

    pub(super) fn home(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// PATH of the hub, whose ssh knows the machines.
    pub(super) fn path_of_hub(&self) -> OsString {
        let mut path = self.dir.join("bin").into_os_string();
        path.push(":");
        path.push(&self.search_path);
        path
    }

    fn require(&self, tool: &str) -> Result<PathBuf, PawError> {
        find_program(tool, &self.search_path).ok_or_else(|| {
            PawError::new(ErrorCode::FailedPrecondition, format!("{tool} is not installed"))
                .hint("install an ssh client and server, for example with 'sudo apt install openssh-server'")
        })
    }

    fn namespace(&self, name: &str) -> String {
        let label = self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("{label}-{name}")
    }

    /// A program on a machine.
    pub(super) fn within(&self, name: &str, program: impl Into<OsString>) -> Command {
        match self.separation {
            Separation::Namespaces => {
                let ip = self.require("ip").unwrap_or_else(|_| "ip".into());
                Command::new(ip).args(["netns", "exec", &self.namespace(name)]).arg(program.into())
            }
            Separation::Loopback => Command::new(program.into()),
        }
    }

    fn run(command: &Command) -> Result<(), PawError> {
        let output = command.capture()?;
        if output.exit.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(PawError::SessionError(format!("a machine of the demo cannot be set up: {}", said.trim())))
    }

    fn ip(&self, args: &[&str]) -> Result<(), PawError> {
        Self::run(&Command::new(self.require("ip")?).args(args))
    }

    /// A switch, and a cable to each machine.
    fn create_network(&self) -> Result<(), PawError> {
        let switch = self.namespace("switch");
        self.ip(&["netns", "add", &switch])?;
        self.ip(&["-n", &switch, "link", "add", "br0", "type", "bridge"])?;
        self.ip(&["-n", &switch, "link", "set", "br0", "up"])?;
        for (number, name) in (1..).zip([HUB].into_iter().chain(HOSTS)) {
            let (namespace, address) = (self.namespace(name), format!("{NETWORK}.{number}/24"));
            self.ip(&["netns", "add", &namespace])?;
            self.ip(&["-n", &namespace, "link", "set", "lo", "up"])?;
            let port = [
                "-n", &namespace, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns",
                &switch,
            ];
            self.ip(&port)?;
            self.ip(&["-n", &namespace, "address", "add", &address, "dev", "eth0"])?;
            self.ip(&["-n", &namespace, "link", "set", "eth0", "up"])?;
            self.ip(&["-n", &switch, "link", "set", name, "master", "br0", "up"])?;
        }
        Ok(())
    }

    fn remove_network(&self) {
        for name in [HUB, "switch"].into_iter().chain(HOSTS) {
            let _ = self.ip(&["netns", "delete", &self.namespace(name)]);
        }
    }

    fn make_key(&self, name: &str) -> Result<(), PawError> {
        let keygen = Command::new(self.require("ssh-keygen")?);
        Self::run(
            &keygen
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(self.dir.join(name).with_extension("key")),
        )
    }

    /// The files of a machine. Returns its lines in the configuration of the hub's ssh.
    fn add(&self, number: u8, name: &str) -> Result<String, PawError> {
        let home = self.home(name);
        let paw = format!("#!/bin/sh\nexec {} \"$@\"\n", shell_quote(self.program.as_os_str()));
        files::write_atomic(&home.join("bin/git-paw"), paw.as_bytes(), Access::Executable)?;
        files::write_atomic(&home.join(".tmux.conf"), b"set -g default-command sh\n", Access::Usual)?;
        files::create_private_dir(&home.join("tmux"))?;
        self.make_key(name)?;
        let (address, port) = match self.separation {
            Separation::Namespaces => (format!("{NETWORK}.{number}"), 22),
            Separation::Loopback => ("127.0.0.1".to_owned(), free_port()?),
        };
        let path = format!("{}/bin:{}:/usr/bin:/bin", home.display(), self.search_path.to_string_lossy());
        let text = format!(
            "ListenAddress {address}\nPort {port}\nHostKey {key}\nAuthorizedKeysFile {user}\nPidFile {home}/sshd.pid\nStrictModes no\n\
             UsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPrintMotd no\n\
             SetEnv \"HOME={home}\" \"PATH={path}\" \"TMUX_TMPDIR={home}/tmux\" LANG=C.UTF-8\n",
            key = self.dir.join(name).with_extension("key").display(),
            user = self.dir.join("user.key.pub").display(),
            home = home.display(),
        );
        files::write_atomic(&home.join("sshd_config"), text.as_bytes(), Access::Private)?;
        let key = files::load_text(&self.dir.join(format!("{name}.key.pub")))?.unwrap_or_default();
        let known = if port == 22 { address.clone() } else { format!("[{address}]:{port}") };
        files::write_atomic(&home.join("known"), format!("{known} {key}").as_bytes(), Access::Private)?;
        Ok(format!(
            "Host {name}\nHostName {address}\nPort {port}\nIdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile {}\n\
             GlobalKnownHostsFile none\nStrictHostKeyChecking yes\n",
            self.dir.join("user.key").display(),
            home.join("known").display(),
        ))
    }

    /// ssh reads its files in the home directory of the password database, so it gets another file.
    fn write_client(&self, text: &str) -> Result<(), PawError> {
        let config = self.dir.join("ssh_config");
        files::write_atomic(&config, text.as_bytes(), Access::Private)?;
        let real = self.require("ssh")?;
        let script = format!(
            "#!/bin/sh\nexec {} -F {} \"$@\"\n",
            shell_quote(real.as_os_str()),
            shell_quote(config.as_os_str())
        );
        Ok(files::write_atomic(&self.dir.join("bin/ssh"), script.as_bytes(), Access::Executable)?)
    }

    /// Writes the configuration of git paw there.
    pub(super) fn configure(&self, name: &str, text: &str) -> Result<(), PawError> {
        let file = ConfigDir::below(&self.home(name).join(".config")).config();
        Ok(files::write_atomic(&file, text.as_bytes(), Access::Usual)?)
    }

    fn run_server(&self, name: &str) -> Result<(), PawError> {
        files::create_private_dir(Path::new("/run/sshd")).ok();
        let server = self.within(name, self.require("sshd")?);
        Self::run(&server.arg("-f").arg(self.home(name).join("sshd_config")))
    }

    /// The machine can be reached.
    pub(super) fn connect(&self, name: &str) -> Result<(), PawError> {
        if self.separation == Separation::Loopback || self.pid(name).is_none() {
            return self.run_server(name);
        }
        self.ip(&["-n", &self.namespace("switch"), "link", "set", name, "up"])
    }

    /// The machine cannot be reached, and keeps working.
    pub(super) fn disconnect(&self, name: &str) -> Result<(), PawError> {
        match self.separation {
            Separation::Namespaces => {
                self.ip(&["-n", &self.namespace("switch"), "link", "set", name, "down"])
            }
            Separation::Loopback => {
                self.end_server(name);
                Ok(())
            }
        }
    }

    fn pid(&self, name: &str) -> Option<String> {
        let text = files::load_text(&self.home(name).join("sshd.pid")).ok().flatten()?;
        Some(text.trim().to_owned())
    }

    /// Ends the ssh server of a machine with its connections.
    fn end_server(&self, name: &str) {
        let Some(pid) = self.pid(name) else { return };
        let _ = Command::new("pkill").args(["-KILL", "-P", &pid]).capture();
        let _ = Command::new("kill").args(["-KILL", &pid]).capture();
        let _ = files::delete_file(&self.home(name).join("sshd.pid"));
    }

    /// Ends everything on the machines.
    fn end(&self) {
        for name in HOSTS {
            let tmux = self.within(name, "tmux").env("TMUX_TMPDIR", self.home(name).join("tmux"));
            let _ = tmux.env_remove("TMUX").arg("kill-server").capture();
            self.end_server(name);
        }
        if self.separation == Separation::Namespaces {
            for name in [HUB].into_iter().chain(HOSTS) {
                self.end_processes(&self.namespace(name));
            }
            self.remove_network();
        }
    }

    fn end_processes(&self, namespace: &str) {
        let Ok(ip) = self.require("ip") else { return };
        let Ok(listed) = Command::new(ip).args(["netns", "pids", namespace]).capture() else { return };
        let pids = String::from_utf8_lossy(&listed.stdout).into_owned();
        let _ = Command::new("kill").arg("-KILL").args(pids.split_whitespace()).capture();
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.end();
    }
}

fn free_port() -> Result<u16, PawError> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|error| PawError::internal(format!("no free port: {error}")))
}
