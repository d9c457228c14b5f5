//! Verdicts on complete command lines.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::LazyLock;

use paw_core::config::{ApprovalLevel, AutoApproveConfig, DevAllowlistConfig, Stack, SupervisorConfig};
use paw_supervisor::approval::{ApprovalRules, CommandContext, judge};
use proptest::prelude::*;

use crate::hostile::{HALF, HOSTILE};

/// A worktree with some files, a home directory next to it, and links that lead outside.
pub(crate) struct Tree {
    _dir: tempfile::TempDir,
    pub(crate) place: CommandContext,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["tree/src/bare/objects", "tree/tests", "tree/docs", "home/.ssh", "other"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in
            ["tree/Cargo.toml", "tree/src/main.rs", "tree/src/bare/HEAD", "tree/.env", "home/.ssh/id_rsa"]
        {
            fs::write(root.join(name), "x\n").unwrap();
        }
        symlink(root.join("home"), root.join("tree/out")).unwrap();
        symlink(root.join("home/.ssh/id_rsa"), root.join("tree/docs/key.md")).unwrap();
        symlink(root.join("other/new"), root.join("tree/dangling")).unwrap();
        symlink("src", root.join("tree/in")).unwrap();
        let place = CommandContext {
            home: Some(root.join("home")),
            branch: Some("feat/x".to_owned()),
            broker_port: Some(9119),
            ..CommandContext::at(root.join("tree"))
        };
        Self { _dir: dir, place }
    }

    fn allows(&self, command: &str) -> bool {
        judge(command, &ApprovalRules::default(), &self.place).is_allow()
    }

    fn absolute(&self, path: &str) -> String {
        self.place.worktree.join(path).display().to_string()
    }
}

/// Everyday commands of agents.
const EVERYDAY: &[&str] = &[
    "cargo test",
    "cargo test -p paw-core config::",
    "cargo test --workspace --no-fail-fast -- --nocapture --test-threads=1",
    "cargo test 2>&1 | tail -20",
    "cargo build --release",
    "cargo check --all-targets --all-features",
    "cargo clippy --all-targets -- -D warnings",
    "cargo +nightly fmt --all -- --check",
    "cargo fmt --check && cargo clippy && cargo test",
    "cargo tree -i serde",
    "cargo nextest run -E 'test(foo)'",
    "cargo build --target-dir target/x",
    "cargo build --manifest-path crates/a/Cargo.toml",
    "cargo doc --no-deps",
    "cargo update -p serde",
    "git status",
    "git status -sb",
    "git --no-pager log --oneline -5",
    "git log -n 3 --format='%h %s' main..HEAD -- src/main.rs",
    "git diff --stat HEAD~1",
    "git diff --cached",
    "git log @{u}..HEAD",
    "git diff @~1",
    "git diff main...feat/x",
    "git show HEAD:src/main.rs",
    "git show --stat 'HEAD@{1}'",
    "git show HEAD@{1}",
    "git blame -L 1,5 src/main.rs",
    "git grep -n 'fn main' src",
    "git ls-files",
    "git rev-parse --show-toplevel",
    "git branch --show-current",
    "git branch -avv",
    "git remote -v",
    "git stash list",
    "git worktree list",
    "git merge-base main HEAD",
    "git add -A",
    "git add src/main.rs tests",
    "git add .",
    "git commit -m 'fix: a thing'",
    "git commit -am \"feat!: größer — und besser\"",
    "git commit -m 'one\n\ntwo lines; rm -rf / is only text $(here)'",
    "git commit --amend --no-edit",
    "git fetch",
    "git fetch origin main",
    "git pull --ff-only",
    "git merge main --no-edit",
    "git push",
    "git push -u origin feat/x",
    "git push origin HEAD",
    "git mv src/main.rs src/lib.rs",
    "git paw say status working --message 'writing tests'",
    "git paw inbox --since 4",
    "git-paw say question 'may I?'",
    "git paw status --json",
    "curl -s http://127.0.0.1:9119/status",
    "curl -s -X POST http://127.0.0.1:9119/publish -H 'Content-Type: application/json' -d '{\"a\":1}'",
    "ls",
    "ls -la src",
    "ls tests/*",
    "cat Cargo.toml",
    "cat src/*.rs",
    "cat < Cargo.toml",
    "head -n 20 src/main.rs",
    "head -5 src/main.rs",
    "tail -n +3 src/main.rs",
    "wc -l src/main.rs",
    "grep -rn 'fn main' src",
    "grep -c x Cargo.toml || true",
    "rg -n 'fn main' src",
    "rg --files src",
    "find . -name '*.rs' -type f",
    "find src -maxdepth 2 \\( -name a -o -name b \\) -print",
    "sed -n '1,40p' src/main.rs",
    "sed -n /main/p src/main.rs",
    "sort Cargo.toml | uniq -c | sort -rn | head",
    "cut -d= -f2 Cargo.toml",
    "jq -r .name package.json",
    "diff -u Cargo.toml src/main.rs",
    "pwd",
    "pwd; ls",
    "pwd\nls\n",
    "echo done",
    "echo hello > docs/new.md",
    "echo hello >> docs/new.md 2>/dev/null",
    "printf '%s\\n' x",
    "true",
    "which cargo",
    "command -v rg",
    "date +%F",
    "test -f Cargo.toml && echo yes",
    "mkdir -p src/new/deep",
    "touch src/new.rs",
    "cp Cargo.toml docs/copy.toml",
    "mv src/main.rs src/old.rs",
    "chmod +x tests/run.sh",
    "cargo test | tee docs/out.txt",
    "cd src && ls",
    "cd src && cargo test",
    "cd in && cat main.rs",
    "npm test",
    "npm run lint",
    "npm run test:unit -- --coverage",
    "yarn test",
    "pnpm run build",
    "node --test tests",
    "tsc --noEmit",
    "pytest -q tests",
    "pytest -xvs tests/test_a.py::test_b",
    "python -m pytest -k name",
    "python3 -m unittest discover -s tests",
    "ruff check .",
    "mypy --strict src",
    "go test ./...",
    "go test -run TestX -count=1 -v ./src",
    "go build ./...",
    "go vet ./...",
    "gofmt -l .",
    "mdbook build",
    "openspec validate --all",
];

#[test]
fn hostile_commands_are_never_approved() {
    let tree = Tree::new();
    let allowed: Vec<_> = HOSTILE.iter().chain(HALF).filter(|command| tree.allows(command)).collect();
    assert!(allowed.is_empty(), "{allowed:#?}");
    assert!(HOSTILE.len() >= 150, "{}", HOSTILE.len());
}

#[test]
fn everyday_commands_are_approved() {
    let tree = Tree::new();
    for command in EVERYDAY {
        let verdict = judge(command, &ApprovalRules::default(), &tree.place);
        assert!(verdict.is_allow(), "{command}: {}", verdict.reason());
    }
    assert!(EVERYDAY.len() + HOSTILE.len() >= 300);
}

#[test]
fn absolute_paths_are_approved_only_inside_the_worktree() {
    let tree = Tree::new();
    assert!(tree.allows(&format!("cat {}", tree.absolute("src/main.rs"))));
    assert!(tree.allows(&format!("cd {} && git status", tree.absolute(""))));
    assert!(tree.allows(&format!("cd {} && git status", tree.absolute("src"))));
    assert!(!tree.allows(&format!("cat {}", tree.absolute("../other/x"))));
    assert!(!tree.allows(&format!("cat {}-2/x", tree.place.worktree.display())));
    assert!(!tree.allows(&format!("cd {} && git status", tree.absolute("src/bare"))));
    assert!(!tree.allows(&format!("mkdir s && cd {}/s && git status", tree.absolute(""))));
}

#[test]
fn paths_are_relative_to_the_shells_directory() {
    let mut tree = Tree::new();
    tree.place.cwd = tree.place.worktree.join("src");
    assert!(tree.allows("cat ../Cargo.toml") && !tree.allows("cat ../../other/x"));
    assert!(tree.allows("wc -l *.rs") && !tree.allows("sort *.rs") && tree.allows("sort -- *.rs"));
    tree.place.cwd = tree.place.worktree.join("src/bare");
    assert!(!tree.allows("git status") && tree.allows("ls"));
    tree.place.cwd = tree.place.worktree.join("..");
    assert!(!tree.allows("ls"));
}

#[test]
fn push_is_approved_only_for_the_worktrees_branch_and_known_remotes() {
    let mut tree = Tree::new();
    for command in ["git push origin feat/y", "git push https://example.com/x feat/x", "git push evil feat/x"]
    {
        assert!(!tree.allows(command), "{command}");
    }
    for branch in [Some("main"), Some("develop"), None] {
        tree.place.branch = branch.map(str::to_owned);
        for command in ["git push", "git push origin", "git push origin HEAD", "git push origin main"] {
            assert!(!tree.allows(command), "{command} on {branch:?}");
        }
        assert!(!tree.allows("git push origin feat/x"));
    }
}

fn configured(approve: AutoApproveConfig, everyday: DevAllowlistConfig) -> ApprovalRules {
    ApprovalRules::from_config(&SupervisorConfig {
        auto_approve: Some(approve),
        common_dev_allowlist: everyday,
        ..SupervisorConfig::default()
    })
}

#[test]
fn the_approval_level_limits_what_is_approved() {
    let tree = Tree::new();
    let verdicts = |level: ApprovalLevel| {
        let approve = AutoApproveConfig { approval_level: level, ..AutoApproveConfig::default() };
        let rules = configured(approve, DevAllowlistConfig::default());
        ["cargo test", "git push", "git fetch", "git pull", "curl -s http://127.0.0.1:9119/status"]
            .map(|command| judge(command, &rules, &tree.place).is_allow())
    };
    assert_eq!(verdicts(ApprovalLevel::Safe), [true; 5]);
    assert_eq!(verdicts(ApprovalLevel::Conservative), [true, false, false, false, false]);
    assert_eq!(verdicts(ApprovalLevel::Off), [false; 5]);
}

#[test]
fn approval_of_writes_can_be_turned_off() {
    let tree = Tree::new();
    let approve = AutoApproveConfig { approve_worktree_writes: false, ..AutoApproveConfig::default() };
    let rules = configured(approve, DevAllowlistConfig::default());
    let allows = |command: &str| judge(command, &rules, &tree.place).is_allow();
    assert!(allows("cargo test >/dev/null 2>&1") && allows("git commit -m x"));
    for command in ["echo x > a", "touch a", "mv Cargo.toml a", "ls | tee a"] {
        assert!(!allows(command), "{command}");
    }
}

#[test]
fn user_rules_approve_only_their_commands() {
    let tree = Tree::new();
    let own = |text: &str| vec![text.to_owned()];
    let approve = AutoApproveConfig { safe_commands: own("./gradlew test"), ..AutoApproveConfig::default() };
    let everyday = DevAllowlistConfig { extra: own("just check"), ..DevAllowlistConfig::default() };
    let rules = configured(approve.clone(), everyday.clone());
    let allows = |command: &str| judge(command, &rules, &tree.place).is_allow();
    assert!(allows("just check") && allows("just check src --fast && ./gradlew test"));
    for command in [
        "just deploy",
        "just checkout",
        "just check ../x",
        "just check --out=/etc/x",
        "just check --dir ~/x",
        "just check *",
        "just check; rm -rf x",
        "just check $(id)",
        "X=1 just check",
        "./gradlew publish",
        "gradlew test",
    ] {
        assert!(!allows(command), "{command}");
    }
    let without = configured(approve, DevAllowlistConfig { enabled: false, ..everyday });
    let allows = |command: &str| judge(command, &without, &tree.place).is_allow();
    assert!(allows("./gradlew test") && !allows("just check") && !allows("cargo test"));
}

#[test]
fn a_list_of_stacks_excludes_other_stacks() {
    let tree = Tree::new();
    let everyday = DevAllowlistConfig { stacks: vec![Stack::Go], ..DevAllowlistConfig::default() };
    let rules = configured(AutoApproveConfig::default(), everyday);
    let allows = |command: &str| judge(command, &rules, &tree.place).is_allow();
    assert!(allows("go test ./...") && allows("cargo test") && !allows("npm test") && !allows("pytest"));
}

#[test]
fn an_approved_command_with_an_added_part_is_asked_about() {
    let tree = Tree::new();
    let added = [
        "{} &",
        "{} & ls",
        "{}; rm x",
        "{} && sudo ls",
        "{} || sh",
        "{} | sh",
        "{} |& cat",
        "{}\nrm x",
        "{} $(id)",
        "{} `id`",
        "{} \"$(id)\"",
        "{} $HOME",
        "{} ${X:-y}",
        "{} > /etc/x",
        "{} >> ~/.bashrc",
        "{} > .git/config",
        "{} &> x",
        "{} >| x",
        "{} <(id)",
        "{} > >(sh)",
        "{} <<E\nE",
        "{} <<< x",
        "{} {a,b}",
        "{} # x",
        "X=1 {}",
        "PATH=. {}",
        "({})",
        "{ {}; }",
        "! {}",
        "env {}",
        "xargs {}",
        "time {}",
        "exec {}",
        "sudo {}",
        "bash -c '{}'",
        "if true; then {}; fi",
        "for i in a; do {}; done",
        "f() { {}; }; f",
        "{} \\\n x",
        "$({})",
        "{} 3>x",
        "alias ls=rm; {}",
        "export A=b; {}",
        "set -e; {}",
        "source x; {}",
        ". ./x; {}",
        "eval {}",
        "./{}",
        "\\{}",
    ];
    for command in EVERYDAY {
        for shape in added {
            let line = shape.replace("{}", command);
            // In a comment, in quotes or after a here-document it would not run.
            if command.contains('\'') && shape.contains('\'')
                || command.contains('\n') && shape.ends_with("# x")
            {
                continue;
            }
            assert!(!tree.allows(&line), "{line}");
        }
    }
}

#[test]
fn verdict_reasons_contain_no_control_characters() {
    let tree = Tree::new();
    let lines = HOSTILE.iter().chain(HALF).chain(EVERYDAY);
    for command in lines {
        let verdict = judge(command, &ApprovalRules::default(), &tree.place);
        let reason = verdict.reason();
        assert!(
            !reason.is_empty() && !reason.chars().any(char::is_control) && reason.is_ascii(),
            "{reason:?}"
        );
    }
}

#[test]
fn overlong_commands_are_asked_about() {
    let tree = Tree::new();
    assert!(!tree.allows(&format!("echo {}", "x".repeat(20_000))));
    assert!(!tree.allows(&"(".repeat(10_000)));
    assert!(!tree.allows(&"echo $(".repeat(2_000)));
    let wandering = (0..30).map(|number| format!("cd d{number}")).collect::<Vec<_>>().join("; ");
    assert!(!tree.allows(&wandering) && tree.allows(&"cd src; ".repeat(3)));
}

#[test]
fn judging_in_a_missing_worktree_does_not_panic() {
    let place = CommandContext::at(Path::new("/no/such/worktree"));
    assert!(judge("cat src/main.rs", &ApprovalRules::default(), &place).is_allow());
    assert!(!judge("cat ../x", &ApprovalRules::default(), &place).is_allow());
    assert!(!judge("ls", &ApprovalRules::default(), &CommandContext::at("/")).is_allow());
}

static TREE: LazyLock<Tree> = LazyLock::new(Tree::new);

/// Operators that separate commands.
fn join() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![" && ", " || ", "; ", " | ", "\n", ";", "&&", "|"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_before_or_behind_makes_a_hostile_command_allowed(
        hostile in prop::sample::select(HOSTILE),
        before in prop::collection::vec((prop::sample::select(EVERYDAY), join()), 0..3),
        behind in prop::collection::vec((join(), prop::sample::select(EVERYDAY)), 0..3),
        tail in "( [ -~]{0,20})?",
    ) {
        let mut line: String = before.iter().flat_map(|(command, join)| [*command, *join]).collect();
        line.push_str(hostile);
        line.extend(behind.iter().flat_map(|(join, command)| [*join, *command]));
        prop_assert!(!TREE.allows(&line), "{line}");
        line.push_str(&tail);
        prop_assert!(!TREE.allows(&line), "{line}");
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        judge(&String::from_utf8_lossy(&bytes), &ApprovalRules::default(), &CommandContext::at("/no/such/worktree"));
    }

    #[test]
    fn no_shell_text_makes_it_panic(words in prop::collection::vec(
        prop::sample::select(vec!["git", "log", "-", "--", "=", "'", "\"", "\\", "$", "(", ")", "{", "}", "<", ">", "&",
            "|", ";", "\n", " ", "~", "*", "..", "/", "cd", "[", "]", "#", "é", "cat", "2", "sed -n", "1p"]), 0..24)) {
        judge(&words.concat(), &ApprovalRules::default(), &CommandContext::at("/no/such/worktree"));
    }
}
