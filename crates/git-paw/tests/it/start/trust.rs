//! Repository settings that need the user's approval.

use super::World;

fn with_own_cli() -> World {
    let world = World::new();
    world.repo.write(".git-paw/config.toml", "[clis.evil]\ncommand = \"agent\"\n");
    world
}

#[test]
fn start_does_not_run_a_repositorys_cli_without_approval() {
    let world = with_own_cli();
    let ran = world.paw(&["start", "--cli", "evil", "--branches", "feat/a"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("clis.evil.command") && ran.stderr.contains("--trust"), "{ran}");
    assert!(ran.stderr.contains("CLI 'evil' is defined by this repository and not approved"), "{ran}");
    let pair = world.paw(&["start", "--branches", "feat/a=evil"]);
    assert!(pair.stderr.contains("CLI 'evil' is defined by this repository and not approved"), "{pair}");
    world.assert_nothing_started();
    let listed = world.paw(&["list-clis"]);
    assert!(
        listed.stdout.lines().any(|line| line.starts_with("evil") && line.contains("not approved")),
        "{listed}"
    );
    assert!(listed.stderr.contains("git paw start --trust"), "{listed}");
}

#[test]
fn dry_run_with_trust_plans_with_the_repositorys_cli_and_approves_nothing() {
    let world = with_own_cli();
    let planned = world.start(&["--dry-run", "--trust", "--cli", "evil", "--branches", "feat/a"]);
    assert!(planned.stdout.contains("feat/a → evil") && planned.stderr.is_empty(), "{planned}");
    let without = world.paw(&["start", "--dry-run", "--cli", "evil", "--branches", "feat/a"]);
    assert_eq!(without.code, 1, "{without}");
    world.assert_nothing_started();
}

#[test]
fn trust_approves_a_repositorys_cli_until_it_changes() {
    let world = with_own_cli();
    world.start(&["--trust", "--cli", "evil", "--branches", "feat/a"]);
    let again = world.start(&["--dry-run", "--cli", "evil", "--branches", "feat/b"]);
    assert!(again.stdout.contains("feat/b → evil"), "{again}");
    world.repo.write(".git-paw/config.toml", "[clis.evil]\ncommand = \"sh\"\n");
    let changed = world.paw(&["start", "--dry-run", "--cli", "evil", "--branches", "feat/b"]);
    assert_eq!(changed.code, 1);
}

#[test]
fn agent_cannot_approve_a_repositorys_cli() {
    let mut world = with_own_cli();
    world.sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
    let ran = world.paw(&["start", "--trust", "--cli", "evil", "--branches", "feat/a"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("an agent cannot approve"), "{ran}");
    world.assert_nothing_started();
}

#[test]
fn repositorys_full_auto_is_ignored_until_approved() {
    let world = World::new();
    world.configure("[supervisor]\nenabled = true\n");
    world.repo.write(".git-paw/config.toml", "[supervisor]\nagent_approval = \"full-auto\"\n");
    world.sandbox.install_program("claude", "#!/bin/sh\nexec sleep 600\n");
    let args = ["--dry-run", "--cli", "claude", "--branches", "feat/a"];
    let ran = world.start(&args);
    assert!(!ran.stdout.contains("skip-permissions"), "{ran}");
    assert!(ran.stderr.contains("supervisor.agent_approval"), "{ran}");
}

#[test]
fn repository_cannot_raise_the_users_approval_level() {
    let world = World::new();
    world.sandbox.install_program("codex", "#!/bin/sh\nexec sleep 600\n");
    world.repo.write(".git-paw/config.toml", "[supervisor]\nagent_approval = \"auto\"\n");
    let args = ["--dry-run", "--supervisor", "--cli", "codex", "--branches", "feat/a"];
    world.configure("[supervisor]\nagent_approval = \"manual\"\n");
    let ran = world.start(&args);
    assert!(ran.stderr.contains("ignoring this repository's supervisor.agent_approval"), "{ran}");
    assert!(!ran.stdout.contains("workspace-write"), "{ran}");

    world.configure("");
    let ran = world.start(&args);
    assert!(!ran.stderr.contains("agent_approval"), "it does not exceed the default level: {ran}");
    assert!(ran.stdout.contains("workspace-write"), "{ran}");
}

#[test]
fn repository_cannot_raise_the_supervisors_approval_level() {
    let world = World::new();
    world.sandbox.install_program("codex", "#!/bin/sh\nexec sleep 600\n");
    world.repo.write(".git-paw/config.toml", "[supervisor]\napproval = \"auto\"\n");
    world.configure("[supervisor]\nagent_approval = \"manual\"\n");
    let ran = world.start(&["--dry-run", "--supervisor", "--cli", "codex", "--branches", "feat/a"]);
    assert!(ran.stderr.contains("ignoring this repository's supervisor.approval"), "{ran}");
    assert!(!ran.stdout.contains("workspace-write"), "{ran}");
}
