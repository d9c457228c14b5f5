//! The shell line that starts a CLI in its pane: its program, what it may do unasked, and what it takes up again.

use std::ffi::OsStr;

use paw_core::config::{Approval, CliConfig};
use paw_host::process::shell_quote;

use crate::detect::CliInfo;
use crate::resume::{self, Resume};

/// The hidden command that starts a script under the CLI's name.
pub const START_AS: &str = "__as";

/// A directory that all worktrees of a repository share.
macro_rules! common {
    ($name:literal) => {
        concat!(" --add-dir \"$(git rev-parse --path-format=absolute --git-common-dir)/", $name, "\"")
    };
}

/// Everything a codex agent needs besides its worktree: what commits of a linked worktree are written to, our own
/// directory with the messages, and the way to the broker. Not the repository's hooks and settings, which would let it
/// run commands outside of its sandbox. Directories that are not there do no harm. The line is typed inside the worktree,
/// so the shell can tell the paths.
const CODEX_AUTO: &str = concat!(
    "--sandbox workspace-write --config sandbox_workspace_write.network_access=true",
    common!("objects"),
    common!("refs"),
    common!("reftable"),
    common!("logs"),
    common!("lfs"),
    common!("paw"),
    " --add-dir \"$(git rev-parse --path-format=absolute --git-dir)\""
);

/// What a known CLI is told at a level, as it stands in the line. Nothing where the CLI's own habit is that level.
pub fn approval_words(cli: &str, level: Approval) -> &'static str {
    match (cli, level) {
        ("claude" | "agy", Approval::FullAuto) => "--dangerously-skip-permissions",
        ("codex", Approval::FullAuto) => "--dangerously-bypass-approvals-and-sandbox",
        ("codex", Approval::Auto) => CODEX_AUTO,
        ("gemini", Approval::FullAuto) => "--approval-mode yolo",
        ("qwen", Approval::FullAuto) => "--yolo",
        ("aider", Approval::FullAuto) => "--yes-always",
        ("amp", Approval::FullAuto) => "--dangerously-allow-all",
        _ => "",
    }
}

/// The line for one agent, quoted for a shell. What the configuration says about a level beats the table.
pub fn command_line(
    cli: &CliInfo,
    config: Option<&CliConfig>,
    approval: Approval,
    conversation: Option<Resume>,
) -> String {
    let program = config.map_or(cli.binary_name.as_str(), |config| config.command.as_str());
    let mut line = shell_quote(OsStr::new(program));
    if let Some(ours) = &cli.named_by {
        let name = shell_quote(OsStr::new(&cli.binary_name));
        line = format!("{} {START_AS} {name} {line}", shell_quote(ours.as_os_str()));
    }
    let words = match config.and_then(|config| config.approval_args(approval)) {
        Some(args) => quote_words(args),
        None => approval_words(&cli.binary_name, approval).to_owned(),
    };
    if !words.is_empty() {
        line = format!("{line} {words}");
    }
    match conversation {
        Some(conversation) => resume::line(&line, &cli.binary_name, &conversation),
        None => line,
    }
}

/// The configured text as the words it means, each quoted, so that it can be arguments and nothing else.
fn quote_words(text: &str) -> String {
    split_words(text).iter().map(|word| shell_quote(OsStr::new(word))).collect::<Vec<_>>().join(" ")
}

/// At blanks, except between quotes. A quote that is never closed reaches to the end.
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
    use crate::detect::CliSource;

    fn cli(name: &str) -> CliInfo {
        CliInfo {
            binary_name: name.to_owned(),
            display_name: name.to_owned(),
            source: CliSource::Detected,
            path: format!("/usr/bin/{name}").into(),
            named_by: None,
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

    #[test]
    fn a_level_becomes_the_flags_of_the_cli() {
        for (name, level, expected) in [
            ("claude", Approval::Manual, "claude"),
            ("claude", Approval::Auto, "claude"),
            ("claude", Approval::FullAuto, "claude --dangerously-skip-permissions"),
            ("codex", Approval::Manual, "codex"),
            ("codex", Approval::FullAuto, "codex --dangerously-bypass-approvals-and-sandbox"),
            ("gemini", Approval::FullAuto, "gemini --approval-mode yolo"),
            ("qwen", Approval::FullAuto, "qwen --yolo"),
            ("vibe", Approval::FullAuto, "vibe"),
        ] {
            assert_eq!(command_line(&cli(name), None, level, None), expected);
        }
    }

    #[test]
    fn codex_may_write_where_a_linked_worktree_commits_to() {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("it's $HOME");
        let linked = sandbox.root().join("linked");
        repo.git(["worktree", "add", "--quiet", "-b", "x", linked.to_str().unwrap()]);
        sandbox.install_program("codex", "#!/bin/sh\nprintf '[%s]' \"$@\"\n");
        let line = command_line(&cli("codex"), None, Approval::Auto, None);
        let ran = sandbox.run(&linked, "sh", ["-c", &line]);
        let options = "[--sandbox][workspace-write][--config][sandbox_workspace_write.network_access=true]";
        let rest = ran.stdout.strip_prefix(options).unwrap();
        let roots: Vec<_> = rest.split("[--add-dir]").skip(1).collect();
        let git = "[[SANDBOX]/it's $HOME/.git";
        let expected = ["objects", "refs", "reftable", "logs", "lfs", "paw", "worktrees/linked"];
        assert_eq!(roots, expected.map(|name| format!("{git}/{name}]")));
    }

    #[test]
    fn the_configuration_beats_the_table() {
        let own = config("/opt/my claude", &[(Approval::FullAuto, "--yes 'a b' ; rm -rf /")]);
        assert_eq!(
            command_line(&cli("claude"), Some(&own), Approval::FullAuto, None),
            "'/opt/my claude' --yes 'a b' ';' rm -rf /"
        );
        let line = command_line(&cli("claude"), Some(&config("c", &[])), Approval::FullAuto, None);
        assert_eq!(line, "c --dangerously-skip-permissions");
        let none = config("c", &[(Approval::FullAuto, "")]);
        assert_eq!(command_line(&cli("claude"), Some(&none), Approval::FullAuto, None), "c");
    }

    #[test]
    fn a_script_is_started_under_its_own_name() {
        let script = CliInfo { named_by: Some("/opt/git paw".into()), ..cli("my agent") };
        let own = config("/bin/a b", &[(Approval::FullAuto, "--yes")]);
        let line = command_line(&script, Some(&own), Approval::FullAuto, None);
        assert_eq!(line, "'/opt/git paw' __as 'my agent' '/bin/a b' --yes");
    }

    #[test]
    fn a_conversation_is_taken_up_at_the_same_level() {
        let resume = Some(Resume::Conversation("7".to_owned()));
        assert_eq!(
            command_line(&cli("claude"), None, Approval::FullAuto, resume),
            "claude --dangerously-skip-permissions --resume=7 || claude --dangerously-skip-permissions"
        );
    }

    #[test]
    fn quotes_hold_words_together() {
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
