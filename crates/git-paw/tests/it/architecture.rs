//! Rules about the structure of the workspace: dependencies, homes of facts, names, and ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Bottom to top. A crate may use crates in the rows below its own, not those in the same row.
const ROWS: [&[&str]; 9] = [
    &["paw-core"],
    &["paw-host"],
    &["paw-agent", "paw-broker", "paw-worktree"],
    &["paw-view"],
    &["paw-daemon", "paw-screen", "paw-session"],
    &["paw-cluster", "paw-supervisor"],
    &["paw-autopilot", "paw-web"],
    &["paw-runtime"],
    &["git-paw"],
];

/// Only tests use it.
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
fn dependencies_between_crates_point_down() {
    for (name, manifest) in manifests() {
        for used in ["dependencies", "build-dependencies"].iter().flat_map(|section| uses(&manifest, section))
        {
            assert_ne!(used, TESTKIT, "{name} ships the testkit");
            assert!(name == TESTKIT || row_of(&used) < row_of(&name), "{name} must not use {used}");
        }
    }
}

#[test]
fn paw_core_does_no_io() {
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

/// Where a CLI's name may appear as a literal: its descriptor, examples in the configuration's help, the demo, and the testkit.
const NAMED_IN: [&str; 4] =
    ["paw-agent/src/cli/", "paw-core/src/config/schema/", "git-paw/src/command/demo", "paw-testkit/"];

#[test]
fn cli_names_appear_only_in_their_descriptors() {
    for file in manifests().keys().flat_map(|name| sources(name)) {
        let path = file.display().to_string();
        let is_test =
            path.ends_with("/tests.rs") || path.ends_with("/recorded.rs") || path.contains("/tests/");
        if is_test
            || NAMED_IN.iter().any(|place| path.contains(place))
            || file.extension() != Some("rs".as_ref())
        {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for cli in &paw_agent::cli::ALL {
            assert!(!code.contains(&format!("\"{}\"", cli.name)), "{path} names {}", cli.name);
        }
    }
}

/// Every Rust file of the workspace except this one, as `paw-broker/src/log.rs` and its text.
fn all_files() -> Vec<(String, String)> {
    let crates = root().join("crates");
    let mut left = vec![crates.clone()];
    let mut files = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("it/architecture.rs") {
            let name = path.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    files
}

#[test]
fn only_the_log_module_names_the_storage_engine() {
    for (name, text) in all_files() {
        let in_log = name == "paw-broker/src/log.rs" || name.starts_with("paw-broker/src/log/");
        assert!(in_log || !text.contains("SqliteLog"), "{name} names the storage engine: use log::open");
        let in_broker = name.starts_with("paw-broker/src/");
        assert!(in_log || !in_broker || !text.contains("rusqlite"), "{name} uses SQLite: use MessageLog");
    }
}

#[test]
fn only_the_broker_client_and_server_speak_http() {
    let homes = ["paw-broker/src/client", "paw-broker/src/http"];
    for (name, text) in all_files() {
        let is_test = ["/tests/", "/benches/"].iter().any(|part| name.contains(part));
        if is_test || homes.iter().any(|home| name.starts_with(home)) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for mark in ["TcpStream", "HTTP/1.", "Content-Length", "text/event-stream", "\"data:"] {
            assert!(!code.contains(mark), "{name} has `{mark}`: use paw_broker::client");
        }
    }
}

/// A message that contains its hints would have to be parsed to get them back.
#[test]
fn only_the_error_report_renders_hints() {
    let crates = manifests().into_keys();
    let holds = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("\\nhint:");
    let found: Vec<_> = crates.flat_map(|name| sources(&name)).filter(holds).collect();
    assert_eq!(found, [root().join("crates/paw-core/src/error/report.rs")]);
}

/// Untrusted text is sanitized with one list of characters. A second list would miss some of them.
#[test]
fn only_the_text_module_spells_bidirectional_and_invisible_characters() {
    let ranges = [0x61c..=0x61c, 0x200b..=0x200f, 0x2028..=0x202e, 0x2060..=0x206f];
    let spelled: Vec<String> = ranges.iter().cloned().flatten().map(|code| format!("{code:x}")).collect();
    let files = manifests().into_keys().filter(|name| name != TESTKIT).flat_map(|name| sources(&name));
    for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        let path = file.strip_prefix(root()).unwrap().to_str().unwrap();
        if path.starts_with("crates/paw-core/src/text") || path.contains("tests") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let shipped = text.split("mod tests {").next().unwrap().to_lowercase();
        for code in &spelled {
            for literal in [format!("u{{{code}}}"), format!("u{{0{code}}}"), format!("0x{code}")] {
                assert!(!shipped.contains(&literal), "{path} spells {literal}; use paw_core::text");
            }
        }
        let raw = |c: char| ranges.iter().any(|range| range.contains(&u32::from(c)));
        assert!(!shipped.contains(raw), "{path} holds an invisible character; use paw_core::text");
    }
}

#[test]
fn production_code_does_not_override_the_path_of_the_users_configuration() {
    for file in sources("git-paw") {
        let text = fs::read_to_string(&file).unwrap();
        for name in ["load_config(", "load_layers("] {
            for call in text.split(name).skip(1) {
                assert!(arguments(call).ends_with("None"), "{} replaces the user's file", file.display());
            }
        }
    }
}

/// The text before the parenthesis that closes the call; `None` for a method without arguments.
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

/// The crates that a row of the table in ARCHITECTURE.md lists, without the two that nearly every crate uses.
fn listed_uses(page: &str, name: &str) -> BTreeSet<String> {
    let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
    let row = row.unwrap_or_else(|| panic!("{name} is missing from the crate table"));
    let uses = row.split('|').nth(2).unwrap().split(',').map(str::trim).filter(|used| !used.is_empty());
    uses.map(|used| format!("paw-{used}")).collect()
}

#[test]
fn the_crate_table_matches_the_manifests() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, manifest) in manifests() {
        let mut used: BTreeSet<String> = uses(&manifest, "dependencies").into_iter().collect();
        let with_host = !["paw-core", "paw-host", "paw-view", TESTKIT].contains(&name.as_str());
        assert!(name == TESTKIT || name == "paw-core" || used.remove("paw-core"), "{name}");
        assert_eq!(used.remove("paw-host"), with_host, "{name}");
        assert_eq!(listed_uses(&page, &name), used, "{name}");
    }
}

#[test]
fn paths_in_architecture_md_exist() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let places = page.split('`').filter(|place| place.starts_with("crates/") && !place.contains('<'));
    for place in places {
        assert!(root().join(place).exists(), "{place} is gone");
    }
}

/// MCP tools return what a command prints, so they may call commands.
const MAY_CALL_COMMANDS: &str = "mcp";

#[test]
fn no_command_imports_another_command() {
    let commands = root().join("crates/git-paw/src/command");
    let files: Vec<(Vec<String>, String)> = sources("git-paw")
        .into_iter()
        .filter_map(|file| {
            let path = module_path(file.strip_prefix(&commands).ok()?);
            (!path.is_empty()).then(|| (path, fs::read_to_string(&file).unwrap()))
        })
        .collect();
    let verbs: BTreeSet<&str> = files.iter().map(|(path, _)| path[0].as_str()).collect();
    let found: Vec<String> = files
        .iter()
        .filter(|(path, _)| path[0] != MAY_CALL_COMMANDS)
        .flat_map(|(path, text)| imports(path, text).into_iter().map(move |other| (path, other)))
        .filter(|(path, other)| verbs.contains(other.as_str()) && *other != path[0])
        .map(|(path, other)| format!("{} imports {other}", path.join("::")))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// The module of a file below `command/`: `tasks/add.rs` is `[tasks, add]`.
fn module_path(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    path.iter().map(|part| part.to_str().unwrap().to_owned()).filter(|part| part != "mod").collect()
}

/// The modules directly below `command` that a file names, by `crate::command::` or by as many `super::` as it is deep.
fn imports(path: &[String], text: &str) -> Vec<String> {
    let mut named: Vec<&str> = text.split("crate::command::").skip(1).collect();
    let mut depth = 0;
    for rest in text.split("super::").skip(1) {
        depth += 1;
        if !rest.is_empty() {
            named.extend((depth == path.len()).then_some(rest));
            depth = 0;
        }
    }
    named.into_iter().flat_map(first_names).collect()
}

/// `merge::show;` names `merge`; `{merge, verify as prove};` names `merge` and `verify`.
fn first_names(rest: &str) -> Vec<String> {
    let list = rest.strip_prefix('{').and_then(|list| list.split(';').next());
    let parts: Vec<&str> = list.map_or_else(|| vec![rest], |list| list.split([',', '{', '}']).collect());
    let name = |part: &str| {
        part.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    parts.into_iter().map(name).filter(|name| !name.is_empty()).collect()
}

#[test]
fn an_import_of_another_command_is_found_however_it_is_written() {
    let of = |module: &[&str], text: &str| {
        imports(&module.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>(), text)
    };
    assert_eq!(of(&["serve"], "use super::dashboard::Session;"), ["dashboard"]);
    assert_eq!(of(&["serve"], "use crate::command::{merge as merging, verify};"), ["merge", "verify"]);
    assert_eq!(of(&["tasks", "add"], "use super::super::start::spec_format;"), ["start"]);
    assert_eq!(of(&["tasks", "add"], "crate::command::start::run()"), ["start"]);
    assert_eq!(of(&["tasks", "from_spec"], "use super::add::AddArgs;"), Vec::<String>::new());
    assert_eq!(of(&["tasks"], "    use super::super::prompt;"), Vec::<String>::new());
}

/// The string literals of a source file, without comments and without its tests, each with its line.
fn literals(text: &str) -> Vec<(usize, String)> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let (mut found, mut line, mut rest) = (Vec::new(), 1, text);
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find('\'').map_or(rest.len(), |at| at + 2)
        } else if rest.starts_with("r\"") || rest.starts_with("r#") {
            let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
            let (open, close) = (hashes + 2, format!("\"{}", "#".repeat(hashes)));
            match rest.get(open..).filter(|_| rest[1 + hashes..].starts_with('"')) {
                Some(inside) => {
                    let end = inside.find(&close).unwrap_or(inside.len());
                    found.push((line, inside[..end].to_owned()));
                    open + end + close.len()
                }
                None => 1,
            }
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let end = end.unwrap_or(rest.len() - 1);
            found.push((line, rest[1..=end].to_owned()));
            end + 2
        } else {
            c.len_utf8()
        };
        let (done, left) = rest.split_at(taken.min(rest.len()));
        line += done.matches('\n').count();
        rest = left;
    }
    found
}

fn is_test_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// Production sources of every crate.
fn production() -> impl Iterator<Item = (PathBuf, String)> {
    let crates = manifests().into_keys().filter(|name| name != TESTKIT);
    let files = crates
        .flat_map(|name| sources(&name))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs") && !is_test_file(path));
    files.map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
}

fn is_home_of_paths(path: &Path) -> bool {
    path.to_string_lossy().contains("paw-core/src/paths")
}

#[test]
fn literals_are_found_and_comments_and_tests_are_not() {
    let source = "// \"a\"\nlet b = \"b \\\" c\"; '\"' x(\"d\"); /// \"e\"\nr#\"f \" g\"#;\n\
                  #[cfg(test)]\nmod tests { \"h\" }";
    let expected = [(2, "b \\\" c"), (2, "d"), (3, "f \" g")].map(|(line, text)| (line, text.to_owned()));
    assert_eq!(literals(source), expected);
}

#[test]
fn names_of_our_files_are_spelled_in_one_place() {
    let homes = production().filter(|(path, _)| is_home_of_paths(path));
    let names: Vec<String> = homes
        .flat_map(|(_, text)| literals(&text))
        .map(|(_, name)| name)
        // Words such as "logs" have other meanings, too, and a pattern names no file by itself.
        .filter(|name| name.contains(['.', '-', '/']) && !name.contains('{'))
        .filter(|name| !["git-paw", ".gitignore", ".lock"].contains(&name.as_str()))
        .collect();
    assert!(names.len() > 40, "the names are not found any more: {names:?}");
    let is_ours = |text: &str| {
        let path = text.trim_start_matches(['/', '!']);
        let below = [".git-paw", ".taskmaster", "paw"].iter().any(|dir| path.starts_with(&format!("{dir}/")));
        names.iter().any(|name| name == path) || (below && !text.contains(char::is_whitespace))
    };
    for (path, text) in production().filter(|(path, _)| !is_home_of_paths(path)) {
        for (line, literal) in literals(&text) {
            assert!(
                !is_ours(&literal),
                "{}:{line} spells {literal:?}: take it from paw_core::paths",
                path.display()
            );
        }
    }
}

#[test]
fn worktrees_are_registered_by_functions_that_take_the_lock() {
    for (path, text) in production() {
        let words: Vec<String> = literals(&text).into_iter().map(|(_, text)| text).collect();
        for pair in words.windows(2).filter(|pair| pair[0] == "worktree") {
            let home = ["git/worktree.rs", "git/checkout.rs"].iter().any(|home| path.ends_with(home));
            let changes = ["add", "move", "prune", "remove", "repair"].contains(&pair[1].as_str());
            assert!(
                home || !changes,
                "{} runs `git worktree {}` outside of paw_host::git",
                path.display(),
                pair[1]
            );
        }
        let readers = [
            "watch/ignore_rules.rs",
            "watch/run.rs",
            "clean_checkout.rs",
            "guard/settings.rs",
            "repository_watch.rs",
        ];
        let reads_it = readers.iter().any(|reader| path.ends_with(reader));
        let home = reads_it || path.ends_with("paw-host/src/locks.rs");
        assert!(
            home || !words.iter().any(|word| word.ends_with("info/exclude")),
            "{} names info/exclude: use paw_host::locks::ExcludeLock",
            path.display()
        );
    }
}

/// The names of the public types that a source file defines outside its tests.
fn public_types(text: &str) -> Vec<String> {
    let shipped = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let defined = shipped.lines().filter_map(|line| line.strip_prefix("pub "));
    let named = defined.filter_map(|rest| kinds.iter().find_map(|kind| rest.strip_prefix(kind)));
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    named.map(name).collect()
}

/// The largest share of public types that may have a name which another crate uses as well, in percent.
const MOST_SHARED: usize = 10;

#[test]
fn public_type_names_are_unique_in_a_crate_and_rarely_shared_between_crates() {
    let mut crates_by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in manifests().into_keys() {
        let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
        for file in sources(&name).into_iter().filter(|file| !file.ends_with("tests.rs")) {
            for defined in public_types(&fs::read_to_string(&file).unwrap()) {
                let other = found.insert(defined.clone(), file.clone());
                assert!(
                    other.is_none(),
                    "{name} has two types `{defined}`: {other:?} and {}",
                    file.display()
                );
                crates_by_name.entry(defined).or_default().push(name.clone());
            }
        }
    }
    let all: usize = crates_by_name.values().map(Vec::len).sum();
    let shared: Vec<_> = crates_by_name.iter().filter(|(_, crates)| crates.len() > 1).collect();
    let count: usize = shared.iter().map(|(_, crates)| crates.len()).sum();
    #[expect(clippy::disallowed_macros, reason = "the rate is for people who read the test's output")]
    {
        println!("{count} of {all} public types share their name with a type of another crate");
    }
    assert!(count * 100 < all * MOST_SHARED, "{count} of {all} public types share a name: {shared:#?}");
}

#[test]
fn a_public_type_is_recognized_by_its_definition() {
    let text = "pub struct A;\npub(crate) enum B {}\npub trait C<T> {}\npub use x::D;\npub type E = u8;\n    pub type F;\n";
    assert_eq!(public_types(text), ["A", "C", "E"]);
}
