//! The sandbox of runs in a checkout, with a real repository and programs that try to get around it.
//!
//! Which files are ours depends on the environment of this process, so each test runs itself again as a child process.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_core::config::SandboxLevel;
use paw_host::git::Repo;
use paw_host::process::Command;
use paw_host::sandbox::require_engine;
use paw_testkit::{Sandbox, TestRepo};
use paw_worktree::setup::{self, SetupStatus};
use paw_worktree::{RunSandbox, Worktrees};

const INSIDE: &str = "PAW_TEST_RUN_SANDBOX";

/// `app`, its worktrees `app-own` and `app-other`, and files of git paw that no run may see.
struct Scene {
    root: PathBuf,
    repo: Repo,
    own: PathBuf,
}

/// Files that hold keys, tokens or messages.
const SECRETS: [&str; 7] = [
    "home/.local/share/git-paw/trust.json",
    "home/.local/share/git-paw/sessions/paw-app.json",
    "run/git-paw/daemon.sock",
    "app/.git/paw/broker.db",
    "app/.git/paw/operator-token",
    "app/.git-paw/broker.log",
    "app/.git-paw/broker.log.1",
];
/// Files that no run may change.
const KEPT: [&str; 7] = [
    "app/README.md",
    "app-other/README.md",
    "app-own/.git",
    "app/.git/config",
    "app/.git/HEAD",
    "app/.git/worktrees/app-own/commondir",
    "home/.config/git-paw/config.toml",
];
const SECRET: &str = "s3cret";

fn scene(test: &str, act: impl FnOnce(&Scene)) {
    if let Some(root) = std::env::var_os(INSIDE) {
        return act(&Scene::new(PathBuf::from(root)));
    }
    if let Err(reason) = require_engine() {
        use std::io::Write as _;
        let _ = std::io::stderr().write_all(format!("skipped: {reason}\n").as_bytes());
        return;
    }
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.root().join("run")).unwrap();
    let mut child = sandbox.command(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("run_sandbox::{test}"), "--nocapture"]).env(INSIDE, sandbox.root());
    let output = child.env("XDG_RUNTIME_DIR", sandbox.root().join("run")).output().unwrap();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

impl Scene {
    fn new(root: PathBuf) -> Self {
        let app = TestRepo::init(root.join("app"));
        for name in ["own", "other"] {
            app.git([
                "worktree",
                "add",
                "--quiet",
                "-b",
                name,
                root.join(format!("app-{name}")).to_str().unwrap(),
            ]);
        }
        let scene = Self { repo: Repo::discover(&app.root).unwrap(), own: root.join("app-own"), root };
        for path in SECRETS {
            scene.put(path, SECRET);
        }
        scene.put("home/.config/git-paw/config.toml", "");
        scene
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn sandbox(&self) -> RunSandbox {
        RunSandbox::open(Some(SandboxLevel::Guard), &self.repo, &self.own).unwrap()
    }

    /// The output of a script in the own worktree.
    fn run(&self, script: &str) -> String {
        let command = Command::new("sh").args(["-c", script]).dir(&self.own).env("R", &self.root);
        let output = self.sandbox().apply(command).capture().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    fn contents(&self) -> Vec<(&'static str, String)> {
        let text = |path| fs::read_to_string(self.root.join(path)).unwrap_or_default();
        KEPT.into_iter().chain(SECRETS).map(|path| (path, text(path))).collect()
    }
}

#[test]
fn a_worktree_whose_git_file_names_another_repository_is_guarded_with_its_own() {
    scene("a_worktree_whose_git_file_names_another_repository_is_guarded_with_its_own", |scene| {
        let data = scene.root.join("home/.local/share/git-paw");
        Worktrees::open(&data).unwrap().adopt(&scene.own).unwrap();
        let planted = TestRepo::init(scene.root.join("planted"));
        planted.write(".git-paw/config.toml", "[sandbox]\nruns = \"off\"\n");
        fs::write(scene.own.join(".git"), format!("gitdir: {}/.git\n", planted.root.display())).unwrap();
        fs::create_dir(scene.own.join("deep")).unwrap();
        for dir in [scene.own.clone(), scene.own.join("deep")] {
            let sandbox = RunSandbox::find(&dir).unwrap();
            let command =
                Command::new("sh").args(["-c", "echo x >$R/app/README.md; echo x >$R/app/.git/config"]);
            let before = scene.contents();
            sandbox.apply(command.dir(&dir).env("R", &scene.root)).capture().unwrap();
            assert_eq!((sandbox.level(), scene.contents()), (SandboxLevel::Guard, before));
        }
    });
}

#[test]
fn a_run_cannot_read_keys_tokens_and_messages() {
    scene("a_run_cannot_read_keys_tokens_and_messages", |scene| {
        symlink(&scene.root, scene.own.join("up")).unwrap();
        symlink(scene.root.join("app/.git/paw"), scene.own.join("messages")).unwrap();
        for path in SECRETS {
            let script = format!(
                "cat $R/{path} up/{path} ../{path} /proc/self/root$R/{path} /proc/1/root$R/{path} \
                 /proc/{pid}/root$R/{path} /proc/self/cwd/../{path} /proc/self/fd/*/../{path}
                 cat messages/* $(git rev-parse --git-common-dir)/paw/*
                 ln $R/{path} stolen; cat stolen; cp -a $R/{path} copied; cat copied
                 grep -r {SECRET} $R/app $R/home $R/run",
                pid = std::process::id()
            );
            let printed = scene.run(&script);
            assert!(!printed.contains(SECRET), "{path}: {printed}");
        }
    });
}

#[test]
fn a_run_cannot_change_the_git_directory_the_main_checkout_or_other_worktrees() {
    scene("a_run_cannot_change_the_git_directory_the_main_checkout_or_other_worktrees", |scene| {
        symlink(&scene.root, scene.own.join("up")).unwrap();
        let before = scene.contents();
        for path in KEPT.into_iter().chain(SECRETS) {
            let printed = scene.run(&format!(
                "for file in $R/{path} up/{path} /proc/self/root$R/{path}; do
                     echo planted >$file; rm -f $file; mv $file gone; ln -f README.md $file; cp README.md $file
                 done
                 dir=$(dirname $R/{path}); mv $dir $dir-moved; rm -rf $dir"
            ));
            assert_eq!(scene.contents(), before, "{path}: {printed}");
        }
        let printed = scene.run(
            "git config core.hooksPath evil; git config --worktree a.b c; git commit --allow-empty -m x
             git update-ref refs/heads/main HEAD~0 && git branch planted; git worktree remove --force ../app-other
             git -C ../app commit --allow-empty -m x; git -C ../app-other reset --hard HEAD~0
             echo x >$(git rev-parse --git-common-dir)/hooks/post-commit
             echo /tmp >$(git rev-parse --git-dir)/commondir; git gc; git stash; git add -A",
        );
        assert_eq!(scene.contents(), before, "{printed}");
        let git = scene.repo.git();
        assert_eq!(git.line(["for-each-ref", "--format=%(refname:short)"]).unwrap(), "main\nother\nown");
        assert!(!scene.repo.common_dir.join("hooks/post-commit").exists(), "{printed}");
    });
}

#[test]
fn git_can_be_read_in_a_run() {
    scene("git_can_be_read_in_a_run", |scene| {
        for script in [
            "git rev-parse HEAD",
            "git log --oneline",
            "git diff --stat HEAD",
            "touch README.md; git status --porcelain",
            "git ls-files --error-unmatch README.md",
            "git describe --always --dirty",
            "git -C ../app log -1 && cat ../app/README.md ../app-other/README.md",
            "echo new >file && cp file \"$HOME/kept-by-a-run\" && rm file",
            "git init -q nested && cd nested && git -c user.name=x -c user.email=x@x commit -qm x --allow-empty",
        ] {
            let printed = scene.run(&format!("{{ {script}; }} && echo fine"));
            assert!(printed.ends_with("fine\n"), "{script}: {printed}");
        }
        assert!(scene.root.join("home/kept-by-a-run").exists());
    });
}

#[test]
fn a_git_file_that_points_elsewhere_does_not_open_the_repository() {
    scene("a_git_file_that_points_elsewhere_does_not_open_the_repository", |scene| {
        let elsewhere = TestRepo::init(scene.root.join("elsewhere"));
        fs::write(scene.own.join(".git"), format!("gitdir: {}/.git\n", elsewhere.root.display())).unwrap();
        let before = scene.contents();
        let printed =
            scene.run("echo x >$R/app/.git/config; cat $R/app/.git/paw/*; echo x >$R/app/README.md");
        assert!(!printed.contains(SECRET), "{printed}");
        assert_eq!(scene.contents(), before);
    });
}

#[test]
fn a_run_in_the_main_checkout_can_write_there_but_not_in_the_git_directory() {
    scene("a_run_in_the_main_checkout_can_write_there_but_not_in_the_git_directory", |scene| {
        let main = RunSandbox::open(None, &scene.repo, &scene.repo.root).unwrap();
        let script = "echo x >new && cat .git-paw/broker.log .git/paw/*; echo x >.git/config; mv .git moved";
        let output =
            main.apply(Command::new("sh").args(["-c", script]).dir(&scene.repo.root)).capture().unwrap();
        assert!(!String::from_utf8_lossy(&output.stdout).contains(SECRET));
        assert!(scene.repo.root.join("new").exists() && !scene.repo.root.join("moved").exists());
        assert!(Repo::discover(&scene.repo.root).is_ok());
    });
}

#[test]
fn tmux_in_a_run_cannot_reach_the_servers_of_the_user() {
    scene("tmux_in_a_run_cannot_reach_the_servers_of_the_user", |scene| {
        let tmux = |args: &[&str]| Command::new("tmux").args(args.iter().copied()).capture().unwrap();
        assert!(tmux(&["new-session", "-d", "-s", "user"]).exit.success());
        let printed = scene.run(
            "for dir in \"$TMUX_TMPDIR\"/tmux-* /tmp/tmux-*; do
                 for socket in $dir/*; do tmux -S $socket has-session -t user && echo reached; done
             done",
        );
        assert!(!printed.contains("reached"), "{printed}");
        assert!(tmux(&["has-session", "-t", "user"]).exit.success());
    });
}

#[test]
fn a_failed_setup_step_names_the_path_that_the_sandbox_protected() {
    scene("a_failed_setup_step_names_the_path_that_the_sandbox_protected", |scene| {
        let text = "[worktree]\nsetup_commands = [\"git config core.hooksPath .husky\"]\n";
        let layer = paw_core::config::parse(text, "config.toml").unwrap();
        let config = paw_core::config::resolve(layer, paw_core::config::Layer::default(), |_| false).unwrap();
        let plan = setup::plan(&config, &paw_core::config::Layer::default(), &scene.repo.root);
        let outcome = setup::run(&plan, &scene.own, &BranchName::new("own").unwrap(), |_| {});
        assert_eq!(outcome.status, SetupStatus::Failed);
        let error = outcome.error.unwrap();
        let wanted = scene.repo.common_dir.join("config").display().to_string();
        assert!(error.contains("the sandbox denied access to") && error.contains(&wanted), "{error}");
    });
}

#[test]
fn level_off_runs_without_a_sandbox() {
    let dir = Path::new("/");
    let off = RunSandbox::off(dir);
    assert_eq!((off.level(), off.note("x: Read-only file system")), (SandboxLevel::Off, None));
    let command = Command::new("true");
    // It is still contained, and marked as a run.
    assert_eq!(off.apply(command.clone()), command.env("GIT_PAW_RUN", "1").contained());
}
