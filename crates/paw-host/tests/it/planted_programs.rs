//! Programs that an agent plants in a repository do not run in calls about its worktree.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use paw_core::BranchName;
use paw_host::git::{Git, Repo, ScratchRepo, WorktreeSnapshotter};
use paw_testkit::{Sandbox, TestRepo, git};

/// A repository with a submodule. Every setting that names a program names one that leaves a trace.
struct Planted {
    sandbox: Sandbox,
    repo: TestRepo,
    program: PathBuf,
}

impl Planted {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let library = sandbox.repo("library");
        library.commit_file("lib.txt", "one\n", "one");
        let repo = sandbox.repo("app");
        repo.commit_file("code.txt", "code\n", "code");
        let url = library.root.to_str().unwrap();
        repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
        repo.git(["commit", "--quiet", "--message", "submodule"]);
        let program = sandbox.root().join("planted");
        fs::write(
            &program,
            format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", sandbox.root().join("ran").display()),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { sandbox, repo, program }
    }

    fn plant(&self) {
        let program = self.program.to_str().unwrap();
        for dir in [self.repo.root.clone(), self.repo.root.join("lib")] {
            let git_dir = PathBuf::from(git(&dir, ["rev-parse", "--absolute-git-dir"]));
            for key in [
                "core.fsmonitor",
                "core.pager",
                "core.sshCommand",
                "core.askPass",
                "credential.helper",
                "diff.external",
                "diff.x.textconv",
                "diff.x.command",
                "filter.x.clean",
                "filter.x.smudge",
                "filter.x.process",
                "gpg.program",
                "merge.x.driver",
                "sequence.editor",
            ] {
                git(&dir, ["config", key, program]);
            }
            for (key, value) in [
                ("alias.status", "!planted"),
                ("log.showSignature", "true"),
                ("filter.x.required", "true"),
                ("core.untrackedCache", "true"),
            ] {
                git(&dir, ["config", key, value]);
            }
            fs::create_dir_all(git_dir.join("info")).unwrap();
            fs::write(git_dir.join("info/attributes"), "* filter=x diff=x merge=x\n").unwrap();
            for hook in ["post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc"] {
                fs::create_dir_all(git_dir.join("hooks")).unwrap();
                fs::copy(&self.program, git_dir.join("hooks").join(hook)).unwrap();
            }
        }
        // git asks filters only about files that may have changed.
        fs::write(self.repo.root.join("code.txt"), "changed\n").unwrap();
        fs::write(self.repo.root.join("lib/lib.txt"), "changed\n").unwrap();
    }

    fn assert_nothing_ran(&self, call: &str) {
        let ran = fs::read_to_string(self.sandbox.root().join("ran")).unwrap_or_default();
        assert_eq!(ran, "", "{call}");
    }
}

#[test]
fn planted_programs_do_not_run_in_status_rescue_and_radar() {
    let planted = Planted::new();
    planted.plant();
    let git = Git::at(&planted.repo.root);
    assert_eq!(git.status().unwrap()[0].path, PathBuf::from("code.txt"));
    planted.assert_nothing_ran("status");
    git.status_of_commit().unwrap();
    planted.assert_nothing_ran("status of commit");
    let differences = git.differences().unwrap();
    let paths: Vec<_> = differences.iter().map(|difference| difference.path.display().to_string()).collect();
    assert_eq!(paths, ["code.txt", "lib"], "changes in a submodule are found");
    planted.assert_nothing_ran("differences");
    let hashed = git.filtered_oids(&[PathBuf::from("code.txt")]).unwrap();
    planted.assert_nothing_ran("object ids");
    git.write_blobs(&[PathBuf::from("code.txt")]).unwrap();
    assert_eq!(git.smudged("code.txt".as_ref(), &hashed[0]).unwrap(), b"changed\n");
    planted.assert_nothing_ran("smudged");
    git.index_entries().unwrap();
    git.worktrees().unwrap();
    git.find_tip(&BranchName::new("main").unwrap()).unwrap();
    git.find_default_branch().unwrap();
    git.line(["log", "-1", "--format=%h %s"]).unwrap();
    git.create_ref("refs/paw/x", &git.line(["rev-parse", "HEAD"]).unwrap()).unwrap();
    planted.assert_nothing_ran("refs and log");
    let scratch = planted.sandbox.root().join("scratch");
    let repo = Repo::discover(&planted.repo.root).unwrap();
    let scratch = Arc::new(ScratchRepo::open(&repo.common_dir, &scratch).unwrap());
    let mut radar = WorktreeSnapshotter::new(scratch, "x", &planted.repo.root, Vec::new()).unwrap();
    let taken = radar.take_whole(&["refs/heads/main".to_owned()]).unwrap();
    assert!(!taken.clean);
    planted.assert_nothing_ran("snapshot");
}

#[test]
fn a_filter_of_the_user_runs_even_if_the_repository_redefines_it() {
    let planted = Planted::new();
    planted.plant();
    for dir in ["", "lib"] {
        git(&planted.repo.root.join(dir), ["config", "--unset", "filter.x.process"]);
    }
    let home = planted.sandbox.root().join("user.gitconfig");
    fs::write(&home, "[filter \"x\"]\n\tclean = echo CHANGED\n\trequired = true\n").unwrap();
    let ask = |args: &[&str]| {
        let mut command = planted.sandbox.command(std::env::current_exe().unwrap());
        command.args(args).env("GIT_CONFIG_GLOBAL", &home).env("PAW_TEST_REPO", &planted.repo.root);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let printed =
        ask(&["--exact", "planted_programs::child", "--ignored", "--nocapture", "--test-threads=1"]);
    let expected = planted.sandbox.root().join("upper");
    fs::write(&expected, "CHANGED\n").unwrap();
    let oid = git(&planted.repo.root, ["hash-object", "--no-filters", expected.to_str().unwrap()]);
    assert!(printed.contains(&oid), "{printed}");
    planted.assert_nothing_ran("the user's filter");
}

/// Run by the test above in another environment.
#[test]
#[ignore = "run by other tests"]
#[allow(clippy::disallowed_macros, clippy::print_stdout, reason = "the other test reads it")]
fn child() {
    let git = Git::at(std::env::var_os("PAW_TEST_REPO").unwrap());
    println!("oid {}", git.filtered_oids(&[PathBuf::from("code.txt")]).unwrap()[0]);
}
