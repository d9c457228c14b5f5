//! `git paw proof`, and signed proofs in `verify` and `merge`.

use std::fs;

use paw_testkit::{RunOutput, Sandbox, TestRepo};
use serde_json::Value;

use crate::paw::{PROGRAM, document, paw};

/// A repository with a branch `feat/a` and a gate that leaves a line in a file outside.
struct Scene {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl Scene {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.git(["switch", "--quiet", "--create", "feat/a"]);
        repo.commit_file("a", "a", "a");
        repo.git(["switch", "--quiet", "main"]);
        let scene = Self { sandbox, repo };
        scene.gate("true");
        scene
    }

    fn gate(&self, command: &str) {
        let command = format!("echo ran >>{}/runs; {command}", self.sandbox.root().display());
        let config = format!("[supervisor]\ntest_command = {command:?}\nlint_command = \"true\"\n");
        self.sandbox.write("home/.config/git-paw/config.toml", &config);
    }

    fn runs(&self) -> usize {
        let text = fs::read_to_string(self.sandbox.root().join("runs")).unwrap_or_default();
        text.lines().count()
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    fn json(&self, args: &[&str]) -> Value {
        document(&self.paw(args))
    }
}

#[test]
fn verify_signs_its_result_and_proof_shows_it() {
    let scene = Scene::new();
    let ran = scene.paw(&["proof", "show", "feat/a"]);
    assert_eq!((ran.code, ran.stderr.contains("no signed proof of feat/a")), (1, true), "{ran}");
    assert_eq!(scene.paw(&["verify", "feat/a"]).code, 0);
    let proof = scene.json(&["proof", "show", "feat/a", "--json"]);
    let record = &proof["record"];
    assert_eq!(record["commit"], scene.repo.git(["rev-parse", "feat/a"]));
    assert_eq!(record["tree"], scene.repo.git(["rev-parse", "feat/a^{tree}"]));
    assert_eq!((&record["result"], &record["branch"]), (&"verified".into(), &"feat/a".into()));
    assert_eq!(record["gates"].as_array().unwrap().len(), 2);
    assert!(record["caveat"].as_str().unwrap().contains("same user"));
    let ran = scene.paw(&["proof", "show", "feat/a"]);
    assert!(
        ran.stdout.contains("result       verified") && ran.stdout.contains("gate         test passed"),
        "{ran}"
    );
}

#[test]
fn a_proof_names_the_machine_that_made_it() {
    let scene = Scene::new();
    // A machine with a name of its own, where that is allowed.
    let renamed = |args: &str| {
        let script = format!("hostname worker-7 && exec '{PROGRAM}' {args}");
        scene.sandbox.run(&scene.repo.root, "/usr/bin/unshare", ["--uts", "/bin/sh", "-c", &script])
    };
    let (ran, name) = match renamed("--version").code {
        0 => (renamed("verify feat/a"), "worker-7".to_owned()),
        _ => (scene.paw(&["verify", "feat/a"]), paw_host::machine::name()),
    };
    assert_eq!(ran.code, 0, "{ran}");
    let proof = scene.json(&["proof", "show", "feat/a", "--json"]);
    assert_eq!(proof["record"]["host"], name.as_str());
    let shown = scene.paw(&["proof", "show", "feat/a"]);
    assert!(shown.stdout.contains(&name), "{shown}");
    // The name is signed, too.
    let exported = scene.paw(&["proof", "export", "feat/a"]).stdout;
    let forged = scene.sandbox.write("forged.json", &exported.replace(&name, "worker-8"));
    let check = scene.paw(&["proof", "check", forged.to_str().unwrap()]);
    assert_eq!(check.code, 1, "{check}");
}

#[test]
fn a_proven_commit_is_not_tested_twice() {
    let scene = Scene::new();
    assert_eq!(scene.json(&["verify", "feat/a", "--json"])["reused"], false);
    let again = scene.json(&["verify", "feat/a", "--json"]);
    assert_eq!((&again["reused"], &again["verdict"], scene.runs()), (&true.into(), &"verified".into(), 1));
    assert_eq!(scene.json(&["verify", "feat/a", "--rerun", "--json"])["reused"], false);
    assert_eq!(scene.runs(), 2);
    // Other gates are another proof, and a failure is none.
    scene.gate("test ! -e a");
    for _ in 0..2 {
        let before = scene.runs();
        assert_eq!(scene.paw(&["verify", "feat/a"]).code, 1);
        assert!(scene.runs() > before);
    }
}

#[test]
fn results_of_separate_gates_are_not_a_proof() {
    let scene = Scene::new();
    for gate in ["test", "lint"] {
        scene.paw(&["verify", "feat/a", "--gate", gate]);
    }
    assert_eq!(scene.paw(&["proof", "show", "feat/a"]).code, 1);
}

#[test]
fn proof_check_judges_an_exported_record_in_another_clone() {
    let scene = Scene::new();
    scene.paw(&["verify", "feat/a"]);
    let ran = scene.paw(&["proof", "export", "feat/a", "--output", "../a.proof.json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let ran = scene.paw(&["proof", "check", "../a.proof.json"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("proven: "), "{ran}");
    assert_eq!(scene.paw(&["proof", "check", "feat/a"]).code, 0);
    let key = scene.json(&["proof", "export", "feat/a"])["key"].as_str().unwrap().to_owned();

    let mut stranger = Sandbox::new();
    stranger.set("GIT_ALLOW_PROTOCOL", "file");
    let clone = TestRepo::clone_of(&scene.repo.root, stranger.root().join("clone"));
    let file = scene.sandbox.root().join("a.proof.json");
    let exported = file.to_str().unwrap();
    let ran = paw(&stranger, &clone.root, &["proof", "check", exported]);
    assert!(ran.code == 1 && ran.stderr.contains("a key that is not known here"), "{ran}");
    let checked = document(&paw(&stranger, &clone.root, &["proof", "check", exported, "--json"]));
    assert_eq!((&checked["check"]["signed"], &checked["check"]["commit"]), (&true.into(), &true.into()));
    let ran = paw(&stranger, &clone.root, &["proof", "check", exported, "--key", &key]);
    assert_eq!(ran.code, 0, "{ran}");

    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"verified\"", "\"failed\"")).unwrap();
    let ran = paw(&stranger, &clone.root, &["proof", "check", exported, "--key", &key]);
    assert!(ran.code == 1 && ran.stderr.contains("the signature does not belong to this record"), "{ran}");
    fs::write(&file, "{}").unwrap();
    let ran = paw(&stranger, &clone.root, &["proof", "check", exported]);
    assert!(ran.code == 1 && ran.stderr.contains("is not an exported proof"), "{ran}");
    let ran = scene.paw(&["proof", "check", "nothing"]);
    assert!(ran.code == 1 && ran.stderr.contains("'nothing' is neither a commit nor a file"), "{ran}");
}

#[test]
fn a_gate_cannot_read_the_signing_key() {
    let scene = Scene::new();
    scene.paw(&["verify", "feat/a"]);
    let key = scene.sandbox.home().join(".local/share/git-paw/proof.key");
    let text = fs::read_to_string(&key).unwrap();
    scene.gate(&format!(
        "cat {} >{}/stolen; env >>{1}/stolen; true",
        key.display(),
        scene.sandbox.root().display()
    ));
    scene.paw(&["verify", "feat/a"]);
    let stolen = fs::read_to_string(scene.sandbox.root().join("stolen")).unwrap();
    if paw_host::sandbox::require_engine().is_ok() {
        assert!(!stolen.contains(text.trim()), "{stolen}");
    }
}

#[test]
fn merge_does_not_repeat_a_proof_that_the_branchs_own_build_output_could_not_help() {
    let scene = Scene::new();
    assert_eq!(scene.paw(&["verify", "feat/a"]).code, 0);
    let shown = scene.json(&["merge", "--only", "feat/a", "--dry-run", "--json"]);
    assert_eq!(
        (&shown["branches"][0]["verified"], &shown["branches"][0]["proven"]),
        (&true.into(), &true.into())
    );
    let before = scene.runs();
    assert_eq!(scene.paw(&["merge", "--only", "feat/a"]).code, 0);
    assert_eq!(scene.runs(), before, "a new checkout had only what main left");

    let scene = Scene::new();
    assert_eq!(scene.paw(&["verify", "feat/a"]).code, 0);
    assert_eq!(scene.paw(&["verify", "feat/a", "--rerun"]).code, 0);
    let before = scene.runs();
    assert_eq!(scene.paw(&["merge", "--only", "feat/a"]).code, 0);
    assert!(scene.runs() > before, "the second run could use what the first one left");
    assert_eq!(scene.paw(&["proof", "check", "main"]).code, 0, "the merge signed its own run");
}
