//! Configuration files on disk: both, one, none, broken.

use std::path::{Path, PathBuf};

use paw_core::config::PawConfig;
use paw_core::{ErrorCode, PawError};
use paw_host::config::{load_config, repo_config_path};
use paw_testkit::Sandbox;

struct Files {
    sandbox: Sandbox,
}

impl Files {
    fn new() -> Self {
        Self { sandbox: Sandbox::new() }
    }

    fn repo(self, text: &str) -> Self {
        self.sandbox.write("repo/.git-paw/config.toml", text);
        self
    }

    fn user(self, text: &str) -> Self {
        self.sandbox.write("user.toml", text);
        self
    }

    fn root(&self) -> PathBuf {
        self.sandbox.root().join("repo")
    }

    fn load(&self) -> Result<PawConfig, PawError> {
        load_config(&self.root(), Some(&self.sandbox.root().join("user.toml")))
    }
}

#[test]
fn defaults_when_no_files_exist() {
    assert_eq!(Files::new().load().unwrap(), PawConfig::default());
}

#[test]
fn reads_repo_config() {
    let config = Files::new().repo("default_cli = \"claude\"\nmouse = false\n").load().unwrap();
    assert_eq!((config.default_cli.as_deref(), config.mouse), (Some("claude"), Some(false)));
}

#[test]
fn only_global_config_exists() {
    let config = Files::new().user("default_cli = \"gemini\"\n").load().unwrap();
    assert_eq!(config.default_cli.as_deref(), Some("gemini"));
}

#[test]
fn repo_config_with_custom_clis() {
    let text = "[clis.a]\ncommand = \"/bin/a\"\ndisplay_name = \"A\"\n[clis.b]\ncommand = \"b\"\n";
    let config = Files::new().repo(text).load().unwrap();
    assert_eq!(
        (config.clis["a"].command.as_str(), config.clis["a"].display_name.as_deref()),
        ("/bin/a", Some("A"))
    );
    assert_eq!((config.clis["b"].command.as_str(), config.clis["b"].display_name.as_deref()), ("b", None));
}

#[test]
fn repo_config_with_presets() {
    let text = "[presets.backend]\nbranches = [\"feat/a\", \"feat/b\"]\ncli = \"claude\"\n\
                [presets.docs]\nbranches = []\ncli = \"aider\"\n";
    let config = Files::new().repo(text).load().unwrap();
    assert_eq!(config.get_preset("backend").unwrap().branches, ["feat/a", "feat/b"]);
    assert_eq!(config.get_preset("docs").unwrap().cli, "aider");
    assert!(config.get_preset("nonexistent").is_none());
}

#[test]
fn repo_config_path_is_correct() {
    assert_eq!(repo_config_path(Path::new("/r")), Path::new("/r/.git-paw/config.toml"));
}

#[test]
fn malformed_toml_returns_error() {
    let error = Files::new().repo("mouse = \n").load().unwrap_err();
    let report = error.report();
    assert!(
        report.code == ErrorCode::InvalidArgument && report.message.contains("config.toml:1:"),
        "{error}"
    );
}

#[test]
fn empty_config_file_is_valid() {
    assert_eq!(Files::new().repo("").load().unwrap(), PawConfig::default());
}

#[test]
fn some_path_pins_the_user_level_read_to_that_path() {
    let files = Files::new();
    let a = files.sandbox.write("global-a.toml", "[clis.cli-a]\ncommand = \"a\"\n");
    files.sandbox.write("global-b.toml", "[clis.cli-b]\ncommand = \"b\"\n");
    let config = load_config(&files.root(), Some(&a)).unwrap();
    assert_eq!(config.clis.keys().collect::<Vec<_>>(), ["cli-a"]);
}

#[test]
fn some_nonexistent_path_returns_defaults_for_the_user_level_side() {
    let files = Files::new();
    let config = load_config(&files.root(), Some(&files.sandbox.root().join("does-not-exist.toml"))).unwrap();
    assert_eq!(config, PawConfig::default());
}

#[test]
fn override_path_does_not_affect_repo_config_resolution() {
    let files = Files::new().repo("default_cli = \"claude\"\n").user("default_cli = \"gemini\"\n");
    assert_eq!(files.load().unwrap().default_cli.as_deref(), Some("claude"));
}

#[test]
fn repo_custom_clis_merge_with_global() {
    let user = "[clis.a]\ncommand = \"user-a\"\n[clis.b]\ncommand = \"user-b\"\n";
    let repo = "[clis.b]\ncommand = \"repo-b\"\n[clis.c]\ncommand = \"repo-c\"\n";
    let config = Files::new().user(user).repo(repo).load().unwrap();
    let commands: Vec<_> = config.clis.values().map(|cli| cli.command.as_str()).collect();
    assert_eq!(commands, ["user-a", "repo-b", "repo-c"]);
}

#[test]
fn config_with_many_custom_clis() {
    let entries: Vec<_> = (0..10).map(|n| format!("[clis.cli-{n}]\ncommand = \"/bin/{n}\"\n")).collect();
    assert_eq!(Files::new().repo(&entries.concat()).load().unwrap().clis.len(), 10);
}

#[test]
fn the_constitution_of_spec_kit_is_detected_if_it_exists() {
    let files = Files::new().repo("[specs]\ntype = \"speckit\"\n");
    assert_eq!(files.load().unwrap().governance.constitution, None);
    files.sandbox.write("repo/.specify/memory/constitution.md", "");
    let wired = files.load().unwrap().governance.constitution;
    assert_eq!(wired.as_deref(), Some(Path::new(".specify/memory/constitution.md")));
}
