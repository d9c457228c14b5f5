//! Removed work that another machine offers, although no agent of it has done that work.

use std::fs;
use std::path::Path;

use paw_testkit::{RunOutput, git};
use serde_json::{Value, json};

use super::TwoMachines;
use crate::paw::document;

impl TwoMachines {
    /// Writes a rescue into the clone, as any program there can. `manifest` is its list of files.
    fn forge_rescue(&self, id: &str, kind: &str, branch: &str, manifest: Option<&str>) {
        let clone = self.clone();
        let head = git(&clone, ["rev-parse", "HEAD"]);
        let run = |script: &str| {
            let identity =
                "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x";
            let ran = self.machine.sandbox.run(&clone, "sh", ["-c", &format!("{identity}; {script}")]);
            assert_eq!(ran.code, 0, "{script}: {ran}");
            ran.stdout.trim().to_owned()
        };
        let state = manifest.map(|line| {
            let payload = run("echo 'gitdir: /somewhere/else' | git hash-object -w --stdin");
            let line = line.replace("OID", &payload);
            let blob = run(&format!("printf '{line}\\0' | git hash-object -w --stdin"));
            let tree = run(&format!("printf '100644 blob {blob}\\tmanifest\\n' | git mktree"));
            run(&format!("git commit-tree {tree} -m state"))
        });
        let header = json!({
            "version": 1, "kind": kind, "reason": "forged", "created_at": "2026-11-15T08:15:00Z", "branch": branch,
            "on_branch": false, "worktree": self.repo.root, "admin_dir": null, "head": head, "tip": head,
            "index_tree": null, "state": state,
        });
        let parent = state.as_deref().unwrap_or(&head);
        let commit = run(&format!("git commit-tree HEAD^{{tree}} -p {parent} -m 'rescue: x\n\n{header}'"));
        git(&clone, ["update-ref", &format!("refs/paw/rescue/{id}"), &commit]);
    }
}

fn rescues(world: &TwoMachines) -> Vec<String> {
    let kept = document(&world.run(&["undo", "--json"]));
    let ids = kept["rescues"].as_array().unwrap().iter().map(|rescue| rescue["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

fn is_reported(ran: &RunOutput, id: &str, reason: &str) -> bool {
    ran.stderr.lines().any(|line| line.contains(id) && line.contains(reason))
}

#[test]
fn only_harmless_work_of_its_own_agents_is_taken_from_another_machine() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    let forged = [
        ("forged-main", "tip", "main", None, "not one of its agents"),
        ("forged-here", "tip", "feat/a", None, "not one of its agents"),
        ("forged-record", "record", "feat/b", None, "a worktree of that machine"),
        (
            "forged-git",
            "worktree",
            "feat/b",
            Some("untracked 100644 OID .git"),
            "a path that git does not allow",
        ),
        ("forged-nested", "worktree", "feat/b", Some("nested 100644 OID a/.git/config"), "a git repository"),
        ("forged-case", "worktree", "feat/b", Some("untracked 100644 OID a/.GIT"), "a git repository"),
        ("forged-short", "worktree", "feat/b", Some("untracked 100644 OID git~1"), "a git repository"),
        (
            "forged-todo",
            "worktree",
            "feat/b",
            Some("admin 100644 OID rebase-merge/git-rebase-todo"),
            "git would run",
        ),
        ("forged-config", "worktree", "feat/b", Some("admin 100644 OID config.worktree"), "git would run"),
        ("forged-setuid", "worktree", "feat/b", Some("untracked 104755 OID tool"), "special permissions"),
    ];
    for (id, kind, branch, manifest, _) in forged {
        world.forge_rescue(id, kind, branch, manifest);
    }
    git(&world.clone(), ["update-ref", "refs/paw/rescue/a/commit", "HEAD"]);
    fs::write(world.worktree().join("idea.txt"), "half a thought\n").unwrap();

    let removed = world.run(&["remove", "feat-b", "--force"]);
    for (id, .., reason) in forged {
        assert!(is_reported(&removed, id, reason), "{id}: {removed}");
    }
    assert!(is_reported(&removed, "a/commit", "not stored by git paw"), "{removed}");
    let taken = rescues(&world);
    assert!(taken.len() == 1 && taken[0].ends_with("-feat-b"), "{taken:?}");
    let idea = fs::read_to_string(world.restore("feat/b").join("idea.txt")).unwrap();
    assert_eq!(idea, "half a thought\n");
    let refs = git(&world.repo.root, ["for-each-ref", "--format=%(refname)", "refs/paw/"]);
    assert!(!refs.contains("forged"), "{refs}");

    // They stay there, and are not reported again; what was deleted here does not return.
    git(&world.repo.root, ["update-ref", "-d", &format!("refs/paw/rescue/{}", taken[0])]);
    world.run(&["add", "feat/c@big", "--cli", "claude"]);
    let again = world.run(&["remove", "feat-c", "--force"]);
    assert!(!again.stderr.contains("forged"), "{again}");
    assert_eq!(rescues(&world), Vec::<String>::new());
    let there = git(&world.clone(), ["for-each-ref", "--format=%(refname)", "refs/paw/rescue/"]);
    assert!(forged.iter().all(|(id, ..)| there.contains(id)), "{there}");
    assert_eq!(world.agent("feat/b"), Value::Null);
    assert!(Path::new(&world.repo.root).join(".git").is_dir());
}
