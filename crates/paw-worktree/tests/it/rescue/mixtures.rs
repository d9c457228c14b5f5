//! Random sequences of file operations.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum FileOperation {
    Write(usize, Vec<u8>),
    Delete(usize),
    Link(usize, Vec<u8>),
    Mode(usize, u32),
    Stage(usize),
    Unstage(usize),
    IntendToAdd(usize),
    Commit,
}

const NAMES: [&[u8]; 14] = [
    b"a.txt",
    b"dir/b.txt",
    b"dir/sub/c",
    b"README.md",
    b"new",
    b"new\nline",
    b"-dash",
    b"\"q\" 'q'",
    b"caf\xe9",
    b"dir/\xff\xfe",
    b"tab\t",
    b"deep/er/and/deeper",
    b"$HOME `x`",
    b"%percent",
];

fn name() -> impl Strategy<Value = usize> {
    0..NAMES.len()
}

fn operation() -> impl Strategy<Value = FileOperation> {
    let content = prop_oneof![
        Just(b"line\n".to_vec()),
        Just(b"a\r\nb\r\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let target = proptest::collection::vec(1_u8.., 1..20);
    let mode = prop_oneof![Just(0o644_u32), Just(0o755), Just(0o600), Just(0o700), Just(0o640), Just(0o444)];
    prop_oneof![
        4 => (name(), content).prop_map(|(name, content)| FileOperation::Write(name, content)),
        2 => name().prop_map(FileOperation::Delete),
        1 => (name(), target).prop_map(|(name, target)| FileOperation::Link(name, target)),
        2 => (name(), mode).prop_map(|(name, mode)| FileOperation::Mode(name, mode)),
        3 => name().prop_map(FileOperation::Stage),
        1 => name().prop_map(FileOperation::Unstage),
        1 => name().prop_map(FileOperation::IntendToAdd),
        1 => Just(FileOperation::Commit),
    ]
}

/// Applies the operation. Errors of git or the disk are not part of this test.
fn act(scene: &Scene, operation: &FileOperation) {
    let path = |name: usize| Path::new(OsStr::from_bytes(NAMES[name]));
    let absolute = |name: usize| scene.worktree.join(path(name));
    let run = |args: &[&OsStr]| {
        let _ = Git::at(&scene.worktree).output(args.iter().copied()).unwrap();
    };
    match operation {
        FileOperation::Write(name, content) => {
            let _ = fs::remove_file(absolute(*name));
            write(&scene.worktree, path(*name), content);
        }
        FileOperation::Delete(name) => drop(fs::remove_file(absolute(*name))),
        FileOperation::Link(name, target) => {
            let _ = fs::remove_file(absolute(*name));
            fs::create_dir_all(absolute(*name).parent().unwrap()).unwrap();
            symlink(OsStr::from_bytes(target), absolute(*name)).unwrap();
        }
        FileOperation::Mode(name, mode) => {
            if fs::symlink_metadata(absolute(*name)).is_ok_and(|metadata| metadata.is_file()) {
                set_mode(&absolute(*name), *mode);
            }
        }
        FileOperation::Stage(name) => run(&["add".as_ref(), "--".as_ref(), path(*name).as_os_str()]),
        FileOperation::Unstage(name) => {
            run(&["reset".as_ref(), "--quiet".as_ref(), "--".as_ref(), path(*name).as_os_str()]);
        }
        FileOperation::IntendToAdd(name) => {
            run(&["add".as_ref(), "-N".as_ref(), "--".as_ref(), path(*name).as_os_str()]);
        }
        FileOperation::Commit => run(&["commit".as_ref(), "--quiet".as_ref(), "--message=m".as_ref()]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn rescue_restores_any_sequence_of_file_operations(operations in proptest::collection::vec(operation(), 1..25)) {
        let scene = Scene::new();
        scene.main.git(["config", "core.quotePath", "true"]);
        for operation in &operations {
            act(&scene, operation);
        }
        let before = WorktreeSnapshot::of(&scene.worktree);
        let (head, index) = (scene.git(&["rev-parse", "HEAD"]), scene.git(&["ls-files", "--stage"]));
        let rescue = store_if_needed(&scene.request()).unwrap();
        prop_assert_eq!(&WorktreeSnapshot::of(&scene.worktree), &before);
        prop_assert_eq!(rescue.is_none(), before.status.concat().is_empty());
        let Some(rescue) = rescue else { return Ok(()) };
        scene.remove();
        scene.main.git(["gc", "--quiet", "--prune=now"]);
        scene.restore(&rescue);
        let after = WorktreeSnapshot::of(&scene.back());
        prop_assert_eq!(after.status, before.status);
        for (path, file) in &before.files {
            prop_assert_eq!(after.files.get(path), Some(file), "{:?}", path);
        }
        prop_assert_eq!(after.files.len(), before.files.len());
        prop_assert_eq!(git(&scene.back(), ["rev-parse", "HEAD"]), head);
        prop_assert_eq!(git(&scene.back(), ["ls-files", "--stage"]), index);
    }
}
