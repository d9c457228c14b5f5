//! A sandbox with a repository and daemons.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use paw_daemon::proto::conversation_event::Event;
use paw_daemon::proto::{
    Conversation, ConversationEvent, CreateWorktreeRequest, ListWorktreesRequest, SendMessageRequest,
    StartConversationRequest, WorktreeInfo,
};
use paw_daemon::{DaemonClient, DaemonOptions};
use paw_host::clock::Stopwatch;
use paw_testkit::{Sandbox, TestRepo, wait_until};
use prost::Message as _;
use serde_json::Value;
use tonic::{Status, Streaming};

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) repo: TestRepo,
}

impl World {
    /// A repository called `project` with the branches main, develop and feature/auth; main is checked out.
    pub(crate) fn new() -> Self {
        let mut sandbox = Sandbox::new();
        sandbox.set("XDG_RUNTIME_DIR", sandbox.root().join("run"));
        let repo = sandbox.repo("project");
        for branch in ["develop", "feature/auth"] {
            repo.git(["branch", branch]);
        }
        Self { sandbox, repo }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.sandbox.root().join(name)
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.sandbox.home().join(".local/share/git-paw")
    }

    pub(crate) fn options(&self) -> DaemonOptions {
        DaemonOptions {
            socket: self.at("run/git-paw/daemon.sock"),
            data_dir: self.data_dir(),
            user_config: self.sandbox.user_config(),
            search_path: self.at("bin").into_os_string(),
            grace: Duration::from_secs(10),
        }
    }

    pub(crate) fn configure(&self, text: &str) {
        self.sandbox.write("home/.config/git-paw/config.toml", text);
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.data_dir().join("daemon.log")).unwrap_or_default()
    }

    /// Starts a daemon process without waiting for it to serve.
    pub(crate) fn spawn(&self, variables: &[(&str, &str)]) -> Child {
        let mut command = self.sandbox.command(std::env::current_exe().unwrap());
        command.args(["--exact", "child::daemon", "--ignored", "--nocapture", "--test-threads=1"]);
        command
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    pub(crate) async fn daemon(&self) -> TestDaemon {
        self.daemon_with(&[]).await
    }

    pub(crate) async fn daemon_with(&self, variables: &[(&str, &str)]) -> TestDaemon {
        let socket = self.options().socket;
        let process = self.spawn(variables);
        wait_until("the daemon listens", || UnixStream::connect(&socket).ok());
        let client = DaemonClient::connect(&socket).await.unwrap();
        TestDaemon { process, client }
    }

    pub(crate) fn request(&self, branch: &str) -> CreateWorktreeRequest {
        CreateWorktreeRequest {
            repo_path: self.repo.root.display().to_string(),
            branch: branch.to_owned(),
            ..CreateWorktreeRequest::default()
        }
    }

    /// Everything that a failed creation could leave behind.
    pub(crate) fn traces(&self) -> (String, String, Vec<String>) {
        let mut siblings: Vec<_> = fs::read_dir(self.sandbox.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        siblings.sort();
        let listed = self.repo.git(["worktree", "list", "--porcelain"]);
        (listed, self.repo.git(["for-each-ref", "refs/heads"]), siblings)
    }

    /// Installs a `claude` that records its arguments, prints the given output, and then runs `after`.
    pub(crate) fn install_claude(&self, says: &str, after: &str) {
        let said = self.sandbox.write("claude.jsonl", says).display().to_string();
        let root = self.sandbox.root().display().to_string();
        let script = format!(
            "#!/bin/sh\npwd > {root}/claude.cwd\nprintf '%s\\n' \"$@\" >> {root}/claude.args\n\
             cat > {root}/claude.stdin\nenv > {root}/claude.env\necho $$ > {root}/claude.pid\ncat {said}\n{after}\n"
        );
        self.sandbox.install_program("claude", &script);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// A process id that a test program wrote to a file.
    pub(crate) fn pid(&self, name: &str) -> u32 {
        wait_until(&format!("{name} is written"), || self.read(name).trim().parse().ok())
    }
}

/// A daemon and a connection to it.
pub(crate) struct TestDaemon {
    pub(crate) process: Child,
    pub(crate) client: DaemonClient,
}

impl Drop for TestDaemon {
    /// Sends SIGTERM twice for an immediate shutdown; SIGKILL would leave turns running.
    fn drop(&mut self) {
        let pid = self.process.id().to_string();
        for _ in 0..2 {
            let _ = Command::new("kill").args(["-TERM", &pid]).stderr(Stdio::null()).status();
        }
        let watch = Stopwatch::start();
        while matches!(self.process.try_wait(), Ok(None)) {
            if watch.remaining(Duration::from_secs(20)).is_zero() {
                let _ = self.process.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl TestDaemon {
    pub(crate) async fn create(&self, request: CreateWorktreeRequest) -> Result<WorktreeInfo, Status> {
        Ok(self.client.worktrees.clone().create_worktree(request).await?.into_inner())
    }

    pub(crate) async fn list(&self) -> Vec<WorktreeInfo> {
        let request = ListWorktreesRequest::default();
        self.client.worktrees.clone().list_worktrees(request).await.unwrap().into_inner().worktrees
    }

    pub(crate) async fn converse(&self, worktree: &WorktreeInfo) -> Conversation {
        let request = StartConversationRequest { worktree_id: worktree.id.clone(), ..Default::default() };
        self.client.conversations.clone().start_conversation(request).await.unwrap().into_inner()
    }

    pub(crate) async fn send(
        &self,
        talk: &Conversation,
        content: &str,
    ) -> Result<Streaming<ConversationEvent>, Status> {
        let request = SendMessageRequest { conversation_id: talk.id.clone(), content: content.to_owned() };
        Ok(self.client.conversations.clone().send_message(request).await?.into_inner())
    }

    /// Runs a complete turn.
    pub(crate) async fn ask(&self, talk: &Conversation, content: &str) -> Result<Vec<Event>, Status> {
        let mut stream = self.send(talk, content).await?;
        let mut events = Vec::new();
        while let Some(event) = stream.message().await? {
            assert_eq!(event.sequence, events.len() as u64 + 1);
            events.push(event.event.unwrap());
        }
        Ok(events)
    }

    pub(crate) fn signal(&self, signal: &str) {
        signal_process(self.process.id(), signal);
    }

    /// Waits for the daemon to exit.
    pub(crate) fn wait(mut self) -> ExitStatus {
        wait_until("the daemon ends", || self.process.try_wait().unwrap())
    }
}

pub(crate) fn signal_process(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// Whether a process has exited; a zombie counts as exited.
pub(crate) fn is_gone(pid: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    state.is_empty() || state.starts_with('Z')
}

pub(crate) fn wait_until_gone(pid: u32) {
    wait_until(&format!("process {pid} is gone"), || is_gone(pid).then_some(()));
}

/// Code, message and details of an error as a client reads them. Checks that the JSON trailer agrees.
pub(crate) fn told(status: &Status) -> (String, String, Value) {
    let rich = tonic_types::pb::Status::decode(status.details()).unwrap();
    assert_eq!((rich.code, rich.message.as_str()), (status.code() as i32, status.message()));
    let details = rich.details.iter().find(|any| any.type_url.ends_with("/google.protobuf.Struct")).unwrap();
    let details = json(&prost_types::Value {
        kind: Some(prost_types::value::Kind::StructValue(
            prost_types::Struct::decode(details.value.as_slice()).unwrap(),
        )),
    });
    let readable = status.metadata().get("paw-details").unwrap().to_str().unwrap().to_owned();
    assert_eq!(plain(serde_json::from_str(&readable).unwrap()), details);
    let info = tonic_types::StatusExt::get_details_error_info(status).unwrap();
    assert_eq!(info.domain, "git-paw");
    (info.reason, status.message().to_owned(), details)
}

/// Converts numbers to floats, as in a `Struct`.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Object(fields) => fields.into_iter().map(|(name, item)| (name, plain(item))).collect(),
        Value::Array(list) => list.into_iter().map(plain).collect(),
        other => other,
    }
}

fn json(value: &prost_types::Value) -> Value {
    use prost_types::value::Kind;
    match value.kind.as_ref().unwrap() {
        Kind::NullValue(_) => Value::Null,
        Kind::NumberValue(number) => Value::from(*number),
        Kind::StringValue(text) => Value::from(text.as_str()),
        Kind::BoolValue(truth) => Value::from(*truth),
        Kind::StructValue(fields) => {
            fields.fields.iter().map(|(name, item)| (name.clone(), json(item))).collect()
        }
        Kind::ListValue(list) => list.values.iter().map(json).collect(),
    }
}

pub(crate) fn exists(path: &str) -> bool {
    Path::new(path).exists()
}
