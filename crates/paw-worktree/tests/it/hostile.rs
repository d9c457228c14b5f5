//! Hostile branch and worktree names, with real git.

use paw_core::{BranchName, Diagnostic as _};
use paw_worktree::{CreateRequest, RemoveOptions};
use proptest::prelude::*;

use crate::world::{World, is_clean};

/// Text with special meaning to shells, git or file systems.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z0-9]{1,4}",
        prop::sample::select(vec![
            "$(id)",
            "`id`",
            "'",
            "\"",
            ";",
            "&",
            "|",
            "-",
            "--",
            "#",
            "!",
            "%",
            "{",
            "}",
            "@",
            "ü",
            "日",
            "\u{202e}",
            ",",
            "=",
            "+",
            "(",
            ")",
            "<",
            ">",
            ".a",
            "%00",
            "\u{a0}",
            "\u{1f43e}",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

fn hostile_branch() -> impl Strategy<Value = String> {
    prop::collection::vec(hostile_text(), 1..3)
        .prop_map(|parts| parts.join("/"))
        .prop_filter("a valid branch name", |name| BranchName::new(name.as_str()).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_names_are_created_listed_and_removed_without_leftovers(
        branch in hostile_branch(),
        name in prop::option::of(hostile_text()),
    ) {
        let world = World::new();
        let before = world.traces();
        let request = CreateRequest { create_branch: true, name, ..world.request(&branch) };
        match world.worktrees().create(&request, &mut |_| {}) {
            Ok(created) => {
                let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
                prop_assert_eq!(listing.worktrees, [created.worktree.clone()]);
                prop_assert!(listing.unmanaged.is_empty());
                prop_assert!(created.worktree.path.starts_with(world.sandbox.root()));
                prop_assert!(is_clean(&created.worktree.path));
                let options = RemoveOptions { delete_branch: true, ..RemoveOptions::default() };
                let removed = world.worktrees().remove(&created.worktree.name, None, options).unwrap();
                prop_assert!(removed.branch_deleted);
            }
            Err(error) => prop_assert_eq!(error.report().code.as_str(), "INVALID_ARGUMENT", "{}", error),
        }
        prop_assert_eq!(world.traces(), before);
    }
}
