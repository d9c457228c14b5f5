use proptest::prelude::*;

use super::*;
use crate::config::parse;

fn layer(text: &str) -> Layer {
    parse(text, "config.toml").unwrap()
}

fn merged(user: &str, repo: &str) -> PawConfig {
    resolve(layer(user), layer(repo), |_| false).unwrap()
}

#[test]
fn repo_overrides_global_scalar_fields() {
    let config = merged("default_cli = \"claude\"\nmouse = true", "default_cli = \"gemini\"");
    assert_eq!(config.default_cli.as_deref(), Some("gemini"));
    assert_eq!(config.mouse, Some(true));
}

#[test]
fn a_repository_can_turn_the_sandbox_on_but_not_off() {
    let runs = |user: &str, repo: &str| merged(user, repo).sandbox.runs;
    let (off, guard) = ("[sandbox]\nruns = \"off\"", "[sandbox]\nruns = \"guard\"");
    assert_eq!(runs("", off), None);
    assert_eq!(runs(guard, off), Some(SandboxLevel::Guard));
    assert_eq!(runs(off, off), Some(SandboxLevel::Off));
    assert_eq!(runs(off, guard), Some(SandboxLevel::Guard));
    assert_eq!(runs(off, ""), Some(SandboxLevel::Off));
}

#[test]
fn cli_maps_are_merged() {
    let config = merged("[clis.agent-a]\ncommand = \"/a\"", "[clis.agent-b]\ncommand = \"/b\"");
    assert_eq!(config.clis.keys().collect::<Vec<_>>(), ["agent-a", "agent-b"]);
}

#[test]
fn repo_cli_overrides_global_cli_with_same_name() {
    let config = merged(
        "[clis.my-agent]\ncommand = \"/user\"\ndisplay_name = \"The user's\"",
        "[clis.my-agent]\ncommand = \"/repo\"",
    );
    assert_eq!(config.clis["my-agent"].command, "/repo");
    assert_eq!(config.clis["my-agent"].display_name, None, "an entry is replaced whole");
}

#[test]
fn repo_custom_clis_merge_with_global() {
    let config = merged(
        "[clis.a]\ncommand = \"/user/a\"\n[clis.b]\ncommand = \"/user/b\"",
        "[clis.b]\ncommand = \"/repo/b\"\n[clis.c]\ncommand = \"/repo/c\"",
    );
    let commands: Vec<_> = config.clis.values().map(|cli| cli.command.as_str()).collect();
    assert_eq!(commands, ["/user/a", "/repo/b", "/repo/c"]);
}

#[test]
fn only_global_config_exists() {
    let config = resolve(layer("default_cli = \"claude\""), Layer::default(), |_| false).unwrap();
    assert_eq!(config.default_cli.as_deref(), Some("claude"));
}

#[test]
fn only_repo_config_exists() {
    let config = resolve(Layer::default(), layer("default_cli = \"claude\""), |_| false).unwrap();
    assert_eq!(config.default_cli.as_deref(), Some("claude"));
}

#[test]
fn defaults_when_no_files_exist() {
    assert_eq!(resolve(Layer::default(), Layer::default(), |_| true).unwrap(), PawConfig::default());
}

#[test]
fn repo_config_with_presets() {
    let config = merged(
        "[presets.backend]\nbranches = [\"user\"]\ncli = \"claude\"",
        "[presets.backend]\nbranches = [\"a\", \"b\"]\ncli = \"codex\"\n[presets.docs]\nbranches = [\"c\"]\ncli = \"aider\"",
    );
    assert_eq!(config.get_preset("backend").unwrap().branches, ["a", "b"]);
    assert_eq!(config.get_preset("docs").unwrap().cli, "aider");
}

#[test]
fn repo_config_overrides_default_fields() {
    let config = merged("", "mouse = false\nbroker = { port = 1 }");
    assert_eq!((config.mouse, config.broker.port), (Some(false), 1));
}

#[test]
fn merge_preserves_repo_override() {
    let config = merged("default_spec_cli = \"claude\"", "default_spec_cli = \"gemini\"");
    assert_eq!(config.default_spec_cli.as_deref(), Some("gemini"));
}

#[test]
fn repo_overrides_later_scalar_fields_too() {
    let config = merged("branch_prefix = \"a/\"\nworktree_placement = \"child\"", "branch_prefix = \"b/\"");
    assert_eq!(config.branch_prefix().as_str(), "b/");
    assert_eq!(config.worktree_placement().as_str(), "child");
}

#[test]
fn a_repository_can_reset_a_key_to_its_default() {
    let config = merged("[broker]\nenabled = true\nport = 9200", "[broker]\nenabled = false\nport = 9119");
    assert_eq!(config.broker, crate::config::BrokerConfig::default());
}

#[test]
fn a_section_is_merged_key_by_key() {
    let config = merged(
        "[supervisor]\nenabled = true\ntest_command = \"make test\"\n[supervisor.conflict]\nwindow_seconds = 9",
        "[supervisor]\ntest_command = \"just test\"\n[supervisor.conflict]\nwarn_on_intent_overlap = false",
    );
    let supervisor = config.supervisor.unwrap();
    assert!(supervisor.enabled);
    assert_eq!(supervisor.test_command.as_deref(), Some("just test"));
    assert_eq!(supervisor.conflict.window_seconds, 9);
    assert!(!supervisor.conflict.warn_on_intent_overlap);
}

#[test]
fn aliases_merge_with_the_key_in_the_schema() {
    let config =
        merged("supervisor.learnings = true", "[supervisor.learnings_config]\nflush_interval_seconds = 9");
    let learnings = config.supervisor.unwrap().learnings;
    assert_eq!((learnings.enabled, learnings.flush_interval_seconds), (true, 9));
}

#[test]
fn the_constitution_of_spec_kit_is_detected_next_to_its_specs() {
    let constitution = |text: &str, there: &str| {
        resolve(Layer::default(), layer(text), |path| path == Path::new(there))
            .unwrap()
            .governance
            .constitution
    };
    let usual = ".specify/memory/constitution.md";
    assert_eq!(constitution("specs.type = \"speckit\"", usual), Some(usual.into()));
    assert_eq!(constitution("specs.type = \"speckit\"", "elsewhere"), None);
    assert_eq!(constitution("specs.type = \"openspec\"", usual), None);
    assert_eq!(constitution("", usual), None);
    let own = "specs.type = \"speckit\"\ngovernance.constitution = \"mine.md\"";
    assert_eq!(constitution(own, usual), Some("mine.md".into()));
    let moved = "specs = { type = \"speckit\", dir = \"./a/../b/specs/\" }";
    assert_eq!(constitution(moved, "b/memory/constitution.md"), Some("b/memory/constitution.md".into()));
    let outside = "specs = { type = \"speckit\", dir = \".\" }";
    assert_eq!(constitution(outside, "../memory/constitution.md"), Some("../memory/constitution.md".into()));
    let root = "specs = { type = \"speckit\", dir = \"/\" }";
    assert_eq!(constitution(root, "/memory/constitution.md"), Some("/memory/constitution.md".into()));
}

/// A layer that sets a random part of the schema.
fn some_layer() -> impl Strategy<Value = Layer> {
    let keys = prop::sample::subsequence(
        vec![
            ("mouse", 0),
            ("default_cli", 1),
            ("broker.port", 2),
            ("broker.enabled", 0),
            ("broker.watcher.republish_working_ttl_seconds", 2),
            ("supervisor.enabled", 0),
            ("supervisor.cli", 1),
            ("supervisor.conflict.window_seconds", 2),
            ("supervisor.learnings", 0),
            ("governance.docs", 1),
            ("clis.a", 3),
            ("clis.b", 3),
            ("unknown.deep.key", 2),
        ],
        0..=13,
    );
    let values = prop::collection::vec((any::<bool>(), "[a-z]{1,4}", 5..60_000_i64), 13);
    (keys, values).prop_map(|(keys, values)| {
        let lines = keys.iter().zip(&values).map(|(&(key, kind), (on, word, number))| match kind {
            0 => format!("{key} = {on}\n"),
            1 => format!("{key} = \"{word}\"\n"),
            2 => format!("{key} = {number}\n"),
            _ => format!("{key} = {{ command = \"{word}\" }}\n"),
        });
        layer(&lines.collect::<Vec<_>>().concat())
    })
}

/// Every value with the path that leads to it; an entry of `clis` counts as one value.
fn leaves(table: &Table, path: &str, found: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        let path = format!("{path}.{key}");
        match value {
            Value::Table(inner) if !path.starts_with(".clis.") => leaves(inner, &path, found),
            value => found.push((path, value.clone())),
        }
    }
}

fn leaves_of(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    leaves(table, "", &mut found);
    found
}

proptest! {
    #[test]
    fn the_repository_always_wins_and_absent_keys_keep_the_users(user in some_layer(), repo in some_layer()) {
        let merged = leaves_of(&merge_layers(user.table.clone(), repo.table.clone()));
        let (users, repos) = (leaves_of(&user.table), leaves_of(&repo.table));
        for leaf in &repos {
            prop_assert!(merged.contains(leaf));
        }
        for leaf in &users {
            prop_assert!(merged.contains(leaf) || repos.iter().any(|(path, _)| *path == leaf.0));
        }
        for (path, _) in &merged {
            prop_assert!(users.iter().chain(&repos).any(|(given, _)| given == path));
        }
        prop_assert!(resolve(user, repo, |_| false).is_ok());
    }

    #[test]
    fn merging_with_nothing_changes_nothing(layer in some_layer()) {
        prop_assert_eq!(&merge_layers(layer.table.clone(), Table::new()), &layer.table);
        prop_assert_eq!(&merge_layers(Table::new(), layer.table.clone()), &layer.table);
    }

    #[test]
    fn merging_twice_is_merging_once(user in some_layer(), repo in some_layer()) {
        let once = merge_layers(user.table, repo.table.clone());
        prop_assert_eq!(&merge_layers(once.clone(), repo.table), &once);
    }
}
