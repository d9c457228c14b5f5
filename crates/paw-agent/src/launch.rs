//! The shell line that starts a CLI in its pane: its program, and what it may do without asking.

use std::ffi::OsStr;

use paw_core::config::{Approval, CliConfig};
use paw_host::process::shell_quote;

use crate::cli::Cli;
use crate::detect::CliInfo;

/// The hidden command that runs a script under the CLI's name.
pub const START_AS: &str = "__as";

/// The flags of a CLI for each approval level, as shell text. Empty if the level is the CLI's default.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalFlags {
    pub auto: &'static str,
    pub full_auto: &'static str,
}

impl ApprovalFlags {
    pub const NONE: Self = Self { auto: "", full_auto: "" };

    fn at(&self, level: Approval) -> &'static str {
        match level {
            Approval::Manual => "",
            Approval::Auto => self.auto,
            Approval::FullAuto => self.full_auto,
        }
    }
}

/// Whether a CLI works at this level: git paw knows its flags, or they are configured. At the level `auto`, git paw answers its
/// prompts instead.
pub fn supports_level(cli: &Cli, config: Option<&CliConfig>, approval: Approval) -> bool {
    let is_configured = config.and_then(|config| config.approval_args(approval)).is_some();
    is_configured || approval != Approval::FullAuto || !cli.approval.full_auto.is_empty()
}

/// The shell line of one agent, without its hooks. Flags from the configuration override those of the descriptor.
pub fn command_line(cli: &Cli, found: &CliInfo, config: Option<&CliConfig>, approval: Approval) -> String {
    let program = config.map_or(found.binary_name.as_str(), |config| config.command.as_str());
    let mut line = shell_quote(OsStr::new(program));
    if let Some(ours) = &found.launcher {
        let name = shell_quote(OsStr::new(&found.binary_name));
        line = format!("{} {START_AS} {name} {line}", shell_quote(ours.as_os_str()));
    }
    let flags = match config.and_then(|config| config.approval_args(approval)) {
        Some(args) => quote_words(args),
        None => cli.approval.at(approval).to_owned(),
    };
    [line.as_str(), cli.start, &flags]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The shell line of the supervisor, without its hooks.
pub fn supervisor_command_line(
    cli: &Cli,
    found: &CliInfo,
    config: Option<&CliConfig>,
    approval: Approval,
) -> String {
    let is_configured = config.is_some_and(|config| config.approval_args(approval).is_some());
    match cli.supervisor.filter(|_| approval != Approval::FullAuto && !is_configured) {
        Some(flags) => format!("{} {flags}", command_line(cli, found, config, Approval::Manual)),
        None => command_line(cli, found, config, approval),
    }
}

/// Splits the configured text into words and quotes each, so that it cannot be anything but arguments.
fn quote_words(text: &str) -> String {
    split_words(text).iter().map(|word| shell_quote(OsStr::new(word))).collect::<Vec<_>>().join(" ")
}

/// Splits at whitespace outside quotes. An unclosed quote extends to the end.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use paw_testkit::Sandbox;
    use proptest::prelude::*;

    use super::*;
    use crate::cli;
    use crate::detect::CliSource;

    fn cli(name: &str) -> CliInfo {
        CliInfo {
            binary_name: name.to_owned(),
            display_name: name.to_owned(),
            source: CliSource::Detected,
            path: format!("/usr/bin/{name}").into(),
            launcher: None,
        }
    }

    fn config(command: &str, args: &[(Approval, &str)]) -> CliConfig {
        let args: BTreeMap<_, _> = args.iter().map(|(level, args)| (*level, (*args).to_owned())).collect();
        CliConfig {
            command: command.to_owned(),
            display_name: None,
            submit_delay_ms: None,
            settings_path: None,
            approval_args: Some(args),
        }
    }

    fn typed(found: &CliInfo, config: Option<&CliConfig>, approval: Approval) -> String {
        command_line(cli::descriptor(&found.binary_name), found, config, approval)
    }

    #[test]
    fn command_line_has_the_flags_of_the_approval_level() {
        for (name, level, expected) in [
            ("claude", Approval::Manual, "claude"),
            ("claude", Approval::Auto, "claude"),
            ("claude", Approval::FullAuto, "claude --dangerously-skip-permissions"),
            ("codex", Approval::Manual, "codex --config features.daemon_auto_start=false"),
            (
                "codex",
                Approval::FullAuto,
                "codex --config features.daemon_auto_start=false --dangerously-bypass-approvals-and-sandbox",
            ),
            ("gemini", Approval::FullAuto, "gemini --approval-mode yolo"),
            ("qwen", Approval::FullAuto, "qwen --yolo"),
            ("vibe", Approval::FullAuto, "vibe"),
        ] {
            assert_eq!(typed(&cli(name), None, level), expected);
        }
    }

    #[test]
    fn codex_may_write_to_the_directories_a_linked_worktree_commits_to_and_to_no_others() {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("it's $HOME");
        let linked = sandbox.root().join("linked");
        repo.git(["worktree", "add", "--quiet", "-b", "x", linked.to_str().unwrap()]);
        sandbox.install_program("codex", "#!/bin/sh\nprintf '[%s]' \"$@\"\n");
        let line = typed(&cli("codex"), None, Approval::Auto);
        let roots = |dir: &std::path::Path| {
            let ran = sandbox.run(dir, "sh", ["-c", &line]);
            let options = "[--config][features.daemon_auto_start=false]\
                [--sandbox][workspace-write][--config][sandbox_workspace_write.network_access=true]";
            let rest = ran.stdout.strip_prefix(options).unwrap().to_owned();
            let git = "[[SANDBOX]/it's $HOME/.git/";
            let root = |text: &str| text.strip_prefix(git).unwrap().strip_suffix("]").unwrap().to_owned();
            rest.split("[--add-dir]").skip(1).map(root).collect::<Vec<_>>()
        };
        let shared = [
            "objects",
            "refs/heads",
            "refs/remotes",
            "refs/tags",
            "reftable",
            "logs/refs/heads",
            "logs/refs/remotes",
            "lfs",
        ];
        assert_eq!(roots(&linked), [&shared[..], &["worktrees/linked"]].concat());
        // In the main checkout there is no such directory: a supervisor does not get the whole `.git`.
        assert_eq!(roots(&repo.root), [&shared[..], &["worktrees/.git"]].concat());
    }

    #[test]
    fn a_supervisor_reaches_the_broker_at_every_level_and_commits_nowhere() {
        let line =
            |name: &str, level| supervisor_command_line(cli::descriptor(name), &cli(name), None, level);
        let codex = "codex --config features.daemon_auto_start=false --sandbox workspace-write --config \
                     sandbox_workspace_write.network_access=true";
        for level in [Approval::Manual, Approval::Auto] {
            assert_eq!(line("codex", level), codex);
            assert_eq!(line("claude", level), "claude");
        }
        assert!(line("codex", Approval::FullAuto).ends_with("--dangerously-bypass-approvals-and-sandbox"));
    }

    #[test]
    fn configured_flags_override_the_descriptor() {
        let own = config("/opt/my claude", &[(Approval::FullAuto, "--yes 'a b' ; rm -rf /")]);
        assert_eq!(
            typed(&cli("claude"), Some(&own), Approval::FullAuto),
            "'/opt/my claude' --yes 'a b' ';' rm -rf /"
        );
        let line = typed(&cli("claude"), Some(&config("c", &[])), Approval::FullAuto);
        assert_eq!(line, "c --dangerously-skip-permissions");
        let none = config("c", &[(Approval::FullAuto, "")]);
        assert_eq!(typed(&cli("claude"), Some(&none), Approval::FullAuto), "c");
    }

    #[test]
    fn a_script_is_started_under_its_own_name() {
        let script = CliInfo { launcher: Some("/opt/git paw".into()), ..cli("my agent") };
        let own = config("/bin/a b", &[(Approval::FullAuto, "--yes")]);
        let line = typed(&script, Some(&own), Approval::FullAuto);
        assert_eq!(line, "'/opt/git paw' __as 'my agent' '/bin/a b' --yes");
    }

    #[test]
    fn split_words_keeps_quoted_words_together() {
        assert_eq!(split_words(r#" a "b c"d '' 'e "f' g""#), ["a", "b cd", "", "e \"f", "g"]);
        assert_eq!(split_words("  "), [""; 0]);
    }

    proptest! {
        #[test]
        fn configured_arguments_are_never_more_than_arguments(text in "[^\\x00\\n]{0,20}") {
            let words = split_words(&text);
            let line = format!("printf '[%s]' {}", quote_words(&text));
            let ran = paw_host::process::Command::new("sh").args(["-c", &line]).capture().unwrap();
            let expected = format!("[{}]", words.join("]["));
            prop_assert_eq!(String::from_utf8(ran.stdout).unwrap(), expected);
        }
    }
}
