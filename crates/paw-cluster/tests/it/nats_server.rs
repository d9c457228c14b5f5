//! A server that can be killed, and whose files can be set back.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use async_nats::jetstream;
use paw_testkit::wait_until;
use tempfile::TempDir;

const PROGRAM: &str = "nats-server";
/// Debian's, which people have on servers of their own.
pub(crate) const OLD_PROGRAM: &str = "nats-server-2.9";

pub(crate) struct NatsServer {
    dir: TempDir,
    port: u16,
    program: &'static str,
    child: Option<Child>,
}

impl NatsServer {
    /// `None`, with a note in the test's output, where no server is installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_program(PROGRAM)
    }

    pub(crate) fn start_program(program: &'static str) -> Option<Self> {
        if is_program_missing(program) {
            return None;
        }
        let dir = tempfile::Builder::new().prefix("paw-nats-").tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { dir, port, program, child: None };
        server.configure();
        server.run();
        Some(server)
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("server.conf")
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// Older servers refuse to sync every write; they work without.
    fn configure(&self) {
        for sync in ["sync_interval: always", ""] {
            let store = self.store();
            let text = format!(
                "listen: 127.0.0.1:{}\njetstream {{ store_dir: {:?}\n{sync} }}\n",
                self.port,
                store.display().to_string()
            );
            fs::write(self.config(), text).unwrap();
            let checked = Command::new(self.program).arg("-t").arg("-c").arg(self.config()).output().unwrap();
            if checked.status.success() {
                return;
            }
        }
        panic!("{} refuses its configuration", self.program);
    }

    pub(crate) fn run(&mut self) {
        let child = Command::new(self.program).arg("-c").arg(self.config()).stderr(Stdio::null()).spawn();
        self.child = Some(child.unwrap());
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", self.port)).ok());
    }

    /// Continues with another version of the program, on the same files.
    pub(crate) fn upgrade(&mut self) {
        self.kill();
        self.program = PROGRAM;
        self.configure();
        self.run();
    }

    /// Ends it without a warning.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Copies the server's files, while it is down, and returns the copy.
    pub(crate) fn back_up(&mut self) -> TempDir {
        self.kill();
        let copy = tempfile::tempdir().unwrap();
        copy_dir(&self.store(), &copy.path().join("store"));
        self.run();
        copy
    }

    /// Replaces the server's files by an older copy.
    pub(crate) fn restore(&mut self, copy: &TempDir) {
        self.kill();
        fs::remove_dir_all(self.store()).unwrap();
        copy_dir(&copy.path().join("store"), &self.store());
        self.run();
    }

    /// As an administrator would.
    pub(crate) fn delete_streams(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let context = jetstream::new(async_nats::connect(self.url()).await.unwrap());
            let mut names = context.stream_names();
            let mut found = Vec::new();
            while let Some(name) = tokio_stream::StreamExt::next(&mut names).await {
                found.push(name.unwrap());
            }
            for name in found {
                context.delete_stream(name).await.unwrap();
            }
        });
    }

    /// Stores an entry that no host has signed.
    pub(crate) fn store_entry(&self, subject: &str, payload: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let context = jetstream::new(async_nats::connect(self.url()).await.unwrap());
            context.publish(subject.to_owned(), payload.to_owned().into()).await.unwrap().await.unwrap();
        });
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Says so in the test's output.
pub(crate) fn is_missing() -> bool {
    is_program_missing(PROGRAM)
}

fn is_program_missing(program: &str) -> bool {
    let is_missing = Command::new(program).arg("--version").output().is_err();
    if is_missing {
        eprintln!("skipped: {program} is not installed (scripts/install-runners does it)");
    }
    is_missing
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
