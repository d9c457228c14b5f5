//! Rescues that another program wrote, with content that git would refuse.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use paw_host::clock;
use paw_host::git::{Git, NewCommit, TreeEntry};
use paw_testkit::git;
use paw_worktree::rescue::{Rescue, RestoreInto, RestoreOptions, list, restore};

use super::{Scene, set_mode, write};

impl Scene {
    /// Stores a rescue, and replaces its manifest and its header.
    fn forge(&self, manifest: impl FnOnce(Vec<u8>) -> Vec<u8>, header: impl FnOnce(String) -> String) {
        self.write("new.txt", "new\n");
        let real = self.store();
        let git = self.repo.git();
        let message = git.line(["log", "-1", "--format=%B", &real.commit]).unwrap();
        let (_, after) = message.split_once("\"state\":\"").unwrap();
        let (state, _) = after.split_once('"').unwrap();
        let forged = manifest(git.run(["cat-file", "blob", &format!("{state}:manifest")]).unwrap());
        let scratch = self.sandbox.root().join("scratch");
        write(&scratch, "manifest", forged);
        let oid = git.write_blobs(&[scratch.join("manifest")]).unwrap().remove(0);
        let entry = TreeEntry { mode: "100644".to_owned(), oid, path: PathBuf::from("manifest") };
        git.edit_index(&scratch.join("index"), &[], &[entry]).unwrap();
        let tree = git.write_index_tree(&scratch.join("index")).unwrap();
        let commit = |tree: &str, message: &str| {
            git.commit_tree(&NewCommit { tree, parents: &[], message, at: clock::now() }).unwrap()
        };
        let message = header(message.replace(state, &commit(&tree, "state\n")));
        let forged = commit(&format!("{}^{{tree}}", real.commit), &message);
        self.main.git(["update-ref", "refs/paw/rescue/forged", &forged]);
        fs::remove_dir_all(scratch).unwrap();
    }

    /// Replaces the manifest by these lines; `OID` is a blob.
    fn forge_manifest(&self, lines: &[&str]) {
        self.write("payload", "gitdir: /somewhere/else\n");
        let oid = git(&self.worktree, ["hash-object", "-w", "payload"]);
        let lines: String = lines.iter().map(|line| line.replace("OID", &oid) + "\0").collect();
        self.forge(|_| lines.into_bytes(), |header| header);
    }

    fn forged(&self) -> Option<Rescue> {
        list(&self.repo).unwrap().into_iter().find(|rescue| rescue.id == "forged")
    }

    fn restore_forged(&self, into: RestoreInto<'_>) -> Result<Vec<PathBuf>, String> {
        let options = RestoreOptions { force: true, ..RestoreOptions::default() };
        let restored = restore(&self.repo, "forged", into, options);
        restored.map(|restored| restored.files).map_err(|error| error.to_string())
    }
}

#[test]
fn rescue_with_a_git_directory_in_its_manifest_is_not_restored() {
    for line in [
        "untracked 100644 OID .git",
        "changed 100644 OID .git",
        "nested 100644 OID .git",
        "ignored 100644 OID .git/config",
        "nested 100644 OID .git/hooks/post-checkout",
        "deleted 0 - .git",
        "directory 40755 - .git/hooks",
        "permissions 100777 - .git",
        "untracked 100644 OID a/.git/config",
        "changed 100644 OID a/.git",
    ] {
        let scene = Scene::new();
        scene.forge_manifest(&[line]);
        let (back, dot_git) = (scene.back(), scene.worktree.join(".git"));
        let before = fs::read(&dot_git).unwrap();
        for into in [RestoreInto::NewWorktree(&back), RestoreInto::Existing(&scene.worktree)] {
            let refused = scene.restore_forged(into).unwrap_err();
            assert!(refused.contains("a path that git does not allow"), "{line}: {refused}");
        }
        assert!(!back.exists(), "{line}");
        assert_eq!(fs::read(&dot_git).unwrap(), before, "{line}");
    }
}

#[test]
fn rescue_is_not_restored_over_the_git_directory_under_another_name() {
    let scene = Scene::new();
    scene.forge_manifest(&["untracked 100644 OID .Git"]);
    // File systems that ignore case find the same file under both names, and so does a hard link.
    fs::hard_link(scene.worktree.join(".git"), scene.worktree.join(".Git")).unwrap();
    let refused = scene.restore_forged(RestoreInto::Existing(&scene.worktree)).unwrap_err();
    assert!(refused.contains("a path that git does not allow"), "{refused}");
}

#[test]
fn rescue_does_not_change_permissions_through_a_symlink() {
    let scene = Scene::new();
    write(&scene.sandbox.root(), "outside/secret", "secret");
    let outside = scene.sandbox.root().join("outside");
    set_mode(&outside.join("secret"), 0o600);
    scene.write("payload", outside.as_os_str().as_bytes());
    let oid = git(&scene.worktree, ["hash-object", "-w", "payload"]);
    let lines = format!("untracked 120777 {oid} link\0permissions 100777 - link/secret\0");
    scene.forge(|_| lines.into_bytes(), |header| header);
    let back = scene.back();
    scene.restore_forged(RestoreInto::NewWorktree(&back)).unwrap();
    assert_eq!(fs::read_link(back.join("link")).unwrap(), outside);
    assert_eq!(fs::metadata(outside.join("secret")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn rescue_does_not_write_through_a_symlink_in_its_submodules() {
    let scene = Scene::new();
    write(&scene.sandbox.root(), "outside/config", "[core]\n");
    let outside = scene.sandbox.root().join("outside");
    let blob = |bytes: &[u8]| {
        scene.write("payload", bytes);
        git(&scene.worktree, ["hash-object", "-w", "payload"])
    };
    let admin_dir = Git::at(&scene.worktree).line(["rev-parse", "--absolute-git-dir"]).unwrap();
    let (target, link) =
        (blob(outside.as_os_str().as_bytes()), blob(format!("gitdir: {admin_dir}/modules/sub\n").as_bytes()));
    let lines = format!("admin 120777 {target} modules/sub\0nested 100644 {link} sub/.git\0");
    scene.forge(|_| lines.into_bytes(), |header| header);
    let _ = scene.restore_forged(RestoreInto::NewWorktree(&scene.back()));
    assert_eq!(fs::read_to_string(outside.join("config")).unwrap(), "[core]\n");
}

#[test]
fn rescue_with_a_git_directory_in_its_index_is_not_restored() {
    let scene = Scene::with(|main| drop(main.commit_file("xgit", "gitdir: /somewhere/else\n", "a")));
    let index = scene.main.root.join(".git/worktrees/app-x/index");
    let bytes = fs::read(&index).unwrap();
    let at = bytes.windows(5).position(|name| name == b"xgit\0").unwrap();
    scene.write("payload", [&bytes[..at], b".", &bytes[at + 1..]].concat());
    let oid = git(&scene.worktree, ["hash-object", "-w", "--no-filters", "payload"]);
    let manifest = format!("admin 100644 {oid} index\0").into_bytes();
    scene.forge(|_| manifest, |header| header);
    let refused = scene.restore_forged(RestoreInto::NewWorktree(&scene.back())).unwrap_err();
    assert!(refused.contains("a path that git does not allow"), "{refused}");
    assert!(!scene.back().exists());
}

#[test]
fn rescue_whose_header_has_options_in_place_of_commits_is_ignored() {
    for field in ["head", "tip", "index_tree", "state"] {
        let scene = Scene::new();
        let target = scene.sandbox.root().join("written");
        let option = format!("--output={}", target.display());
        scene.forge(
            |manifest| manifest,
            |header| {
                let (before, after) = header.split_once(&format!("\"{field}\":\"")).unwrap();
                let (_, after) = after.split_once('"').unwrap();
                format!("{before}\"{field}\":\"{option}\"{after}")
            },
        );
        assert!(scene.forged().is_none(), "{field}");
        let restored =
            restore(&scene.repo, "forged", RestoreInto::Existing(&scene.worktree), RestoreOptions::default());
        assert!(restored.is_err() && !target.exists(), "{field}");
    }
}

#[test]
fn rescue_of_a_tree_with_a_git_directory_writes_no_path_of_it() {
    let scene = Scene::new();
    scene.write("new.txt", "new\n");
    let real = scene.store();
    // git stores such a tree if it is asked to, and refuses to check it out.
    let oid = git(&scene.worktree, ["hash-object", "-w", "new.txt"]);
    scene.write("tree", format!("100644 blob {oid}\t.git\n"));
    let script = format!("git mktree <{}", scene.worktree.join("tree").display());
    let tree = scene.sandbox.run(&scene.main.root, "sh", ["-c", &script]).stdout;
    let message = scene.repo.git().line(["log", "-1", "--format=%B", &real.commit]).unwrap();
    let forged = NewCommit { tree: tree.trim(), parents: &[], message: &message, at: clock::now() };
    let forged = scene.repo.git().commit_tree(&forged).unwrap();
    scene.main.git(["update-ref", "refs/paw/rescue/forged", &forged]);
    let before = fs::read(scene.worktree.join(".git")).unwrap();
    let options = RestoreOptions { paths: &[PathBuf::from(".git")], force: true };
    let refused = restore(&scene.repo, "forged", RestoreInto::Existing(&scene.worktree), options);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("does not contain .git"), "{refused}");
    assert_eq!(fs::read(scene.worktree.join(".git")).unwrap(), before);
}
