//! What a repository wants agents to be started with, in `git paw trust`.

use paw_testkit::Sandbox;

use crate::paw::paw;

#[test]
fn what_agents_would_be_started_with_is_approved_beside_the_rest() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".git-paw/config.toml", "[clis.mine]\ncommand = \"./mine\"\n");
    let ran = paw(&sandbox, &repo.root, &["trust"]);
    assert!(ran.code == 1 && ran.stdout.contains("./mine"), "{ran}");
    assert_eq!(paw(&sandbox, &repo.root, &["trust", "--yes"]).code, 0);
    let listed = paw(&sandbox, &repo.root, &["trust", "--list"]);
    assert!(listed.stdout.contains("clis.mine"), "{listed}");
}
