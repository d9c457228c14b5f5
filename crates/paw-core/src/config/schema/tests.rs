use std::path::{Path, PathBuf};

use super::*;
use crate::config::{Layer, parse, resolve};

fn load(text: &str) -> PawConfig {
    resolve(Layer::default(), parse(text, "config.toml").unwrap(), |_| false).unwrap()
}

fn saved_and_loaded(config: &PawConfig) -> PawConfig {
    load(&config.to_toml().unwrap())
}

fn populated() -> PawConfig {
    PawConfig {
        default_cli: Some("claude".to_owned()),
        default_spec_cli: Some("gemini".to_owned()),
        branch_prefix: Some("feat".into()),
        mouse: Some(false),
        worktree_placement: Some(WorktreePlacement::Child),
        clis: [(
            "my agent".to_owned(),
            CliConfig {
                command: "/opt/a \"b\"".to_owned(),
                display_name: None,
                submit_delay_ms: Some(10),
                settings_path: Some("x/settings.json".into()),
                approval_args: Some([(Approval::FullAuto, "--yolo".to_owned())].into()),
            },
        )]
        .into(),
        presets: [(
            "backend".to_owned(),
            Preset { branches: vec!["a".to_owned()], cli: "claude".to_owned() },
        )]
        .into(),
        specs: Some(SpecsConfig { dir: Some("openspec/specs".into()), spec_type: SpecType::Openspec }),
        logging: Some(LoggingConfig { enabled: true, log_dir: "logs".into(), ..LoggingConfig::default() }),
        broker: BrokerConfig { enabled: true, port: 9200, auth: BrokerAuth::None, ..BrokerConfig::default() },
        supervisor: Some(SupervisorConfig {
            enabled: true,
            test_command: Some("just test".to_owned()),
            auto_approve: Some(AutoApproveConfig::default()),
            ..SupervisorConfig::default()
        }),
        governance: GovernanceConfig { docs: vec!["a.md".into()], ..GovernanceConfig::default() },
        ..PawConfig::default()
    }
}

#[test]
fn config_round_trip() {
    assert_eq!(saved_and_loaded(&populated()), populated());
    assert_eq!(saved_and_loaded(&PawConfig::default()), PawConfig::default());
}

#[test]
fn config_with_specs_and_logging_round_trips() {
    let config = PawConfig {
        default_spec_cli: Some("claude".to_owned()),
        branch_prefix: Some("spec/".into()),
        specs: Some(SpecsConfig { dir: Some("specs".into()), spec_type: SpecType::Markdown }),
        logging: Some(LoggingConfig { enabled: true, ..LoggingConfig::default() }),
        ..PawConfig::default()
    };
    assert_eq!(saved_and_loaded(&config), config);
}

#[test]
fn broker_config_round_trips_through_save_and_load() {
    let broker = BrokerConfig {
        enabled: true,
        port: 1,
        bind: "::1".to_owned(),
        auth: BrokerAuth::None,
        synchronous: Synchronous::Full,
        watcher: WatcherConfig { republish_working_ttl_seconds: 0 },
    };
    let config = PawConfig { broker, ..PawConfig::default() };
    assert_eq!(saved_and_loaded(&config).broker, config.broker);
}

#[test]
fn preset_accessible_by_name() {
    let config = load("[presets.backend]\nbranches = [\"feat/api\", \"fix/db\"]\ncli = \"claude\"");
    let preset = config.get_preset("backend").unwrap();
    assert_eq!(preset.branches, ["feat/api", "fix/db"]);
    assert_eq!(preset.cli, "claude");
}

#[test]
fn missing_preset_returns_none() {
    let config = load("[presets.backend]\nbranches = []\ncli = \"claude\"");
    assert_eq!(config.get_preset("nonexistent"), None);
}

#[test]
fn default_paw_config_has_no_presets() {
    assert_eq!(PawConfig::default().get_preset("nonexistent"), None);
}

#[test]
fn default_spec_cli_set() {
    assert_eq!(load("default_spec_cli = \"claude\"").default_spec_cli.as_deref(), Some("claude"));
}

#[test]
fn default_spec_cli_absent() {
    assert_eq!(load("mouse = true").default_spec_cli, None);
}

#[test]
fn specs_section_with_all_fields() {
    let specs = load("[specs]\ndir = \"openspec/specs\"\ntype = \"openspec\"").specs.unwrap();
    assert_eq!(specs.dir, Some(PathBuf::from("openspec/specs")));
    assert_eq!(specs.spec_type.as_str(), "openspec");
}

#[test]
fn specs_section_defaults() {
    assert_eq!(load("").specs, None);
}

#[test]
fn every_spec_type_has_its_own_default_directory() {
    let dir = |text: &str| load(text).specs.unwrap().dir().to_owned();
    assert_eq!(dir("[specs]"), Path::new("specs"));
    assert_eq!(dir("specs.type = \"markdown\""), Path::new("specs"));
    assert_eq!(dir("specs.type = \"speckit\""), Path::new(".specify/specs"));
    assert_eq!(dir("specs.type = \"superpowers\""), Path::new("docs/superpowers/plans"));
    assert_eq!(dir("specs = { type = \"speckit\", dir = \"x\" }"), Path::new("x"));
}

#[test]
fn round_trip_preserves_rename() {
    let specs = SpecsConfig { dir: Some("openspec/specs".into()), spec_type: SpecType::Openspec };
    let text = toml::to_string(&specs).unwrap();
    assert!(text.contains("type = \"openspec\"") && !text.contains("spec_type"), "{text}");
    assert_eq!(toml::from_str::<SpecsConfig>(&text).unwrap(), specs);
}

#[test]
fn logging_section_with_all_fields() {
    let logging = load("[logging]\nenabled = true\nlog_dir = \".git-paw/logs\"").logging.unwrap();
    assert_eq!(logging, LoggingConfig { enabled: true, ..LoggingConfig::default() });
}

#[test]
fn logging_section_defaults() {
    assert_eq!(load("").logging, None);
    assert_eq!(load("[logging]").logging.unwrap().log_dir, Path::new(".git-paw/logs"));
}

#[test]
fn broker_section_with_all_fields() {
    let broker = load("[broker]\nenabled = true\nport = 9200\nbind = \"127.0.0.1\"").broker;
    assert_eq!((broker.enabled, broker.port, broker.bind.as_str()), (true, 9200, "127.0.0.1"));
}

#[test]
fn broker_section_defaults() {
    let broker = load("").broker;
    assert_eq!((broker.enabled, broker.port, broker.bind.as_str()), (false, 9119, "127.0.0.1"));
    assert_eq!((broker.auth, broker.synchronous), (BrokerAuth::Token, Synchronous::Normal));
    assert_eq!(broker.watcher.republish_working_ttl_seconds, 60);
}

#[test]
fn partial_broker_section() {
    let broker = load("[broker]\nenabled = true").broker;
    assert_eq!((broker.enabled, broker.port, broker.bind.as_str()), (true, 9119, "127.0.0.1"));
}

#[test]
fn broker_config_url_method() {
    let url =
        |bind: &str| BrokerConfig { port: 9200, bind: bind.to_owned(), ..BrokerConfig::default() }.url();
    assert_eq!(url("127.0.0.1"), "http://127.0.0.1:9200");
    assert_eq!(url("localhost"), "http://localhost:9200");
    assert_eq!(url("::1"), "http://[::1]:9200");
}

#[test]
fn unset_keys_have_an_effective_value() {
    let silent = PawConfig::default();
    assert!(silent.mouse());
    assert_eq!(silent.branch_prefix().as_str(), "spec/");
    assert_eq!(silent.worktree_placement(), WorktreePlacement::Sibling);
    let set = load("mouse = false\nworktree_placement = \"child\"");
    assert!(!set.mouse());
    assert_eq!(set.worktree_placement(), WorktreePlacement::Child);
}

#[test]
fn a_branch_prefix_ends_with_a_slash() {
    assert_eq!(load("branch_prefix = \"feat\"").branch_prefix().branch("login"), "feat/login");
    assert_eq!(load("branch_prefix = \"feat/\"").branch_prefix().branch("login"), "feat/login");
    assert_eq!(load("branch_prefix = \"\"").branch_prefix().branch("login"), "login");
}

#[test]
fn the_supervisor_has_the_approval_level_of_its_agents_by_default() {
    let approval = |text: &str| load(text).supervisor.unwrap().approval();
    assert_eq!(approval("supervisor.agent_approval = \"manual\""), Approval::Manual);
    assert_eq!(approval("supervisor = { agent_approval = \"manual\", approval = \"auto\" }"), Approval::Auto);
}

#[test]
fn automatic_approval_is_off_without_its_section() {
    assert_eq!(load("[supervisor]").supervisor.unwrap().auto_approve, None);
    let section = load("[supervisor.auto_approve]").supervisor.unwrap().auto_approve;
    assert_eq!(section, Some(AutoApproveConfig::default()));
}

#[test]
fn every_word_of_a_choice_is_in_the_help_of_its_key() {
    let help = |keys: &[crate::config::ConfigKey], name: &str| {
        keys.iter().find(|key| key.name == name).map(crate::config::ConfigKey::help).unwrap()
    };
    let all = [
        (
            help(PawConfig::KEYS, "worktree_placement"),
            WorktreePlacement::ALL.iter().map(|c| c.as_str()).collect::<Vec<_>>(),
        ),
        (help(SpecsConfig::KEYS, "type"), SpecType::ALL.iter().map(|c| c.as_str()).collect()),
        (help(BrokerConfig::KEYS, "auth"), BrokerAuth::ALL.iter().map(|c| c.as_str()).collect()),
        (help(BrokerConfig::KEYS, "synchronous"), Synchronous::ALL.iter().map(|c| c.as_str()).collect()),
        (help(SupervisorConfig::KEYS, "agent_approval"), Approval::ALL.iter().map(|c| c.as_str()).collect()),
        (help(CliConfig::KEYS, "approval_args"), Approval::ALL.iter().map(|c| c.as_str()).collect()),
        (
            help(AutoApproveConfig::KEYS, "approval_level"),
            ApprovalLevel::ALL.iter().map(|c| c.as_str()).collect(),
        ),
        (
            help(LearningsConfig::KEYS, "broker_publish"),
            LearningsPublish::ALL.iter().map(|c| c.as_str()).collect(),
        ),
        (help(DevAllowlistConfig::KEYS, "stacks"), Stack::ALL.iter().map(|c| c.as_str()).collect()),
        (help(TellConfig::KEYS, "mode"), TellMode::ALL.iter().map(|c| c.as_str()).collect()),
        (help(OpsxConfig::KEYS, "role_gating"), RoleGating::ALL.iter().map(|c| c.as_str()).collect()),
    ];
    for (help, words) in all {
        assert!(words.iter().all(|word| help.contains(word)), "{help:?} should name {words:?}");
    }
}
