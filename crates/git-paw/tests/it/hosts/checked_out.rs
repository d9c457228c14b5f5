//! Branches of agents on another machine that the user looks at on the hub.

use std::fs;

use paw_testkit::{git, wait_until};

use super::TwoMachines;

impl TwoMachines {
    /// The agent on the machine commits a file.
    fn commit_there(&self, file: &str, text: &str, options: &[&str]) -> String {
        let there = self.worktree();
        fs::write(there.join(file), text).unwrap();
        git(&there, ["add", file]);
        let identity = ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", text.trim()];
        git(&there, [&identity, options].concat());
        git(&there, ["rev-parse", "HEAD"])
    }
}

#[test]
fn a_fetched_branch_that_is_checked_out_here_moves_with_its_files_or_not_at_all() {
    let Some(world) = TwoMachines::new() else { return };
    world.repo.commit_file("lines", "one\n", "lines");
    world.start();
    let root = &world.repo.root;
    let tip = || git(root, ["rev-parse", "feat/b"]);
    git(root, ["checkout", "-q", "feat/b"]);

    // A clean checkout is brought along.
    let first = world.commit_there("lines", "one\ntwo\n", &[]);
    world.run(&["verify", "feat-b"]);
    assert_eq!(tip(), first);
    assert_eq!(git(root, ["status", "--porcelain", "--untracked-files=no"]), "");
    assert_eq!(fs::read_to_string(root.join("lines")).unwrap(), "one\ntwo\n");

    // Changes are not overwritten, and the branch does not move below them.
    let second = world.commit_there("new.txt", "new\n", &[]);
    fs::write(root.join("lines"), "mine\n").unwrap();
    let refused = world.paw(&["verify", "feat-b"]);
    assert_ne!(refused.code, 0, "{refused}");
    let expected = "cannot update branch 'feat/b' from its machine: [SANDBOX]/app has uncommitted changes";
    assert!(refused.stderr.contains(expected), "{refused}");
    assert!(refused.stderr.contains("hint: commit there, or switch to another branch there"), "{refused}");
    assert_eq!((tip(), git(root, ["diff", "--stat", "--cached"])), (first.clone(), String::new()));
    let refused = world.paw(&["remove", "feat-b", "--force"]);
    assert!(refused.code == 1 && refused.stderr.contains(expected), "{refused}");
    let refused = world.paw(&["move", "feat-b", "--to", "local"]);
    assert!(refused.code == 1 && refused.stderr.contains(expected), "{refused}");
    let merged = world.paw(&["merge", "--only", "feat-b"]);
    assert!(merged.stderr.contains(expected), "{merged}");
    assert_eq!((tip(), git(root, ["branch", "--show-current"])), (first.clone(), "feat/b".to_owned()));
    git(root, ["checkout", "-q", "lines"]);

    // A rewritten branch does not move below a checkout.
    let third = world.commit_there("new.txt", "other\n", &["--amend"]);
    assert_ne!(third, second);
    world.run(&["verify", "feat-b"]);
    let fourth = world.commit_there("new.txt", "rewritten\n", &["--amend"]);
    let refused = world.paw(&["verify", "feat-b"]);
    let expected = "it was rewritten there and is checked out at [SANDBOX]/app";
    assert!(refused.code != 0 && refused.stderr.contains(expected), "{refused}");
    let refused = world.paw(&["move", "feat-b", "--to", "local"]);
    assert!(refused.code == 1 && refused.stderr.contains(expected), "{refused}");
    assert_eq!(tip(), third);
    world.ask();
    let said = world.machine.there().join("said");
    wait_until("its agent runs again", || said.exists().then_some(()));
    git(root, ["checkout", "-q", "main"]);
    world.run(&["verify", "feat-b"]);
    assert_eq!(tip(), fourth);
}
