//! Damaged files: every command works or says what is wrong, and `doctor --repair` rebuilds what can be rebuilt.

use std::fs;
use std::path::{Path, PathBuf};

use paw_testkit::wait_until;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::lifecycle::World;

impl World {
    /// Stops the session, whose files are then damaged.
    fn stopped(self) -> Self {
        for text in ["one", "two"] {
            assert_eq!(self.paw(&["say", "feedback", "operator", text]).code, 0);
        }
        assert_eq!(self.paw(&["sweep", "verified", "feat-a", "by hand"]).code, 0);
        wait_until("the trail has all messages", || self.trail().contains("by hand").then_some(()));
        assert_eq!(self.paw(&["stop", "--force"]).code, 0);
        self
    }

    fn trail(&self) -> String {
        fs::read_to_string(self.repo.root.join(".git-paw/broker.log")).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.repo.root.join(".git/paw/broker.db")
    }

    fn registry(&self) -> PathBuf {
        self.sandbox.home().join(".local/share/git-paw/registry.db")
    }
}

/// Removes the journal of a SQLite file, which would hide damage to the file itself.
fn without_journal(path: &Path) {
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
}

#[test]
fn doctor_rebuilds_a_damaged_message_log_from_the_audit_trail() {
    let world = World::with_broker().stopped();
    fs::write(world.log_file(), vec![b'x'; 8192]).unwrap();
    without_journal(&world.log_file());
    let ran = world.paw(&["say", "status", "working"]);
    assert!(ran.code == 1 && ran.stderr.contains("is damaged"), "{ran}");
    assert!(ran.stderr.contains("git paw doctor --repair"), "{ran}");
    assert_eq!(world.paw(&["doctor"]).code, 1);
    let ran = world.paw(&["doctor", "--repair"]);
    assert!(ran.stdout.contains("set aside [SANDBOX]/app/.git/paw/broker.db as broker.db.damaged-"), "{ran}");
    assert!(ran.stdout.contains("rebuilt ") && ran.stdout.contains("not rebuilt: "), "{ran}");
    let inbox = world.paw(&["inbox"]).stdout;
    assert!(inbox.contains("one") && inbox.contains("two"), "{inbox}");
    let history = world.history();
    assert!(history.contains("rebuilt.agent.verified"), "a rebuilt verification does not count: {history}");
    let before: u64 = world.trail().lines().count().try_into().unwrap();
    let said = crate::paw::document(&world.paw(&["say", "feedback", "operator", "three", "--json"]));
    assert!(said["seq"].as_u64().unwrap() > before + 1000, "numbers that were in use are skipped: {said}");
    assert_eq!(world.paw(&["start"]).code, 0);
    wait_until("the process runs", || (world.status()["broker"]["running"] == json!(true)).then_some(()));
    let status = world.status();
    assert_eq!(status["worktrees"][0]["checks"], json!(null), "{status}");
}

#[test]
fn doctor_rebuilds_a_damaged_registry_from_gits_list() {
    let world = World::new();
    assert_eq!(world.paw(&["stop", "--force"]).code, 0);
    fs::write(world.registry(), vec![b'x'; 8192]).unwrap();
    without_journal(&world.registry());
    let ran = world.paw(&["worktree", "list"]);
    assert!(ran.code == 1 && ran.stderr.contains("git paw doctor --repair"), "{ran}");
    let ran = world.paw(&["doctor", "--repair"]);
    assert!(ran.stdout.contains("registered 2 worktrees of 1 repository again"), "{ran}");
    let listed = world.paw(&["worktree", "list"]).stdout;
    assert!(listed.contains("feat/a") && listed.contains("feat/b"), "{listed}");
    assert_eq!(world.paw(&["start"]).code, 0);
}

#[test]
fn doctor_restores_a_damaged_receipt_from_its_copy() {
    let world = World::new();
    let whole = fs::read(world.receipt_path()).unwrap();
    fs::write(world.receipt_path(), &whole[..whole.len() / 2]).unwrap();
    let ran = world.paw(&["doctor", "--repair"]);
    assert!(ran.stdout.contains("restored it from its copy"), "{ran}");
    assert_eq!(fs::read(world.receipt_path()).unwrap(), whole);
    assert_eq!(world.status()["status"], json!("active"));
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(!world.receipt_path().with_file_name("backup").join("paw-app.json").exists());
}

#[test]
fn any_damage_gives_a_clear_error_and_doctor_repairs_it() {
    let world = World::with_broker().stopped();
    let files = [world.log_file(), world.registry(), world.receipt_path()];
    let whole: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let damage = (0..files.len(), any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..600));
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(24) });
    let tried = runner.run(&(damage, any::<bool>()), |((file, at, bytes), cut)| {
        for (path, whole) in files.iter().zip(&whole) {
            fs::write(path, whole).unwrap();
            without_journal(path);
        }
        let mut damaged = whole[file].clone();
        let start = at.index(damaged.len());
        let end = (start + bytes.len()).min(damaged.len());
        damaged[start..end].copy_from_slice(&bytes[..end - start]);
        if cut {
            damaged.truncate(end);
        }
        fs::write(&files[file], damaged).unwrap();
        let commands =
            [&["status"][..], &["inbox"], &["say", "status", "working"], &["worktree", "list"], &["doctor"]];
        for args in commands {
            let ran = world.paw(args);
            prop_assert!(ran.code == 0 || ran.code == 1, "{args:?}: {ran}");
            prop_assert!(
                !ran.stderr.contains("panicked") && !ran.stderr.contains("UNIQUE"),
                "{args:?}: {ran}"
            );
        }
        let repaired = world.paw(&["doctor", "--repair"]);
        prop_assert!(!repaired.stdout.contains(" damaged  "), "{repaired}");
        for args in [&["say", "status", "working"][..], &["worktree", "list"]] {
            let ran = world.paw(args);
            prop_assert_eq!(ran.code, 0, "after the repair, {:?}: {}\n{}", args, ran, repaired);
        }
        Ok(())
    });
    tried.unwrap();
}
