use proptest::prelude::*;

use super::*;
use crate::config::{Approval, BranchPrefix, default_file, resolve};

fn config(text: &str) -> PawConfig {
    let layer = parse(text, "config.toml").unwrap();
    resolve(Layer::default(), layer, |_| false).unwrap()
}

fn error(text: &str) -> String {
    parse(text, "config.toml").unwrap_err().to_string()
}

fn warnings(text: &str) -> String {
    let lines: Vec<_> =
        parse(text, "config.toml").unwrap().warnings().iter().map(ToString::to_string).collect();
    lines.join("\n")
}

const FULL: &str = r#"
default_cli = "claude"
default_spec_cli = "gemini"
branch_prefix = "feat/"
mouse = false

[clis.my-agent]
command = "/opt/agent"
display_name = "My Agent"

[clis.my-agent.approval_args]
full-auto = "--yolo"

[presets.backend]
branches = ["feat/api", "feat/db"]
cli = "claude"

[specs]
dir = "openspec/specs"
type = "openspec"

[logging]
enabled = true
log_dir = "logs"

[broker]
enabled = true
port = 9200
bind = "127.0.0.1"

[supervisor]
enabled = true
cli = "claude"
test_command = "just test"
agent_approval = "full-auto"
"#;

#[test]
fn config_with_all_fields_populated() {
    let config = config(FULL);
    assert_eq!(config.default_cli.as_deref(), Some("claude"));
    assert_eq!(config.default_spec_cli.as_deref(), Some("gemini"));
    assert_eq!(config.branch_prefix, Some(BranchPrefix::from("feat/")));
    assert_eq!(config.mouse, Some(false));
    assert_eq!(config.clis["my-agent"].command, "/opt/agent");
    assert_eq!(config.clis["my-agent"].approval_args(Approval::FullAuto), Some("--yolo"));
    assert_eq!(config.presets["backend"].branches, ["feat/api", "feat/db"]);
    assert!(config.broker.enabled);
    assert_eq!(config.broker.port, 9200);
    let supervisor = config.supervisor.unwrap();
    assert!(supervisor.enabled);
    assert_eq!(supervisor.cli.as_deref(), Some("claude"));
    assert_eq!(supervisor.test_command.as_deref(), Some("just test"));
    assert_eq!(supervisor.agent_approval, Approval::FullAuto);
    assert_eq!(warnings(FULL), "");
}

#[test]
fn all_fields_are_optional() {
    let config = config("default_cli = \"claude\"");
    let expected = PawConfig { default_cli: Some("claude".to_owned()), ..PawConfig::default() };
    assert_eq!(config, expected);
    assert_eq!(config.mouse, None);
    assert!(config.clis.is_empty() && config.presets.is_empty());
    assert_eq!(config.supervisor, None);
}

#[test]
fn empty_config_file_is_valid() {
    assert_eq!(config(""), PawConfig::default());
    assert!(parse("# nothing but a comment\n", "f").unwrap().is_empty());
}

#[test]
fn malformed_toml_returns_error() {
    assert!(matches!(parse("default_cli = ", "f"), Err(ConfigError::Syntax { line: 1, .. })));
}

#[test]
fn repo_config_with_custom_clis() {
    let config = config("[clis.a]\ncommand = \"/a\"\n[clis.b]\ncommand = \"b\"\ndisplay_name = \"B\"\n");
    assert_eq!(config.clis.len(), 2);
    assert_eq!(config.clis["a"].display_name, None);
    assert_eq!(config.clis["b"].display_name.as_deref(), Some("B"));
}

#[test]
fn config_with_10_custom_clis() {
    let text: Vec<String> =
        (0..10).map(|n| format!("[clis.agent-{n}]\ncommand = \"/bin/agent-{n}\"\n")).collect();
    let config = config(&text.concat());
    assert_eq!(config.clis.len(), 10);
    assert!((0..10).all(|n| config.clis[&format!("agent-{n}")].command == format!("/bin/agent-{n}")));
}

#[test]
fn an_invalid_value_is_reported_with_its_position_and_what_is_expected() {
    insta::assert_snapshot!(error("[broker]\nenabled = true\nport = \"x\"  # ours\n"), @r#"
    config.toml:3:8: broker.port: expected a whole number from 0 to 65535, found "x"
      3 | port = "x"  # ours
        |        ^^^
    "#);
    insta::assert_snapshot!(error("broker = { port = 99999 }"), @r"
    config.toml:1:19: broker.port: expected a whole number from 0 to 65535, found 99999
      1 | broker = { port = 99999 }
        |                   ^^^^^
    ");
    insta::assert_snapshot!(error("[supervisor]\nagent_approval = \"yolo\""), @r#"
    config.toml:2:18: supervisor.agent_approval: "yolo" is not allowed here, expected one of: manual, auto, full-auto
      2 | agent_approval = "yolo"
        |                  ^^^^^^
    "#);
    insta::assert_snapshot!(error("[clis.a]\ncommand = \"a\"\napproval_args = { always = \"-y\" }"), @r#"
    config.toml:3:19: clis.a.approval_args.always: "always" is not allowed here, expected one of: manual, auto, full-auto
      3 | approval_args = { always = "-y" }
        |                   ^^^^^^
    "#);
    insta::assert_snapshot!(error("[presets.a]\ncli = \"claude\"\nbranchs = [\"x\"]"), @r"
    config.toml:1:1: presets.a: the key branches is missing; line 3: unknown key presets.a.branchs (did you mean branches?)
      1 | [presets.a]
        | ^^^^^^^^^^^
    ");
}

#[test]
fn a_missing_required_key_is_reported_in_every_table_style() {
    for text in [
        "[clis.a]",
        "clis.a.display_name = \"x\"",
        "clis = { a = {} }",
        "[clis.a.approval_args]",
        "[clis]\na = {}",
    ] {
        let error = parse(text, "f").unwrap_err();
        let ConfigError::Value { key, message, .. } = &error else { panic!("{text}: {error}") };
        assert_eq!((key.as_str(), message.as_str()), ("clis.a", "the key command is missing"), "{text}");
    }
}

#[test]
fn every_kind_of_invalid_value_is_explained() {
    let first_line = |text: &str| error(text).lines().next().unwrap().to_owned();
    insta::assert_snapshot!(first_line("mouse = 1"), @"config.toml:1:9: mouse: expected true or false, found 1");
    insta::assert_snapshot!(first_line("mouse = [1]"), @"config.toml:1:9: mouse: expected true or false, found a list");
    insta::assert_snapshot!(first_line("default_cli = true"), @"config.toml:1:15: default_cli: expected text in quotes, found true");
    insta::assert_snapshot!(first_line("broker = 3"), @"config.toml:1:10: broker: expected a table, found 3");
    insta::assert_snapshot!(first_line("broker.bind = {}"), @"config.toml:1:15: broker.bind: expected text in quotes, found a table");
    insta::assert_snapshot!(first_line("broker.port = -1"), @"config.toml:1:15: broker.port: expected a whole number from 0 to 65535, found -1");
    insta::assert_snapshot!(first_line("worktree_placement = 1"), @"config.toml:1:22: worktree_placement: expected text in quotes");
    insta::assert_snapshot!(first_line("clis = \"claude\""), @r#"config.toml:1:8: clis: expected a table, found "claude""#);
    insta::assert_snapshot!(first_line("worktree.setup_commands = \"npm install\""), @r#"config.toml:1:27: worktree.setup_commands: expected a list: ["…", "…"], found "npm install""#);
    insta::assert_snapshot!(first_line("worktree.setup_timeout_secs = 1.5"), @"config.toml:1:31: worktree.setup_timeout_secs: expected a whole number, 0 or more, found 1.5");
    insta::assert_snapshot!(first_line("worktree.setup_timeout_secs = 9999999999999999999"), @"config.toml:1:31: worktree.setup_timeout_secs: the number is too large");
    insta::assert_snapshot!(first_line("supervisor.learnings = 3"), @"config.toml:1:24: supervisor.learnings: expected a table, found 3");
    insta::assert_snapshot!(first_line("logging.log_dir = 3"), @"config.toml:1:19: logging.log_dir: expected text in quotes, found 3");
}

#[test]
fn the_three_spellings_of_learnings_mean_the_same() {
    let table = config("[supervisor.learnings]\nenabled = true\nflush_interval_seconds = 9");
    let bool_and_config =
        config("[supervisor]\nlearnings = true\n[supervisor.learnings_config]\nflush_interval_seconds = 9");
    let config_only = config("[supervisor.learnings_config]\nenabled = true\nflush_interval_seconds = 9");
    assert!(table.supervisor.as_ref().unwrap().learnings.enabled);
    assert_eq!(table, bool_and_config);
    assert_eq!(table, config_only);
    assert!(!config("supervisor.learnings = false").supervisor.unwrap().learnings.enabled);
}

#[test]
fn governance_may_be_a_section_of_the_supervisor() {
    let plain = config("[governance]\ndocs = [\"a.md\", \"b.md\"]\ndod = \"dod.md\"");
    assert_eq!(plain, config("[supervisor.governance]\ndocs = [\"a.md\", \"b.md\"]\ndod = \"dod.md\""));
    assert_eq!(
        plain,
        config("[supervisor]\ngovernance.docs = [\"a.md\", \"b.md\"]\ngovernance.dod = \"dod.md\"")
    );
    let with_supervisor = config("[supervisor]\nenabled = true\ngovernance.docs = [\"a.md\"]");
    assert!(with_supervisor.supervisor.unwrap().enabled);
}

#[test]
fn one_governance_document_may_be_given_without_a_list() {
    assert_eq!(config("governance.docs = \"docs\""), config("governance.docs = [\"docs\"]"));
    assert_eq!(config("supervisor.governance.docs = \"docs\""), config("governance.docs = [\"docs\"]"));
}

#[test]
fn a_key_set_under_two_names_is_a_warning() {
    let text = "[governance]\ndod = \"a\"\n[supervisor]\nlearnings = true\n[supervisor.learnings_config]\nenabled = false\n[supervisor.governance]\ndod = \"b\"\nadr = \"c\"\n";
    insta::assert_snapshot!(warnings(text), @r"
    config.toml:6: supervisor.learnings_config.enabled is ignored because supervisor.learnings.enabled is also set
    config.toml:8: supervisor.governance.dod is ignored because governance.dod is also set
    ");
    let config = config(text);
    assert!(config.supervisor.unwrap().learnings.enabled);
    assert_eq!(config.governance.dod, Some("a".into()));
    assert_eq!(config.governance.adr, Some("c".into()));
}

#[test]
fn a_wrong_type_under_an_alias_is_an_error() {
    for text in [
        "supervisor.learnings_config = 3",
        "[supervisor]\nlearnings = true\nlearnings_config = 3",
        "[supervisor]\nlearnings = 3\nlearnings_config = { enabled = true }",
        "supervisor.governance = 3",
        "[governance]\ndod = \"x\"\n[supervisor]\ngovernance = \"y\"",
        "governance = 1\nsupervisor.governance = { dod = \"x\" }",
        "supervisor = 1",
    ] {
        assert!(matches!(parse(text, "f"), Err(ConfigError::Value { .. })), "{text}");
    }
}

#[test]
fn unknown_keys_are_warnings_at_any_depth() {
    let text = r#"
defualt_cli = "claude"
zebra = 1

[broker]
prot = 9119

[broker.watcher]
republish_working_ttl_second = 9

[clis."my agent"]
command = "x"
displayname = "X"

[supervisor.auto_approve]
Safe-Commands = []

[worktree]
mouse = true
"#;
    insta::assert_snapshot!(warnings(text), @r#"
    config.toml:2: unknown key defualt_cli (did you mean default_cli?)
    config.toml:3: unknown key zebra
    config.toml:6: unknown key broker.prot (did you mean port?)
    config.toml:9: unknown key broker.watcher.republish_working_ttl_second (did you mean republish_working_ttl_seconds?)
    config.toml:13: unknown key clis."my agent".displayname (did you mean display_name?)
    config.toml:16: unknown key supervisor.auto_approve.Safe-Commands (did you mean safe_commands?)
    config.toml:19: unknown key worktree.mouse (mouse belongs at the top level of the file)
    "#);
}

#[test]
fn an_unknown_key_is_only_a_warning_whatever_its_value() {
    let layer =
        parse("a = 99999999999999999999\n[broker]\nb = nan\nc = [[{ d = 1979-05-27 }]]", "f").unwrap();
    assert_eq!(layer.warnings().len(), 3);
}

#[test]
fn warnings_about_unknown_keys_are_safe_for_a_terminal() {
    let text = warnings("\"a\\u001b[31m\\u202e\" = 1");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn too_small_numbers_are_raised_with_a_warning() {
    let text = "[supervisor.auto_approve]\nstall_threshold_seconds = 0\n[broker.watcher]\nrepublish_working_ttl_seconds = 3\n";
    insta::assert_snapshot!(warnings(text), @r"
    config.toml:2: supervisor.auto_approve.stall_threshold_seconds = 0 is too small, using 5
    config.toml:4: broker.watcher.republish_working_ttl_seconds = 3 is too small, using 5
    ");
    let raised = config(text);
    assert_eq!(raised.supervisor.unwrap().auto_approve.unwrap().stall_threshold_seconds, 5);
    assert_eq!(raised.broker.watcher.republish_working_ttl_seconds, 5);
    for fine in ["0", "5", "60"] {
        let text = format!("broker.watcher.republish_working_ttl_seconds = {fine}");
        assert_eq!(warnings(&text), "");
        assert_eq!(config(&text).broker.watcher.republish_working_ttl_seconds.to_string(), fine);
    }
}

#[test]
fn setting_a_key_without_effect_is_a_warning_with_the_reason() {
    let text = "[supervisor]\nauto_revert = true\n\n[supervisor.tell]\nmode = \"feedback\"\ninventory_max_age_seconds = 5\n";
    insta::assert_snapshot!(warnings(text), @r"
    config.toml:2: supervisor.auto_revert has no effect: main only moves to tested commits, so nothing is reverted
    config.toml:6: supervisor.tell.inventory_max_age_seconds has no effect: panes are listed again for every instruction
    ");
    assert!(config(text).supervisor.unwrap().auto_revert, "the value is still valid");
    assert_eq!(warnings("supervisor.auto_revert = false"), "", "the default causes no warning");
}

/// A valid file with some of its characters replaced, removed, doubled or swapped.
fn damaged() -> impl Strategy<Value = String> {
    let file = default_file(Some(".specify/specs"));
    let whole = file.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect::<Vec<_>>().join(
        "
",
    );
    let hits = prop::collection::vec(
        (any::<prop::sample::Index>(), "[\\[\\]{}=\"'.,#\\n\\r\\t a0é\u{0}]{0,3}"),
        1..8,
    );
    hits.prop_map(move |hits| {
        let mut chars: Vec<String> = whole.chars().map(String::from).collect();
        for (at, with) in hits {
            let at = at.index(chars.len());
            chars[at] = with;
        }
        chars.concat()
    })
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = parse(&text, "f");
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&String::from_utf8_lossy(&bytes), "f");
    }

    #[test]
    fn toml_like_text_never_panics(text in "([\\[\\]{}=\"'.,#\\n\\r a-c0-9_-]|clis|supervisor|learnings|governance|true){0,60}") {
        if let Err(error) = parse(&text, "f") {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn damaged_files_never_panic(text in damaged()) {
        if let Ok(layer) = parse(&text, "f") {
            prop_assert!(resolve(Layer::default(), layer, |_| true).is_ok());
        }
    }
}
