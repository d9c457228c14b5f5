//! Specs in real repositories.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use paw_core::config::{BranchPrefix, SpecsConfig};
use paw_core::{ErrorCode, PawError};
use paw_session::specs::{self, SpecEntry, SpecError, SpecFormat, SpecScan};
use paw_testkit::{Sandbox, TestRepo};

struct Place {
    _sandbox: Sandbox,
    repo: TestRepo,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        for (path, text) in files {
            repo.write(path, text);
        }
        Self { _sandbox: sandbox, repo }
    }

    fn try_scan(&self, format: Option<SpecFormat>, dir: Option<&str>) -> Result<SpecScan, SpecError> {
        let config = dir.map(|dir| SpecsConfig { dir: Some(dir.into()), ..SpecsConfig::default() });
        specs::scan(&self.repo.root, config.as_ref(), format, &BranchPrefix::from("spec/"))
    }

    fn scan(&self, format: SpecFormat) -> SpecScan {
        self.try_scan(Some(format), None).unwrap()
    }

    fn commit(&self) {
        self.repo.git(["add", "--all", "--force"]);
        self.repo.git(["commit", "--quiet", "--message", "specs"]);
    }
}

fn row(entry: &SpecEntry) -> (&str, &str, &str) {
    (entry.id.as_str(), entry.unit.as_str(), entry.branch.as_str())
}

fn rows(scan: &SpecScan) -> Vec<(&str, &str, &str)> {
    scan.entries.iter().map(row).collect()
}

#[test]
fn openspec_changes_become_specs_with_their_capabilities() {
    let place = Place::new(&[
        (
            "specs/add-auth/tasks.md",
            "---\npaw_cli: codex\n---\n# Tasks\n\n- [ ] 1.1 log in\n\nFiles owned:\n- src/auth.rs\n",
        ),
        ("specs/add-auth/specs/session/spec.md", "# Session\n"),
        ("specs/add-auth/specs/login/spec.md", "# Login\n"),
        ("specs/add-auth/specs/empty/notes.md", "no spec\n"),
        ("specs/archive/old/tasks.md", "- [x] 1.1 done\n"),
        ("specs/half/proposal.md", "why\n"),
        ("specs/README.md", "not a change\n"),
    ]);
    let scan = place.scan(SpecFormat::Openspec);
    assert_eq!(rows(&scan), [("add-auth", "add-auth", "spec/add-auth")]);
    let entry = &scan.entries[0];
    assert_eq!(entry.cli.as_deref(), Some("codex"));
    assert_eq!(entry.owned_files, ["src/auth.rs"]);
    assert_eq!(entry.path, place.repo.root.join("specs/add-auth"));
    assert_eq!(
        entry.prompt,
        "# Tasks\n\n- [ ] 1.1 log in\n\nFiles owned:\n- src/auth.rs\n\n## Spec: login\n\n# Login\n\n## Spec: session\n\n# Session"
    );
    assert_eq!(scan.warnings, ["spec 'half': skipped: it has no readable tasks.md"]);
}

#[test]
fn pending_markdown_files_become_specs() {
    let place = Place::new(&[
        ("specs/a.md", "---\npaw_status: pending\npaw_branch: feat/login\npaw_cli: gemini\n---\nBuild it.\n"),
        ("specs/b.md", "---\npaw_status: \"pending\"\n---\nBuild that.\n"),
        ("specs/c.md", "---\npaw_status: done\n---\nBuilt.\n"),
        ("specs/d.md", "paw_status: pending\n"),
        ("specs/e.md", "---\npaw_status: [\n---\n"),
        ("specs/f.txt", "---\npaw_status: pending\n---\n"),
        ("specs/sub/g.md", "---\npaw_status: pending\n---\n"),
        ("specs/.h.md", "---\npaw_status: pending\n---\n"),
    ]);
    let scan = place.scan(SpecFormat::Markdown);
    assert_eq!(rows(&scan), [("feat/login", "feat/login", "spec/feat/login"), ("b", "b", "spec/b")]);
    assert_eq!(
        (scan.entries[0].cli.as_deref(), scan.entries[0].prompt.as_str()),
        (Some("gemini"), "Build it.")
    );
    assert_eq!(scan.warnings.len(), 1, "{:?}", scan.warnings);
    assert!(scan.warnings[0].contains("spec 'e': cannot parse its front matter"), "{:?}", scan.warnings);
}

const TASKS: &str = "# Tasks: user list\n\n## Phase 1: Setup\n\n- [x] T001 Make the project\n\n## Phase 2: Core\n\n\
- [ ] T009 [P] Create the User model\n- [x] T008 [P] Done before\n- [ ] T010 [P] Create the List model\n\
- [ ] T011 Wire both\n- [ ] T012 Test both\n\n## Phase 3: Polish\n\n- [ ] T013 [P] Document\n";

#[test]
fn spec_kit_features_become_parallel_tasks_and_one_worktree_for_the_rest_of_the_phase() {
    let place = Place::new(&[
        (".specify/specs/003-user-list/tasks.md", TASKS),
        (".specify/specs/003-user-list/spec.md", "Users want a list.\n"),
        (".specify/specs/003-user-list/plan.md", "Use a table.\n"),
        (".specify/specs/003-user-list/checklists/ux.md", "- [ ] readable\n"),
        (".specify/specs/004-done/tasks.md", "- [x] T001 a\n"),
        (".specify/specs/005-planned/spec.md", "later\n"),
        (".specify/specs/006-words/tasks.md", "- [ ] think\n"),
    ]);
    let scan = place.try_scan(None, None).unwrap();
    assert_eq!(scan.format, SpecFormat::Speckit);
    let feature = "003-user-list";
    assert_eq!(
        rows(&scan),
        [
            ("003-user-list-T009", feature, "task/t009-create-the-user-model"),
            ("003-user-list-T010", feature, "task/t010-create-the-list-model"),
            ("003-user-list-phase-2", feature, "phase/003-user-list-core"),
        ]
    );
    assert_eq!(
        scan.entries[2].prompt,
        "## Feature Context\n\nUsers want a list.\n\n---\n\n## Implementation Plan\n\nUse a table.\n\n---\n\n\
         ## Validation Criteria (advisory)\n\n### ux.md\n\n- [ ] readable\n\n---\n\n\
         ## Your Task\n\n003-user-list, phase 2 (Core):\n\n- T011 Wire both\n- T012 Test both\n\n\
         Do not edit the checkboxes in tasks.md, because other agents use the same list."
    );
    assert!(scan.entries[0].prompt.contains("- T009 Create the User model\n\nDo not edit"));
    assert_eq!(
        scan.warnings,
        [
            "spec '005-planned': skipped: it has no readable tasks.md",
            "spec '006-words': skipped: its tasks.md has no tasks such as '- [ ] T001 …'",
        ]
    );
}

#[test]
fn open_plans_of_superpowers_become_specs() {
    let place = Place::new(&[
        (
            "docs/superpowers/plans/2026-01-02-Login Page.md",
            "**Goal:** log in\n\n### Task 1: form\n\n- [ ] write it\n",
        ),
        ("docs/superpowers/plans/done.md", "### Task 1: form\n\n- [x] written\n"),
    ]);
    let scan = place.scan(SpecFormat::Superpowers);
    let name = "2026-01-02-Login Page";
    assert_eq!(rows(&scan), [(name, name, "plan/2026-01-02-login-page")]);
}

#[test]
fn configured_spec_directory_is_scanned_for_every_format() {
    let place = Place::new(&[("work/changes/x/tasks.md", "do it\n"), ("specs/y/tasks.md", "not this\n")]);
    let scan = place.try_scan(None, Some("work/changes")).unwrap();
    assert_eq!(rows(&scan), [("x", "x", "spec/x")]);
    assert_eq!(specs::find_uncommitted(&place.repo.root, &scan.entries).unwrap(), ["x"]);
    place.commit();
    assert!(specs::find_uncommitted(&place.repo.root, &scan.entries).unwrap().is_empty());
}

#[test]
fn missing_or_outside_spec_directory_is_an_error_with_a_hint() {
    let place = Place::new(&[("specs.txt", "a file\n")]);
    let error = PawError::from(place.try_scan(None, None).unwrap_err());
    assert!(error.code() == ErrorCode::FailedPrecondition && error.exit_code() == 1);
    assert!(error.to_string().contains("[specs] dir"), "{error}");
    assert!(matches!(place.try_scan(None, Some("specs.txt")), Err(SpecError::NoDirectory { .. })));
    symlink("..", place.repo.root.join("up")).unwrap();
    for outside in ["..", "up", "/", "specs/../../"] {
        fs::create_dir_all(place.repo.root.join("specs")).unwrap();
        assert!(matches!(place.try_scan(None, Some(outside)), Err(SpecError::Outside { .. })), "{outside}");
    }
}

#[test]
fn specs_with_the_same_branch_are_an_error() {
    let place = Place::new(&[
        ("specs/a.md", "---\npaw_status: pending\npaw_branch: same\n---\n"),
        ("specs/same.md", "---\npaw_status: pending\n---\n"),
        ("specs/other.md", "---\npaw_status: pending\n---\n"),
    ]);
    let scan = place.scan(SpecFormat::Markdown);
    for chosen in [specs::select_all(&scan.entries), specs::resolve(&["same".to_owned()], &scan.entries)] {
        let error = chosen.unwrap_err().to_string();
        assert!(
            error.contains("spec/same") && error.contains("a.md") && error.contains("same.md"),
            "{error}"
        );
    }
    assert_eq!(specs::resolve(&["other".to_owned()], &scan.entries).unwrap().len(), 1);
}

#[test]
fn specs_with_invalid_names_are_skipped_with_a_warning() {
    let place = Place::new(&[
        ("specs/good/tasks.md", "do it\n"),
        ("specs/überblick-日本/tasks.md", "do it\n"),
        ("specs/a b/tasks.md", "x\n"),
        ("specs/a..b/tasks.md", "x\n"),
        ("specs/-x.lock/tasks.md", "x\n"),
        ("specs/$(id);'\"`/tasks.md", "do it\n"),
        ("specs/esc\u{1b}[31m/tasks.md", "x\n"),
        ("specs/.hidden/tasks.md", "x\n"),
    ]);
    let odd = place.repo.root.join("specs").join(OsStr::from_bytes(b"odd\xff"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("tasks.md"), "x\n").unwrap();
    let scan = place.scan(SpecFormat::Openspec);
    let names: Vec<&str> = scan.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(names, ["$(id);'\"`", "good", "überblick-日本"]);
    assert_eq!(scan.warnings.len(), 5, "{:#?}", scan.warnings);
    assert!(scan.warnings.iter().all(|warning| !warning.contains('\u{1b}')), "{:#?}", scan.warnings);
    for part in ["contains ' '", "contains '..'", "not UTF-8", "control character"] {
        assert!(scan.warnings.iter().any(|warning| warning.contains(part)), "{part}: {:#?}", scan.warnings);
    }
}

#[test]
fn spec_scan_does_not_leave_its_directory_or_read_pipes() {
    let place = Place::new(&[
        ("secret/tasks.md", "a secret\n"),
        ("specs/linked/tasks.md", "do it\n"),
        ("specs/huge/tasks.md", &"x".repeat(300 * 1024)),
        ("specs/odd/tasks.md", "do it\n"),
    ]);
    let specs = place.repo.root.join("specs");
    symlink("../secret", specs.join("out")).unwrap();
    symlink("linked", specs.join("twice")).unwrap();
    symlink("loop", specs.join("loop")).unwrap();
    fs::create_dir_all(specs.join("linked/specs/cap")).unwrap();
    symlink("../../../../secret/tasks.md", specs.join("linked/specs/cap/spec.md")).unwrap();
    fs::create_dir(specs.join("pipe")).unwrap();
    make_pipe(&specs.join("pipe/tasks.md"));
    fs::write(specs.join("odd/tasks.md"), b"\xef\xbb\xbf---\r\npaw_cli: aider\r\n---\r\ndo \xff it\r\n")
        .unwrap();
    let scan = place.scan(SpecFormat::Openspec);
    let names: Vec<&str> = scan.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(names, ["linked", "odd", "twice"]);
    assert!(scan.entries.iter().all(|entry| !entry.prompt.contains("secret")));
    assert_eq!(
        (scan.entries[1].prompt.as_str(), scan.entries[1].cli.as_deref()),
        ("do \u{fffd} it", Some("aider"))
    );
    for part in [
        "'out': skipped: it is a link out",
        "huge/tasks.md': not read: it is larger",
        "pipe/tasks.md': not read: it is not a file",
    ] {
        assert!(scan.warnings.iter().any(|warning| warning.contains(part)), "{part}: {:#?}", scan.warnings);
    }
}

/// A pipe without a writer.
fn make_pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn uncommitted_specs_include_modified_new_staged_and_ignored_ones() {
    let place = Place::new(&[
        (".gitignore", "/specs/ignored/\n"),
        ("specs/clean/tasks.md", "x\n"),
        ("specs/changed/tasks.md", "x\n"),
        ("specs/staged/tasks.md", "x\n"),
        ("specs/clean-not/tasks.md", "x\n"),
        ("specs/*/tasks.md", "x\n"),
    ]);
    place.commit();
    place.repo.write("specs/changed/tasks.md", "y\n");
    place.repo.write("specs/staged/tasks.md", "y\n");
    place.repo.git(["add", "specs/staged"]);
    place.repo.write("specs/clean-not/specs/cap/spec.md", "new\n");
    place.repo.write("specs/ignored/tasks.md", "x\n");
    place.repo.write("elsewhere.txt", "x\n");
    let scan = place.scan(SpecFormat::Openspec);
    assert_eq!(scan.warnings.len(), 1, "'*' is not a valid branch: {:?}", scan.warnings);
    let open = specs::find_uncommitted(&place.repo.root, &scan.entries).unwrap();
    assert_eq!(open, ["changed", "clean-not", "ignored", "staged"]);
}

#[test]
fn every_spec_is_uncommitted_in_a_repository_without_commits() {
    let sandbox = Sandbox::new();
    let root = sandbox.root().join("new");
    fs::create_dir_all(root.join("specs/a")).unwrap();
    fs::write(root.join("specs/a/tasks.md"), "x\n").unwrap();
    paw_testkit::git(&root, ["init", "--quiet"]);
    let scan = specs::scan(&root, None, None, &BranchPrefix::from("spec")).unwrap();
    assert_eq!(specs::find_uncommitted(&root, &scan.entries).unwrap(), ["a"]);
    assert!(specs::find_uncommitted(&root, &[]).unwrap().is_empty());
}

#[test]
fn specs_in_a_submodule_are_uncommitted() {
    let sandbox = Sandbox::new();
    let plans = sandbox.repo("plans");
    plans.commit_file("a/tasks.md", "x\n", "plans");
    let repo = sandbox.repo("app");
    repo.add_submodule(&plans.root, "specs");
    let scan = specs::scan(&repo.root, None, None, &BranchPrefix::from("spec")).unwrap();
    assert_eq!(specs::find_uncommitted(&repo.root, &scan.entries).unwrap(), ["a"]);
}

#[test]
fn spec_kit_feature_can_be_started_although_another_has_the_same_task() {
    let tasks = "- [ ] T001 [P] Create the project\n";
    let place =
        Place::new(&[(".specify/specs/001-a/tasks.md", tasks), (".specify/specs/002-b/tasks.md", tasks)]);
    let scan = place.try_scan(None, None).unwrap();
    assert!(matches!(specs::select_all(&scan.entries), Err(SpecError::SameBranch { .. })));
    assert_eq!(specs::resolve(&["001".to_owned()], &scan.entries).unwrap().len(), 1);
}
