//! Starts from specs.

use super::World;

fn with_specs() -> World {
    let world = World::new();
    for name in ["add-auth", "add-logging", "fix-session"] {
        world.repo.write(&format!("specs/{name}/tasks.md"), "- [ ] 1.1 do it\n");
    }
    world.repo.git(["add", "specs"]);
    world.repo.git(["commit", "--quiet", "--message", "specs"]);
    world
}

#[test]
fn non_tty_from_specs_exits_cleanly() {
    let world = with_specs();
    world.configure("[broker]\nenabled = false\n");
    let ran = world.start(&["--from-specs"]);
    assert!(ran.stdout.ends_with("Attach with: tmux attach -t paw-app\n"), "{ran}");
    assert_eq!(ran.stderr, "", "the alias is silent");
    let marks = world.panes("paw-app", "#{@paw_agent}");
    assert_eq!(marks, ["spec-add-auth", "spec-add-logging", "spec-fix-session"]);
    assert_eq!(world.receipt("paw-app")["worktrees"][0]["spec"], "add-auth");
}

#[test]
fn from_specs_supervisor_engages_supervisor_mode_and_skips_the_foreground() {
    let world = with_specs();
    let ran = world.start(&["--supervisor", "--from-specs"]);
    assert!(ran.stdout.contains("Supervisor session 'paw-app' launched with 3 coding agent(s)."), "{ran}");
    assert!(ran.stdout.contains("requires an interactive terminal"), "{ran}");
    assert!(ran.stdout.contains("tmux attach -t paw-app"), "{ran}");
}

#[test]
fn configured_supervisor_is_used_for_specs_unless_no_supervisor_is_given() {
    let world = with_specs();
    world.configure("[supervisor]\nenabled = true\n");
    let on = world.start(&["--dry-run", "--from-all-specs"]);
    assert!(on.stdout.starts_with("Dry run — supervisor session plan:"), "{on}");
    let off = world.start(&["--dry-run", "--from-all-specs", "--no-supervisor"]);
    assert!(off.stdout.starts_with("Dry run — session plan (from specs):"), "{off}");
    let narrowed = world.start(&["--dry-run", "--specs", "add-auth"]);
    assert!(narrowed.stdout.contains("spec/add-auth") && !narrowed.stdout.contains("spec/fix-session"));
}

#[test]
fn partial_failure_batches_do_not_partially_start() {
    let world = with_specs();
    let ran = world.paw(&["start", "--specs", "add-auth,no-such-spec"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no-such-spec") && ran.stderr.contains("fix-session"), "{ran}");
    world.assert_nothing_started();
}

#[test]
fn bare_specs_in_non_tty_environment_exits_with_guidance() {
    let world = with_specs();
    let ran = world.paw(&["start", "--specs"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("--specs NAME[,NAME...]") && ran.stderr.contains("--from-all-specs"),
        "{ran}"
    );
    world.assert_nothing_started();
}

#[test]
fn uncommitted_specs_warn_and_force_silences() {
    let world = with_specs();
    world.repo.write("specs/brand-new/tasks.md", "- [ ] 1.1 do it\n");
    let warned = world.start(&["--dry-run", "--specs", "brand-new"]);
    assert!(warned.stderr.contains("uncommitted specs") && warned.stderr.contains("brand-new"), "{warned}");
    let silent = world.start(&["--dry-run", "--specs", "brand-new", "--force"]);
    assert_eq!(silent.stderr, "");
}

#[test]
fn start_without_pending_specs_exits_with_0_and_a_sentence() {
    let world = World::new();
    world.repo.write("openspec/changes/archive/old/tasks.md", "- [x] 1.1 done\n");
    for flags in [&["--from-all-specs"][..], &["--specs"], &["--from-all-specs", "--dry-run"]] {
        let ran = world.paw(&[&["start"], flags].concat());
        let said = "No pending specs found. (looked for openspec in openspec/changes)\n";
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, said, ""), "{ran}");
    }
    world.assert_nothing_started();
}

#[test]
fn start_from_specs_of_a_repository_without_any_says_where_it_looked() {
    let world = World::new();
    let ran = world.paw(&["start", "--from-all-specs"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("openspec/changes") && ran.stderr.contains("[specs] dir"), "{ran}");
    world.assert_nothing_started();
}

#[test]
fn start_reports_mistakes_about_specs_before_a_missing_cli() {
    let sandbox = paw_testkit::Sandbox::new();
    let repo = sandbox.repo("app");
    let said = |args: &[&str]| {
        let ran = crate::paw::paw(&sandbox, &repo.root, &[&["start"], args].concat());
        assert_eq!(ran.code, 1, "{ran}");
        ran.stderr.lines().next().unwrap().to_owned()
    };
    assert_eq!(said(&["--preset", "x"]), "error: preset 'x' not found");
    assert!(said(&["--from-all-specs"]).starts_with("error: this repository has no specs: none of "));
    repo.write("openspec/changes/add-auth/tasks.md", "- [ ] 1.1 do it\n");
    assert_eq!(said(&["--specs", "typo"]), "error: no spec 'typo'");
    assert!(said(&["--from-all-specs"]).starts_with("error: no AI coding CLI found"));
}
