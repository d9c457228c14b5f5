//! The arrows between the crates, and the page that draws them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Bottom to top. A crate may use those of the rows below its own; neighbours in one row do not know each other.
const ROWS: [&[&str]; 8] = [
    &["paw-core"],
    &["paw-host"],
    &["paw-agent", "paw-broker", "paw-worktree"],
    &["paw-view"],
    &["paw-daemon", "paw-screen", "paw-session"],
    &["paw-supervisor"],
    &["paw-autopilot"],
    &["git-paw"],
];

/// Used by the tests of every crate, and by nothing that is shipped.
const TESTKIT: &str = "paw-testkit";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    crates
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let text = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
            (entry.file_name().into_string().unwrap(), toml::from_str(&text).unwrap())
        })
        .collect()
}

fn uses(manifest: &toml::Table, section: &str) -> Vec<String> {
    let table = manifest.get(section).and_then(toml::Value::as_table);
    table.into_iter().flat_map(toml::Table::keys).filter(|name| name.starts_with("paw-")).cloned().collect()
}

fn sources(name: &str) -> Vec<PathBuf> {
    let mut left = vec![root().join("crates").join(name).join("src")];
    let mut files = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            files.push(path);
        }
    }
    files
}

fn row_of(name: &str) -> usize {
    ROWS.iter()
        .position(|row| row.contains(&name))
        .unwrap_or_else(|| panic!("{name} has no place in the picture"))
}

#[test]
fn every_arrow_between_crates_points_down() {
    for (name, manifest) in manifests() {
        for used in ["dependencies", "build-dependencies"].iter().flat_map(|section| uses(&manifest, section))
        {
            assert_ne!(used, TESTKIT, "{name} ships the testkit");
            assert!(name == TESTKIT || row_of(&used) < row_of(&name), "{name} must not use {used}");
        }
    }
}

#[test]
fn the_core_does_no_io() {
    for path in sources("paw-core") {
        let text = fs::read_to_string(&path).unwrap();
        for banned in [
            "std::fs",
            "std::process",
            "TcpStream",
            "TcpListener",
            "UdpSocket",
            "std::env",
            "std::thread",
            "tokio",
        ] {
            assert!(!text.contains(banned), "{} uses {banned}", path.display());
        }
    }
}

#[test]
fn all_production_call_sites_leave_the_users_configuration_where_it_is() {
    for file in sources("git-paw") {
        let text = fs::read_to_string(&file).unwrap();
        for name in ["load_config(", "load_layers("] {
            for call in text.split(name).skip(1) {
                assert!(arguments(call).ends_with("None"), "{} replaces the user's file", file.display());
            }
        }
    }
}

/// What stands before the parenthesis that closes the call, or nothing of a method without arguments.
fn arguments(call: &str) -> &str {
    let mut depth = 0;
    for (at, c) in call.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                return if at == 0 || call.starts_with("&self") { "None" } else { &call[..at] };
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    call
}

#[test]
fn the_page_about_the_architecture_names_every_crate() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for name in manifests().keys() {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is missing from the crate table");
    }
}

#[test]
fn every_place_the_page_names_exists() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let places = page.split('`').filter(|place| place.starts_with("crates/") && !place.contains('<'));
    for place in places {
        assert!(root().join(place).exists(), "{place} is gone");
    }
}
