//! Commit hooks, with real commits in real worktrees.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_broker::Message;
use paw_broker::hooks::{
    CommitSignal, HookError, HookSetup, find_damage, install, repair, uninstall, uninstall_all,
};
use paw_core::{AgentId, BranchName};
use paw_testkit::{RunOutput, Sandbox, TestRepo, git, wait_until};

use crate::server::Server;

/// A repository with an agent's worktree. The program that the hook calls records its arguments.
struct Hooked {
    sandbox: Sandbox,
    repo: TestRepo,
    tree: PathBuf,
    calls: PathBuf,
    program: PathBuf,
}

impl Hooked {
    fn new(branch: &str) -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("it's an app");
        repo.git(["config", "--unset", "core.hooksPath"]);
        let tree = sandbox.root().join("tree");
        repo.git(["worktree", "add", "--quiet", "-b", branch, tree.to_str().unwrap()]);
        let calls = sandbox.root().join("calls");
        let script = format!("#!/bin/sh\nprintf '%s %s\\n' \"$1\" \"$2\" >> '{}'\n", calls.display());
        let program = sandbox.install_program("git paw", &script);
        Self { sandbox, repo, tree, calls, program }
    }

    fn setup(&self) -> HookSetup {
        HookSetup {
            worktree: self.tree.clone(),
            agent: AgentId::new("feat-x").unwrap(),
            guard: None,
            program: self.program.clone(),
        }
    }

    fn common_dir(&self) -> PathBuf {
        self.repo.root.join(".git")
    }

    fn commit(&self, dir: &Path, args: &[&str]) -> RunOutput {
        let args = ["commit", "--quiet", "--allow-empty"].iter().chain(args).copied();
        self.sandbox.run(dir, "git", args)
    }

    fn calls(&self) -> Vec<String> {
        fs::read_to_string(&self.calls).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// The next commit that the hook reports.
    fn wait_for_signal(&self, count: usize) -> CommitSignal {
        let calls =
            wait_until("the hook calls the program", || (self.calls().len() >= count).then(|| self.calls()));
        let commit = calls[count - 1].strip_prefix("__commit-signal ").unwrap().to_owned();
        CommitSignal::find(&self.tree, &commit).unwrap().unwrap()
    }
}

/// A user's hook that leaves a mark.
fn user_hook(path: &Path, interpreter: &str, body: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!{interpreter}\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn files(signal: &CommitSignal) -> Vec<String> {
    signal.files.iter().map(|file| file.to_string_lossy().into_owned()).collect()
}

#[test]
fn a_commit_in_an_agents_worktree_is_reported_with_its_files() {
    let hooked = Hooked::new("feat/x");
    install(&hooked.setup()).unwrap();
    fs::write(hooked.tree.join("new file"), "x").unwrap();
    git(&hooked.tree, ["add", "-A"]);
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "one"]).code, 0);
    let signal = hooked.wait_for_signal(1);
    assert_eq!(files(&signal), ["new file"]);
    let Message::Artifact(artifact) = signal.to_message() else { panic!() };
    assert_eq!((artifact.agent_id.as_str(), artifact.status.as_str()), ("feat-x", "committed"));
    assert_eq!(artifact.extra.payload["commit"], git(&hooked.tree, ["rev-parse", "HEAD"]));
    assert_eq!(artifact.extra.payload["branch"], "feat/x");
}

#[test]
fn a_commit_with_many_files_is_reported_within_the_brokers_limit() {
    let server = Server::start();
    let mut agent = server.agent("feat-x");
    for name in ["x", "\u{1}"] {
        let files: Vec<PathBuf> =
            (0..2_000).map(|number| PathBuf::from(format!("{number:04}{}", name.repeat(196)))).collect();
        let signal = CommitSignal {
            agent: AgentId::new("feat-x").unwrap(),
            commit: "c".repeat(40),
            branch: None,
            guarded: None,
            files,
        };
        let message = signal.to_message();
        let answer = agent.publish(&message.to_json());
        assert_eq!(answer.status, 202, "{answer:?}");
        let Message::Artifact(artifact) = message else { panic!() };
        assert!((50..2_000).contains(&artifact.modified_files.len()), "{}", artifact.modified_files.len());
        assert_eq!(artifact.extra.payload["modified_files_total"], 2_000);
    }
}

#[test]
fn commits_in_other_worktrees_are_not_reported() {
    let hooked = Hooked::new("feat/x");
    let other = hooked.sandbox.root().join("mine");
    hooked.repo.git(["worktree", "add", "--quiet", "-b", "mine", other.to_str().unwrap()]);
    install(&hooked.setup()).unwrap();
    assert_eq!(hooked.commit(&hooked.repo.root, &["-m", "main"]).code, 0);
    assert_eq!(hooked.commit(&other, &["-m", "mine"]).code, 0);
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "theirs"]).code, 0);
    let signal = hooked.wait_for_signal(1);
    assert_eq!(signal.commit, git(&hooked.tree, ["rev-parse", "HEAD"]));
    assert_eq!(CommitSignal::find(&other, "HEAD").unwrap(), None);
}

#[test]
fn hostile_branch_and_file_names_are_reported_unchanged() {
    let hooked = Hooked::new("feat/$(touch$IFS'pwned')`touch${IFS}pwned`;touch${IFS}pwned;'\"");
    let guard =
        Some(BranchName::new("feat/$(touch$IFS'pwned')`touch${IFS}pwned`;touch${IFS}pwned;'\"").unwrap());
    install(&HookSetup { guard, ..hooked.setup() }).unwrap();
    for name in ["a\nb", "\"q\"\\", "$(touch pwned)", "ünï"] {
        fs::write(hooked.tree.join(name), "x").unwrap();
    }
    git(&hooked.tree, ["add", "-A"]);
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "$(touch pwned)"]).code, 0);
    let signal = hooked.wait_for_signal(1);
    assert_eq!(files(&signal), ["\"q\"\\", "$(touch pwned)", "a\nb", "ünï"]);
    assert!(!hooked.tree.join("pwned").exists());
}

#[test]
fn root_commits_merges_and_amends_report_their_changed_files() {
    let hooked = Hooked::new("feat/x");
    install(&hooked.setup()).unwrap();
    git(&hooked.tree, ["switch", "--quiet", "--orphan", "fresh"]);
    fs::write(hooked.tree.join("root"), "x").unwrap();
    git(&hooked.tree, ["add", "-A"]);
    hooked.commit(&hooked.tree, &["-m", "root"]);
    assert_eq!(files(&hooked.wait_for_signal(1)), ["root"]);
    fs::write(hooked.tree.join("more"), "x").unwrap();
    git(&hooked.tree, ["add", "-A"]);
    hooked.commit(&hooked.tree, &["--amend", "-m", "root again"]);
    assert_eq!(files(&hooked.wait_for_signal(2)), ["more", "root"]);
    hooked.repo.commit_file("on-main", "x", "main");
    git(&hooked.tree, ["switch", "--quiet", "feat/x"]);
    hooked.commit(&hooked.tree, &["-m", "mine"]);
    hooked.wait_for_signal(3);
    git(&hooked.tree, ["merge", "--quiet", "--no-edit", "main"]);
    let merge = CommitSignal::find(&hooked.tree, "HEAD").unwrap().unwrap();
    assert_eq!(files(&merge), ["on-main"]);
}

#[test]
fn the_users_hooks_run_in_any_language() {
    let hooked = Hooked::new("feat/x");
    let hooks = hooked.common_dir().join("hooks");
    user_hook(&hooks.join("pre-commit"), "/bin/sh", "touch ran-pre-commit");
    user_hook(&hooks.join("commit-msg"), "/usr/bin/awk -f", "BEGIN { print > \"ran-awk\"; exit }");
    user_hook(&hooks.join("post-commit"), "/bin/sh", "touch ran-post-commit; exit 3");
    install(&hooked.setup()).unwrap();
    let ran = hooked.commit(&hooked.tree, &["-m", "one"]);
    assert!(
        hooked.tree.join("ran-pre-commit").exists() && hooked.tree.join("ran-post-commit").exists(),
        "{ran}"
    );
    hooked.wait_for_signal(1);
    user_hook(&hooks.join("pre-commit"), "/bin/sh", "echo no >&2; exit 1");
    let refused = hooked.commit(&hooked.tree, &["-m", "two"]);
    assert_eq!((refused.code, refused.stderr.as_str()), (1, "no\n"));
}

#[test]
fn hooks_in_another_hooks_path_run_even_if_it_is_set_later() {
    let hooked = Hooked::new("feat/x");
    install(&hooked.setup()).unwrap();
    // A relative path in the worktree, as some tools set it.
    hooked.repo.git(["config", "core.hooksPath", ".husky/_"]);
    user_hook(&hooked.tree.join(".husky/_/pre-commit"), "/bin/sh", "touch ran-relative");
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "one"]).code, 0);
    assert!(hooked.tree.join("ran-relative").exists());
    hooked.wait_for_signal(1);
    let shared = hooked.sandbox.home().join("hooks");
    hooked.repo.git(["config", "--unset", "core.hooksPath"]);
    hooked.sandbox.run(&hooked.tree, "git", ["config", "--global", "core.hooksPath", "~/hooks"]);
    user_hook(&shared.join("pre-commit"), "/bin/sh", "touch ran-global");
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "two"]).code, 0);
    assert!(hooked.tree.join("ran-global").exists());
    hooked.wait_for_signal(2);
}

#[test]
fn the_users_hook_gets_its_stdin() {
    let hooked = Hooked::new("feat/x");
    let hooks = hooked.common_dir().join("hooks");
    user_hook(&hooks.join("post-rewrite"), "/bin/sh", "cat > rewritten; echo \"$1\" >> rewritten");
    install(&hooked.setup()).unwrap();
    hooked.commit(&hooked.tree, &["-m", "one"]);
    hooked.commit(&hooked.tree, &["--amend", "-m", "again"]);
    let text = fs::read_to_string(hooked.tree.join("rewritten")).unwrap();
    assert!(text.contains(&git(&hooked.tree, ["rev-parse", "HEAD"])) && text.ends_with("amend\n"), "{text}");
}

#[test]
fn a_commit_is_reported_before_the_cli_can_end_its_processes() {
    let hooked = Hooked::new("feat/x");
    install(&hooked.setup()).unwrap();
    // A CLI that ends whatever its command has left behind.
    let line = "setsid git commit --quiet --allow-empty -m one & wait $!; kill -9 -- -$! 2>/dev/null; true";
    assert_eq!(hooked.sandbox.run(&hooked.tree, "sh", ["-c", line]).code, 0);
    assert_eq!(hooked.calls().len(), 1, "{:?}", hooked.calls());
}

#[test]
fn a_missing_or_hanging_program_does_not_block_a_commit() {
    let hooked = Hooked::new("feat/x");
    hooked.sandbox.install_program("git paw", "#!/bin/sh\necho $$ > \"$HOME/pid\"\nexec sleep 600\n");
    install(&hooked.setup()).unwrap();
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "one"]).code, 0);
    let pid = wait_until("the program runs", || {
        fs::read_to_string(hooked.sandbox.home().join("pid")).ok().filter(|pid| pid.ends_with('\n'))
    });
    hooked.sandbox.run(&hooked.tree, "kill", [pid.trim()]);
    fs::remove_file(&hooked.program).unwrap();
    let ran = hooked.commit(&hooked.tree, &["-m", "two"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn a_commit_on_another_branch_is_refused_only_with_a_guard() {
    let hooked = Hooked::new("feat/x");
    install(&hooked.setup()).unwrap();
    git(&hooked.tree, ["switch", "--quiet", "-c", "wrong"]);
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "unguarded"]).code, 0);
    let guard = Some(BranchName::new("feat/x").unwrap());
    install(&HookSetup { guard, ..hooked.setup() }).unwrap();
    let refused = hooked.commit(&hooked.tree, &["-m", "guarded"]);
    assert_eq!(refused.code, 1);
    assert_eq!(
        refused.stderr,
        "error: this worktree belongs to feat/x, but wrong is checked out\nhint: switch back before you commit\n"
    );
    git(&hooked.tree, ["switch", "--quiet", "--detach"]);
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "detached"]).code, 0);
    git(&hooked.tree, ["switch", "--quiet", "feat/x"]);
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "right"]).code, 0);
}

#[test]
fn a_commit_on_another_branch_that_disables_hooks_is_feedback_for_its_agent() {
    let hooked = Hooked::new("feat/x");
    let guard = Some(BranchName::new("feat/x").unwrap());
    install(&HookSetup { guard, ..hooked.setup() }).unwrap();
    let commit = || {
        git(&hooked.tree, ["-c", "core.hooksPath=", "commit", "--quiet", "--allow-empty", "-m", "x"]);
        CommitSignal::find(&hooked.tree, "HEAD").unwrap().unwrap().stray_feedback()
    };
    assert_eq!(commit(), None, "on its own branch");
    git(&hooked.tree, ["-c", "core.hooksPath=", "switch", "--quiet", "--create", "elsewhere"]);
    let Some(Message::Feedback(feedback)) = commit() else { panic!() };
    assert_eq!(feedback.agent_id.as_str(), "feat-x");
    let [error] = &feedback.errors[..] else { panic!("{feedback:?}") };
    assert!(
        error.starts_with("[branch guard] this worktree belongs to feat/x, but elsewhere is checked out"),
        "{error}"
    );
    install(&hooked.setup()).unwrap();
    assert_eq!(commit(), None, "without the guard");
}

#[test]
fn a_private_configuration_and_its_copy_stay_private() {
    let hooked = Hooked::new("feat/x");
    let config = hooked.common_dir().join("config");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    install(&hooked.setup()).unwrap();
    assert_eq!(mode(&hooked.common_dir().join("paw-hooks/config.before")), 0o600);
    uninstall(&hooked.common_dir(), &hooked.tree).unwrap();
    assert_eq!(mode(&config), 0o600);
}

#[test]
fn uninstall_restores_the_configuration_byte_for_byte() {
    let hooked = Hooked::new("feat/x");
    let config = hooked.common_dir().join("config");
    let odd =
        format!("{}[alias]\n\tst = status # no newline at the end", fs::read_to_string(&config).unwrap());
    fs::write(&config, &odd).unwrap();
    let hook = hooked.common_dir().join("hooks/post-commit");
    user_hook(&hook, "/bin/sh", "true");
    let before = fs::read(&hook).unwrap();
    install(&hooked.setup()).unwrap();
    install(&hooked.setup()).unwrap();
    assert_ne!(fs::read_to_string(&config).unwrap(), odd);
    uninstall(&hooked.common_dir(), &hooked.tree).unwrap();
    assert_eq!(fs::read_to_string(&config).unwrap(), odd);
    assert_eq!(fs::read(&hook).unwrap(), before);
    assert!(!hooked.common_dir().join("paw-hooks").exists());
    let left = fs::read_dir(hooked.common_dir().join("worktrees/tree")).unwrap();
    assert!(!left.into_iter().any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("paw-")));
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "after"]).code, 0);
    assert!(hooked.calls().is_empty());
    uninstall_all(&hooked.common_dir()).unwrap();
}

#[test]
fn damaged_hook_settings_are_found_and_written_again() {
    let hooked = Hooked::new("feat/x");
    assert_eq!(find_damage(&hooked.common_dir()), None, "nothing is installed");
    install(&hooked.setup()).unwrap();
    assert_eq!(find_damage(&hooked.common_dir()), None);
    let settings = hooked.common_dir().join("paw-hooks/hooks.gitconfig");
    fs::write(&settings, b"[co\x80re\n").unwrap();
    assert_ne!(hooked.commit(&hooked.tree, &["-m", "broken"]).code, 0);
    assert!(find_damage(&hooked.common_dir()).is_some());
    repair(&hooked.common_dir()).unwrap();
    assert_eq!(find_damage(&hooked.common_dir()), None);
    assert_eq!(hooked.commit(&hooked.tree, &["-m", "works"]).code, 0);
    let _ = hooked.wait_for_signal(1);
}

#[test]
fn uninstall_never_writes_a_damaged_copy_of_the_configuration() {
    let damages: [fn(&mut Vec<u8>); 2] = [|kept| kept.truncate(kept.len() / 2), |kept| kept[3] = b'#'];
    for damage in damages {
        let hooked = Hooked::new("feat/x");
        install(&hooked.setup()).unwrap();
        let config = hooked.common_dir().join("config");
        let ours = fs::read_to_string(&config).unwrap();
        let kept = hooked.common_dir().join("paw-hooks/config.before");
        let mut bytes = fs::read(&kept).unwrap();
        let before = String::from_utf8(bytes.clone()).unwrap();
        assert!(ours.starts_with(&before) && ours != before, "{ours}");
        damage(&mut bytes);
        fs::write(&kept, bytes).unwrap();
        uninstall_all(&hooked.common_dir()).unwrap();
        assert_eq!(fs::read_to_string(&config).unwrap().trim_end(), before.trim_end());
    }
}

#[test]
fn uninstall_keeps_other_changes_of_the_configuration() {
    let hooked = Hooked::new("feat/x");
    let config = hooked.common_dir().join("config");
    let before = fs::read_to_string(&config).unwrap();
    install(&hooked.setup()).unwrap();
    hooked.repo.git(["config", "alias.st", "status"]);
    uninstall(&hooked.common_dir(), &hooked.tree).unwrap();
    assert_eq!(fs::read_to_string(&config).unwrap(), format!("{before}[alias]\n\tst = status\n"));
}

#[test]
fn uninstalling_the_last_agent_removes_the_hooks() {
    let hooked = Hooked::new("feat/x");
    let other = hooked.sandbox.root().join("other");
    hooked.repo.git(["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
    install(&hooked.setup()).unwrap();
    install(&HookSetup { worktree: other.clone(), agent: AgentId::new("other").unwrap(), ..hooked.setup() })
        .unwrap();
    uninstall(&hooked.common_dir(), &hooked.tree).unwrap();
    assert!(hooked.common_dir().join("paw-hooks/hooks/post-commit").exists());
    hooked.repo.git(["worktree", "remove", "--force", other.to_str().unwrap()]);
    uninstall(&hooked.common_dir(), &other).unwrap();
    assert!(!hooked.common_dir().join("paw-hooks").exists());
}

#[test]
fn install_refuses_the_main_checkout() {
    let hooked = Hooked::new("feat/x");
    let error = install(&HookSetup { worktree: hooked.repo.root.clone(), ..hooked.setup() }).unwrap_err();
    assert!(matches!(error, HookError::NotLinked(_)), "{error}");
}
