//! `git paw verify`

use std::process::{Child, Stdio};

use paw_testkit::{RunOutput, Sandbox, TestRepo, wait_until};
use serde_json::{Value, json};

use crate::interrupted::find_process;
use crate::paw::{PROGRAM, document, paw};

/// A repository with a branch `feat/x` in a linked worktree, one commit ahead.
fn project() -> (Sandbox, TestRepo) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let tree = sandbox.root().join("app-feat-x");
    repo.git(["worktree", "add", "--quiet", "-b", "feat/x", tree.to_str().unwrap()]);
    let tree = TestRepo { root: tree };
    tree.commit_file("work.txt", "work\n", "work");
    (sandbox, repo)
}

fn configure(sandbox: &Sandbox, test_command: &str) {
    let text = format!("[broker]\nport = 0\n[supervisor]\ntest_command = \"{test_command}\"\n");
    sandbox.write("home/.config/git-paw/config.toml", &text);
}

fn verify(sandbox: &Sandbox, repo: &TestRepo, more: &[&str]) -> (RunOutput, Value) {
    let ran = paw(sandbox, &repo.root, &[&["verify", "feat/x", "--json"], more].concat());
    let answer = document(&ran);
    (ran, answer)
}

#[test]
fn verify_exits_with_zero_only_for_a_verified_branch() {
    let (sandbox, repo) = project();
    configure(&sandbox, "test -f work.txt");
    let (ran, answer) = verify(&sandbox, &repo, &[]);
    assert_eq!((ran.code, &answer["verdict"], &answer["published"]), (0, &json!("verified"), &json!(false)));
    assert_eq!(answer["commit"], repo.git(["rev-parse", "feat/x"]));
    assert_eq!(answer["gates"][0]["status"], "passed");
    configure(&sandbox, "echo broken; ! test -f work.txt");
    let (ran, answer) = verify(&sandbox, &repo, &[]);
    assert_eq!((ran.code, &answer["verdict"]), (1, &json!("failed")));
    assert!(answer["errors"][0].as_str().unwrap().starts_with("[testing] test:"), "{ran}");
    let ran = paw(&sandbox, &repo.root, &["verify", "feat/x"]);
    assert!(
        ran.code == 1 && ran.stdout.contains("failed feat/x at ") && ran.stderr.contains("broken"),
        "{ran}"
    );
}

#[test]
fn verify_without_configured_gates_is_unproven() {
    let (sandbox, repo) = project();
    let (ran, answer) = verify(&sandbox, &repo, &[]);
    assert_eq!((ran.code, &answer["verdict"]), (1, &json!("unproven")));
}

#[test]
fn verify_runs_the_repositorys_gates_only_after_approval() {
    let (mut sandbox, repo) = project();
    repo.write(".git-paw/config.toml", "[supervisor]\ntest_command = \"touch ../ran\"\n");
    let (ran, answer) = verify(&sandbox, &repo, &[]);
    assert!(ran.code == 1 && answer["error"]["message"].as_str().unwrap().contains("touch ../ran"), "{ran}");
    sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
    let (_, answer) = verify(&sandbox, &repo, &["--trust"]);
    assert!(answer["error"]["message"].as_str().unwrap().contains("an agent cannot approve"));
    assert!(!sandbox.root().join("ran").exists());
    let mut sandbox = sandbox;
    sandbox.set("GIT_PAW_AGENT_ID", "");
    assert_eq!(verify(&sandbox, &repo, &["--trust"]).0.code, 1, "an empty id is an agent's too");
}

#[test]
fn verify_asks_again_only_if_approved_gates_change() {
    let (sandbox, repo) = project();
    repo.write(".git-paw/config.toml", "[supervisor]\ntest_command = \"true\"\n");
    assert_eq!(verify(&sandbox, &repo, &["--trust"]).1["verdict"], "verified");
    assert_eq!(verify(&sandbox, &repo, &[]).1["verdict"], "verified");
    repo.write(".git-paw/config.toml", "[supervisor]\ntest_command = \"true \"\n");
    assert_eq!(verify(&sandbox, &repo, &[]).1["error"]["code"], "INVALID_ARGUMENT");
}

#[test]
#[cfg(target_os = "linux")]
fn every_process_of_a_run_ends_with_it_even_a_daemon_without_environment() {
    for sandbox_runs in ["", "runs = \"off\""] {
        let (sandbox, repo) = project();
        let (root, daemon) = (sandbox.root(), sandbox.root().join("daemon"));
        let start = format!(
            "(setsid env -i sh -c 'touch {0}/started; cd /; sleep 600; :' {1} >/dev/null 2>&1 </dev/null &)\n\
             while ! test -e {0}/started; do :; done\n",
            root.display(),
            daemon.display()
        );
        sandbox.write("start-daemon", &start);
        for end in ["", "; kill -9 $$", "; exit 3"] {
            let _ = std::fs::remove_file(root.join("started"));
            configure(&sandbox, &format!("sh {}/start-daemon{end}", root.display()));
            let config = sandbox.root().join("home/.config/git-paw/config.toml");
            let text = std::fs::read_to_string(&config).unwrap();
            std::fs::write(&config, format!("{text}[sandbox]\n{sandbox_runs}\n")).unwrap();
            let (ran, answer) = verify(&sandbox, &repo, &[]);
            assert!(root.join("started").exists(), "{ran}");
            assert_eq!(find_process(&daemon), None, "{end}: {ran}");
            assert_eq!(answer["verdict"] == "verified", end.is_empty(), "{ran}");
        }
    }
}

#[test]
fn git_commands_of_a_gate_work_and_do_not_reach_the_repository() {
    let (sandbox, repo) = project();
    let refs = repo.git(["for-each-ref"]);
    configure(
        &sandbox,
        "git diff --exit-code && git merge-base main HEAD && git commit --quiet --allow-empty -m x && git tag v1",
    );
    let (ran, answer) = verify(&sandbox, &repo, &[]);
    assert_eq!(answer["verdict"], "verified", "{ran}");
    assert_eq!(repo.git(["for-each-ref"]), refs);
}

#[test]
fn verify_ignores_gates_configured_on_the_branch() {
    let (sandbox, repo) = project();
    configure(&sandbox, "false");
    let tree = TestRepo { root: sandbox.root().join("app-feat-x") };
    tree.commit_file(".git-paw/config.toml", "[supervisor]\ntest_command = \"true\"\n", "easy");
    assert_ne!(verify(&sandbox, &repo, &[]).1["verdict"], "verified");
}

#[test]
fn verify_reports_governance_documents_with_checklists() {
    let (sandbox, repo) = project();
    repo.write("DOD.md", "- [ ] tests\n- [x] docs\n");
    let text =
        "[supervisor]\nspec_validate_command = \"cat $GIT_PAW_GOVERNANCE\"\n[governance]\ndod = \"DOD.md\"\n";
    sandbox.write("home/.config/git-paw/config.toml", text);
    let (ran, answer) = verify(&sandbox, &repo, &[]);
    assert_eq!(answer["governance"][0]["items"][0], json!({"text": "tests", "done": false}), "{ran}");
    assert!(
        answer["gates"][0]["tail"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().contains("tests"))
    );
}

#[test]
fn verify_names_unknown_branches_and_gates() {
    let (sandbox, repo) = project();
    configure(&sandbox, "true");
    let ran = paw(&sandbox, &repo.root, &["verify", "feat/none", "--json"]);
    assert!(document(&ran)["error"]["message"].as_str().unwrap().contains("feat/none"), "{ran}");
    let ran = paw(&sandbox, &repo.root, &["verify", "feat/x", "--gate", "luck"]);
    assert!(ran.code == 2 && ran.stderr.contains("luck"), "{ran}");
}

/// A broker that stops with the test.
pub(crate) struct Broker(Child);

impl Broker {
    pub(crate) fn serve(sandbox: &Sandbox, repo: &TestRepo) -> Self {
        let mut command = sandbox.command(PROGRAM);
        command.arg("serve").current_dir(&repo.root).stdout(Stdio::null()).stderr(Stdio::null());
        let broker = Self(command.spawn().unwrap());
        wait_until("the broker is running", || {
            repo.root.join(".git/paw/endpoint.json").exists().then_some(())
        });
        broker
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn verify_publishes_verified_and_failed_branches() {
    let (sandbox, repo) = project();
    configure(&sandbox, "test -f work.txt");
    let _broker = Broker::serve(&sandbox, &repo);
    assert_eq!(verify(&sandbox, &repo, &[]).1["published"], json!(true));
    configure(&sandbox, "! test -f work.txt");
    assert_eq!(verify(&sandbox, &repo, &[]).1["published"], json!(true));
    let trail = wait_until("both messages are in the trail", || {
        let trail = std::fs::read_to_string(repo.root.join(".git-paw/broker.log")).ok()?;
        (trail.contains("agent.verified") && trail.contains("agent.feedback")).then_some(trail)
    });
    let commit = repo.git(["rev-parse", "feat/x"]);
    let verified = trail.lines().find(|line| line.contains("agent.verified")).unwrap();
    assert!(
        verified.contains(&commit) && verified.contains("feat-x") && verified.contains("operator"),
        "{verified}"
    );
    let feedback = trail.lines().find(|line| line.contains("agent.feedback")).unwrap();
    assert!(feedback.contains("[testing]") && feedback.contains("[regression]"), "{feedback}");
}

#[test]
fn a_requested_run_ends_with_its_caller() {
    let (mut sandbox, repo) = project();
    let started = sandbox.root().join("started");
    let gate = format!("echo $$ >{}; sleep 600", started.display());
    let config = format!(
        "[broker]\nport = 0\nauth = \"none\"\n[sandbox]\nruns = \"off\"\n[supervisor]\ntest_command = {gate:?}\n"
    );
    sandbox.write("home/.config/git-paw/config.toml", &config);
    let _broker = Broker::serve(&sandbox, &repo);
    sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
    let mut command = sandbox.command(PROGRAM);
    command.args(["verify", "feat/x"]).current_dir(&repo.root).stdout(Stdio::null()).stderr(Stdio::null());
    let mut caller = command.spawn().unwrap();
    let pid: u32 = wait_until("the gate runs", || {
        std::fs::read_to_string(&started).ok().and_then(|pid| pid.trim().parse().ok())
    });
    caller.kill().unwrap();
    caller.wait().unwrap();
    wait_until("the gate has ended", || (!paw_host::process::exists(pid)).then_some(()));
}
