//! `git paw completions`: what real shells offer.

use std::path::{Path, PathBuf};

use paw_testkit::{Sandbox, TestRepo, wait_until};

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

/// Lines that are typed, and what they become when Tab is pressed: agents, branches, worktrees, tasks and specs.
const LINES: [(&str, &str); 5] = [
    ("paw tell fe", "paw tell feat/api"),
    ("paw add feat/u", "paw add feat/ui"),
    ("paw worktree switch fe", "paw worktree switch feat/ui"),
    ("paw autopilot 4", "paw autopilot 42"),
    ("paw start --specs add", "paw start --specs add-auth"),
];
/// What only `git-paw` or only `git paw` needs besides.
const MORE: [(&str, &str); 4] = [
    ("paw list-c", "paw list-clis"),
    ("paw start --cli=co", "paw start --cli=codex"),
    ("paw start --branches fix/login,feat/u", "paw start --branches fix/login,feat/ui"),
    ("paw start --prompt-file READ", "paw start --prompt-file README.md"),
];

/// Types into a real shell in tmux and presses Tab after each line.
fn press_tab(world: &World, shell: &str, setup: &str, lines: impl IntoIterator<Item = (String, String)>) {
    let root = world.repo.root.display().to_string();
    let started =
        world.sandbox.tmux(["new-session", "-d", "-s", "tab", "-x", "140", "-y", "40", "-c", &root, shell]);
    assert_eq!(started.code, 0, "{started}");
    let press = |keys: &[&str]| {
        let args: Vec<_> = ["send-keys", "-t", "=tab:"].iter().chain(keys).copied().collect();
        world.sandbox.tmux(args);
    };
    let screen = || world.sandbox.tmux(["capture-pane", "-p", "-t", "=tab:"]).stdout;
    let wait_for = |text: &str| {
        wait_until(&format!("{shell} shows {text:?}"), || screen().contains(text).then_some(()));
    };
    press(&["-l", &format!("{setup}; echo rea''dy")]);
    press(&["Enter"]);
    wait_for("ready");
    for (typed, shown) in lines {
        press(&["-l", &typed]);
        wait_for(&typed);
        press(&["Tab"]);
        wait_for(&shown);
        // The next line starts on an empty screen.
        press(&["C-u", "C-l"]);
        wait_until("an empty line", || (!screen().contains(&typed)).then_some(()));
    }
    world.sandbox.tmux(["kill-session", "-t", "=tab:"]);
    assert!(!world.repo.root.join("owned").exists());
}

/// The lines after `git-` or `git `.
fn after(prefix: &str, lines: &[(&str, &str)]) -> Vec<(String, String)> {
    let with = |line: &str| format!("{prefix}{line}");
    lines.iter().map(|(typed, shown)| (with(typed), with(shown))).collect()
}

fn line(typed: &str, shown: &str) -> (String, String) {
    (typed.to_owned(), shown.to_owned())
}

#[test]
fn bash_completes_git_dash_paw_on_tab() {
    let world = World::new();
    let lines = after("git-", &LINES).into_iter().chain(after("git-", &MORE));
    let lines = lines.chain([line("git-paw add feat/new=co", "git-paw add feat/new=codex")]);
    press_tab(&world, "bash --norc --noprofile -i", "source <(git-paw completions bash)", lines);
}

#[test]
fn bash_completes_git_paw_through_the_completion_of_git() {
    if !Path::new(GIT_COMPLETION).exists() {
        skip("git's own completion for bash is not installed");
        return;
    }
    let world = World::new();
    let setup = format!("source {GIT_COMPLETION}; source <(git-paw completions bash)");
    let lines = after("git ", &LINES);
    let lines = lines.into_iter().chain([
        line("git -C . paw tell fix", "git -C . paw tell fix/login"),
        line("git paw start --cli=co", "git paw start --cli=codex"),
    ]);
    press_tab(&world, "bash --norc --noprofile -i", &setup, lines);
}

#[test]
fn zsh_completes_git_paw_and_git_dash_paw_on_tab() {
    let Some(zsh) = find_shell("zsh") else {
        skip("zsh is not installed");
        return;
    };
    let world = World::new();
    // As the help of the command says.
    let script = paw(&world.sandbox, &world.repo.root, &["completions", "zsh"]).stdout;
    world.sandbox.write("home/.zfunc/_git-paw", &script);
    let setup = "fpath=(~/.zfunc $fpath); autoload -U compinit; compinit -u";
    let lines = after("git ", &LINES).into_iter().chain(after("git-", &MORE));
    let lines = lines.chain([line("git -C . paw tell fix", "git -C . paw tell fix/login")]);
    press_tab(&world, &format!("{zsh} -f -i"), setup, lines);
}

#[test]
fn fish_completes_git_paw_and_git_dash_paw_on_tab() {
    let Some(fish) = find_shell("fish") else {
        skip("fish is not installed");
        return;
    };
    let world = World::new();
    let script = paw(&world.sandbox, &world.repo.root, &["completions", "fish"]).stdout;
    world.sandbox.write("home/.config/fish/conf.d/git-paw.fish", &script);
    let lines = after("git ", &LINES).into_iter().chain(after("git-", &MORE));
    let lines = lines
        .chain([line("git -C . paw tell fix", "git -C . paw tell fix/login"), line("git pa", "git paw")]);
    press_tab(&world, &format!("{fish} -i"), "true", lines);
}

fn find_shell(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    found.map(|file| file.display().to_string())
}
