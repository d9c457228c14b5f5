use crate::config::{Approval, KeyShape, PawConfig, SupervisorConfig, parse};

fn items(text: &str) -> Vec<String> {
    let layer = parse(text, "config.toml").unwrap();
    layer.needs_trust().into_iter().map(|item| format!("{} = {}", item.key, item.value)).collect()
}

#[test]
fn keys_that_run_programs_or_relax_permissions_need_trust() {
    let text = r#"
[worktree]
setup_commands = ["npm install", 'echo "hi"']
[supervisor]
enabled = true
test_command = "just test"
agent_approval = "full-auto"
approval = "full-auto"
[supervisor.auto_approve]
safe_commands = ["just check"]
[supervisor.common_dev_allowlist]
extra = ["nox"]
[broker]
bind = "0.0.0.0"
auth = "none"
[logging]
log_dir = "/anywhere"
[clis.claude]
command = "/tmp/claude"
display_name = "Claude"
submit_delay_ms = 1
settings_path = "/etc/x"
[clis."my agent".approval_args]
auto = "--yes"
[clis."my agent"]
command = "a\tb"
"#;
    insta::assert_snapshot!(items(text).join("\n"), @r#"
    broker.auth = "none"
    broker.bind = "0.0.0.0"
    clis."my agent".approval_args.auto = "--yes"
    clis."my agent".command = "a\tb"
    clis.claude.command = "/tmp/claude"
    clis.claude.settings_path = "/etc/x"
    logging.log_dir = "/anywhere"
    supervisor.agent_approval = "full-auto"
    supervisor.approval = "full-auto"
    supervisor.auto_approve.safe_commands = ["just check"]
    supervisor.common_dev_allowlist.extra = ["nox"]
    supervisor.test_command = "just test"
    worktree.setup_commands = ["npm install", "echo \"hi\""]
    "#);
}

#[test]
fn harmless_values_need_no_trust() {
    let text = r#"
default_cli = "claude"
mouse = false
[worktree]
setup_commands = []
setup_timeout_secs = 1
[supervisor]
enabled = true
cli = "codex"
test_command = " "
agent_approval = "manual"
[supervisor.auto_approve]
safe_commands = []
[broker]
bind = "127.0.0.1"
auth = "token"
[presets.a]
branches = ["x"]
cli = "claude"
"#;
    assert_eq!(items(text), [""; 0]);
    assert_eq!(items("broker.bind = \"::1\""), [""; 0]);
    assert_eq!(items("broker.bind = \"localhost\""), [""; 0]);
    assert_eq!(items("broker.bind = \"localhost.example.com\"").len(), 1);
}

#[test]
fn an_approval_level_needs_trust_unless_it_is_manual() {
    let level = |text: &str| {
        let items = parse(text, "config.toml").unwrap().needs_trust();
        items.into_iter().map(|item| item.approval()).collect::<Vec<_>>()
    };
    assert_eq!(level("supervisor.agent_approval = \"auto\""), [Some(Approval::Auto)]);
    assert_eq!(level("supervisor.approval = \"full-auto\""), [Some(Approval::FullAuto)]);
    assert_eq!(level("supervisor.agent_approval = \"manual\""), []);
    assert_eq!(level("supervisor.test_command = \"auto\""), [None]);
}

#[test]
fn a_log_directory_inside_the_repository_needs_no_trust() {
    for (dir, stays) in [
        (".git-paw/logs", true),
        ("./a/./b", true),
        ("..", false),
        ("a/../../b", false),
        ("/var/log", false),
        (".git/refs/heads", false),
        ("a/.GIT", false),
    ] {
        assert_eq!(items(&format!("logging.log_dir = {dir:?}")).is_empty(), stays, "{dir}");
    }
}

#[test]
fn the_trust_list_does_not_depend_on_the_toml_style() {
    let headers = "[supervisor]\ntest_command = \"a\"\n[worktree]\nsetup_commands = [\"b\", \"c\"]\n";
    let dotted =
        "worktree.setup_commands = [ 'b', 'c', ]\nmouse = true\nsupervisor.test_command = \"\"\"a\"\"\"\n";
    assert_eq!(items(headers), items(dotted));
}

#[test]
fn different_values_have_different_texts() {
    let shown = ["a b", "a\\tb", "a\\nb", "a\\u0001b", "a\\u0002b", "a\\u202eb"].map(|command| {
        let item = items(&format!("supervisor.test_command = \"{command}\"")).concat();
        assert!(!item.contains(|c: char| c.is_control() || c == '\u{202e}'), "{item:?}");
        item
    });
    let different: std::collections::BTreeSet<_> = shown.iter().collect();
    assert_eq!(different.len(), shown.len());
}

#[test]
fn every_command_of_the_supervisor_needs_trust() {
    let commands = SupervisorConfig::KEYS.iter().filter(|key| key.help().starts_with("gate:"));
    let mut count = 0;
    for key in commands {
        assert_eq!(items(&format!("supervisor.{} = \"x\"", key.name)).len(), 1, "{}", key.name);
        count += 1;
    }
    assert_eq!(count, 8);
}

#[test]
fn the_keys_that_need_trust_exist_in_the_schema() {
    for path in [
        "worktree.setup_commands",
        "supervisor.auto_approve.safe_commands",
        "supervisor.common_dev_allowlist.extra",
        "supervisor.agent_approval",
        "supervisor.approval",
        "broker.auth",
        "broker.bind",
        "logging.log_dir",
        "clis.x.display_name",
        "clis.x.submit_delay_ms",
    ] {
        let mut keys = PawConfig::KEYS;
        let mut skip = false;
        for name in path.split('.') {
            if std::mem::take(&mut skip) {
                continue;
            }
            let key = keys
                .iter()
                .find(|key| key.name == name)
                .unwrap_or_else(|| panic!("{path} is not in the schema"));
            match &key.shape {
                KeyShape::Value { .. } => {}
                KeyShape::Section(inner) => keys = inner,
                KeyShape::Entries { keys: inner, .. } => (keys, skip) = (inner, true),
            }
        }
    }
}

#[test]
fn a_layer_without_unwanted_keys_keeps_the_others() {
    let layer = crate::config::parse(
        "default_cli = \"x\"\n[clis.evil]\ncommand = \"evil\"\n[clis.evil.approval_args]\nauto = \"-y\"\n\
         [supervisor]\nenabled = true\ntest_command = \"evil\"\n[broker]\nbind = \"0.0.0.0\"\nport = 1\n",
        "config.toml",
    )
    .unwrap();
    let rest = layer.without(|item| item.key != "broker.bind");
    let keys: Vec<_> = rest.needs_trust().into_iter().map(|item| item.key).collect();
    assert_eq!(keys, ["broker.bind"]);
    let config = crate::config::resolve(crate::config::Layer::default(), rest, |_| false).unwrap();
    assert!(config.clis.is_empty());
    assert_eq!((config.default_cli.as_deref(), config.broker.port), (Some("x"), 1));
    assert!(config.supervisor.is_some_and(|it| it.enabled && it.test_command.is_none()));
}

#[test]
fn autopilot_commands_need_trust_and_an_executor_is_removed_as_a_whole() {
    let text = r#"
[autopilot]
executor = "claude"
executor_timeout_minutes = 5
lint_command = "make lint"
coverage_report = "lcov.info"
[autopilot.executors.theirs]
command = ["sh", "-c", "x"]
"#;
    insta::assert_snapshot!(items(text).join("\n"), @r#"
    autopilot.executors.theirs.command = ["sh", "-c", "x"]
    autopilot.lint_command = "make lint"
    "#);
    let rest = parse(text, "config.toml").unwrap().without(|_| true);
    let config = crate::config::resolve(rest.clone(), rest, |_| false).unwrap().autopilot;
    assert!(config.executors.is_empty() && config.lint_command.is_none());
    assert_eq!((config.executor.as_deref(), config.executor_timeout_minutes), (Some("claude"), 5));
}
