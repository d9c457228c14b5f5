//! Setup commands and scripts in real worktrees.
//!
//! The environment of a step depends on the environment of this process, so each test runs itself again as a child
//! process in a sandbox ([`scene`]).
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may panic, and may use the file system directly"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::caller::CommandCaller;
use paw_host::config::load_layers;
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_host::process::Command;
use paw_host::trust::{Approver, TrustError, TrustStore};
use paw_testkit::{Sandbox, TestRepo, wait_until};
use paw_worktree::setup::{self, SetupOutcome, SetupPlan, SetupStatus, SetupTrust};

const INSIDE: &str = "PAW_TEST_SCENE";

/// Runs `act` in a child process with the sandbox's HOME and PATH, and these variables.
fn scene(test: &str, variables: &[(&str, &str)], act: impl FnOnce(&Scene)) {
    if let Some(root) = std::env::var_os(INSIDE) {
        return act(&Scene::new(PathBuf::from(root)));
    }
    let sandbox = Sandbox::new();
    let mut child = sandbox.command(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("setup::{test}"), "--nocapture"]).env(INSIDE, sandbox.root());
    let output = child.envs(variables.iter().copied()).output().unwrap();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

/// A repository called `project` and a worktree of its branch `feature/auth`.
struct Scene {
    root: PathBuf,
    repo: TestRepo,
    worktree: PathBuf,
    branch: BranchName,
}

impl Scene {
    fn new(root: PathBuf) -> Self {
        let repo = TestRepo::init(root.join("project"));
        repo.git(["branch", "feature/auth"]);
        Self {
            worktree: root.join("project-auth"),
            branch: BranchName::new("feature/auth").unwrap(),
            root,
            repo,
        }
    }

    fn put(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn program(&self, path: &str, text: &str) -> PathBuf {
        let path = self.put(path, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A fake npm that records its directory and arguments, and then runs `rest`.
    fn npm(&self, rest: &str) {
        self.program("bin/npm", &format!("#!/bin/sh\necho \"$PWD: npm $*\" >>\"$HOME/calls\"\n{rest}\n"));
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.root.join("home/calls")).unwrap_or_default()
    }

    fn user_config(&self, text: &str) {
        self.put("home/.config/git-paw/config.toml", text);
    }

    fn repo_config(&self, text: &str) {
        self.put("project/.git-paw/config.toml", text);
    }

    fn repository(&self) -> Repo {
        Repo::discover(&self.repo.root).unwrap()
    }

    /// The plan from the files on disk and the stored approvals.
    fn plan(&self) -> SetupPlan {
        let layers = load_layers(Some(&self.repo.root), None).unwrap();
        let plan = setup::plan(&layers.resolve().unwrap(), &layers.repo, &self.repo.root);
        plan.apply_approvals(&store(), &self.repository()).unwrap()
    }

    /// Creates the worktree, runs the plan in it, and returns the outcome and the output.
    fn create(&self, plan: &SetupPlan) -> (SetupOutcome, Vec<String>) {
        self.repo.git(["worktree", "add", "--quiet", self.worktree.to_str().unwrap(), "feature/auth"]);
        self.run(plan)
    }

    fn run(&self, plan: &SetupPlan) -> (SetupOutcome, Vec<String>) {
        let mut lines = Vec::new();
        let outcome = setup::run(plan, &self.worktree, &self.branch, |line| lines.push(line.to_owned()));
        assert!(self.worktree.join("README.md").exists(), "the worktree stays");
        (outcome, lines)
    }
}

/// The approvals of the sandbox's user.
fn store() -> TrustStore {
    TrustStore::open(&Dirs::from_env().unwrap())
}

const NO_SANDBOX: &str = "[sandbox]\nruns = \"off\"\n";

fn commands(list: &[&str]) -> String {
    format!("[worktree]\nsetup_commands = {list:?}\n")
}

fn outcome(status: SetupStatus, error: &str) -> SetupOutcome {
    SetupOutcome { status, error: Some(error.to_owned()) }
}

const SUCCESS: SetupOutcome = SetupOutcome { status: SetupStatus::Success, error: None };

#[test]
fn setup_script_succeeds() {
    scene("setup_script_succeeds", &[], |scene| {
        scene.npm("echo done");
        scene.user_config(&commands(&["npm install", "npm run build"]));
        let plan = scene.plan();
        assert_eq!(plan.trust(), SetupTrust::Trusted);
        let (outcome, lines) = scene.create(&plan);
        assert_eq!((outcome, lines), (SUCCESS, vec!["done".to_owned(); 2]));
        let cwd = scene.worktree.display();
        assert_eq!(scene.calls(), format!("{cwd}: npm install\n{cwd}: npm run build\n"));
    });
}

#[test]
fn setup_script_fails_worktree_still_created() {
    scene("setup_script_fails_worktree_still_created", &[], |scene| {
        scene.npm("exit 1");
        scene.user_config(&commands(&["npm install", "npm run build"]));
        let (result, _) = scene.create(&scene.plan());
        assert_eq!(result, outcome(SetupStatus::Failed, "npm install exited with code 1"));
        assert!(scene.worktree.join("README.md").exists());
        assert_eq!(scene.calls().lines().count(), 1, "nothing runs after a failure");
    });
}

#[test]
fn setup_script_times_out() {
    scene("setup_script_times_out", &[], |scene| {
        // A grandchild that has left the process group and the session, and ignores SIGTERM.
        let nap = format!("600.{}", std::process::id());
        scene.npm(&format!("setsid sh -c 'trap \"\" TERM; exec sleep {nap}' &\nsleep 600"));
        scene.user_config(&format!("{}setup_timeout_secs = 1\n", commands(&["npm install"])));
        let (result, _) = scene.create(&scene.plan());
        let late = "Setup command 'npm install' timed out after 1s";
        assert_eq!(result, outcome(SetupStatus::Timeout, late));
        let running = || Command::new("ps").args(["-A", "-o", "args="]).capture().unwrap().stdout;
        let gone = || !String::from_utf8_lossy(&running()).contains(&nap);
        wait_until("the grandchild has ended", || gone().then_some(()));
    });
}

#[test]
fn custom_setup_script_from_betcode_directory() {
    scene("custom_setup_script_from_betcode_directory", &[], |scene| {
        scene.program("project/.betcode/worktree-setup.sh", "#!/bin/sh\npwd\n");
        let (outcome, lines) = scene.create(&scene.plan().approved());
        assert_eq!((outcome, lines), (SUCCESS, vec![scene.worktree.display().to_string()]));
    });
}

#[test]
fn no_setup_configured() {
    scene("no_setup_configured", &[], |scene| {
        let plan = scene.plan();
        assert_eq!(plan.trust(), SetupTrust::Nothing);
        let (outcome, lines) = scene.create(&plan);
        assert_eq!((outcome.status.as_str(), outcome.error, lines), ("none", None, vec![]));
    });
}

#[test]
fn setup_script_environment() {
    let secrets = [
        ("ANTHROPIC_API_KEY", "secret"),
        ("OPENAI_API_KEY", "secret"),
        ("GIT_PAW_BROKER_TOKEN", "secret"),
        ("GIT_DIR", "/nowhere"),
        ("WORKTREE_PATH", "/elsewhere"),
    ];
    scene("setup_script_environment", &secrets, |scene| {
        assert!(std::env::var_os("ANTHROPIC_API_KEY").is_some());
        scene.user_config(&commands(&["env"]));
        let (outcome, lines) = scene.create(&scene.plan());
        assert_eq!(outcome, SUCCESS);
        let value = |name: &str| lines.iter().find_map(|line| line.strip_prefix(&format!("{name}=")));
        assert_eq!(value("PATH"), std::env::var("PATH").ok().as_deref());
        assert_eq!(value("HOME"), std::env::var("HOME").ok().as_deref());
        assert_eq!(value("WORKTREE_PATH"), scene.worktree.to_str());
        assert_eq!(value("WORKTREE_BRANCH"), Some("feature/auth"));
        assert!(!lines.join("\n").contains("secret"), "{lines:?}");
        let known = ["PATH", "HOME", "LANG", "SHELL", "TERM", "TMPDIR", "WORKTREE_PATH", "WORKTREE_BRANCH"];
        // Added by the shell, and the variables that mark a run and its process tree.
        let added = ["PWD", "OLDPWD", "SHLVL", "_", "GIT_PAW_RUN", "GIT_PAW_PROCESS_TREE"];
        let names = lines.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        let unexpected: Vec<_> =
            names.filter(|name| !known.contains(name) && !added.contains(name)).collect();
        assert_eq!(unexpected, [""; 0]);
    });
}

#[test]
fn repository_setup_needs_approval_and_any_change_needs_a_new_one() {
    scene("repository_setup_needs_approval_and_any_change_needs_a_new_one", &[], |scene| {
        scene.npm("");
        scene.repo_config(&commands(&["npm install"]));
        scene.program("project/.git-paw/worktree-setup.sh", "#!/bin/sh\necho script\n");
        let (outcome, lines) = scene.create(&scene.plan());
        assert_eq!((outcome.status, lines, scene.calls()), (SetupStatus::Untrusted, vec![], String::new()));
        insta::assert_snapshot!(outcome.problem().unwrap(), @"
            setup untrusted: not run, because not approved: npm install, .git-paw/worktree-setup.sh
            hint: review it and approve it with 'git paw trust', or pass --trust
            ");

        let plan = scene.plan();
        let SetupTrust::NeedsApproval(subject) = plan.trust() else { panic!("{plan:?}") };
        insta::assert_snapshot!(subject.details().join("\n"), @"
            setup command: npm install
            setup script: .git-paw/worktree-setup.sh
            which is run: by its own interpreter
            and says:
              | #!/bin/sh
              | echo script
            ");
        let user = Approver::new(&CommandCaller::User).unwrap();
        store().approve(&user, &scene.repository(), subject).unwrap();
        assert_eq!(scene.plan().trust(), SetupTrust::Trusted);
        assert_eq!(scene.run(&scene.plan()), (SUCCESS, vec!["script".to_owned()]));

        scene.put("project/.git-paw/worktree-setup.sh", "#!/bin/sh\necho scripT\n");
        assert_eq!(scene.run(&scene.plan()).0.status, SetupStatus::Untrusted);
        scene.put("project/.git-paw/worktree-setup.sh", "#!/bin/sh\necho script\n");
        assert_eq!(scene.plan().trust(), SetupTrust::Trusted, "the earlier approval is still valid");
        scene.repo_config(&commands(&["npm install "]));
        assert_eq!(scene.run(&scene.plan()).0.status, SetupStatus::Untrusted);
    });
}

#[test]
fn approval_is_void_if_the_script_runs_with_another_interpreter() {
    scene("approval_is_void_if_the_script_runs_with_another_interpreter", &[], |scene| {
        let script = scene.put("project/.git-paw/worktree-setup.sh", "#!/bin/cat\n");
        let approved = scene.plan().subject().unwrap().fingerprint();
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(scene.plan().subject().unwrap().fingerprint(), approved);
    });
}

#[test]
fn user_commands_run_before_an_unapproved_repository_script_stops_setup() {
    scene("user_commands_run_before_an_unapproved_repository_script_stops_setup", &[], |scene| {
        scene.user_config(&commands(&["echo mine"]));
        scene.put("project/.git-paw/worktree-setup.sh", "echo theirs\n");
        let (outcome, lines) = scene.create(&scene.plan());
        assert_eq!((outcome.status, lines), (SetupStatus::Untrusted, vec!["mine".to_owned()]));
        assert_eq!(outcome.error.unwrap(), "not run, because not approved: .git-paw/worktree-setup.sh");
        let (outcome, lines) = scene.run(&scene.plan().approved());
        assert_eq!((outcome, lines), (SUCCESS, vec!["mine".to_owned(), "theirs".to_owned()]));
    });
}

#[test]
fn agent_cannot_approve_a_setup() {
    scene("agent_cannot_approve_a_setup", &[("GIT_PAW_AGENT_ID", "feat-x")], |_| {
        let caller = CommandCaller::identify(|_| None).unwrap();
        assert!(matches!(Approver::new(&caller), Err(TrustError::NotTheUser)));
    });
}

#[test]
fn setup_runs_the_script_of_the_main_checkout_and_never_of_the_branch() {
    scene("setup_runs_the_script_of_the_main_checkout_and_never_of_the_branch", &[], |scene| {
        scene.repo.git(["checkout", "--quiet", "feature/auth"]);
        scene.repo.commit_file(".git-paw/worktree-setup.sh", "echo branch\n", "a script of the branch");
        scene.repo.git(["checkout", "--quiet", "main"]);
        assert_eq!(scene.plan().trust(), SetupTrust::Nothing);
        scene.put("project/.git-paw/worktree-setup.sh", "echo main\n");
        assert_eq!(scene.create(&scene.plan().approved()), (SUCCESS, vec!["main".to_owned()]));
        assert!(scene.worktree.join(".git-paw/worktree-setup.sh").exists());
    });
}

#[test]
fn git_paw_setup_script_takes_precedence_over_betcode() {
    scene("git_paw_setup_script_takes_precedence_over_betcode", &[], |scene| {
        scene.put("project/.betcode/worktree-setup.sh", "echo other\n");
        scene.put("project/.git-paw/worktree-setup.sh", "echo own\n");
        assert_eq!(scene.plan().names().collect::<Vec<_>>(), [".git-paw/worktree-setup.sh"]);
        assert_eq!(scene.create(&scene.plan().approved()), (SUCCESS, vec!["own".to_owned()]));
    });
}

#[test]
fn setup_script_runs_with_its_interpreter_if_executable_and_with_sh_otherwise() {
    scene("setup_script_runs_with_its_interpreter_if_executable_and_with_sh_otherwise", &[], |scene| {
        let path = "project/.git-paw/worktree-setup.sh";
        let cat = "#!/bin/cat\necho hello\n";
        scene.put(path, cat);
        assert_eq!(scene.create(&scene.plan().approved()), (SUCCESS, vec!["hello".to_owned()]));
        scene.program(path, cat);
        assert_eq!(scene.run(&scene.plan().approved()).1, ["#!/bin/cat", "echo hello"]);
        scene.program(path, "echo no interpreter named\n");
        assert_eq!(scene.run(&scene.plan().approved()).1, ["no interpreter named"]);
        scene.program(path, "#!/no/such/interpreter\n");
        let (result, _) = scene.run(&scene.plan().approved());
        assert_eq!(result.status, SetupStatus::Failed);
        let error = result.error.unwrap();
        assert!(error.starts_with(".git-paw/worktree-setup.sh exited with code 12"), "{error}");
    });
}

#[test]
fn setup_refuses_a_script_that_is_not_a_file_of_the_repository() {
    scene("setup_refuses_a_script_that_is_not_a_file_of_the_repository", &[], |scene| {
        let path = scene.repo.root.join(".git-paw/worktree-setup.sh");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let outside = scene.put("outside.sh", "echo outside\n");
        scene.put("project/.betcode/worktree-setup.sh", "echo the next one is not tried\n");
        scene.put("project/scripts/setup.sh", "echo inside\n");

        symlink(&outside, &path).unwrap();
        let refused = |scene: &Scene| scene.run(&scene.plan().approved()).0.error.unwrap();
        let (first, lines) = scene.create(&scene.plan().approved());
        assert_eq!((first.status, lines), (SetupStatus::Failed, vec![]));
        let mut errors = vec![first.error.unwrap()];
        fs::remove_file(&path).unwrap();
        symlink("nowhere", &path).unwrap();
        errors.push(refused(scene));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        errors.push(refused(scene));
        fs::remove_dir(&path).unwrap();
        let socket = UnixListener::bind(&path).unwrap();
        errors.push(refused(scene));
        drop(socket);
        fs::remove_file(&path).unwrap();
        insta::assert_snapshot!(errors.join("\n"), @"
        .git-paw/worktree-setup.sh is a symlink to a file outside the repository: not run
        .git-paw/worktree-setup.sh cannot be read (No such file or directory (os error 2)): not run
        .git-paw/worktree-setup.sh is not a file: not run
        .git-paw/worktree-setup.sh is not a file: not run
        ");

        symlink("../scripts/setup.sh", &path).unwrap();
        assert_eq!(scene.run(&scene.plan().approved()), (SUCCESS, vec!["inside".to_owned()]));
    });
}

#[test]
fn setup_refuses_a_script_that_changes_during_the_run() {
    scene("setup_refuses_a_script_that_changes_during_the_run", &[], |scene| {
        let script = scene.put("project/.git-paw/worktree-setup.sh", "echo approved\n");
        // A sandbox would not let a step change it.
        scene.user_config(NO_SANDBOX);
        scene.repo_config(&commands(&[&format!("echo 'echo other' >{}", script.display())]));
        let (outcome, lines) = scene.create(&scene.plan().approved());
        assert_eq!((outcome.status, lines), (SetupStatus::Untrusted, vec![]));
        insta::assert_snapshot!(outcome.problem().unwrap(), @"
        setup untrusted: .git-paw/worktree-setup.sh was changed after it was approved: not run
        hint: review it and approve it with 'git paw trust', or pass --trust
        ");
    });
}

#[test]
fn setup_describes_missing_programs_signals_and_odd_commands() {
    scene("setup_describes_missing_programs_signals_and_odd_commands", &[], |scene| {
        scene.create(&SetupPlan::default());
        let error = |command: &str| {
            scene.user_config(&format!("{NO_SANDBOX}{}", commands(&[command])));
            scene.run(&scene.plan()).0.error
        };
        assert_eq!(error("no-such-program -x").unwrap(), "no-such-program -x exited with code 127");
        assert_eq!(error("kill -9 $$").unwrap(), "kill -9 $$ was killed by signal 9");
        assert_eq!(error("-e").unwrap(), "-e exited with code 127");
        assert_eq!(error("true\nexit 3\n").unwrap(), "true exit 3 exited with code 3");
        assert_eq!(error("cat; read -r line && exit 9; true"), None, "standard input is empty");
        assert_eq!(error("  "), None);
    });
}

#[test]
fn setup_output_is_sanitized_line_by_line() {
    scene("setup_output_is_sanitized_line_by_line", &[], |scene| {
        scene.user_config(&commands(&[r"printf '10%%\r100%%\n\033[31mred\033[0m\n\377\n' >&2"]));
        assert_eq!(scene.create(&scene.plan()).1, ["100%", "red", "\u{fffd}"]);
    });
}

#[test]
fn setup_fails_if_the_worktree_does_not_exist() {
    scene("setup_fails_if_the_worktree_does_not_exist", &[], |scene| {
        scene.user_config(&commands(&["true"]));
        let outcome = setup::run(&scene.plan(), Path::new("/no/such/worktree"), &scene.branch, |_| {});
        assert_eq!(outcome.status, SetupStatus::Failed);
        assert!(outcome.error.unwrap().contains("the directory does not exist"));
    });
}
