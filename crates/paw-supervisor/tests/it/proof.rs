//! Signed records in a real repository, and attempts to forge them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use paw_core::config::SandboxLevel;
use paw_core::paths::PawDir;
use paw_host::clock;
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_supervisor::gates::{Gate, GateFinding, GateProof, GateStatus, GateStep};
use paw_supervisor::proof::{BuildOutput, ProofConditions, ProofStore, SignedProof, check};
use paw_testkit::{Sandbox, TestRepo};

struct Scene {
    sandbox: Sandbox,
    test: TestRepo,
    repo: Repo,
    store: ProofStore,
    commit: String,
}

/// Our directories of another user: the environment of this process is that of the tests.
fn dirs_below(home: &str, sandbox: &Sandbox) -> Dirs {
    Dirs::below(&sandbox.root().join(home))
}

impl Scene {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let test = sandbox.repo("app");
        let repo = Repo::discover(&test.root).unwrap();
        let store = ProofStore::open(&repo, &dirs_below("home", &sandbox));
        let commit = test.git(["rev-parse", "HEAD"]);
        Self { sandbox, test, repo, store, commit }
    }

    fn record(&self, status: GateStatus, output: BuildOutput, at: Timestamp) -> SignedProof {
        let result = if status == GateStatus::Failed { GateProof::Failed } else { GateProof::Verified };
        let findings = [finding(status)];
        self.store.record((&self.commit, "main"), &conditions(), (result, &findings), output, at).unwrap()
    }

    fn file(&self) -> PathBuf {
        PawDir::of(&self.repo.common_dir).proof(&self.commit)
    }

    fn reusable(&self, conditions: &ProofConditions, accepted: &[BuildOutput], now: Timestamp) -> bool {
        self.store.find_reusable(&self.commit, conditions, accepted, now).unwrap().is_some()
    }
}

fn finding(status: GateStatus) -> GateFinding {
    GateFinding {
        gate: Gate::Test,
        command: "make test".to_owned(),
        status,
        end: "exited with code 0".to_owned(),
        seconds: 1,
        tail: Vec::new(),
        log: String::new(),
        digest: String::new(),
    }
}

fn conditions() -> ProofConditions {
    let steps = vec![GateStep { gate: Gate::Test, command: "make test".to_owned() }];
    let variables =
        BTreeMap::from([("PATH".to_owned(), "/bin".to_owned()), ("TERM".to_owned(), "x".to_owned())]);
    ProofConditions::new(steps, vec!["npm install".to_owned()], &variables, SandboxLevel::Guard)
}

const BOTH: [BuildOutput; 2] = BuildOutput::ALL;

#[test]
fn a_signed_proof_is_found_and_its_key_is_private() {
    let scene = Scene::new();
    assert_eq!(scene.store.find(&scene.commit).unwrap(), None);
    let proof = scene.record(GateStatus::Passed, BuildOutput::Branch, clock::now());
    assert_eq!(scene.store.find(&scene.commit).unwrap(), Some(proof.clone()));
    assert_eq!(proof.record.tree, scene.test.git(["rev-parse", "HEAD^{tree}"]));
    let key = scene.sandbox.root().join("home/git-paw/proof.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(key).unwrap();
    assert!(!fs::read_to_string(scene.file()).unwrap().contains(text.trim()));
    // A second process signs with the same key.
    let again = scene.record(GateStatus::Passed, BuildOutput::Branch, clock::now());
    assert_eq!(again.key, proof.key);
}

#[test]
fn a_tampered_foreign_or_copied_proof_counts_as_nothing() {
    let scene = Scene::new();
    let proof = scene.record(GateStatus::Failed, BuildOutput::Branch, clock::now());
    let text = fs::read_to_string(scene.file()).unwrap();
    let changed = |from: &str, to: &str| {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        fs::write(scene.file(), changed).unwrap();
        scene.store.find(&scene.commit).unwrap()
    };
    assert_eq!(changed("\"result\": \"failed\"", "\"result\": \"verified\""), None);
    assert_eq!(changed("make test", "true"), None);
    assert_eq!(changed("\"guard\"", "\"off\""), None);
    assert_eq!(changed("\"format\": 1", "\"format\": 2"), None);
    assert_eq!(changed("\"branch\": \"main\"", "\"branch\": \"main\", \"more\": 1"), None);
    assert_eq!(changed(&proof.signature, &"0".repeat(128)), None);
    // Signed with another key, as a program without ours would.
    let stranger = ProofStore::open(&scene.repo, &dirs_below("stranger", &scene.sandbox));
    let findings = [finding(GateStatus::Passed)];
    let run = (GateProof::Verified, findings.as_slice());
    stranger.record((&scene.commit, "main"), &conditions(), run, BuildOutput::Main, clock::now()).unwrap();
    assert_eq!(scene.store.find(&scene.commit).unwrap(), None);
    assert!(!scene.reusable(&conditions(), &BOTH, clock::now()));
    // The proof of another commit, and of another repository.
    fs::write(scene.file(), &text).unwrap();
    let next = scene.test.commit_file("next", "x", "next");
    fs::copy(scene.file(), PawDir::of(&scene.repo.common_dir).proof(&next)).unwrap();
    assert_eq!(scene.store.find(&next).unwrap(), None);
    let copy = TestRepo::clone_of(&scene.test.root, scene.sandbox.root().join("copy"));
    let copy = Repo::discover(&copy.root).unwrap();
    let there = PawDir::of(&copy.common_dir).proof(&scene.commit);
    fs::create_dir_all(there.parent().unwrap()).unwrap();
    fs::copy(scene.file(), there).unwrap();
    let store = ProofStore::open(&copy, &dirs_below("home", &scene.sandbox));
    assert_eq!(store.find(&scene.commit).unwrap(), None);
}

#[test]
fn a_proof_stands_in_only_for_an_equal_run_within_a_day() {
    let scene = Scene::new();
    let now = clock::now();
    let later = |hours| now.checked_add(SignedDuration::from_hours(hours)).unwrap();
    scene.record(GateStatus::Passed, BuildOutput::Main, now);
    let reusable = |conditions: &ProofConditions| scene.reusable(conditions, &BOTH, now);
    assert!(reusable(&conditions()));
    assert!(
        scene.reusable(&conditions(), &BOTH, later(24)) && !scene.reusable(&conditions(), &BOTH, later(25))
    );
    assert!(!scene.reusable(&conditions(), &BOTH, later(-1)), "a record from the future");
    let other = GateStep { gate: Gate::Lint, command: "make lint".to_owned() };
    assert!(!reusable(&ProofConditions {
        steps: [conditions().steps, vec![other]].concat(),
        ..conditions()
    }));
    assert!(!reusable(&ProofConditions { setup: Vec::new(), ..conditions() }));
    assert!(!reusable(&ProofConditions { environment: "other".to_owned(), ..conditions() }));
    assert!(!reusable(&ProofConditions { sandbox: SandboxLevel::Off, ..conditions() }));
    // Another commit with the same tree is proven, one with another tree is not.
    scene.test.git(["commit", "--quiet", "--allow-empty", "--message", "again"]);
    let same = scene.test.git(["rev-parse", "HEAD"]);
    let found = scene.store.find_reusable(&same, &conditions(), &BOTH, now).unwrap();
    assert_eq!(found.unwrap().record.commit, scene.commit);
    let different = scene.test.commit_file("next", "x", "next");
    assert_eq!(scene.store.find_reusable(&different, &conditions(), &BOTH, now).unwrap(), None);
}

#[test]
fn a_proof_with_old_failures_or_the_branchs_own_build_output_is_not_enough_for_a_merge() {
    let scene = Scene::new();
    let now = clock::now();
    scene.record(GateStatus::FailedBefore, BuildOutput::Main, now);
    assert!(!scene.reusable(&conditions(), &BOTH, now));
    scene.record(GateStatus::Passed, BuildOutput::Branch, now);
    assert!(
        scene.reusable(&conditions(), &BOTH, now)
            && !scene.reusable(&conditions(), &[BuildOutput::Main], now)
    );
}

#[test]
fn a_later_failure_of_the_same_tree_ends_the_reuse_of_a_proof() {
    let scene = Scene::new();
    let now = clock::now();
    let before = now.checked_sub(SignedDuration::from_mins(5)).unwrap();
    scene.record(GateStatus::Passed, BuildOutput::Main, before);
    scene.test.git(["commit", "--quiet", "--allow-empty", "--message", "same tree"]);
    let same = scene.test.git(["rev-parse", "HEAD"]);
    let findings = [finding(GateStatus::Failed)];
    let run = (GateProof::Failed, findings.as_slice());
    scene.store.record((&same, "main"), &conditions(), run, BuildOutput::Branch, now).unwrap();
    assert!(!scene.reusable(&conditions(), &BOTH, now), "a test that passes now and then proves nothing");
    assert!(scene.store.is_proven(&scene.commit).unwrap() && !scene.store.is_proven(&same).unwrap());
}

#[test]
fn an_exported_proof_can_be_checked_in_another_clone() {
    let scene = Scene::new();
    let proof = scene.record(GateStatus::Passed, BuildOutput::Main, clock::now());
    let copy = TestRepo::clone_of(&scene.test.root, scene.sandbox.root().join("copy"));
    let copy = Repo::discover(&copy.root).unwrap();
    let stranger = ProofStore::open(&copy, &dirs_below("stranger", &scene.sandbox));
    let found = check(&proof, &copy, &stranger, None).unwrap();
    assert!(found.signed && found.commit && found.verified && !found.known_key && !found.is_good());
    let known = check(&proof, &copy, &stranger, Some(proof.key.parse().unwrap())).unwrap();
    assert!(known.is_good(), "{known:?}");
    let mut forged = proof.clone();
    forged.record.tree = "0".repeat(40);
    let forged = check(&forged, &copy, &stranger, Some(proof.key.parse().unwrap())).unwrap();
    assert!(!forged.signed && !forged.commit && !forged.known_key);
    let empty = scene.sandbox.repo("other");
    empty.commit_file("file", "x", "other");
    let other = Repo::discover(&empty.root).unwrap();
    scene.test.commit_file("only-here", "x", "only here");
    let only_here = scene.test.git(["rev-parse", "HEAD"]);
    let findings = [finding(GateStatus::Passed)];
    let run = (GateProof::Verified, findings.as_slice());
    let proof = scene
        .store
        .record((&only_here, "main"), &conditions(), run, BuildOutput::Main, clock::now())
        .unwrap();
    assert!(!check(&proof, &other, &scene.store, None).unwrap().commit);
}
