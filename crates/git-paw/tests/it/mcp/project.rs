//! What an AI CLI can read about the project.

use std::fs;
use std::os::unix::fs::symlink;

use paw_testkit::{Sandbox, TestRepo};
use serde_json::{Value, json};

use super::client::Client;

/// A repository with documents, a secret, a link that leaves it, and a branch.
pub(super) fn project() -> (Sandbox, TestRepo) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    sandbox.write("outside/secret.txt", "outside\n");
    repo.write("docs/dod.md", "- [ ] tests\n");
    repo.write("docs/adr/0001-files.md", "# Use files\n\nBecause.\n");
    repo.write("README.md", "# App\n\nReads [[nothing]].\n");
    repo.write("src/lib.rs", "pub fn parse() {}\n// PARSE again\n");
    repo.write(".env", "TOKEN=hidden-parse\n");
    repo.write("keys/server.pem", "parse\n");
    repo.write("image.bin", "parse\0\n");
    symlink("../outside/secret.txt", repo.root.join("link")).unwrap();
    repo.write("specs/one.md", "---\npaw_status: pending\n---\nAfter [[two]].\n");
    repo.write("specs/two.md", "---\npaw_status: pending\n---\nFirst.\n");
    repo.git(["add", "--force", "."]);
    repo.git(["commit", "--quiet", "-m", "project"]);
    repo.git(["switch", "--quiet", "--create", "feat/x"]);
    repo.commit_file("src/new.rs", "fn new() {}\n", "add new");
    repo.commit_file("keys/server.pem", "changed-secret\n", "rotate");
    repo.git(["switch", "--quiet", "main"]);
    let learned =
        "## Session Learnings — 1\n<!-- git-paw session: x -->\n\n### Documentation gaps\n\n- no page\n";
    repo.write(".git-paw/session-learnings.md", learned);
    let config = "[governance]\ndod = \"docs/dod.md\"\nadr = \"docs/adr\"\nsecurity = \"docs/security.md\"\n[specs]\ntype = \"markdown\"\ndir = \"specs\"\n";
    sandbox.write("home/.config/git-paw/config.toml", config);
    (sandbox, repo)
}

#[test]
fn an_ai_cli_reads_documents_files_history_learnings_and_skills() {
    let (sandbox, repo) = project();
    let elsewhere = sandbox.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let (dir, log) = (repo.root.display().to_string(), sandbox.root().join("calls.log"));
    let args = ["--tools", "project", "--repo", &dir, "--log-file", log.to_str().unwrap()];
    let client = Client::start(&sandbox, &elsewhere, &args);
    let call = |name: &str, arguments: Value| client.call(name, arguments).unwrap();

    let governance = call("governance", json!({}));
    assert_eq!(governance["documents"][0]["content"], "- [ ] tests\n");
    assert_eq!(governance["missing"][0]["path"], "docs/security.md");
    assert_eq!(
        call("decision_records", json!({}))["records"][0],
        json!({"name": "0001-files.md", "title": "Use files"})
    );
    let record = call("decision_records", json!({"name": "0001-files.md"}));
    assert!(record["content"].as_str().unwrap().contains("Because."));
    assert_eq!(call("audit", json!({"branch": "feat/x"}))["checks"][0]["items"][0]["text"], "tests");
    let docs = call("docs", json!({}));
    assert_eq!(docs["docs"], json!(["README.md", "docs/adr/0001-files.md", "docs/dod.md"]));
    assert!(docs["readme"]["content"].as_str().unwrap().starts_with("# App"));

    assert_eq!(call("files", json!({"path": "src"}))["files"], json!(["src/lib.rs"]));
    assert_eq!(
        call("files", json!({"path": "src", "revision": "feat/x"}))["files"],
        json!(["src/lib.rs", "src/new.rs"])
    );
    let read = call("file_read", json!({"path": "./src/lib.rs", "first_line": 2}));
    assert_eq!((&read["content"], &read["of_lines"]), (&json!("// PARSE again"), &json!(2)));
    let found = call("file_search", json!({"text": "parse"}));
    let lines: Vec<_> =
        found["matches"].as_array().unwrap().iter().map(|found| (&found["path"], &found["line"])).collect();
    assert_eq!(lines, [(&json!("src/lib.rs"), &json!(1)), (&json!("src/lib.rs"), &json!(2))]);

    let commits = call("commits", json!({"branch": "feat/x", "limit": 2}));
    assert_eq!(commits["commits"][1]["subject"], "add new");
    let diff = call("diff", json!({"branch": "feat/x"}));
    assert_eq!(diff["files"], json!(["src/new.rs"]));
    assert!(diff["patch"].as_str().unwrap().contains("+fn new() {}"), "{diff}");

    assert_eq!(call("learnings", json!({}))["applicable"], json!(["Documentation gaps: no page"]));
    assert_eq!(call("skill", json!({"name": "coordination"}))["source"], "built in");
    assert_eq!(call("spec_graph", json!({}))["edges"], json!([{"from": "one", "to": "two"}]));
    client.refusal("file_read", json!({"path": "nowhere"}));
    let logged = fs::read_to_string(log).unwrap();
    assert!(
        logged.contains(" spec_graph ok\n") && logged.contains(" file_read 'nowhere' does not exist"),
        "{logged}"
    );
}

#[test]
fn nothing_outside_of_the_project_and_no_secret_can_be_read() {
    let (sandbox, repo) = project();
    let client = Client::start(&sandbox, &repo.root, &["--tools", "project"]);
    for path in [
        "../outside/secret.txt",
        "/etc/passwd",
        "docs/../../outside/secret.txt",
        ".env",
        "keys/server.pem",
        ".git/config",
        "a\0b",
    ] {
        assert_eq!(client.refusal("file_read", json!({"path": path})), "INVALID_ARGUMENT", "{path}");
    }
    for path in ["link", "image.bin"] {
        assert_eq!(client.refusal("file_read", json!({"path": path})), "INVALID_ARGUMENT", "{path}");
    }
    assert_eq!(client.refusal("file_read", json!({"path": "docs"})), "NOT_FOUND");
    for revision in ["--output=x", "nope", "-h", "HEAD:README.md"] {
        let arguments = json!({"path": "README.md", "revision": revision});
        assert_eq!(client.refusal("file_read", arguments), "NOT_FOUND", "{revision}");
    }
    let files = client.call("files", json!({})).unwrap();
    let names = files["files"].to_string();
    assert!(!names.contains(".env") && !names.contains("pem"), "{names}");
    for text in ["hidden", "changed-secret"] {
        let found = client.call("file_search", json!({"text": text, "revision": "feat/x"})).unwrap();
        assert_eq!(found["matches"], json!([]), "{text}");
    }
    assert_eq!(
        client.refusal("file_search", json!({"text": "x\n"})),
        "INVALID_ARGUMENT",
        "an empty line matches all"
    );
    let diff = client.call("diff", json!({"branch": "feat/x"})).unwrap().to_string();
    assert!(!diff.contains("changed-secret"), "{diff}");
    assert!(client.call("skill", json!({"name": "../../etc"})).is_err());
    assert!(client.call("decision_records", json!({"name": "../../outside/secret.txt"})).is_err());
}
