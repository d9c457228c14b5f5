//! Commands that are asked to end while a gate runs: nothing of it is left, and nothing is made of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use paw_testkit::{RunOutput, Sandbox, TestRepo, wait_until};

use crate::paw::{PROGRAM, document, paw};

/// A gate that never ends, and the process it leaves behind.
pub(crate) struct EndlessGate {
    started: PathBuf,
    program: PathBuf,
    child: PathBuf,
}

impl EndlessGate {
    /// Puts it on the sandbox's PATH, as `endless`.
    pub(crate) fn install(sandbox: &Sandbox) -> Self {
        let (started, child) = (sandbox.root().join("started"), sandbox.root().join("endless-child"));
        let body = format!(
            "#!/bin/sh\nsetsid sh -c 'sleep 3600; :' '{}' &\necho > '{}'\nsleep 3600\n",
            child.display(),
            started.display()
        );
        sandbox.install_program("endless", &body);
        Self { started, program: sandbox.root().join("bin/endless"), child }
    }

    /// Its processes, once it has started them.
    pub(crate) fn wait(&self) -> Vec<String> {
        wait_until("the gate runs", || self.started.exists().then_some(()));
        wait_until("both of its processes run", || {
            let pids = [&self.program, &self.child].map(|argument| find_process(argument));
            pids.into_iter().collect::<Option<Vec<_>>>()
        })
    }
}

/// The process with this argument. A process in a sandbox does not know the id that it has outside.
pub(crate) fn find_process(argument: &Path) -> Option<String> {
    let wanted = argument.as_os_str().as_encoded_bytes();
    let is_it = |pid: &String| {
        let line = fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == wanted)
    };
    let entries =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    entries.filter(|name| name.parse::<u32>().is_ok()).find(is_it)
}

pub(crate) fn are_gone(pids: &[String]) {
    assert_eq!(pids.len(), 2);
    for pid in pids {
        let ended = |stat: String| stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z'));
        let stat = || fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        wait_until("what the gate has started is gone", || stat().map_or(true, ended).then_some(()));
    }
}

pub(crate) fn terminate(child: &Child) {
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

/// A repository with a branch `feat/x`, one commit ahead, and the endless gate.
fn project() -> (Sandbox, TestRepo, EndlessGate) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.git(["checkout", "--quiet", "-b", "feat/x"]);
    repo.commit_file("work.txt", "work\n", "work");
    repo.git(["checkout", "--quiet", "main"]);
    let gate = EndlessGate::install(&sandbox);
    configure(&sandbox, "endless");
    (sandbox, repo, gate)
}

fn configure(sandbox: &Sandbox, test_command: &str) {
    let text = format!("[broker]\nport = 0\n[supervisor]\ntest_command = \"{test_command}\"\n");
    sandbox.write("home/.config/git-paw/config.toml", &text);
}

/// Runs a command, asks it to end once its gate runs, and waits for that.
fn terminated(sandbox: &Sandbox, repo: &TestRepo, gate: &EndlessGate, args: &[&str]) -> RunOutput {
    let mut command = sandbox.command(PROGRAM);
    command.args(args).current_dir(&repo.root);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pids = gate.wait();
    terminate(&child);
    let output = child.wait_with_output().unwrap();
    are_gone(&pids);
    RunOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn verify_ends_what_it_has_started_and_holds_nothing_against_the_branch() {
    let (sandbox, repo, gate) = project();
    let ran = terminated(&sandbox, &repo, &gate, &["verify", "feat/x", "--json"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(document(&ran)["error"].is_object(), "{ran}");
    let commit = repo.git(["rev-parse", "feat/x"]);
    let kept = repo.root.join(".git/paw/gates").join(commit);
    assert!(!kept.join("result.json").exists() && !kept.join("test.log").exists());
    configure(&sandbox, "test -f work.txt");
    let ran = paw(&sandbox, &repo.root, &["verify", "feat/x", "--json"]);
    assert_eq!((ran.code, document(&ran)["verdict"].as_str()), (0, Some("verified")), "{ran}");
}

#[test]
fn merge_ends_its_tests_and_leaves_main_where_it_was() {
    let (sandbox, repo, gate) = project();
    let main = repo.git(["rev-parse", "main"]);
    let ran = terminated(&sandbox, &repo, &gate, &["merge", "--only", "feat/x", "--json"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(document(&ran)["error"].is_object(), "{ran}");
    assert_eq!(repo.git(["rev-parse", "main"]), main);
    configure(&sandbox, "true");
    let ran = paw(&sandbox, &repo.root, &["merge", "--only", "feat/x", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(repo.git(["rev-parse", "main"]), repo.git(["rev-parse", "feat/x"]));
}
