//! `git paw audit`, and missing governance documents.

use paw_testkit::{RunOutput, Sandbox, TestRepo};
use serde_json::{Value, json};

use crate::paw::{document, paw};

/// A repository with five governance documents, one of which is missing, and a branch `feat/x` that adds a dependency.
struct Scene {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl Scene {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.write("docs/dod.md", "# Done\n- [ ] the change has a test\n- [x] it is reviewed\n");
        repo.write("docs/adr/0001-sqlite.md", "# Use SQLite\n");
        repo.write("docs/security.md", "1. no secret is logged\n");
        repo.write("docs/test-strategy.md", "# Strategy\n## Unit tests first\n");
        repo.commit_file("Cargo.toml", "[dependencies]\nserde = \"1\"\n", "manifest");
        repo.git(["add", "docs"]);
        repo.git(["commit", "--quiet", "-m", "documents"]);
        repo.git(["switch", "--quiet", "--create", "feat/x"]);
        repo.commit_file("Cargo.toml", "[dependencies]\nserde = \"1\"\nleft-pad = \"1\"\n", "pad");
        repo.commit_file("tests/pad.rs", "#[test] fn pads() {}\n", "test");
        // An agent cannot make the checklist shorter.
        repo.commit_file("docs/dod.md", "# Done\n", "no more rules");
        repo.git(["switch", "--quiet", "main"]);
        let config = "[broker]\nenabled = true\nport = 0\n[supervisor]\ntest_command = \"true\"\n[governance]\ndod = \"docs/dod.md\"\nadr = \"docs/adr\"\n\
            security = \"docs/security.md\"\ntest_strategy = \"docs/test-strategy.md\"\nconstitution = \"docs/constitution.md\"\n";
        sandbox.write("home/.config/git-paw/config.toml", config);
        Self { sandbox, repo }
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    fn json(&self, args: &[&str]) -> Value {
        document(&self.paw(args))
    }

    fn tip(&self) -> String {
        self.repo.git(["rev-parse", "feat/x"])
    }
}

const MISSING: &str = "governance document 'docs/constitution.md' ([governance] constitution) does not exist";

#[test]
fn audit_lists_every_item_of_the_main_checkouts_documents_with_facts_of_the_commit() {
    let scene = Scene::new();
    let ran = scene.paw(&["audit", "feat/x"]);
    assert!(ran.stderr.contains(MISSING), "{ran}");
    let shown = ran.stdout.replace(&scene.tip()[..10], "TIP");
    insta::assert_snapshot!(shown, @r"
    new dependency: left-pad (Cargo.toml)
    definition of done (docs/dod.md)
      open    dod-1            the change has a test
      open    dod-2            it is reviewed
      open    dod-3            the task asked for the change to docs/dod.md
    decision records (docs/adr)
      0001-sqlite.md: Use SQLite
      open    adr-1            a decision record covers the new dependency left-pad (Cargo.toml)
      open    adr-2            new patterns and structures have a decision record
      open    adr-3            the change contradicts no accepted decision record
    security checklist (docs/security.md)
      open    security-1       no secret is logged
    test strategy (docs/test-strategy.md)
      open    test_strategy-1  Unit tests first
      open    test_strategy-2  1 of 3 changed files are tests, as the strategy expects
    feat/x at TIP: 0 of 9 items decided
    ");
}

#[test]
fn audit_decisions_hold_for_one_commit_and_are_part_of_its_proof() {
    let scene = Scene::new();
    let (tip, main) = (scene.tip(), scene.repo.git(["rev-parse", "main"]));
    let ran = scene.paw(&["audit", "feat/x", "--commit", &main, "--pass", "dod-1"]);
    assert!(ran.code == 1 && ran.stderr.contains("feat/x is at "), "{ran}");
    let ran = scene.paw(&["audit", "feat/x", "--pass", "dod-1"]);
    assert_eq!(ran.code, 2, "the commit has to be named: {ran}");
    let fail = "adr-1=no record explains it";
    let answer =
        scene.json(&["audit", "feat/x", "--commit", &tip, "--pass", "dod-1,dod-2", "--fail", fail, "--json"]);
    assert_eq!((&answer["decided"], &answer["items"]), (&json!(3), &json!(9)), "{answer}");

    let verified = scene.json(&["verify", "feat/x", "--json"]);
    assert_eq!(verified["verdict"], "failed");
    let error = "[doc audit] decision records: a decision record covers the new dependency left-pad (Cargo.toml): no record explains it";
    assert_eq!(verified["errors"], json!([error]));
    let ran = scene.paw(&["verify", "feat/x"]);
    assert!(ran.stderr.contains(MISSING), "{ran}");
    assert_ne!(scene.json(&["proof", "check", "feat/x", "--json"])["ok"], true);

    scene.json(&["audit", "feat/x", "--commit", &tip, "--pass", "adr-1", "--json"]);
    assert_eq!(scene.json(&["verify", "feat/x", "--json"])["verdict"], "verified");
    let proof = scene.json(&["proof", "show", "feat/x", "--json"]);
    let audit = proof["record"]["audit"].as_array().unwrap();
    assert_eq!(audit.len(), 3);
    assert_eq!(
        (&audit[0]["check"], &audit[0]["result"], &audit[0]["by"]),
        (&json!("dod"), &json!("passed"), &json!("operator"))
    );
    assert!(scene.paw(&["proof", "show", "feat/x"]).stdout.contains("audit        passed by operator: "));

    // A later decision is signed, too, without another run of the gates.
    scene.json(&["audit", "feat/x", "--commit", &tip, "--pass", "security-1", "--json"]);
    assert_eq!(scene.json(&["verify", "feat/x", "--json"])["reused"], true);
    let proof = scene.json(&["proof", "show", "feat/x", "--json"]);
    assert_eq!(proof["record"]["audit"].as_array().unwrap().len(), 4);
    assert_eq!(scene.paw(&["proof", "check", "feat/x"]).code, 0);
}

#[test]
fn the_constitution_is_walked_item_by_item_and_its_findings_are_part_of_the_proof() {
    let scene = Scene::new();
    scene
        .repo
        .write("docs/constitution.md", "# Principles\n## Library first\nNo frameworks.\n## Test first\n");
    let tip = scene.tip();
    let shown = scene.paw(&["audit", "feat/x"]);
    assert!(!shown.stderr.contains(MISSING), "{shown}");
    let checklist = "constitution (docs/constitution.md)\n  open    constitution-1   Library first\n  open    constitution-2   Test first\n";
    assert!(shown.stdout.contains(checklist), "{shown}");

    let fail = "constitution-1=left-pad is a framework of one function";
    let decide = ["audit", "feat/x", "--commit", &tip, "--pass", "constitution-2", "--fail", fail, "--json"];
    scene.json(&decide);
    let verified = scene.json(&["verify", "feat/x", "--json"]);
    let error = "[doc audit] constitution: Library first: left-pad is a framework of one function";
    assert_eq!((&verified["verdict"], &verified["errors"]), (&json!("failed"), &json!([error])));
    scene.json(&["audit", "feat/x", "--commit", &tip, "--pass", "constitution-1", "--json"]);
    assert_eq!(scene.json(&["verify", "feat/x", "--json"])["verdict"], "verified");
    let proof = scene.json(&["proof", "show", "feat/x", "--json"]);
    let mut findings: Vec<_> = proof["record"]["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["check"].clone(), finding["item"].clone(), finding["result"].clone()))
        .collect();
    findings.sort_by_key(|(_, item, _)| item.to_string());
    let passed = |item: &str| (json!("constitution"), json!(item), json!("passed"));
    assert_eq!(findings, [passed("Library first"), passed("Test first")], "{proof}");
    assert_eq!(scene.paw(&["proof", "check", "feat/x"]).code, 0);
}

#[test]
fn audit_takes_the_id_of_an_agent_like_verify() {
    let scene = Scene::new();
    scene.sandbox.install_program("claude", "#!/bin/sh\nexec sleep 600\n");
    let ran = scene.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/x"]);
    assert_eq!(ran.code, 0, "{ran}");
    for name in ["feat-x", "feat/x"] {
        assert_eq!(scene.json(&["audit", name, "--json"])["branch"], "feat/x");
    }
    // Its commit is looked at twice, and failed once.
    let tip = scene.tip();
    scene.json(&["audit", "feat-x", "--commit", &tip, "--fail", "dod-1=no test", "--json"]);
    assert_eq!(scene.json(&["verify", "feat-x", "--json"])["verdict"], "failed");
    let report = scene.json(&["report", "--json"]);
    assert_eq!(report["agents"]["feat-x"]["gates_failed"], 1, "{report}");
}

#[test]
fn an_agent_cannot_decide_its_own_audit() {
    let mut scene = Scene::new();
    scene.sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
    let ran = scene.paw(&["audit", "feat/x", "--commit", "feat/x", "--pass", "dod-1"]);
    assert!(ran.code == 1 && ran.stderr.contains("decide an audit"), "{ran}");
}

#[test]
fn start_and_doctor_report_governance_documents_that_do_not_exist() {
    let scene = Scene::new();
    scene.sandbox.install_program("agent", "#!/bin/sh\nexec sleep 600\n");
    scene.sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
    let ran = scene.paw(&["start", "--no-supervisor", "--cli", "agent", "--branches", "feat/y"]);
    assert!(ran.code == 0 && ran.stderr.matches(MISSING).count() == 1, "{ran}");
    let report = scene.json(&["doctor", "--json"]);
    let check =
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "governance").unwrap();
    assert_eq!((&check["status"], &check["detail"]), (&json!("warn"), &json!(MISSING)));
}
