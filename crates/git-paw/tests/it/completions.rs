//! `git paw completions`: what real shells offer.

use std::path::{Path, PathBuf};

use paw_testkit::{Sandbox, Terminal, TestRepo};

use crate::guide::skip;
use crate::paw::{PROGRAM, paw};

/// git's own completion, where its package put it.
const GIT_COMPLETION: &str = "/usr/share/bash-completion/completions/git";

#[test]
fn a_script_for_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = paw(&sandbox, &sandbox.root(), &["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("git-paw"), "{shell}: {ran}");
        assert!(!ran.stdout.contains("demo-agent"), "{shell} offers hidden commands");
    }
}

/// A repository with a session, worktrees, tasks and specs, some with hostile names.
struct World {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl World {
    fn new() -> Self {
        let mut sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        for branch in ["feat/api", "feat/ui", "fix/login", "feat/$(touch${IFS}owned)", "feat/;owned"] {
            repo.git(["branch", branch]);
        }
        sandbox.install_program("codex", "#!/bin/sh\n");
        repo.write("openspec/changes/add-auth/tasks.md", "- [ ] 1.1 do it\n");
        repo.write(
            ".taskmaster/tasks/tasks.json",
            r#"{"master": {"tasks": [{"id": 42, "title": "Count\u001b[2J users", "status": "pending",
                "dependencies": [], "subtasks": []}]}}"#,
        );
        let receipt = format!(
            r#"{{"session_name":"paw-app","repo_path":"{}","status":"stopped","project_name":"app",
                "created_at":"2026-01-01T00:00:00Z","worktrees":[
                {{"branch":"feat/api","worktree_path":"/nowhere/api","cli":"codex"}},
                {{"branch":"fix/login","worktree_path":"/nowhere/login","cli":"codex"}}]}}"#,
            repo.root.display()
        );
        sandbox.write("home/.local/share/git-paw/sessions/paw-app.json", &receipt);
        let created = paw(&sandbox, &repo.root, &["worktree", "create", "feat/ui"]);
        assert_eq!(created.code, 0, "{created}");
        let bin = PathBuf::from(PROGRAM);
        let tools = sandbox.root().join("tools");
        let path = format!(
            "{}/bin:{}:{}",
            sandbox.root().display(),
            tools.display(),
            bin.parent().unwrap().display()
        );
        sandbox.set("PATH", path);
        Self { sandbox, repo }
    }

    /// The words offered after `git paw`.
    fn offered(&self, shell: &str, typed: &[&str]) -> Vec<String> {
        let args: Vec<_> = ["__complete", shell, "--"].iter().chain(typed).copied().collect();
        let ran = paw(&self.sandbox, &self.repo.root, &args);
        assert!(ran.code == 0 && ran.stderr.is_empty(), "{typed:?}: {ran}");
        ran.stdout.lines().map(str::to_owned).collect()
    }
}

#[test]
fn branches_agents_worktrees_tasks_specs_and_clis_are_completed() {
    let world = World::new();
    let bash = |typed: &[&str]| world.offered("bash", typed);
    assert_eq!(
        bash(&["add", "feat/"]),
        ["feat/api", "feat/ui"],
        "names that a shell would run are not offered"
    );
    assert_eq!(bash(&["add", "feat/api", "feat/"]), ["feat/ui"], "not what is there already");
    assert_eq!(bash(&["add", "feat/x=co"]), ["feat/x=codex"]);
    assert_eq!(bash(&["start", "--branches", "feat/api,f"]), ["feat/api,feat/ui", "feat/api,fix/login"]);
    assert_eq!(bash(&["start", "--cli=co"]), ["--cli=codex"]);
    assert_eq!(bash(&["tell", ""]), ["feat/api", "fix/login"]);
    assert_eq!(bash(&["attach", "feat-"]), ["feat-api"], "ids, where no branch fits");
    assert_eq!(bash(&["remove", "feat/api", ""]), ["fix/login"]);
    assert_eq!(bash(&["verify", "feat/u"]), ["feat/ui"], "any branch can be verified");
    assert_eq!(bash(&["worktree", "switch", ""]), ["main", "feat/ui"]);
    assert_eq!(bash(&["autopilot", "4"]), ["42"]);
    assert_eq!(bash(&["start", "--specs", "add"]), ["add-auth"]);
    assert_eq!(world.offered("fish", &["tasks", "show", ""]), ["42\tCount\u{fffd}[2J users"]);
    assert_eq!(
        world.offered("zsh", &["worktree", "sw"]),
        ["switch\tPrint the directory of a worktree, or change to it"]
    );
    assert_eq!(bash(&["tell", "feat/api", ""]), Vec::<String>::new());
}

#[test]
fn completion_outside_of_a_repository_offers_what_exists_everywhere() {
    let world = World::new();
    let outside = world.sandbox.root();
    let ran = paw(&world.sandbox, &outside, &["__complete", "bash", "--", "worktree", "switch", ""]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran}");
    let ran = paw(&world.sandbox, &outside, &["__complete", "bash", "--", "start", "--prompt-file", ""]);
    assert_eq!(ran.code, 3, "the shell completes files: {ran}");
}

/// Types into a real shell and presses Tab.
fn press_tab(world: &World, shell: &str, setup: &str, lines: &[(&str, &str)]) {
    let args: &[&str] = match shell.rsplit('/').next().unwrap_or_default() {
        "bash" => &["--norc", "--noprofile", "-i"],
        "zsh" => &["-f", "-i"],
        _ => &["--no-config", "-i"],
    };
    let mut terminal = Terminal::run(&world.sandbox, &world.repo.root, shell, args);
    terminal.send(&format!("{setup}; echo rea''dy\n"));
    terminal.wait_for("ready");
    for (typed, shown) in lines {
        terminal.send(&format!("{typed}\t"));
        terminal.wait_for(shown);
        // Ctrl+U: the next line starts empty.
        terminal.send("\u{15}");
    }
    terminal.send("exit\n");
    terminal.finish();
    assert!(!world.repo.root.join("owned").exists());
}

#[test]
fn bash_completes_git_dash_paw_on_tab() {
    let world = World::new();
    let setup = "bind 'set enable-bracketed-paste off'; source <(git-paw completions bash)";
    press_tab(
        &world,
        "bash",
        setup,
        &[
            ("git-paw list-c", "git-paw list-clis "),
            ("git-paw tell fe", "git-paw tell feat/api "),
            ("git-paw start --cli=co", "git-paw start --cli=codex "),
            ("git-paw add feat/new=co", "git-paw add feat/new=codex "),
            ("git-paw start --branches fix/login,feat/u", "--branches fix/login,feat/ui "),
            ("git-paw start --prompt-file READ", "--prompt-file README.md "),
        ],
    );
}

#[test]
fn bash_completes_git_paw_through_the_completion_of_git() {
    if !Path::new(GIT_COMPLETION).exists() {
        skip("git's own completion for bash is not installed");
        return;
    }
    let world = World::new();
    let setup = format!(
        "bind 'set enable-bracketed-paste off'; source {GIT_COMPLETION}; source <(git-paw completions bash)"
    );
    press_tab(
        &world,
        "bash",
        &setup,
        &[
            ("git paw doc", "git paw doctor "),
            ("git paw worktree switch fe", "git paw worktree switch feat/ui "),
            ("git -C . paw tell fix", "git -C . paw tell fix/login "),
            ("git paw start --cli=co", "git paw start --cli=codex "),
        ],
    );
}

#[test]
fn zsh_completes_git_dash_paw_on_tab() {
    let Some(zsh) = find_shell("zsh") else {
        skip("zsh is not installed");
        return;
    };
    let world = World::new();
    let setup = "autoload -U compinit; compinit -u; source <(git-paw completions zsh)";
    let lines = [("git-paw list-c", "list-clis"), ("git-paw tell fe", "git-paw tell feat/api")];
    press_tab(&world, &zsh, setup, &lines);
}

#[test]
fn fish_completes_git_paw_and_git_dash_paw_on_tab() {
    let Some(fish) = find_shell("fish") else {
        skip("fish is not installed");
        return;
    };
    let world = World::new();
    let setup = "git-paw completions fish | source";
    let lines = [("git-paw list-c", "list-clis"), ("git-paw tell fe", "git-paw tell feat/api")];
    press_tab(&world, &fish, setup, &lines);
}

fn find_shell(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    found.map(|file| file.display().to_string())
}
