//! A rescue is whole or absent, whenever its maker is killed.

use paw_worktree::rescue::list;

use super::*;

const SCENE: &str = "PAW_TEST_RESCUE_SCENE";

/// Run by the test below in a process of its own.
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
        branch_goes_too: false,
    };
    store_if_needed(&request).unwrap();
}

#[test]
fn killed_midway_there_is_no_rescue_or_a_whole_one() {
    let mut scene = Scene::new();
    scene.write("a.txt", "changed\n");
    for number in 0..40 {
        scene.write(&format!("new/{number}"), number.to_string());
    }
    let before = Seen::of(&scene.worktree);
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
        // The git it had started may still go on; only then is the question fair.
        let _ = child.kill();
        child.wait().unwrap();
        match list(&scene.repo).unwrap().len() - known {
            0 => killed += 1,
            _ => finished += 1,
        }
        assert_eq!(Seen::of(&scene.worktree), before);
    }
    assert!(killed > 0, "{killed} {finished}");
    let whole = scene.store();
    let rescues = list(&scene.repo).unwrap();
    scene.remove();
    scene.main.git(["gc", "--quiet", "--prune=now"]);
    for (number, rescue) in rescues.iter().enumerate() {
        let back = scene.sandbox.root().join(format!("back-{number}"));
        restore(&scene.repo, &rescue.id, RestoreInto::NewWorktree(&back), RestoreOptions::default()).unwrap();
        assert_eq!(Seen::of(&back).files, before.files);
    }
    assert!(rescues.contains(&whole));
}
