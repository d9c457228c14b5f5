//! Which files git would print or stage decides about a line, in a real repository with secrets.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use paw_host::process::Command;
use paw_supervisor::approval::{ApprovalRules, CommandContext, judge};

/// A repository whose second commit changes a tracked `.env`.
struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(project.root().join("src/deep")).unwrap();
        project.write("src/main.rs", "fn main() {}\n");
        project.write(".env", "KEY=one\n");
        project.git("init -q -b feat/x .");
        project.commit("first");
        project.write(".env", "KEY=two\n");
        project.commit("second");
        project.write("src/main.rs", "fn main() { run() }\n");
        project.commit("third");
        project
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).unwrap();
    }

    fn git(&self, args: &str) -> String {
        let line = format!("git -c user.name=a -c user.email=a@example.com {args}");
        let output = Command::new("sh").args(["-c", &line]).dir(self.root()).capture().unwrap();
        assert!(output.exit.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn commit(&self, message: &str) {
        self.git("add -A -f");
        self.git(&format!("commit -q -m {message}"));
    }

    fn reason(&self, line: &str) -> Option<String> {
        let place = CommandContext {
            branch: Some("feat/x".to_owned()),
            trunk: Some("main".to_owned()),
            ..CommandContext::at(self.root())
        };
        let verdict = judge(line, &ApprovalRules::default(), &place);
        (!verdict.is_allow()).then(|| verdict.reason().to_owned())
    }

    fn allows(&self, lines: &[&str]) {
        for line in lines {
            assert_eq!(self.reason(line), None, "{line}");
        }
    }

    fn asks(&self, lines: &[&str]) {
        for line in lines {
            assert!(self.reason(line).is_some(), "{line}");
        }
    }
}

#[test]
fn git_commands_that_print_a_tracked_secret_are_asked_about() {
    let project = Project::new();
    project.allows(&[
        "git diff",
        "git diff HEAD~1",
        "git diff --cached",
        "git show",
        "git show --stat HEAD",
        "git show HEAD:src/main.rs",
        "git log -p -1",
        "git log --oneline",
        "git log --stat",
        "git log -p -- src",
        "git log -L 1,1:src/main.rs",
        "git grep -n main",
        "git grep -l KEY",
        "git cat-file -p HEAD",
        "git cat-file -t HEAD:src/main.rs",
        "git diff no-such-branch",
        "git diff-tree -p HEAD",
        "git range-diff HEAD~1..HEAD HEAD~1..HEAD",
        "git diff HEAD~2 -- . ':!.env'",
        "git stash list -p",
    ]);
    let blob = project.git("rev-parse HEAD:.env");
    project.asks(&[
        "git show HEAD~1",
        "git show -s --patch HEAD~1",
        "git log -p",
        "git log -p -2",
        "git log --oneline -U1 -2",
        "git log -2 --cc -p",
        "git log --all -p",
        "git diff HEAD~2",
        "git diff --stat -p HEAD~2 HEAD",
        "git diff -R --quiet HEAD~2",
        "git diff-tree -p HEAD~1",
        "git diff-index -p HEAD~2",
        "git range-diff HEAD~2..HEAD~1 HEAD~2..HEAD",
        "git grep KEY",
        "git grep -n KEY HEAD~1",
        "git grep -h -e KEY",
        &format!("git cat-file -p {blob}"),
        &format!("git cat-file blob {blob}"),
        &format!("git show {}", &blob[..8]),
        &format!("git diff {blob} HEAD:src/main.rs"),
    ]);
}

#[test]
fn git_diff_is_asked_about_while_a_tracked_secret_is_changed() {
    let project = Project::new();
    project.write(".env", "KEY=three\n");
    project.asks(&[
        "git diff",
        "git diff HEAD",
        "git status -v",
        "git commit --dry-run -v",
        "git diff -U0 .",
    ]);
    project.allows(&["git diff -- src", "git diff --cached", "git diff . ':(exclude).env'", "git status"]);
    project.asks(&["git add -u && git diff --cached", "git commit -qam x && git show"]);
}

#[test]
fn git_add_of_a_directory_with_an_untracked_secret_is_asked_about() {
    let project = Project::new();
    project.write("server.pem", "secret\n");
    project.asks(&["git add -A", "git add .", "git add -A && git commit -m x", "git add --all"]);
    project.allows(&["git add src", "git add -u", "git add src/main.rs"]);
    project.write(".gitignore", "*.pem\n");
    project.allows(&["git add -A", "git add ."]);
}

#[test]
fn a_stash_with_a_secret_is_not_printed_without_asking() {
    let project = Project::new();
    project.write("src/main.rs", "fn main() { stop() }\n");
    project.write("server.pem", "secret\n");
    project.git("stash -q --include-untracked");
    project.allows(&["git stash show", "git stash show -p", "git stash list"]);
    project.asks(&[
        "git stash show -p --include-untracked",
        "git stash show --only-untracked -p",
        "git show 'stash@{0}^3'",
    ]);
}

#[test]
fn addresses_of_remotes_with_a_password_are_not_printed_without_asking() {
    let project = Project::new();
    let lines = [
        "git remote -v",
        "git remote get-url origin",
        "git config remote.origin.url",
        "git remote show origin",
    ];
    project.allows(&lines);
    let mut place = CommandContext::at(project.root());
    place.has_secret_remote = true;
    for line in lines {
        assert!(!judge(line, &ApprovalRules::default(), &place).is_allow(), "{line}");
    }
    assert!(judge("git remote", &ApprovalRules::default(), &place).is_allow());
}

/// A shell remembers the name under which it entered a directory; programs see only where it is.
#[test]
fn cd_through_a_link_and_back_is_asked_about() {
    let project = Project::new();
    fs::create_dir(project.root().join("docs")).unwrap();
    symlink("../src/deep", project.root().join("docs/link")).unwrap();
    symlink("src/deep", project.root().join("link")).unwrap();
    let root = project.root();
    let judged = |cwd: &str, line: &str| {
        let place = CommandContext { cwd: root.join(cwd), ..CommandContext::at(&root) };
        judge(line, &ApprovalRules::default(), &place).is_allow()
    };
    assert!(judged("src", "cd deep && ls && cd .. && ls") && judged("src", "cat ../src/main.rs"));
    assert!(judged("", "cd link && ls") && judged("", "cd docs/link && ls"));
    for (cwd, line) in [
        ("src/deep", "cd ../../docs/link/.. && cat ../../other/secret"),
        ("link", "cd .. && cat ../other/secret"),
        ("", "cd link && cd .. && ls"),
        ("src", "cd ../link && cd .. && cat ../other/secret"),
        ("", "cargo build --manifest-path link/../../other/Cargo.toml"),
    ] {
        assert!(!judged(cwd, line), "{cwd}: {line}");
    }
}

#[test]
fn files_with_several_names_are_not_written_without_asking() {
    let project = Project::new();
    fs::hard_link(project.root().join("src/main.rs"), project.root().join("notes.txt")).unwrap();
    project.asks(&["echo x > notes.txt", "sed -i s/a/b/ notes.txt", "tee notes.txt"]);
    project.allows(&["cat notes.txt", "echo x > other.txt"]);
}

#[test]
fn values_of_options_that_name_a_forbidden_file_are_asked_about() {
    let project = Project::new();
    symlink("/etc/hostname", project.root().join("5")).unwrap();
    project.asks(&["xxd -ps 5", "head -n 5 src/main.rs", "git log --grep /etc/hostname"]);
    project.allows(&["head -n 6 src/main.rs", "git log --grep main", "git commit -m 'src'"]);
}
