//! `git paw worktree`: the lifecycle of worktrees, through the command line.

use std::fs;
use std::path::PathBuf;

use paw_testkit::{RunOutput, Sandbox, Terminal, TestRepo, wait_until};
use serde_json::{Value, json};

use crate::paw::{PROGRAM, document, paw};

/// A repository `project` with the branches main, develop and feature/auth.
struct Project {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl Project {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("project");
        repo.git(["branch", "develop"]);
        repo.git(["branch", "feature/auth"]);
        Self { sandbox, repo }
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    fn create(&self, args: &[&str]) -> RunOutput {
        self.paw(&[&["worktree", "create", "--json"], args].concat())
    }

    fn created(&self, args: &[&str]) -> Value {
        let ran = self.create(args);
        assert_eq!(ran.code, 0, "{ran}");
        document(&ran)
    }

    /// The error of a refused creation. Checks that nothing was left behind.
    fn refused(&self, args: &[&str]) -> Value {
        let before = self.repo.git(["for-each-ref"]);
        let ran = self.create(args);
        assert_eq!(ran.code, 1, "{ran}");
        assert_eq!(self.rows().len(), 0, "no row is left");
        assert_eq!(self.repo.git(["for-each-ref"]), before, "no branch is left");
        assert_eq!(self.repo.git(["worktree", "list"]).lines().count(), 1, "no registration is left");
        document(&ran)["error"].clone()
    }

    fn rows(&self) -> Vec<Value> {
        let ran = self.paw(&["worktree", "list", "--json"]);
        document(&ran)["worktrees"].as_array().unwrap().clone()
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.sandbox.root().join(name)
    }

    fn configure(&self, text: &str) {
        self.sandbox.write("home/.config/git-paw/config.toml", text);
    }
}

#[test]
fn successful_creation_for_existing_branch() {
    let project = Project::new();
    let output = project.created(&["feature/auth", "--name", "auth-work"]);
    let worktree = &output["worktree"];
    assert_eq!(worktree["name"], "auth-work");
    assert_eq!(worktree["path"], "[SANDBOX]/project-auth-work");
    assert_eq!(worktree["branch"], "feature/auth");
    assert!(worktree["id"].as_str().unwrap().starts_with("wt_"));
    assert_eq!(project.rows()[0]["id"], worktree["id"]);
    assert!(project.dir("project-auth-work/README.md").is_file());
}

#[test]
fn successful_creation_with_new_branch() {
    let project = Project::new();
    let output = project.created(&["feature/new-thing", "--new"]);
    assert_eq!(output["worktree"]["path"], "[SANDBOX]/project-new-thing");
    assert_eq!(project.rows()[0]["branch"], "feature/new-thing");
    assert_eq!(project.repo.git(["rev-parse", "feature/new-thing"]), project.repo.git(["rev-parse", "main"]));
}

#[test]
fn fails_branch_already_checked_out() {
    let project = Project::new();
    project.repo.git(["switch", "--quiet", "develop"]);
    let error = project.refused(&["develop"]);
    assert_eq!(error["code"], "ALREADY_EXISTS");
    assert_eq!(error["message"], "Branch 'develop' is already checked out at '[SANDBOX]/project'");
}

#[test]
fn fails_insufficient_disk_space() {
    let mut project = Project::new();
    project.sandbox.set("GIT_PAW_TEST_FREE_BYTES", "1000");
    let error = project.refused(&["feature/auth"]);
    assert_eq!(error["code"], "RESOURCE_EXHAUSTED");
    assert_eq!(error["message"], "Insufficient disk space to create worktree");
    assert_eq!(error["details"]["available_bytes"], 1000);
    assert!(error["details"]["required_bytes"].as_u64().unwrap() > 1000);
}

#[test]
fn fails_path_already_exists() {
    let project = Project::new();
    fs::create_dir(project.dir("project-auth-work")).unwrap();
    let error = project.refused(&["feature/auth", "--name", "auth-work"]);
    assert_eq!(error["code"], "ALREADY_EXISTS");
    assert_eq!(error["message"], "Path '[SANDBOX]/project-auth-work' already exists");
}

#[test]
fn fails_branch_does_not_exist() {
    let project = Project::new();
    let error = project.refused(&["feature/nonexistent"]);
    assert_eq!(error["code"], "NOT_FOUND");
    assert_eq!(error["message"], "Branch 'feature/nonexistent' does not exist");
}

#[test]
fn fails_invalid_branch_name() {
    let project = Project::new();
    let error = project.refused(&["feature/bad..name", "--new"]);
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert_eq!(error["message"], "Invalid branch name: 'feature/bad..name' contains '..'");
}

#[test]
fn fails_name_contains_path_separator() {
    let project = Project::new();
    let error = project.refused(&["feature/auth", "--name", "foo/bar"]);
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert_eq!(error["message"], "Worktree name cannot contain path separators");
}

#[test]
fn atomicity_git_failure_rolls_back() {
    let project = Project::new();
    // A required filter that fails makes the checkout fail halfway.
    project.repo.commit_file(".gitattributes", "*.bin filter=broken\n", "attributes");
    project.repo.commit_file("data.bin", "data\n", "data");
    project.repo.git(["config", "filter.broken.smudge", "false"]);
    project.repo.git(["config", "filter.broken.required", "true"]);
    let error = project.refused(&["feature/new-thing", "--new"]);
    assert_eq!(error["code"], "INTERNAL");
    assert_eq!(error["message"], "Git worktree creation failed");
    assert!(!error["details"]["stderr"].as_str().unwrap().is_empty());
    assert!(!project.dir("project-new-thing").exists());
}

#[test]
fn directory_deleted_externally() {
    let project = Project::new();
    let id = project.created(&["feature/auth", "--name", "auth-work"])["worktree"]["id"].clone();
    fs::remove_dir_all(project.dir("project-auth-work")).unwrap();
    let ran = project.paw(&["worktree", "list", "--json"]);
    let row = &document(&ran)["worktrees"][0];
    assert_eq!(
        (&row["status"], &row["message"]),
        (&json!("stale"), &json!("Worktree directory no longer exists"))
    );
    let warning = format!("Worktree {} directory missing: [SANDBOX]/project-auth-work", id.as_str().unwrap());
    assert!(ran.stderr.contains(&warning), "{ran}");
    assert_eq!(project.paw(&["worktree", "list"]).stderr, "", "warned once");
}

#[test]
fn switch_to_deleted_worktree_fails() {
    let project = Project::new();
    project.created(&["feature/auth", "--name", "auth-work"]);
    fs::remove_dir_all(project.dir("project-auth-work")).unwrap();
    let ran = project.paw(&["worktree", "switch", "auth-work", "--json"]);
    let error = &document(&ran)["error"];
    assert_eq!(ran.code, 1);
    assert_eq!(error["code"], "FAILED_PRECONDITION");
    assert_eq!(error["message"], "Worktree directory no longer exists");
    assert_eq!(error["details"], json!({"path": "[SANDBOX]/project-auth-work"}));
}

#[test]
fn remove_worktree_cleans_up_stale_worktree() {
    let project = Project::new();
    project.created(&["feature/auth", "--name", "auth-work"]);
    fs::remove_dir_all(project.dir("project-auth-work")).unwrap();
    project.paw(&["worktree", "list"]);
    let ran = project.paw(&["-v", "worktree", "remove", "auth-work", "--force", "--json"]);
    assert_eq!((ran.code, &document(&ran)["removed"]), (0, &json!(true)), "{ran}");
    assert!(!ran.stderr.contains("worktree remove"), "git does not remove a missing directory: {ran}");
    assert_eq!(project.rows(), Vec::<Value>::new());
}

#[test]
fn git_worktree_prune_on_stale_detection() {
    let project = Project::new();
    project.created(&["feature/auth", "--name", "auth-work"]);
    fs::remove_dir_all(project.dir("project-auth-work")).unwrap();
    let ran = project.paw(&["-v", "worktree", "list"]);
    assert!(ran.stderr.contains("worktree prune"), "{ran}");
    assert_eq!(project.repo.git(["worktree", "list"]).lines().count(), 1);
    let again = project.paw(&["-v", "worktree", "list"]);
    assert!(!again.stderr.contains("worktree prune"), "once per change: {again}");
}

#[test]
fn create_succeeds_again_after_plain_git_removed_the_worktree() {
    let project = Project::new();
    let before = project.created(&["feature/auth"]);
    project.repo.git(["worktree", "remove", "--force", &project.dir("project-auth").display().to_string()]);
    let after = project.created(&["feature/auth"]);
    let (before, after) = (&before["worktree"], &after["worktree"]);
    assert_eq!((&after["path"], after["id"] == before["id"]), (&before["path"], false));
    assert_eq!(project.rows().len(), 1);
    assert_eq!(project.create(&["feature/auth"]).code, 1, "an existing worktree is refused");
}

#[test]
fn returned_directory_is_relinked() {
    let project = Project::new();
    project.created(&["feature/auth", "--name", "auth-work"]);
    let (here, away) = (project.dir("project-auth-work"), project.dir("away"));
    fs::write(here.join("note"), "unsaved").unwrap();
    fs::rename(&here, &away).unwrap();
    assert_eq!(project.rows()[0]["status"], "stale");
    fs::rename(&away, &here).unwrap();
    assert_eq!(project.rows()[0]["status"], "active");
    assert_eq!(paw_testkit::git(&here, ["status", "--short"]), "?? note");
    assert_eq!(paw_testkit::git(&here, ["branch", "--show-current"]), "feature/auth");
}

#[test]
fn setup_script_succeeds() {
    let project = Project::new();
    project.sandbox.install_program("npm", "#!/bin/sh\necho \"npm $1 in $(pwd)\"\n");
    project.configure("[worktree]\nsetup_commands = [\"npm install\", \"npm run build\"]\n");
    let ran = project.create(&["feature/auth"]);
    assert_eq!(document(&ran)["setup_status"], "success", "{ran}");
    let at = |line: &str| ran.stderr.find(line).unwrap_or_else(|| panic!("{line}: {ran}"));
    assert!(at("npm install in [SANDBOX]/project-auth") < at("npm run in [SANDBOX]/project-auth"));
}

#[test]
fn setup_script_fails_worktree_still_created() {
    let project = Project::new();
    project.sandbox.install_program("npm", "#!/bin/sh\nexit 1\n");
    project.configure("[worktree]\nsetup_commands = [\"npm install\"]\n");
    let ran = project.create(&["feature/auth"]);
    let output = document(&ran);
    assert_eq!((ran.code, &output["setup_status"]), (0, &json!("failed")));
    assert_eq!(output["setup_error"], "npm install exited with code 1");
    assert_eq!(project.rows()[0]["setup_status"], "failed");
    assert_eq!(ran.stderr.matches("npm install exited with code 1").count(), 1, "{ran}");
    assert!(ran.stderr.contains("warning: setup failed"), "{ran}");
}

#[test]
fn setup_script_times_out() {
    let project = Project::new();
    project.sandbox.install_program("npm", "#!/bin/sh\nsleep 600\n");
    project.configure("[worktree]\nsetup_commands = [\"npm install\"]\nsetup_timeout_secs = 1\n");
    let output = project.created(&["feature/auth"]);
    assert_eq!(output["setup_status"], "timeout");
    assert_eq!(output["setup_error"], "Setup command 'npm install' timed out after 1s");
}

#[test]
fn custom_setup_script_from_betcode_directory() {
    let project = Project::new();
    project.repo.write(".betcode/worktree-setup.sh", "pwd > here\n");
    assert_eq!(project.created(&["develop"])["setup_status"], "untrusted");
    let output = project.created(&["feature/auth", "--trust"]);
    assert_eq!(output["setup_status"], "success");
    let here = fs::read_to_string(project.dir("project-auth/here")).unwrap();
    assert_eq!(here.trim(), project.dir("project-auth").display().to_string());
}

#[test]
fn no_setup_configured() {
    let project = Project::new();
    let output = project.created(&["feature/auth"]);
    assert_eq!(output["setup_status"], "none");
    assert_eq!(output.get("setup_error"), None);
}

#[test]
fn setup_script_environment() {
    let mut project = Project::new();
    project.sandbox.set("ANTHROPIC_API_KEY", "secret");
    project.configure("[worktree]\nsetup_commands = [\"env\"]\n");
    let ran = project.create(&["feature/auth"]);
    for line in [
        "PATH=",
        "HOME=[SANDBOX]/home",
        "WORKTREE_PATH=[SANDBOX]/project-auth",
        "WORKTREE_BRANCH=feature/auth",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {ran}");
    }
    assert!(!ran.stderr.contains("ANTHROPIC_API_KEY"), "{ran}");
}

#[test]
fn create_asks_on_a_terminal_before_running_repository_commands() {
    let project = Project::new();
    project.repo.write(".git-paw/config.toml", "[worktree]\nsetup_commands = [\"touch ran\"]\n");
    let create = |branch: &str, answer: &str| {
        let mut terminal =
            Terminal::run(&project.sandbox, &project.repo.root, PROGRAM, &["worktree", "create", branch]);
        terminal.wait_for("setup command: touch ran");
        terminal.wait_for("[y/N]");
        terminal.send(answer);
        assert_eq!(terminal.finish(), 0);
    };
    create("develop", "\r");
    assert!(!project.dir("project-develop/ran").exists());
    create("feature/auth", "y\r");
    assert!(project.dir("project-auth/ran").exists());
    assert_eq!(project.created(&["third", "--new"])["setup_status"], "success", "not asked again");
}

#[test]
fn remove_stores_uncommitted_changes_and_undo_restores_them() {
    let project = Project::new();
    project.created(&["feature/auth"]);
    let dir = project.dir("project-auth");
    fs::write(dir.join("README.md"), "changed\n").unwrap();
    fs::write(dir.join("new file"), "new\n").unwrap();
    let ran = project.paw(&["worktree", "remove", "auth"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("uncommitted changes: README.md, new file"), "{ran}");
    let ran = project.paw(&["worktree", "remove", "auth", "--force", "--json"]);
    let reference = document(&ran)["rescue"].as_str().unwrap().to_owned();
    assert!(reference.starts_with("refs/paw/rescue/") && !dir.exists(), "{ran}");

    let id = reference.rsplit('/').next().unwrap();
    let listed = project.paw(&["undo"]);
    assert!(listed.stdout.contains(id), "{listed}");
    let shown = project.paw(&["undo", "show", id]);
    assert!(shown.stdout.contains("README.md") && shown.stdout.contains("new file"), "{shown}");
    assert!(listed.stderr.contains("git paw undo <id>"), "{listed}");
    let ran = project.paw(&["undo", id]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(paw_testkit::git(&dir, ["status", "--short"]), " M README.md\n?? \"new file\"");
    assert_eq!(project.rows()[0]["status"], "active");
}

#[test]
fn remove_names_deleted_ignored_files() {
    let project = Project::new();
    fs::write(project.repo.root.join(".git/info/exclude"), "*.log\n").unwrap();
    let fill = || {
        project.created(&["feature/auth"]);
        let dir = project.dir("project-auth");
        for number in 1..=7 {
            fs::write(dir.join(format!("{number}.log")), "x").unwrap();
        }
    };
    fill();
    let ran = project.paw(&["worktree", "remove", "auth"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "removed auth\n"), "{ran}");
    assert_eq!(
        ran.stderr,
        "ignored files were not kept: 1.log, 2.log, 3.log, 4.log, 5.log and 2 more (use --include-ignored to keep them)\n"
    );
    fill();
    let document = document(&project.paw(&["worktree", "remove", "auth", "--json"]));
    assert_eq!(document["ignored_left_behind"].as_array().unwrap().len(), 7, "{document}");
}

#[test]
fn output_escapes_control_characters_in_file_names_and_subjects() {
    const EVIL: &str = "evil\u{1b}]0;title\u{7}";
    let harmless = |ran: &RunOutput| {
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        }
        assert!(format!("{ran}").contains("evil\u{fffd}]0;title\u{fffd}"), "{ran}");
    };
    let project = Project::new();
    fs::write(project.repo.root.join(".git/info/exclude"), "*.log\n").unwrap();
    project.created(&["feature/auth"]);
    let dir = project.dir("project-auth");
    fs::write(dir.join(EVIL), "x").unwrap();
    harmless(&project.paw(&["worktree", "remove", "auth"]));
    fs::rename(dir.join(EVIL), dir.join(format!("{EVIL}.log"))).unwrap();
    fs::write(dir.join("new"), "x").unwrap();
    paw_testkit::git(&dir, ["add", "new"]);
    paw_testkit::git(&dir, ["commit", "--quiet", "--message", EVIL]);
    let ran = project.paw(&["worktree", "remove", "auth", "--delete-branch"]);
    assert_eq!(ran.code, 0, "{ran}");
    harmless(&ran);
    let kept = document(&project.paw(&["undo", "--json"]))["rescues"][0]["id"].as_str().unwrap().to_owned();
    harmless(&project.paw(&["undo", "show", &kept]));
}

#[test]
fn prune_keeps_locked_worktrees_and_removes_the_others() {
    let project = Project::new();
    for branch in ["feature/auth", "develop"] {
        project.created(&[branch]);
    }
    project.repo.git(["worktree", "lock", project.dir("project-auth").to_str().unwrap()]);
    for dir in ["project-auth", "project-develop"] {
        fs::remove_dir_all(project.dir(dir)).unwrap();
    }
    project.rows();
    let ran = project.paw(&["worktree", "prune"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        (
            "unregistered develop ([SANDBOX]/project-develop)\n",
            "kept auth: locked ([SANDBOX]/project-auth)\n"
        ),
        "{ran}"
    );
}

#[test]
fn undo_restores_one_file_into_the_current_checkout() {
    let project = Project::new();
    project.created(&["feature/auth"]);
    fs::write(project.dir("project-auth/lost.txt"), "found\n").unwrap();
    fs::write(project.dir("project-auth/other.txt"), "other\n").unwrap();
    project.paw(&["worktree", "remove", "auth", "--force"]);
    let ran = project.paw(&["undo", "restore", "2", "--path", "lost.txt"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(fs::read_to_string(project.repo.root.join("lost.txt")).unwrap(), "found\n");
    assert!(!project.repo.root.join("other.txt").exists());
}

#[test]
fn remove_names_running_programs_and_ends_them_with_force() {
    let project = Project::new();
    project.created(&["feature/auth"]);
    let mut child =
        project.sandbox.command("sleep").arg("600").current_dir(project.dir("project-auth")).spawn().unwrap();
    let ran = project.paw(&["worktree", "remove", "auth"]);
    assert!(ran.code == 1 && ran.stderr.contains("sleep 600"), "{ran}");
    let ran = project.paw(&["worktree", "remove", "auth", "--force"]);
    assert!(ran.code == 0 && ran.stderr.contains(&format!("ended {} (sleep 600)", child.id())), "{ran}");
    wait_until("the program has exited", || child.try_wait().unwrap());
}

#[test]
fn unmanaged_worktrees_are_listed_and_can_be_adopted() {
    let project = Project::new();
    let plain = project.dir("plain");
    project.repo.git(["worktree", "add", "--quiet", plain.to_str().unwrap(), "develop"]);
    let row = &project.rows()[0];
    assert_eq!((&row["managed"], &row["branch"]), (&json!(false), &json!("develop")));
    let ran = project.paw(&["worktree", "adopt", "../plain", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.rows()[0]["managed"], true);
}

#[test]
fn switch_prints_the_path_and_returns_the_previous_worktree() {
    let project = Project::new();
    let first = project.created(&["feature/auth"])["worktree"]["id"].clone();
    project.created(&["develop"]);
    let ran = project.paw(&["worktree", "switch", "auth"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "[SANDBOX]/project-auth\n"));
    let output = document(&project.paw(&["worktree", "switch", "develop", "--json"]));
    assert_eq!(output["previous_worktree_id"], first);
    let ran = project.paw(&["worktree", "switch", "missing", "--json"]);
    assert_eq!((ran.code, &document(&ran)["error"]["code"]), (1, &json!("NOT_FOUND")));
}

#[test]
fn switch_takes_a_branch_main_and_a_dash_and_finds_unique_prefixes() {
    let project = Project::new();
    project.created(&["feature/auth", "--name", "auth-work"]);
    project.created(&["develop"]);
    project.repo.git(["worktree", "add", "--quiet", "--detach", "../plain"]);
    let switch = |dir: &str, name: &str| {
        let ran = paw(&project.sandbox, &project.dir(dir), &["worktree", "switch", name]);
        let said = if ran.code == 0 { &ran.stdout } else { &ran.stderr };
        said.lines().find(|line| !line.starts_with("warning:")).unwrap_or_default().to_owned()
    };
    assert_eq!(switch("project", "-"), "error: there is no previous worktree to switch to");
    assert_eq!(switch("project", "feature/auth"), "[SANDBOX]/project-auth-work");
    assert_eq!(switch("project-auth-work", "dev"), "[SANDBOX]/project-develop");
    assert_eq!(switch("project-develop", "-"), "[SANDBOX]/project-auth-work", "where it came from");
    assert_eq!(switch("project-auth-work", "-"), "[SANDBOX]/project-develop", "and back");
    assert_eq!(switch("project-develop", "main"), "[SANDBOX]/project");
    assert_eq!(switch("project", "plain"), "[SANDBOX]/plain", "created by plain git");
    project.created(&["feature/auth-2", "--new"]);
    assert_eq!(
        switch("project", "feature"),
        "error: 'feature' matches several worktrees: feature/auth, feature/auth-2"
    );
    assert_eq!(switch("project", "none"), "error: Worktree 'none' does not exist");
    fs::remove_dir_all(project.dir("project-develop")).unwrap();
    assert_eq!(switch("project-auth-work", "develop"), "error: Worktree directory no longer exists");
    let ran = project.paw(&["worktree", "switch"]);
    assert!(ran.code == 1 && ran.stderr.contains("stdin is not a terminal"), "{ran}");
    let output = document(&project.paw(&["worktree", "switch", "main", "--json"]));
    assert_eq!(
        (&output["worktree"]["kind"], &output["worktree"]["branch"]),
        (&json!("main"), &json!("main"))
    );
}

#[test]
fn bare_switch_offers_a_list_on_a_terminal() {
    let project = Project::new();
    project.created(&["feature/auth"]);
    project.created(&["develop"]);
    let mut terminal =
        Terminal::run(&project.sandbox, &project.dir("project-develop"), PROGRAM, &["worktree", "switch"]);
    terminal.wait_for("Worktree");
    terminal.wait_for("feature/auth");
    assert!(
        !terminal.shown().contains("project-develop"),
        "not the one it is called in: {}",
        terminal.shown()
    );
    terminal.send("auth\r");
    terminal.wait_for("project-auth\r\n");
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn list_shows_the_main_checkout_changes_commits_and_age_without_ids() {
    let project = Project::new();
    project.created(&["feature/auth"]);
    project.repo.commit_file("new.txt", "x\n", "main moves on");
    let dir = project.dir("project-auth");
    fs::write(dir.join("one.txt"), "1\n").unwrap();
    paw_testkit::git(&dir, ["add", "one.txt"]);
    paw_testkit::git(&dir, ["commit", "--quiet", "--message", "one"]);
    fs::write(dir.join("README.md"), "changed\n").unwrap();
    fs::write(dir.join("untracked"), "2\n").unwrap();
    let ran = project.paw(&["worktree", "list"]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[0]), ["NAME", "BRANCH", "STATUS", "CHANGES", "COMMITS", "AGE", "PATH"], "{ran}");
    assert_eq!(
        words(lines[1]),
        ["*", "main", "main", "main", "checkout", "-", "-", "-", "[SANDBOX]/project"],
        "{ran}"
    );
    let [name, branch, status, changes, ahead, behind, age, path] =
        <[String; 8]>::try_from(words(lines[2])).unwrap();
    assert_eq!([name, branch, status, changes].join(" "), "auth feature/auth active 2", "{ran}");
    assert_eq!([ahead, behind, path].join(" "), "+1 -1 [SANDBOX]/project-auth", "{ran}");
    assert!(age.ends_with('s') || age.ends_with('m'), "{age}");
    assert!(!ran.stdout.contains("wt_"), "{ran}");
    assert!(project.paw(&["worktree", "list", "--ids"]).stdout.contains("wt_"));
    let output = document(&project.paw(&["worktree", "list", "--json"]));
    let row = &output["worktrees"][0];
    assert_eq!((&row["changed_files"], &row["ahead"], &row["behind"]), (&json!(2), &json!(1), &json!(1)));
    assert_eq!(output["main"]["changed_files"], 0);
    let traced = project.paw(&["-v", "worktree", "list"]);
    assert_eq!(traced.stderr.matches("for-each-ref").count(), 1, "one call compares all branches: {traced}");
}

#[test]
fn create_names_a_way_out_when_the_derived_directory_is_taken() {
    let project = Project::new();
    fs::create_dir(project.dir("project-auth")).unwrap();
    let ran = project.paw(&["worktree", "create", "feature/auth"]);
    insta::assert_snapshot!(ran, @"
    exit 1
    --- stderr
    error: Path '[SANDBOX]/project-auth' already exists
    hint: choose another directory with --path DIR, or another name with --name NAME
    ");
    assert_eq!(project.create(&["feature/auth", "--name", "auth-2"]).code, 0);
}

#[test]
fn remove_takes_a_branch_or_a_unique_prefix_of_this_repository_only() {
    let project = Project::new();
    project.created(&["feature/auth"]);
    project.created(&["develop"]);
    let ran = project.paw(&["worktree", "remove", "feature/auth"]);
    assert_eq!(ran.stdout, "removed auth\n", "{ran}");
    let elsewhere = project.sandbox.repo("elsewhere");
    let ran = paw(&project.sandbox, &elsewhere.root, &["worktree", "remove", "dev"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(project.paw(&["worktree", "remove", "dev"]).stdout, "removed develop\n");
}

#[test]
fn shell_integration_changes_the_directory_on_switch() {
    let project = Project::new();
    project.created(&["feature/auth"]);
    let bin = PathBuf::from(PROGRAM);
    let bin = bin.parent().unwrap().display();
    let script = format!(
        "PATH=$PATH:{bin}; eval \"$(git paw shell-init bash)\"
         git paw worktree switch auth; pwd
         git paw worktree switch missing; echo $?; pwd
         git paw worktree switch -; pwd; git paw worktree switch feature/auth >/dev/null; git paw worktree switch main; pwd
         git paw worktree switch auth --json | head -1
         git status --short | wc -l 2>/dev/null; true"
    );
    let ran = project.sandbox.run(&project.repo.root, "bash", ["-c", &script]);
    let lines: Vec<_> = ran.stdout.lines().take(6).collect();
    let (main, auth) = ("[SANDBOX]/project", "[SANDBOX]/project-auth");
    assert_eq!(lines, [auth, "1", auth, main, main, "{"], "{ran}");
}

#[test]
fn worktree_commands_outside_a_repository_list_all_and_require_repo() {
    let project = Project::new();
    project.created(&["feature/auth"]);
    let outside = project.sandbox.root();
    let ran = paw(&project.sandbox, &outside, &["worktree", "list", "--json"]);
    assert_eq!(document(&ran)["worktrees"][0]["name"], "auth", "{ran}");
    let ran = paw(&project.sandbox, &outside, &["worktree", "create", "develop", "--json"]);
    assert_eq!(ran.code, 1);
    assert!(
        document(&ran)["error"]["message"].as_str().unwrap().contains("is not a git repository"),
        "{ran}"
    );
    let repo = project.repo.root.to_str().unwrap();
    let ran = paw(&project.sandbox, &outside, &["worktree", "create", "develop", "--repo", repo]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(project.dir("project-develop").is_dir());
}
