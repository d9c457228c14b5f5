//! Verdicts on complete command lines.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::LazyLock;

use paw_core::config::{ApprovalLevel, AutoApproveConfig, DevAllowlistConfig, Stack, SupervisorConfig};
use paw_supervisor::approval::{ApprovalRules, CommandContext, judge, judge_edit, judge_supervisor};
use proptest::prelude::*;

use crate::corpus::{EVERYDAY, HOSTILE, Line};

/// A worktree with some files, a home directory next to it, and links that lead outside.
pub(crate) struct Tree {
    _dir: tempfile::TempDir,
    pub(crate) place: CommandContext,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    pub(crate) fn below(above: &Path) -> Self {
        let dir = tempfile::tempdir_in(above).unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in [
            "tree/src/bare/objects",
            "tree/tests",
            "tree/docs/cargo",
            "tree/odd",
            "tree/config",
            "tree/linked",
            "tree/.cargo",
            "tree/.claude",
            "tree/.github/workflows",
            "tree/fixtures/repo/objects",
            "tree/fixtures/repo/refs",
            "tree/fixtures/dangling",
            "tree/fixtures/common",
            "home/.ssh",
            "other",
        ] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in [
            "tree/Cargo.toml",
            "tree/src/main.rs",
            "tree/src/bare/HEAD",
            "tree/.git",
            "tree/.env",
            "tree/config/.env",
            "tree/odd/a b",
            "tree/docs/cargo/config.toml",
            "tree/.cargo/config.toml",
            "tree/.claude/settings.json",
            "tree/.github/workflows/ci.yml",
            "tree/fixtures/repo/HEAD",
            "tree/fixtures/common/HEAD",
            "tree/fixtures/common/commondir",
            "other/secret",
            "home/.ssh/id_rsa",
        ] {
            fs::write(root.join(name), "x\n").unwrap();
        }
        // An index without files, so that nothing is tracked.
        fs::create_dir(root.join("git")).unwrap();
        fs::write(root.join("tree/.git"), "gitdir: ../git\n").unwrap();
        fs::write(root.join("git/index"), b"DIRC\0\0\0\x02\0\0\0\0").unwrap();
        for (target, link) in [
            ("home", "tree/out"),
            ("home/.ssh/id_rsa", "tree/docs/key.md"),
            ("other/new", "tree/dangling"),
            ("other/secret", "tree/linked/main.rs"),
            ("other/secret", "tree/linked/src"),
            ("other/secret", "tree/linked/Cargo.toml"),
            ("other/secret", "tree/linked/secret.md"),
            ("other/secret", "tree/linked/target"),
        ] {
            symlink(root.join(target), root.join(link)).unwrap();
        }
        symlink("src", root.join("tree/in")).unwrap();
        symlink("refs/heads/none", root.join("tree/fixtures/dangling/HEAD")).unwrap();
        let place = CommandContext {
            home: Some(root.join("home")),
            branch: Some("feat/x".to_owned()),
            trunk: Some("main".to_owned()),
            pushes_own_branch: true,
            broker_port: Some(9119),
            packages: ["typescript", "eslint", "prettier", "jest", "vitest", "@playwright/test"]
                .map(str::to_owned)
                .into(),
            ..CommandContext::at(root.join("tree"))
        };
        Self { _dir: dir, place }
    }

    fn allows(&self, command: &str) -> bool {
        judge(command, &RULES, &self.place).is_allow()
    }

    fn absolute(&self, path: &str) -> String {
        self.place.worktree.join(path).display().to_string()
    }
}

/// The default rules, with the targets that a user's rules name.
static RULES: LazyLock<ApprovalRules> = LazyLock::new(|| {
    let extra = ["make lint", "make test", "just check", "task unit"].map(str::to_owned).to_vec();
    configured(AutoApproveConfig::default(), DevAllowlistConfig { extra, ..DevAllowlistConfig::default() })
});

#[test]
fn hostile_commands_are_never_approved() {
    let tree = Tree::new();
    let allowed: Vec<_> = HOSTILE.iter().filter(|line| tree.allows(&line.command)).collect();
    println!("dangerous commands approved: {} of {}", allowed.len(), HOSTILE.len());
    assert!(allowed.is_empty(), "{allowed:#?}");
    assert!(HOSTILE.len() >= 400, "{}", HOSTILE.len());
}

#[test]
fn at_most_one_in_twenty_everyday_commands_is_asked_about() {
    let tree = Tree::new();
    let verdict = |line: &Line| judge(&line.command, &RULES, &tree.place);
    let asked: Vec<_> = EVERYDAY.iter().filter(|line| !verdict(line).is_allow()).collect();
    println!("everyday commands asked about: {} of {}", asked.len(), EVERYDAY.len());
    for line in &asked {
        println!("  {}: {}", line.command, verdict(line).reason());
    }
    assert!(asked.len() * 20 <= EVERYDAY.len(), "{}", asked.len());
    assert!(EVERYDAY.len() >= 400, "{}", EVERYDAY.len());
}

#[test]
fn every_command_of_the_skills_is_approved() {
    let tree = Tree::new();
    let commands =
        |skill: &'static str| skill.lines().map(str::trim).filter(|line| line.starts_with("git paw "));
    let coordination = include_str!("../../../paw-session/src/skills/coordination.md");
    let asked: Vec<_> = commands(coordination).filter(|command| !tree.allows(command)).collect();
    assert!(asked.is_empty() && commands(coordination).count() > 8, "{asked:?}");
    let supervisor = include_str!("../../../paw-session/src/skills/supervisor.md");
    let is_asked = |command: &&str| !judge_supervisor(command, &RULES, true, &tree.place).is_allow();
    let asked: Vec<_> = commands(supervisor).filter(is_asked).collect();
    assert!(asked.is_empty() && commands(supervisor).count() > 8, "{asked:?}");
}

#[test]
fn no_command_is_in_both_corpora_or_twice_in_one() {
    let mut lines: Vec<_> = HOSTILE.iter().chain(EVERYDAY.iter()).map(|line| &line.command).collect();
    lines.sort_unstable();
    let twice: Vec<_> = lines.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
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
        ["cargo test --offline", "git push", "git fetch", "git pull", "curl -s http://127.0.0.1:9119/status"]
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
fn a_copy_into_a_directory_never_goes_through_a_link_in_it() {
    let tree = Tree::new();
    for program in ["cp", "mv", "git mv", "cp -r"] {
        assert!(!tree.allows(&format!("{program} src/main.rs linked")), "{program}");
        assert!(!tree.allows(&format!("{program} src/*.rs linked/")), "{program}");
        assert!(tree.allows(&format!("{program} src/main.rs tests")), "{program}");
    }
    assert!(!tree.allows("cp -r linked docs/copy") && !tree.allows("cp -r docs/. linked"));
}

#[test]
fn recursive_searches_never_read_protected_files() {
    let tree = Tree::new();
    for line in [
        "grep -r x .",
        "grep -rn x",
        "rg -g .env x",
        "rg --hidden x",
        "rg -uu x config",
        "diff -r config src",
    ] {
        assert!(!tree.allows(line), "{line}");
    }
    for line in
        ["grep -r x src", "grep -rn --include=*.rs x .", "rg x", "rg -g '*.rs' x", "rg --hidden x src"]
    {
        assert!(tree.allows(line), "{line}");
    }
}

#[test]
fn a_directory_that_git_takes_for_a_repository_is_asked_about() {
    let tree = Tree::new();
    for name in ["repo", "dangling", "common"] {
        assert!(!tree.allows(&format!("cd fixtures/{name} && git status")), "{name}");
        assert!(!tree.allows(&format!("git -C fixtures/{name} status")), "{name}");
    }
    assert!(tree.allows("cd fixtures && git status") && tree.allows("git -C fixtures status"));
}

#[test]
fn files_that_steer_tools_are_protected_from_writes_and_edits() {
    let tree = Tree::new();
    for file in [
        "rust-toolchain.toml",
        ".cargo/config.toml",
        ".github/workflows/ci.yml",
        ".husky/pre-commit",
        ".vscode/tasks.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".factory/mcp.json",
        ".envrc",
        ".npmrc",
        ".yarnrc.yml",
        ".pnp.cjs",
    ] {
        assert!(!tree.allows(&format!("echo x > {file}")), "{file}");
        assert!(!judge_edit(file, &RULES, &tree.place).is_allow(), "{file}");
    }
    assert!(tree.allows("cat .github/workflows/ci.yml") && tree.allows("cat .cargo/config.toml"));
    assert!(judge_edit("Makefile", &RULES, &tree.place).is_allow());
}

#[test]
fn turned_off_writes_cover_formatters_and_git_verbs_that_write() {
    let tree = Tree::new();
    let approve = AutoApproveConfig { approve_worktree_writes: false, ..AutoApproveConfig::default() };
    let rules = configured(approve, DevAllowlistConfig::default());
    for line in [
        "cargo fmt",
        "cargo clippy --fix",
        "rustfmt src/main.rs",
        "ruff format",
        "ruff check --fix",
        "black .",
        "gofmt -w src",
        "go fmt ./...",
        "prettier --write src",
        "eslint --fix src",
        "sed -i s/a/b/ src/main.rs",
        "git mv src/main.rs src/x.rs",
        "git merge main",
        "git rebase main",
        "git pull",
        "cargo update",
        "go mod tidy",
        "tsc",
        "jest -u",
    ] {
        assert!(tree.allows(line), "{line}");
        assert!(!judge(line, &rules, &tree.place).is_allow(), "{line}");
    }
    for line in [
        "cargo fmt --check",
        "cargo fmt -- --check",
        "ruff format --check",
        "black --check .",
        "gofmt -l .",
        "tsc --noEmit",
        "git commit -m x",
    ] {
        assert!(judge(line, &rules, &tree.place).is_allow(), "{line}");
    }
}

#[test]
fn the_conservative_level_allows_no_command_that_uses_the_network() {
    let tree = Tree::new();
    let approve =
        AutoApproveConfig { approval_level: ApprovalLevel::Conservative, ..AutoApproveConfig::default() };
    let rules = configured(approve, DevAllowlistConfig::default());
    for line in [
        "git push",
        "git fetch",
        "git pull",
        "git ls-remote origin",
        "cargo audit",
        "cargo update",
        "cargo search x",
        "cargo test",
        "cargo build",
        "pip list --outdated",
        "uv run pytest",
        "npx jest",
        "npm outdated",
        "go test ./...",
        "mvn test",
        "dotnet test",
        "curl -s http://127.0.0.1:9119/status",
    ] {
        assert!(tree.allows(line), "{line}");
        assert!(!judge(line, &rules, &tree.place).is_allow(), "{line}");
    }
    for line in [
        "cargo test --offline",
        "cargo build --frozen",
        "pytest",
        "npm test",
        "git status",
        "pip list",
        "go test -mod=vendor ./...",
    ] {
        assert!(judge(line, &rules, &tree.place).is_allow(), "{line}");
    }
}

#[test]
fn the_users_rule_make_lint_covers_neither_options_nor_assignments_nor_other_targets() {
    let tree = Tree::new();
    assert!(tree.allows("make lint"));
    for line in
        ["make lint --eval=x", "make lint deploy", "make lint -f x", "make lint SHELL=./x", "make deploy"]
    {
        assert!(!tree.allows(line), "{line}");
    }
}

#[test]
fn git_push_is_asked_about_where_the_configuration_could_redirect_it() {
    let mut tree = Tree::new();
    tree.place.pushes_own_branch = false;
    for line in [
        "git push",
        "git push origin",
        "git push origin HEAD",
        "git push origin feat/x",
        "git push -u origin feat/x",
    ] {
        assert!(!tree.allows(line), "{line}");
    }
    assert!(tree.allows("git push origin feat/x:feat/x") && tree.allows("git push -u origin HEAD:feat/x"));
    tree.place.trunk = Some("feat/x".to_owned());
    assert!(!tree.allows("git push origin feat/x:feat/x"));
}

#[test]
fn worktrees_below_dev_shm_are_judged_like_others() {
    let above = Path::new("/dev/shm");
    if tempfile::tempdir_in(above).is_err() {
        println!("skipped: /dev/shm is not writable");
        return;
    }
    let tree = Tree::below(above);
    for line in ["cat src/main.rs", "ls", "git status", "echo x > docs/new.txt", "grep -rn x src"] {
        assert!(tree.allows(line), "{line}: {}", judge(line, &RULES, &tree.place).reason());
    }
    for line in [
        "cat /dev/shm/x",
        "cat ../other/secret",
        "echo x > /dev/sda",
        "cat /dev/tcp/x/1",
        "cat /proc/self/cwd/src/main.rs",
    ] {
        assert!(!tree.allows(line), "{line}");
    }
}

#[test]
fn user_rules_approve_only_their_commands() {
    let tree = Tree::new();
    let own = |text: &str| vec![text.to_owned()];
    let approve =
        AutoApproveConfig { safe_commands: own("./gradlew testAll"), ..AutoApproveConfig::default() };
    let everyday = DevAllowlistConfig { extra: own("just check"), ..DevAllowlistConfig::default() };
    let rules = configured(approve.clone(), everyday.clone());
    let allows = |command: &str| judge(command, &rules, &tree.place).is_allow();
    assert!(allows("just check") && allows("just check && ./gradlew testAll"));
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
        "./gradlew testAll publish",
        "gradlew testAll",
    ] {
        assert!(!allows(command), "{command}");
    }
    let without = configured(approve, DevAllowlistConfig { enabled: false, ..everyday });
    let allows = |command: &str| judge(command, &without, &tree.place).is_allow();
    assert!(allows("./gradlew testAll") && !allows("just check") && !allows("cargo test"));
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
        "{} \"$(rm x)\"",
        "{} $HOME",
        "{} ${X:-y}",
        "{} > /etc/x",
        "{} >> ~/.bashrc",
        "{} > .git/config",
        "{} >| x",
        "{} <(id)",
        "{} > >(sh)",
        "{} <<< x",
        "{} {a,$(id)}",
        "PATH=. {}",
        "xargs {}",
        "exec {}",
        "sudo {}",
        "bash -c '{}'",
        "f() { {}; }; f",
        "{} \\\n x",
        "$({})",
        "{} 3>x",
        "alias ls=rm; {}",
        "export A=b; {}",
        "source x; {}",
        ". ./x; {}",
        "eval {}",
        "./{}",
        "\\{}",
    ];
    for command in EVERYDAY.iter().filter(|line| line.is_plain()).map(|line| &line.command) {
        for shape in added {
            let line = shape.replace("{}", command);
            // In quotes it would not run, and a program with a path stays the same.
            let same =
                shape.starts_with("./") && (command.contains("/.bin/") || command.contains("venv/bin/"));
            if same || command.contains('\'') && shape.contains('\'') {
                continue;
            }
            assert!(!tree.allows(&line), "{line}");
        }
    }
}

#[test]
fn verdict_reasons_contain_no_control_characters() {
    let tree = Tree::new();
    for line in HOSTILE.iter().chain(EVERYDAY.iter()) {
        let verdict = judge(&line.command, &RULES, &tree.place);
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

/// An everyday command that does not change what the next one means.
fn everyday() -> impl Strategy<Value = String> {
    let plain: Vec<_> =
        EVERYDAY.iter().filter(|line| line.is_plain()).map(|line| line.command.clone()).collect();
    prop::sample::select(plain)
}

/// Operators that separate commands.
fn join() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![" && ", " || ", "; ", " | ", "\n", ";", "&&", "|"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_command_before_or_behind_makes_a_hostile_command_allowed(
        hostile in prop::sample::select(HOSTILE.iter().filter(|line| line.category != "half").collect::<Vec<_>>()),
        before in prop::collection::vec((everyday(), join()), 0..3),
        behind in prop::collection::vec((join(), everyday()), 0..3),
    ) {
        let mut line: String = before.iter().flat_map(|(command, join)| [command.as_str(), *join]).collect();
        line.push_str(&hostile.command);
        line.extend(behind.iter().flat_map(|(join, command)| [*join, command.as_str()]));
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
