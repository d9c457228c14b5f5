use proptest::prelude::*;

use super::*;
use crate::config::{AutoApproveConfig, Layer, LoggingConfig, SpecsConfig, SupervisorConfig, parse, resolve};

fn add(existing: &str) -> String {
    add_missing(existing, "config.toml").unwrap().expect("a key is missing")
}

fn lines_with(text: &str, start: &str) -> usize {
    text.lines().filter(|line| line.trim_start_matches(['#', ' ']).starts_with(start)).count()
}

fn uncommented(text: &str) -> String {
    text.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn top_level() -> impl Iterator<Item = String> {
    PawConfig::KEYS.iter().map(|key| match &key.shape {
        KeyShape::Value { .. } => format!("# {} = ", key.name),
        KeyShape::Section(_) => format!("# [{}]", key.name),
        KeyShape::Entries { example, .. } => format!("# [{}.{example}]", key.name),
    })
}

#[test]
fn first_init_writes_a_complete_commented_default_config() {
    let file = default_file(None);
    let layer = parse(&file, "config.toml").unwrap();
    assert!(layer.is_empty() && layer.warnings().is_empty());
    for start in top_level() {
        assert_eq!(file.lines().filter(|line| line.starts_with(&start)).count(), 1, "{start}");
    }
    let long: Vec<_> = file.lines().filter(|line| line.chars().count() > 120).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn second_init_on_the_just_written_file_is_a_no_op() {
    assert_eq!(add_missing(&default_file(None), "f").unwrap(), None);
    assert_eq!(add_missing(&default_file(Some(".specify/specs")), "f").unwrap(), None);
    let grown = add("mouse = true\n");
    assert_eq!(add_missing(&grown, "f").unwrap(), None);
}

#[test]
fn init_preserves_a_user_authored_supervisor_block() {
    let existing = "[supervisor]\nenabled = true\ncli = \"claude-oss\"\n";
    let file = add(existing);
    assert!(file.contains(existing));
    assert_eq!(lines_with(&file, "[supervisor]"), 1);
    assert_eq!(lines_with(&file, "[supervisor."), 0);
    let config = resolve(Layer::default(), parse(&file, "f").unwrap(), |_| false).unwrap();
    assert_eq!(config.supervisor.unwrap().cli.as_deref(), Some("claude-oss"));
}

#[test]
fn init_appends_missing_top_level_sections() {
    let existing = "branch_prefix = \"feat/\"\n";
    let file = add(existing);
    assert!(file.starts_with(existing));
    assert_eq!(lines_with(&file, "branch_prefix"), 1);
    for start in top_level().filter(|start| !start.contains("branch_prefix")) {
        assert!(file.contains(&start), "{start}");
    }
    assert!(parse(&file, "f").unwrap().warnings().is_empty());
}

#[test]
fn init_never_modifies_existing_user_values() {
    let file = add("[broker]\nport = 9200\n");
    assert!(file.contains("[broker]\nport = 9200\n"));
    assert_eq!(lines_with(&file, "port = 9200"), 1);
    assert_eq!(lines_with(&file, "port = 9119"), 0);
}

#[test]
fn generated_config_contains_commented_supervisor_examples() {
    let file = default_file(None);
    let (_, section) = file.split_once("\n# [supervisor] ").unwrap();
    let (section, _) = section.split_once("\n\n").unwrap();
    for key in ["enabled", "cli", "test_command", "agent_approval"] {
        assert!(section.contains(&format!("\n# {key} = ")), "{key}");
    }
}

#[test]
fn generated_config_contains_commented_examples() {
    let file = default_file(None);
    for start in
        ["default_spec_cli = ", "branch_prefix = ", "[specs]", "[logging]", "[broker]", "[supervisor]"]
    {
        assert!(file.contains(&format!("\n# {start}")), "{start}");
    }
}

#[test]
fn the_default_file_activates_the_section_for_spec_kit() {
    let file = default_file(Some(".specify/specs"));
    assert!(file.contains("\n[specs]\ntype = \"speckit\"\ndir = \".specify/specs\"\n"));
    assert_eq!(lines_with(&file, "[specs]"), 1);
    let config = resolve(Layer::default(), parse(&file, "f").unwrap(), |_| false).unwrap();
    assert_eq!(config.specs.unwrap().spec_type, SpecType::Speckit);
}

#[test]
fn keys_of_the_default_file_can_be_activated() {
    let file = activate(&default_file(None), "default_cli", "my \"own\" cli");
    let file = activate(&file, "broker.enabled", true);
    let file = activate(&file, "supervisor.test_command", "cargo test # all\n");
    let config = resolve(Layer::default(), parse(&file, "f").unwrap(), |_| false).unwrap();
    assert_eq!(config.default_cli.as_deref(), Some("my \"own\" cli"));
    assert!(config.broker.enabled);
    let supervisor = config.supervisor.unwrap();
    assert_eq!(supervisor.test_command.as_deref(), Some("cargo test # all\n"));
    assert!(!supervisor.enabled);
    assert_eq!(add_missing(&file, "f").unwrap(), None, "nothing is missing");
    assert_eq!(activate(&file, "no.such_key", "x"), file);
}

#[test]
fn the_default_file_is_aligned_and_commented() {
    let head: Vec<_> = default_file(None).lines().take(41).map(str::to_owned).collect();
    insta::assert_snapshot!(head.join("\n"), @r##"
    ## git-paw settings for this repository. Settings missing here come from ~/.config/git-paw/config.toml, then from
    ## the defaults shown below. To change one, remove the "# " in front of it and of its [section].

    # default_cli = "claude"          # CLI to start if none is given
    # default_spec_cli = "claude"     # CLI for specs that do not name one
    # branch_prefix = "spec/"         # prefix of the branch of a spec
    # mouse = true                    # use the mouse inside the tmux session
    # worktree_placement = "sibling"  # sibling: next to the repository; child: in .git-paw/worktrees
    # docs_base_url = "https://example.com/git-paw"  # URL of the online documentation, for agents

    # [clis.my-agent]                            # a custom CLI, or settings for a known one
    # command = "/usr/local/bin/my-agent"        # program to run, looked up on PATH
    # display_name = "My Agent"                  # name shown in lists
    # submit_delay_ms = 1500                     # wait between typing a prompt and submitting it
    # settings_path = ".my-agent/settings.json"  # its settings file in the worktree, where git paw adds permission rules
    # approval_args = { full-auto = "--yolo" }   # arguments for the levels manual, auto and full-auto

    # [presets.backend]                   # branches and a CLI to start together: git paw start --preset backend
    # branches = ["feat/api", "feat/db"]  # branches to start
    # cli = "claude"                      # CLI for all of them

    # [hosts.big]             # another machine, for git paw host; only in your own configuration
    # ssh = "me@big.example"  # ssh destination: [USER@]HOST, an alias of your ssh configuration, or ssh://USER@HOST:PORT
    # slots = 4               # agents of one session that BRANCH@auto may start there; without it, none

    # [specs]            # location and format of specs
    # type = "openspec"  # openspec, markdown, speckit or superpowers
    # dir = "specs"      # directory of the specs; without it, they are found where the tools of each type put them

    # [logging]                  # log files of pane output
    # enabled = false            # write the output of every pane to a file
    # log_dir = ".git-paw/logs"  # directory of the log files
    # max_megabytes = 200        # delete the oldest logs above this total size; 0: never
    # max_age_days = 30          # delete logs not written to for this long; 0: never

    # [dashboard]               # the dashboard pane
    # show_message_log = false  # show the message panel even if broker_log.default_visible is false

    # [dashboard.broker_log]  # the message panel
    # max_messages = 500      # messages kept for scrolling
    # default_visible = true  # show it at start
    "##);
}

#[test]
fn top_level_keys_are_added_above_the_first_section() {
    let file = add("# about us\ndefault_cli = \"x\"\n\n# our broker\n[broker]\nport = 1\n");
    let (above, below) = file.split_once("# our broker\n[broker]\nport = 1\n\n").unwrap();
    assert!(above.starts_with("# about us\ndefault_cli = \"x\"\n\n# default_spec_cli = "), "{above}");
    assert!(above.ends_with("\n\n"), "{above:?}");
    assert!(below.starts_with("# [clis.my-agent]"));

    let usable = file.replace("# mouse = true", "mouse = true");
    let config = resolve(Layer::default(), parse(&usable, "f").unwrap(), |_| false).unwrap();
    assert_eq!(config.mouse, Some(true));
}

#[test]
fn a_commented_section_counts_as_present() {
    for existing in [
        "#[broker]\n",
        "#   [ broker ] # later\n",
        "# [broker.watcher]\n",
        "# broker.port = 1\n",
        "# broker = {}\n",
        "\t## [\"broker\"]\n",
    ] {
        assert_eq!(lines_with(&add(existing), "[broker]"), lines_with(existing, "[broker]"), "{existing}");
    }
}

#[test]
fn prose_and_text_values_do_not_count_as_sections() {
    for existing in [
        "# [broker] is not used here\n",
        "# see [broker]\n",
        "[supervisor]\ntest_command = \"\"\"\n# [broker]\n[broker]\n\"\"\"\n",
        "x = [\n  # [broker]\n  [1],\n]\n",
    ] {
        let file = add(existing);
        assert!(file.contains("\n# [broker]  "), "{existing}");
        assert!(parse(&file, "f").is_ok());
        assert_eq!(add_missing(&file, "f").unwrap(), None);
    }
}

#[test]
fn malformed_text_is_an_error_and_nothing_is_produced() {
    let error = add_missing("[broker\n", "config.toml").unwrap_err();
    assert!(matches!(error, ConfigError::Syntax { line: 1, .. }));
}

#[test]
fn line_endings_and_byte_order_mark_are_kept() {
    let file = add("\u{feff}[broker]\r\nport = 1");
    assert!(file.starts_with("\u{feff}# default_cli"));
    assert!(file.contains("\r\n\r\n[broker]\r\nport = 1\r\n\r\n# [clis"));
    assert_eq!(file.matches('\n').count(), file.matches("\r\n").count());
    assert!(parse(&file, "f").is_ok());
}

/// The values of the table that are defaults rather than examples.
fn keep_defaults(table: &mut toml::Table, keys: &[ConfigKey]) {
    table.retain(|name, value| {
        let key = keys.iter().find(|key| key.name == name).expect("the file has only known keys");
        match (&key.shape, value) {
            (KeyShape::Value { sample, is_default }, value) => {
                assert_eq!(&sample(), value, "{name}");
                *is_default
            }
            (KeyShape::Section(keys), toml::Value::Table(inner)) => {
                keep_defaults(inner, keys);
                true
            }
            _ => false,
        }
    });
}

#[test]
fn the_uncommented_default_file_parses_to_the_defaults() {
    let text = uncommented(&default_file(None));
    let mut layer = parse(&text, "f").unwrap();
    assert!(layer.warnings().is_empty());
    let examples = resolve(Layer::default(), layer.clone(), |_| false).unwrap();
    assert_eq!(examples.clis["my-agent"].command, "/usr/local/bin/my-agent");
    assert_eq!(examples.presets["backend"].branches.len(), 2);

    keep_defaults(&mut layer.table, PawConfig::KEYS);
    let said = resolve(Layer::default(), layer, |_| false).unwrap();
    let silent = PawConfig::default();
    let expected = PawConfig {
        branch_prefix: Some(silent.branch_prefix()),
        mouse: Some(silent.mouse()),
        worktree_placement: Some(silent.worktree_placement()),
        specs: Some(SpecsConfig::default()),
        logging: Some(LoggingConfig::default()),
        supervisor: Some(SupervisorConfig {
            auto_approve: Some(AutoApproveConfig::default()),
            ..Default::default()
        }),
        ..silent
    };
    assert_eq!(said, expected);
}

/// Files that contain each key and section in one of several forms, or not at all.
fn some_file() -> impl Strategy<Value = String> {
    let stanzas: Vec<String> =
        PawConfig::KEYS
            .iter()
            .map(|key| {
                if is_section(key) {
                    section_stanza(key)
                } else {
                    root_stanza(|other| other.name == key.name)
                }
            })
            .collect();
    let forms = prop::collection::vec(0..4_u8, stanzas.len());
    (forms, any::<bool>(), any::<bool>()).prop_map(move |(forms, crlf, newline_at_end)| {
        let mut text = String::new();
        for (stanza, form) in stanzas.iter().zip(forms) {
            match form {
                0 => {}
                1 => text.push_str(stanza),
                2 => text.push_str(&["## mine\n", uncommented(stanza).trim_end(), "\n\n"].concat()),
                _ => text.push_str(&stanza.replace("# [", "#[")),
            }
        }
        let text = if newline_at_end { text } else { text.trim_end().to_owned() };
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

proptest! {
    #[test]
    fn adding_keeps_every_byte_and_is_done_once(existing in some_file()) {
        match add_missing(&existing, "f").unwrap() {
            None => for key in PawConfig::KEYS {
                prop_assert!(existing.contains(key.name));
            },
            Some(file) => {
                prop_assert_eq!(add_missing(&file, "f").unwrap(), None);
                prop_assert_eq!(parse(&file, "f").unwrap().table, parse(&existing, "f").unwrap().table);

                // The old text is split into at most two pieces, with new text between and after them.
                let end = end_of_root(&existing, &lines_outside_values(&existing, Source::new(&existing, "f").document().unwrap().as_table()));
                prop_assert!(file.starts_with(&existing[..end]));
                prop_assert!(file[end..].contains(&existing[end..]));

                for key in PawConfig::KEYS.iter().filter(|key| is_section(key)) {
                    let header = format!("[{}]", key.name);
                    prop_assert!(lines_with(&file, &header) <= 1);
                }
                // Removing the comment sign activates what was added.
                let used = uncommented(&file.replace("\r\n", "\n").replace("#[", "# ["));
                prop_assert!(parse(&used, "f").is_ok(), "{}", used);
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "([\\[\\]{}=\"'.,#\\n\\r a-c]|broker|# mouse = 1\n|\"\"\"){0,40}") {
        if let Ok(Some(file)) = add_missing(&text, "f") {
            prop_assert_eq!(add_missing(&file, "f").unwrap(), None);
        }
    }
}
