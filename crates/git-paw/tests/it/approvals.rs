//! `git paw approvals`

use paw_testkit::{Sandbox, TestRepo, git};
use serde_json::json;

use crate::paw::{document, paw};

fn project() -> (Sandbox, TestRepo) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    (sandbox, repo)
}

fn verdict(sandbox: &Sandbox, repo: &TestRepo, command: &str) -> (String, String) {
    let ran = paw(sandbox, &repo.root, &["approvals", "check", "--json", "--", command]);
    let answer = document(&ran);
    assert_eq!((ran.code, answer.as_object().unwrap().len()), (0, 2), "{ran}");
    (answer["verdict"].as_str().unwrap().to_owned(), answer["reason"].as_str().unwrap().to_owned())
}

fn is_allowed(sandbox: &Sandbox, repo: &TestRepo, command: &str) -> bool {
    verdict(sandbox, repo, command).0 == "allow"
}

#[test]
fn approvals_check_judges_a_command_without_running_it() {
    let (sandbox, repo) = project();
    assert_eq!(verdict(&sandbox, &repo, "git status").0, "allow");
    let (word, reason) = verdict(&sandbox, &repo, "touch /ran && ls");
    assert_eq!((word.as_str(), reason.as_str()), ("ask", "touch: `/ran` leaves the worktree"));
    assert!(is_allowed(&sandbox, &repo, "touch ran") && !repo.root.join("ran").exists());
    let ran = paw(&sandbox, &repo.root, &["approvals", "check", "--", "rm -rf build"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ask: `rm` is not on the allowlist\n"));
}

#[test]
fn approvals_check_joins_several_arguments_to_one_command() {
    let (sandbox, repo) = project();
    let ran = paw(&sandbox, &repo.root, &["approvals", "check", "--", "git", "commit", "-m", "a b; c"]);
    assert_eq!(ran.stdout, "allow: harmless here: git commit\n");
    let ran = paw(&sandbox, &repo.root, &["approvals", "check", "--json"]);
    assert_eq!((ran.code, document(&ran)["error"]["code"].clone()), (2, json!("INVALID_ARGUMENT")));
}

#[test]
fn approvals_check_uses_the_paths_and_branch_of_the_worktree() {
    let (sandbox, repo) = project();
    let tree = sandbox.root().join("app-feat-x");
    repo.git(["worktree", "add", "--quiet", "-b", "feat/x", tree.to_str().unwrap()]);
    let ask = |command: &str| {
        let args = ["approvals", "check", "--worktree", "../app-feat-x", "--json", "--", command];
        document(&paw(&sandbox, &repo.root, &args))["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(ask("git push origin feat/x"), "allow");
    assert_eq!(ask("git push origin main"), "ask");
    assert_eq!(ask(&format!("cat {}/README.md", tree.display())), "allow");
    assert_eq!(ask(&format!("cat {}/README.md", repo.root.display())), "ask");
    assert_eq!(ask("cat ~/.gitconfig"), "ask");
}

#[test]
fn approvals_check_asks_about_a_push_that_the_configuration_redirects() {
    let (sandbox, repo) = project();
    let tree = sandbox.root().join("app-feat-x");
    repo.git(["worktree", "add", "--quiet", "-b", "feat/x", tree.to_str().unwrap()]);
    let asks = |command: &str| {
        let args = ["approvals", "check", "--worktree", "../app-feat-x", "--json", "--", command];
        document(&paw(&sandbox, &repo.root, &args))["verdict"] == "ask"
    };
    let short = ["git push", "git push origin", "git push origin HEAD", "git push -u origin feat/x"];
    assert!(short.iter().all(|command| !asks(command)));
    for (key, value) in [
        ("push.default", "upstream"),
        ("push.default", "matching"),
        ("remote.origin.push", "refs/heads/*:refs/heads/main"),
        ("remote.origin.mirror", "true"),
        ("branch.feat/x.pushRemote", "elsewhere"),
        ("remote.pushDefault", "elsewhere"),
        ("push.followTags", "true"),
    ] {
        repo.git(["config", key, value]);
        for command in short {
            assert!(asks(command), "{command} with {key}={value}");
        }
        assert!(!asks("git push origin feat/x:feat/x"), "{key}");
        repo.git(["config", "--unset", key]);
    }
    assert!(asks("git push origin feat/x:main") && asks("git push upstream feat/x"));
}

#[test]
fn approvals_check_allows_curl_only_to_the_running_broker_of_the_session() {
    let (sandbox, repo) = project();
    let post = |port: u16| format!("curl -s -X POST http://127.0.0.1:{port}/publish -d x");
    repo.write(".git-paw/config.toml", "[broker]\nenabled = true\nport = 4567\n");
    assert!(!is_allowed(&sandbox, &repo, &post(4567)) && !is_allowed(&sandbox, &repo, &post(9119)));
    let endpoint = json!({"url": "http://127.0.0.1:4568", "pid": 1, "session": "x", "version": "1"});
    repo.write(".git/paw/endpoint.json", &endpoint.to_string());
    assert!(!is_allowed(&sandbox, &repo, &post(4568)), "the broker is not running");
}

#[test]
fn gates_that_the_user_approved_are_allowed_as_they_are() {
    let (sandbox, repo) = project();
    sandbox.write("home/.config/git-paw/config.toml", "[supervisor]\ntest_command = \"make check\"\n");
    assert!(is_allowed(&sandbox, &repo, "make check"));
    for command in ["make check deploy", "make check -f x", "make deploy", "make"] {
        assert!(!is_allowed(&sandbox, &repo, command), "{command}");
    }
    sandbox.write("home/.config/git-paw/config.toml", "");
    repo.write(".git-paw/config.toml", "[supervisor]\ntest_command = \"make check\"\n");
    assert!(!is_allowed(&sandbox, &repo, "make check"), "the user has not approved it");
}

#[test]
fn node_tools_of_the_default_branchs_lockfile_are_allowed() {
    let (sandbox, repo) = project();
    repo.commit_file("package-lock.json", "{\"packages\": {\n\"node_modules/jest\": {}\n}}\n", "lock");
    assert!(is_allowed(&sandbox, &repo, "npx jest --ci") && !is_allowed(&sandbox, &repo, "npx eslint ."));
    repo.write("package-lock.json", "{\"packages\": {\n\"node_modules/eslint\": {}\n}}\n");
    assert!(!is_allowed(&sandbox, &repo, "npx eslint ."), "only what is committed counts");
}

#[test]
fn approvals_check_outside_a_repository_uses_the_users_rules() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "home/.config/git-paw/config.toml",
        "[supervisor.common_dev_allowlist]\nextra = [\"just check\"]\n",
    );
    let dir = sandbox.root().join("tmp");
    let ran = paw(&sandbox, &dir, &["approvals", "check", "--", "just check && ls"]);
    assert_eq!(ran.stdout, "allow: harmless here: your rule `just check`, ls\n", "{ran}");
}

#[test]
fn a_repository_can_tighten_rules_but_loosens_them_only_with_approval() {
    let (sandbox, repo) = project();
    repo.write(".git-paw/config.toml", "[supervisor.auto_approve]\napproval_level = \"conservative\"\n");
    assert!(!is_allowed(&sandbox, &repo, "git push") && is_allowed(&sandbox, &repo, "cargo test --offline"));
    repo.write(".git-paw/config.toml", "[supervisor.auto_approve]\nsafe_commands = [\"make deploy\"]\n");
    assert!(!is_allowed(&sandbox, &repo, "make deploy") && is_allowed(&sandbox, &repo, "cargo test"));
    sandbox
        .write("home/.config/git-paw/config.toml", "[supervisor.auto_approve]\napproval_level = \"off\"\n");
    repo.write(".git-paw/config.toml", "[supervisor.auto_approve]\napproval_level = \"safe\"\n");
    assert!(!is_allowed(&sandbox, &repo, "ls"));
    sandbox.write(
        "home/.config/git-paw/config.toml",
        "[supervisor.auto_approve]\nsafe_commands = [\"make deploy\"]\n",
    );
    assert!(is_allowed(&sandbox, &repo, "make deploy"));
}

#[test]
fn approvals_lists_verdicts_and_suggests_rules() {
    let (sandbox, repo) = project();
    let ran = paw(&sandbox, &repo.root, &["approvals"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "no verdicts yet\n"));
    let line = |agent: &str, session: &str, command: &str, verdict: &str, second: u8| {
        json!({"at": format!("2026-01-01T00:00:0{second}Z"), "session": session, "agent": agent,
               "command": command, "verdict": verdict, "reason": "why"})
        .to_string()
    };
    let lines = [
        line("feat-x", "paw-app", "just check", "ask", 1),
        line("feat-y", "paw-app", "just check --all", "ask", 2),
        line("feat-y", "paw-old", "ls \u{1b}[2J", "allow", 3),
    ];
    repo.write(".git/paw/approvals.jsonl", &(lines.join("\n") + "\nhalf a li"));
    let listed = document(&paw(&sandbox, &repo.root, &["approvals", "--json", "--limit", "1"]));
    assert_eq!(listed["approvals"][0]["pattern"], "just check");
    assert_eq!(listed["approvals"][0]["count"], 2);
    assert_eq!(listed["approvals"][0]["suggested_target"], "project-allowlist");
    assert_eq!(listed["approvals"][0]["first_seen"], "2026-01-01T00:00:01Z");
    assert_eq!(listed["verdicts"].as_array().unwrap().len(), 1);
    let ran = paw(&sandbox, &repo.root, &["approvals"]);
    assert!(ran.stdout.contains("feat-x") && !ran.stdout.contains('\u{1b}'), "{ran}");
    assert!(ran.stderr.contains("extra = [\"just check\"]"), "{ran}");
    let listed = document(&paw(&sandbox, &repo.root, &["approvals", "--session", "paw-old", "--json"]));
    assert_eq!(
        (listed["session"].clone(), listed["verdicts"].as_array().unwrap().len()),
        (json!("paw-old"), 1)
    );
}

#[test]
fn approvals_check_resolves_paths_from_the_current_directory() {
    let (sandbox, repo) = project();
    repo.commit_file("sub/a.txt", "a\n", "sub");
    let sub = repo.root.join("sub");
    let ran = paw(&sandbox, &sub, &["approvals", "check", "--", "cat ../README.md"]);
    assert_eq!(ran.stdout, "allow: harmless here: cat\n");
    git(&sub, ["init", "--quiet"]);
    let ran = paw(&sandbox, &sub, &["approvals", "check", "--", "cat ../README.md"]);
    assert!(ran.stdout.starts_with("ask"), "{ran}");
}
