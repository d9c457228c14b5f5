//! Gates on real repositories.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use paw_core::BranchName;
use paw_core::config::{self, Layer, SandboxLevel};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_supervisor::gates::{
    self, Gate, GateError, GateProof, GateReport, GateRequest, GateStatus, GateStep, StopRequest,
};
use paw_supervisor::proof::ProofStore;
use paw_testkit::{TestRepo, git};
use paw_worktree::{Preparation, setup};

/// A repository with a branch `feat/x` in a linked worktree, one commit ahead of `main`.
struct Project {
    dir: tempfile::TempDir,
    repo: TestRepo,
    tree: PathBuf,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let repo = TestRepo::init(root.join("app"));
        repo.commit_file(".gitignore", "cache\n", "ignore");
        let tree = root.join("app-feat-x");
        repo.git(["worktree", "add", "--quiet", "-b", "feat/x", tree.to_str().unwrap()]);
        let project = Self { dir, repo, tree };
        project.commit("work.txt", "work\n");
        project
    }

    fn commit(&self, path: &str, text: &str) -> String {
        fs::write(self.tree.join(path), text).unwrap();
        git(&self.tree, ["add", "--", path]);
        git(&self.tree, ["commit", "--quiet", "--message", path]);
        git(&self.tree, ["rev-parse", "HEAD"])
    }

    fn kept(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("kept")
    }

    fn dirs(&self) -> Dirs {
        Dirs::below(&self.dir.path().canonicalize().unwrap().join("data"))
    }

    fn order(&self, steps: &[(Gate, &str)]) -> GateRequest {
        let step = |(gate, command): &(Gate, &str)| GateStep { gate: *gate, command: (*command).to_owned() };
        GateRequest {
            repo: Repo::discover(&self.repo.root).unwrap(),
            branch: BranchName::new("feat/x").unwrap(),
            steps: steps.iter().map(step).collect(),
            only: Vec::new(),
            limit: Duration::from_mins(1),
            keep_in: self.kept(),
            proofs: ProofStore::open(&Repo::discover(&self.repo.root).unwrap(), &self.dirs()),
            preparation: Preparation::default(),
            sandbox: Some(SandboxLevel::Off),
            governance: Vec::new(),
            stop: StopRequest::default(),
        }
    }

    fn verify(&self, steps: &[(Gate, &str)]) -> GateReport {
        run(&self.order(steps))
    }
}

fn run(order: &GateRequest) -> GateReport {
    gates::verify(order, Timestamp::UNIX_EPOCH, &mut |_| {}).unwrap()
}

fn printed(report: &GateReport, gate: Gate) -> String {
    let finding = report.findings.iter().find(|finding| finding.gate == gate).unwrap();
    fs::read_to_string(&finding.log).unwrap()
}

fn lines_in(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

#[test]
fn a_branch_with_passing_gates_is_verified_and_recorded_by_commit() {
    let project = Project::new();
    let report = project.verify(&[(Gate::Lint, "true"), (Gate::Test, "test -f work.txt")]);
    assert_eq!((report.proof, report.errors.len()), (GateProof::Verified, 0));
    assert_eq!(report.commit, git(&project.tree, ["rev-parse", "HEAD"]));
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&report.record).unwrap()).unwrap();
    assert_eq!((record["commit"].as_str(), &record["proof"]), (Some(&*report.commit), &"verified".into()));
}

#[test]
fn gates_never_run_in_the_agents_worktree() {
    let project = Project::new();
    fs::write(project.tree.join("cache"), "planted\n").unwrap();
    let report = project.verify(&[(Gate::Test, "pwd; test -e cache && echo found")]);
    let printed = printed(&report, Gate::Test);
    assert!(
        printed.starts_with(&project.kept().display().to_string()) && !printed.contains("found"),
        "{printed}"
    );
}

#[test]
fn a_broken_commit_fails_although_its_index_hides_the_working_file() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let project = Project::new();
        project.commit("code.txt", "broken\n");
        git(&project.tree, ["update-index", flag, "code.txt"]);
        fs::write(project.tree.join("code.txt"), "fine\n").unwrap();
        assert_eq!(git(&project.tree, ["status", "--porcelain"]), "");
        let report = project.verify(&[(Gate::Test, "grep fine code.txt")]);
        assert_eq!(report.proof, GateProof::Failed, "{flag}");
    }
}

#[test]
fn a_gate_cannot_change_tracked_files_for_the_next_one() {
    let project = Project::new();
    project.commit("code.txt", "broken\n");
    project.commit("gone.txt", "here\n");
    let cheat = "echo fine > code.txt; rm gone.txt; echo made > built.txt";
    let fixed = project.verify(&[(Gate::Lint, cheat), (Gate::Test, "grep fine code.txt")]);
    assert_eq!(fixed.proof, GateProof::Failed);
    let built = project.verify(&[(Gate::Build, cheat), (Gate::Test, "test -e gone.txt && cat built.txt")]);
    assert_eq!(
        built.proof,
        GateProof::Verified,
        "new files stay, as in other CI systems: {:?}",
        built.errors
    );
    let linked = "rm code.txt; mkdir code.txt; echo fine > code.txt/x";
    let linked = project.verify(&[(Gate::Lint, linked), (Gate::Test, "test -f code.txt")]);
    assert_eq!(linked.proof, GateProof::Verified, "{:?}", linked.errors);
}

#[test]
fn a_branch_does_not_find_what_another_branch_left() {
    let project = Project::new();
    project.repo.git(["branch", "feat/y", "feat/x"]);
    let steps = [(Gate::Test, "test -e cache && echo warm; echo > cache")];
    let other = GateRequest { branch: BranchName::new("feat/y").unwrap(), ..project.order(&steps) };
    assert_eq!(printed(&project.verify(&steps), Gate::Test), "");
    assert_eq!(printed(&run(&other), Gate::Test), "");
    assert_eq!(printed(&project.verify(&steps), Gate::Test), "warm\n");
    assert_eq!(printed(&run(&other), Gate::Test), "warm\n");
}

#[test]
fn a_new_checkout_is_seeded_with_build_output_of_main_that_can_be_moved() {
    let project = Project::new();
    project.repo.commit_file(".gitignore", "target\nvenv\n", "ignore");
    git(&project.tree, ["merge", "--quiet", "main"]);
    let make =
        "mkdir -p target venv; touch target/CACHEDIR.TAG; echo main > target/out; echo main > venv/out";
    let main =
        GateRequest { branch: BranchName::new("main").unwrap(), ..project.order(&[(Gate::Test, make)]) };
    assert_eq!(run(&main).proof, GateProof::Verified);
    let report = project.verify(&[(Gate::Test, "cat target/out; cat venv/out; echo branch > target/out")]);
    let printed = printed(&report, Gate::Test);
    assert!(printed.starts_with("main\n") && printed.contains("venv/out"), "{printed}");
    let look = GateRequest { branch: main.branch, ..project.order(&[(Gate::Test, "cat target/out")]) };
    let main = run(&look);
    assert_eq!(
        self::printed(&main, Gate::Test),
        "main\n",
        "a run of a branch does not write to main's checkout"
    );
}

#[test]
fn gates_do_not_see_uncommitted_files() {
    let project = Project::new();
    fs::write(project.tree.join("fix.txt"), "uncommitted\n").unwrap();
    let report = project.verify(&[(Gate::Test, "pwd; test -f fix.txt")]);
    assert_eq!(report.proof, GateProof::Failed);
    assert!(printed(&report, Gate::Test).starts_with(&project.kept().display().to_string()));
    assert_eq!(fs::read_to_string(project.tree.join("fix.txt")).unwrap(), "uncommitted\n");
    project.commit("fix.txt", "committed\n");
    assert_eq!(project.verify(&[(Gate::Test, "test -f fix.txt")]).proof, GateProof::Verified);
}

#[test]
fn the_kept_checkout_is_cleaned_but_keeps_ignored_files() {
    let project = Project::new();
    fs::write(project.tree.join("dirty"), "x").unwrap();
    let steps = [(
        Gate::Test,
        "test -f cache && echo warm; test -f left && echo left; echo > left; echo > cache; rm work.txt",
    )];
    assert_eq!(printed(&project.verify(&steps), Gate::Test), "");
    assert_eq!(printed(&project.verify(&steps), Gate::Test), "warm\n");
    fs::remove_dir_all(project.kept()).unwrap();
    assert_eq!(printed(&project.verify(&steps), Gate::Test), "");
}

#[test]
fn gates_refuse_a_foreign_directory_at_the_checkouts_path() {
    let project = Project::new();
    assert_eq!(project.verify(&[(Gate::Test, "true")]).proof, GateProof::Verified);
    let is_checkout = |path: &PathBuf| path.is_dir() && path.extension().is_none();
    let dir =
        fs::read_dir(project.kept()).unwrap().map(|entry| entry.unwrap().path()).find(is_checkout).unwrap();
    fs::remove_dir_all(dir.with_extension("state")).unwrap();
    fs::write(dir.join("mine"), "x").unwrap();
    let error = gates::verify(&project.order(&[(Gate::Test, "true")]), Timestamp::UNIX_EPOCH, &mut |_| {});
    assert!(error.is_err_and(|error| error.to_string().contains("not empty")));
    assert!(dir.join("mine").exists());
}

#[test]
fn the_kept_checkout_runs_no_repository_hooks() {
    let project = Project::new();
    fs::write(project.tree.join("dirty"), "x").unwrap();
    let hook = project.repo.root.join(".git/hooks/post-checkout");
    let ran = project.dir.path().join("hook-ran");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch '{}'\n", ran.display())).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(project.verify(&[(Gate::Test, "true")]).proof, GateProof::Verified);
    assert!(!ran.exists());
}

#[test]
fn two_runs_of_one_branch_wait_for_each_other_and_say_so() {
    let project = Project::new();
    let (started, go) = (project.dir.path().join("started"), project.dir.path().join("go"));
    let hold = format!("touch {}; while ! test -e {}; do sleep 0.01; done", started.display(), go.display());
    let first = project.order(&[(Gate::Test, &hold)]);
    let second = project.order(&[(Gate::Test, "true")]);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| run(&first));
        paw_testkit::wait_until("the first run has started", || started.exists().then_some(()));
        let mut waited = false;
        let report = gates::verify(&second, Timestamp::UNIX_EPOCH, &mut |line| {
            if line == "waiting: another run uses the checkout of feat/x" {
                waited = true;
                fs::write(&go, "").unwrap();
            }
        });
        assert!(waited && report.unwrap().proof == GateProof::Verified);
        assert_eq!(first.join().unwrap().proof, GateProof::Verified);
    });
}

#[test]
fn runs_of_different_branches_run_at_the_same_time() {
    let project = Project::new();
    project.repo.git(["branch", "feat/y", "feat/x"]);
    let dir = project.dir.path().display().to_string();
    let meet = |mine: &str, other: &str| {
        format!(
            "touch {dir}/{mine}; n=0; while ! test -e {dir}/{other}; do sleep 0.01; n=$((n+1)); test $n -lt 3000 || exit 1; done"
        )
    };
    let (x, y) = (meet("x", "y"), meet("y", "x"));
    let (x, y) = (project.order(&[(Gate::Test, &x)]), project.order(&[(Gate::Test, &y)]));
    let y = GateRequest { branch: BranchName::new("feat/y").unwrap(), ..y };
    std::thread::scope(|scope| {
        let y = scope.spawn(move || run(&y));
        assert_eq!(run(&x).proof, GateProof::Verified);
        assert_eq!(y.join().unwrap().proof, GateProof::Verified);
    });
}

#[test]
fn gates_run_again_if_the_branch_moves_meanwhile() {
    let project = Project::new();
    let (tree, moved) = (project.tree.display().to_string(), project.dir.path().join("moved"));
    let (moved, commit) = (moved.display(), "commit --quiet --allow-empty -m more");
    let once = format!("test -e {moved} || {{ touch {moved}; git -C {tree} {commit}; }}");
    let mut lines = Vec::new();
    let order = project.order(&[(Gate::Test, &once)]);
    let report =
        gates::verify(&order, Timestamp::UNIX_EPOCH, &mut |line| lines.push(line.to_owned())).unwrap();
    assert_eq!(
        (report.proof, report.commit),
        (GateProof::Verified, git(&project.tree, ["rev-parse", "HEAD"]))
    );
    let again = "feat/x moved while its gates ran: running the gates again (2 of 3)";
    assert!(lines.iter().any(|line| line == again), "{lines:?}");
}

#[test]
fn gates_are_void_if_the_branch_keeps_moving() {
    let project = Project::new();
    let command = format!("git -C {} commit --quiet --allow-empty -m more", project.tree.display());
    let report = project.verify(&[(Gate::Test, &command)]);
    assert_eq!(report.proof, GateProof::Void);
    assert!(report.reason.unwrap().contains("moved"));
    assert!(!report.record.exists());
    assert_eq!(git(&project.tree, ["rev-list", "--count", "main..feat/x"]), "4", "it ran three times");
}

#[test]
fn gates_that_change_hooks_settings_or_main_fail() {
    for (command, what) in [
        ("git update-ref refs/heads/main $GIT_PAW_COMMIT", "main moved"),
        ("echo $GIT_PAW_COMMIT > .git/refs/heads/main", "main moved"),
        (
            "mkdir -p .git/hooks; touch .git/hooks/pre-commit",
            "hooks/pre-commit in the git directory was created",
        ),
        ("git config core.fsmonitor ./planted", "the git setting core.fsmonitor was changed"),
        ("mkdir -p .git/info; echo '*.py filter=x' > .git/info/attributes", "info/attributes"),
        ("mkdir -p .git/info; echo conftest.py >> .git/info/exclude", "info/exclude"),
        ("git tag -f v1 HEAD~1", "the tag refs/tags/v1 was moved"),
        ("git replace HEAD HEAD~1", "refs/replace/"),
    ] {
        let project = Project::new();
        project.repo.commit_file("more.txt", "more\n", "more");
        project.repo.git(["tag", "v1"]);
        let command = format!("cd '{}' && {command}", project.repo.root.display());
        let report = project.verify(&[(Gate::Test, &command)]);
        assert_eq!(report.proof, GateProof::Failed, "{command}");
        let error = &report.errors[0];
        assert!(
            error.starts_with("[security audit] while the gates ran, ") && error.contains(what),
            "{error}"
        );
        assert!(report.reason.unwrap().contains(what) && !report.record.exists());
    }
}

#[test]
fn work_of_agents_and_of_the_user_does_not_fail_the_gates() {
    for (command, again) in [
        ("git branch feat/other && git config branch.feat/other.merge refs/heads/x", false),
        ("git update-ref refs/paw/rescue/x HEAD && git update-ref refs/remotes/origin/x HEAD", false),
        ("printf '# git-paw: ours\\n/AGENTS.md\\n' >> .git/info/exclude", false),
        ("test -e ../once || { touch ../once; git commit --quiet --allow-empty -m by-the-user; }", true),
        ("test -e ../once || { touch ../once; git tag v2; }", true),
    ] {
        let project = Project::new();
        let command = format!("cd '{}' && {command}", project.repo.root.display());
        let mut runs = 0;
        let order = project.order(&[(Gate::Test, &command)]);
        let mut count = |line: &str| runs += usize::from(line.starts_with("test: "));
        let report = gates::verify(&order, Timestamp::UNIX_EPOCH, &mut count).unwrap();
        assert_eq!((report.proof, runs), (GateProof::Verified, 1 + usize::from(again)), "{command}");
    }
}

#[test]
fn a_branch_is_unproven_without_configured_gates() {
    let project = Project::new();
    let report = project.verify(&[]);
    assert_eq!((report.proof, report.findings.len()), (GateProof::Unproven, 0));
    assert!(report.reason.unwrap().contains("no gate is configured"));
}

#[test]
fn gate_failures_have_tags_and_regressions_are_marked() {
    let project = Project::new();
    let report = project.verify(&[
        (Gate::Test, "if test -f work.txt; then echo 'test a ... FAILED'; exit 1; fi"),
        (Gate::Doc, "! test -f work.txt"),
        (Gate::Security, "! test -f work.txt"),
    ]);
    assert_eq!(report.proof, GateProof::Failed);
    let tags: Vec<_> = report.errors.iter().map(|error| error.split(' ').next().unwrap()).collect();
    assert_eq!(tags, ["[testing]", "[regression]", "[doc", "[security"]);
    assert!(report.errors[0].contains("test a ... FAILED"), "{:?}", report.errors);
    assert_eq!(report.baseline, Some(project.repo.git(["rev-parse", "main"])));
}

#[test]
fn only_new_failures_count_against_a_branch() {
    let project = Project::new();
    let runs = project.dir.path().join("runs");
    let failing =
        format!("echo x >> '{}'; echo 'test old ... FAILED'; cat new 2>/dev/null; exit 1", runs.display());
    let steps = [(Gate::Lint, "true"), (Gate::Test, failing.as_str())];
    let report = project.verify(&steps);
    assert_eq!((report.proof, report.findings[1].status), (GateProof::Verified, GateStatus::FailedBefore));
    assert_eq!(lines_in(&runs), 2);
    project.commit("new", "test new ... FAILED\n");
    let report = project.verify(&steps);
    assert_eq!((report.proof, report.findings[1].status), (GateProof::Failed, GateStatus::Failed));
    assert_eq!(lines_in(&runs), 3, "the recorded baseline is used again");
}

#[test]
fn a_branch_without_commits_does_not_fail_for_main() {
    let project = Project::new();
    project.repo.git(["branch", "feat/fresh", "main"]);
    let steps = [(Gate::Test, "echo 'test old ... FAILED'; exit 1")];
    let fresh = GateRequest { branch: BranchName::new("feat/fresh").unwrap(), ..project.order(&steps) };
    let report = run(&fresh);
    assert_eq!((report.proof, report.findings[0].status), (GateProof::Unproven, GateStatus::FailedBefore));
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(
        project.verify(&steps).findings[0].status,
        GateStatus::FailedBefore,
        "what was recorded there still tells"
    );
}

#[test]
fn a_branch_is_unproven_until_all_gates_ran_on_its_commit_in_one_run() {
    let project = Project::new();
    let mut order = project.order(&[(Gate::Lint, "true"), (Gate::Test, "true")]);
    order.only = vec![Gate::Lint];
    let report = run(&order);
    assert_eq!(report.proof, GateProof::Unproven);
    assert_eq!(report.reason.as_deref(), Some("not all gates ran; missing: test"));
    order.only = vec![Gate::Test];
    assert_eq!(run(&order).proof, GateProof::Unproven, "any program could have written the other result");
    order.only = Vec::new();
    assert_eq!(run(&order).proof, GateProof::Verified);
}

/// Writes a result of a commit as a program without the key would.
fn plant(project: &Project, commit: &str, status: &str, steps: &[(Gate, &str)], output: &str) {
    let dir = project.repo.root.join(".git/paw/gates").join(commit);
    fs::create_dir_all(&dir).unwrap();
    let finding = |(gate, command): &(Gate, &str)| {
        let log = dir.join(format!("{gate}.log"));
        fs::write(&log, output).unwrap();
        serde_json::json!({"gate": gate, "command": command, "status": status, "end": "exited with code 1",
            "seconds": 1, "tail": [], "log": log})
    };
    let findings: Vec<_> = steps.iter().map(finding).collect();
    let record = serde_json::json!({"format": 1, "commit": commit, "branch": "main", "proof": "verified",
        "at": "2026-11-16T12:00:00Z", "findings": findings});
    fs::write(dir.join("result.json"), record.to_string()).unwrap();
}

#[test]
fn a_planted_result_of_main_does_not_excuse_the_failures_of_a_branch() {
    let project = Project::new();
    let (failing, output) =
        ("test ! -f work.txt || { echo 'test a ... FAILED'; exit 1; }", "test a ... FAILED\n");
    let steps = [(Gate::Lint, "true"), (Gate::Test, failing)];
    let main = project.repo.git(["rev-parse", "main"]);
    plant(&project, &main, "failed", &steps[1..], output);
    assert_eq!(project.verify(&steps).proof, GateProof::Failed);
    // The result of main is signed now, and its log is replaced.
    plant(&project, &main, "failed", &steps[1..], output);
    assert_eq!(project.verify(&steps).proof, GateProof::Failed);
}

#[test]
fn planted_results_of_other_gates_do_not_verify_a_branch() {
    let project = Project::new();
    let steps = [(Gate::Lint, "true"), (Gate::Test, "false")];
    let tip = git(&project.tree, ["rev-parse", "HEAD"]);
    plant(&project, &tip, "passed", &steps, "");
    let order = GateRequest { only: vec![Gate::Lint], ..project.order(&steps) };
    assert_eq!(run(&order).proof, GateProof::Unproven);
}

#[test]
fn a_gate_fails_at_its_time_limit() {
    let project = Project::new();
    let mut order = project.order(&[(Gate::Test, "sleep 600")]);
    order.limit = Duration::from_millis(300);
    let report = run(&order);
    assert_eq!((report.proof, report.findings[0].status), (GateProof::Failed, GateStatus::TimedOut));
}

#[test]
fn verify_names_a_branch_that_does_not_exist() {
    let project = Project::new();
    let order = GateRequest {
        branch: BranchName::new("feat/none").unwrap(),
        ..project.order(&[(Gate::Test, "true")])
    };
    let error = gates::verify(&order, Timestamp::UNIX_EPOCH, &mut |_| {}).unwrap_err();
    assert!(matches!(error, GateError::NoBranch(_)) && error.to_string().contains("feat/none"), "{error}");
}

#[test]
fn a_branch_without_a_worktree_is_verified_in_the_kept_checkout() {
    let project = Project::new();
    project.repo.git(["worktree", "remove", "--force", project.tree.to_str().unwrap()]);
    assert_eq!(project.verify(&[(Gate::Test, "test -f work.txt")]).proof, GateProof::Verified);
}

#[test]
fn the_kept_checkout_is_prepared_like_a_worktree() {
    let project = Project::new();
    fs::write(project.repo.root.join("cache"), "brought along\n").unwrap();
    fs::write(project.tree.join("dirty"), "x").unwrap();
    let preparation = |setup_command: &str| {
        let text = format!("[worktree]\nsetup_commands = [\"{setup_command}\"]\ncopy = [\"cache\"]\n");
        let user = config::parse(&text, "config.toml").unwrap();
        let config = config::resolve(user, Layer::default(), |_| false).unwrap();
        let setup = setup::plan(&config, &Layer::default(), &project.repo.root);
        Preparation { copy: config.worktree.copy, setup }
    };
    let order = GateRequest {
        preparation: preparation("echo made > made"),
        ..project.order(&[(Gate::Test, "cat cache made")])
    };
    assert_eq!(printed(&run(&order), Gate::Test), "brought along\nmade\n");
    let order = GateRequest { preparation: preparation("exit 3"), ..order };
    let error = gates::verify(&order, Timestamp::UNIX_EPOCH, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, GateError::NotReady(why) if why.contains("exit 3")), "{error}");
}

#[test]
fn gate_output_is_streamed_while_gates_run() {
    let project = Project::new();
    let seen = RefCell::new(Vec::new());
    let order = project.order(&[(Gate::Test, "echo one; echo two")]);
    gates::verify(&order, Timestamp::UNIX_EPOCH, &mut |line| seen.borrow_mut().push(line.to_owned()))
        .unwrap();
    assert_eq!(seen.into_inner(), ["test: echo one; echo two", "one", "two"]);
}
