//! The setup of new worktrees, without a user to ask.

use std::fs;

use paw_host::caller::CommandCaller;
use paw_host::config::load_layers;
use paw_host::git::Repo;
use paw_host::trust::{Approver, TrustStore};
use paw_testkit::wait_until;
use paw_worktree::setup::plan;

use crate::world::World;

/// Installs an `npm` that records its directory and arguments, then runs a script of the test.
fn install_npm(world: &World, then: &str) {
    let log = world.at("npm.log").display().to_string();
    world.sandbox.install_program("npm", &format!("#!/bin/sh\necho \"$PWD $*\" >> {log}\n{then}\n"));
}

/// Approves the repository's setup as the user.
fn approve(world: &World) {
    let layers = load_layers(Some(&world.repo.root), Some(&world.sandbox.user_config())).unwrap();
    let plan = plan(&layers.resolve().unwrap(), &layers.repo, &world.repo.root);
    let repo = Repo::discover(&world.repo.root).unwrap();
    let approver = Approver::new(&CommandCaller::User).unwrap();
    let store = TrustStore::at(world.data_dir().join("trust.json"));
    store.approve(&approver, &repo, plan.subject().unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_script_succeeds() {
    let world = World::new();
    install_npm(&world, "exit 0");
    world.configure("[worktree]\nsetup_commands = [\"npm install\", \"npm run build\"]\n");
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    assert_eq!((made.setup_status.as_str(), made.setup_error), ("success", None));
    assert_eq!(world.read("npm.log"), format!("{0} install\n{0} run build\n", made.path));
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_script_fails_worktree_still_created() {
    let world = World::new();
    install_npm(&world, "exit 1");
    world.configure("[worktree]\nsetup_commands = [\"npm install\"]\n");
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    let outcome = (made.setup_status.as_str(), made.setup_error.as_deref());
    assert_eq!(outcome, ("failed", Some("npm install exited with code 1")));
    assert_eq!(daemon.list().await, [made]);
    let log = world.log();
    let said = log.lines().find(|line| line.contains("npm install exited with code 1")).unwrap();
    assert!(said.contains(" WARN "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_script_times_out() {
    let world = World::new();
    install_npm(&world, &format!("echo $$ > {}; sleep 600", world.at("npm.pid").display()));
    // In a sandbox the program would see another process id than we do.
    let off = "[sandbox]\nruns = \"off\"\n";
    world
        .configure(&format!("{off}[worktree]\nsetup_commands = [\"npm install\"]\nsetup_timeout_secs = 1\n"));
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    let outcome = (made.setup_status.as_str(), made.setup_error.as_deref());
    assert_eq!(outcome, ("timeout", Some("Setup command 'npm install' timed out after 1s")));
    crate::world::wait_until_gone(world.pid("npm.pid"));
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_setup_script_from_betcode_directory() {
    let world = World::new();
    let proof = world.at("script.log").display().to_string();
    world.repo.write(".betcode/worktree-setup.sh", &format!("pwd > {proof}\n"));
    approve(&world);
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    assert_eq!((made.setup_status.as_str(), made.setup_error), ("success", None));
    assert_eq!(world.read("script.log").trim_end(), made.path);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unapproved_setup_script_does_not_run() {
    let world = World::new();
    let proof = world.at("script.log").display().to_string();
    world.repo.write(".betcode/worktree-setup.sh", &format!("pwd > {proof}\n"));
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    let error = made.setup_error.unwrap();
    assert_eq!(made.setup_status, "untrusted");
    assert!(error.contains(".betcode/worktree-setup.sh"), "{error}");
    assert!(made.setup_hints[0].contains("git paw trust"), "{:?}", made.setup_hints);
    assert!(!world.at("script.log").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_setup_configured() {
    let world = World::new();
    install_npm(&world, "");
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    assert_eq!((made.setup_status.as_str(), made.setup_error), ("none", None));
    assert!(!world.at("npm.log").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_script_environment() {
    let world = World::new();
    let seen = world.at("env.txt").display().to_string();
    world.configure(&format!("[worktree]\nsetup_commands = [\"env > {seen}\"]\n"));
    let daemon = world.daemon_with(&[("ANTHROPIC_API_KEY", "secret")]).await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    assert_eq!(made.setup_status, "success");
    let seen = world.read("env.txt");
    for line in [
        format!("WORKTREE_PATH={}", made.path),
        "WORKTREE_BRANCH=feature/auth".to_owned(),
        format!("HOME={}", world.sandbox.home().display()),
    ] {
        assert!(seen.lines().any(|variable| variable == line), "{line} is not in\n{seen}");
    }
    assert!(
        seen.lines().any(|variable| variable.starts_with("PATH=")) && !seen.contains("ANTHROPIC"),
        "{seen}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_configuration_fails_the_setup_but_not_the_creation() {
    let world = World::new();
    world.repo.write(".git-paw/config.toml", "[worktree\n");
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    assert_eq!(made.setup_status, "failed");
    assert!(made.setup_error.unwrap().contains("config.toml"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_creation_still_completes() {
    let world = World::new();
    let go = world.at("go");
    world.configure(&format!(
        "[worktree]\nsetup_commands = [\"while [ ! -e {} ]; do sleep 0.02; done\"]\n",
        go.display()
    ));
    let daemon = world.daemon().await;
    let (mut client, request) = (daemon.client.worktrees.clone(), world.request("feature/auth"));
    let call = tokio::spawn(async move { client.create_worktree(request).await });
    let path = world.at("project-auth/README.md");
    wait_until("the worktree is there", || path.exists().then_some(()));
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    fs::write(&go, "").unwrap();
    let mut rows = daemon.list().await;
    while rows[0].setup_status != "success" {
        tokio::task::yield_now().await;
        rows = daemon.list().await;
    }
    assert_eq!((rows.len(), rows[0].status.as_str(), rows[0].branch.as_str()), (1, "active", "feature/auth"));
}
