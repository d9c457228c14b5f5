//! A process that is killed while storing leaves no rescue or a complete one.

use paw_worktree::rescue::list;

use super::*;

const SCENE: &str = "PAW_TEST_RESCUE_SCENE";

/// Run by the test below in a separate process.
#[test]
#[ignore = "started by another test, which kills it"]
fn child_that_stores() {
    let Some(root) = std::env::var_os(SCENE).map(PathBuf::from) else { return };
    let repo = Repo::discover(&root.join("app")).unwrap();
    let request = RescueRequest {
        repo: &repo,
        worktree: &root.join("app-x"),
        branch: None,
        reason: "killed midway",
        include_ignored: false,
        delete_branch: false,
    };
    store_if_needed(&request).unwrap();
}

#[test]
fn killed_store_leaves_no_rescue_or_a_complete_one() {
    let mut scene = Scene::new();
    scene.write("a.txt", "changed\n");
    for number in 0..40 {
        scene.write(&format!("new/{number}"), number.to_string());
    }
    let before = WorktreeSnapshot::of(&scene.worktree);
    let root = scene.sandbox.root();
    scene.sandbox.set(SCENE, root);
    let (mut killed, mut finished) = (0, 0);
    for round in 0..12_u64 {
        let known = list(&scene.repo).unwrap().len();
        let mut child = scene
            .sandbox
            .command(std::env::current_exe().unwrap())
            .args(["--exact", "rescue::crash::child_that_stores", "--ignored", "--quiet"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let watch = paw_host::clock::Stopwatch::start();
        let limit = std::time::Duration::from_millis(round * 10);
        while !watch.remaining(limit).is_zero() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        // Child processes of git may still be running, which is part of the test.
        let _ = child.kill();
        child.wait().unwrap();
        match list(&scene.repo).unwrap().len() - known {
            0 => killed += 1,
            _ => finished += 1,
        }
        assert_eq!(WorktreeSnapshot::of(&scene.worktree), before);
    }
    assert!(killed > 0, "{killed} {finished}");
    let whole = scene.store();
    let rescues = list(&scene.repo).unwrap();
    scene.remove();
    scene.main.git(["gc", "--quiet", "--prune=now"]);
    for (number, rescue) in rescues.iter().enumerate() {
        let back = scene.sandbox.root().join(format!("back-{number}"));
        restore(&scene.repo, &rescue.id, RestoreInto::NewWorktree(&back), RestoreOptions::default()).unwrap();
        assert_eq!(WorktreeSnapshot::of(&back).files, before.files);
    }
    assert!(rescues.contains(&whole));
}
