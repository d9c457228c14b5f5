//! How each CLI takes up one of its own conversations again.

use std::ffi::OsStr;

use paw_host::process::shell_quote;

/// Which conversation is taken up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// The latest one in this directory.
    Latest,
    /// This one, by the name the CLI itself gave it.
    Conversation(String),
}

/// A row of the table: the words after the CLI's own that take a conversation up.
struct Row {
    cli: &'static str,
    latest: Option<&'static [&'static str]>,
    /// The last word, before the name. A word that ends in `=` has the name joined to it, so that no name can pass for
    /// an option.
    named: Option<&'static [&'static str]>,
}

const ROWS: [Row; 7] = [
    row("aider", Some(&["--restore-chat-history"]), None),
    row("claude", Some(&["--continue"]), Some(&["--resume="])),
    row("codex", Some(&["resume", "--last"]), Some(&["resume", "--"])),
    row("copilot", Some(&["--continue"]), Some(&["--resume="])),
    row("gemini", Some(&["--resume=latest"]), Some(&["--resume="])),
    row("opencode", Some(&["--continue"]), Some(&["--session="])),
    row("qwen", Some(&["--continue"]), Some(&["--resume="])),
];

const fn row(
    cli: &'static str,
    latest: Option<&'static [&'static str]>,
    named: Option<&'static [&'static str]>,
) -> Row {
    Row { cli, latest, named }
}

/// The words that make `cli` take up a conversation, quoted for a shell, or nothing where it cannot.
pub fn words(cli: &str, resume: &Resume) -> Option<String> {
    let row = ROWS.iter().find(|row| row.cli == cli)?;
    match resume {
        Resume::Latest => Some(row.latest?.join(" ")),
        // Names come from files and hooks that others can write.
        Resume::Conversation(name) if name.is_empty() || name.contains(char::is_control) => None,
        Resume::Conversation(name) => {
            let (last, before) = row.named?.split_last()?;
            let last = match last.strip_suffix('=') {
                Some(_) => shell_quote(OsStr::new(&format!("{last}{name}"))),
                None => format!("{last} {}", shell_quote(OsStr::new(name))),
            };
            Some(before.iter().copied().chain([last.as_str()]).collect::<Vec<_>>().join(" "))
        }
    }
}

/// Whether `cli` goes on as if it had never ended. gemini takes a conversation up, but without the first thing it was told
/// if a request was cancelled since: whoever relies on that has to say it again.
pub fn can_resume(cli: &str) -> bool {
    cli != "gemini" && words(cli, &Resume::Latest).is_some()
}

/// A shell line that takes up a conversation with the CLI that `line` starts. A CLI that cannot is started anew; so is
/// one that refuses, because the conversation has vanished or never began.
pub fn line(line: &str, cli: &str, resume: &Resume) -> String {
    match words(cli, resume) {
        Some(words) => format!("{line} {words} || {line}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Resume {
        Resume::Conversation(name.to_owned())
    }

    #[test]
    fn every_cli_of_the_table_takes_up_its_latest_conversation() {
        for (cli, expected) in [
            ("claude", "--continue"),
            ("codex", "resume --last"),
            ("gemini", "--resume=latest"),
            ("opencode", "--continue"),
            ("aider", "--restore-chat-history"),
        ] {
            assert_eq!(words(cli, &Resume::Latest).as_deref(), Some(expected), "{cli}");
        }
    }

    #[test]
    fn only_a_cli_that_remembers_its_first_prompt_goes_on_without_it() {
        for (cli, remembers) in [("claude", true), ("codex", true), ("gemini", false), ("my-agent", false)] {
            assert_eq!(can_resume(cli), remembers, "{cli}");
        }
    }

    #[test]
    fn a_conversation_is_named_in_a_way_that_cannot_be_an_option() {
        assert_eq!(words("claude", &named("0-1")).as_deref(), Some("--resume=0-1"));
        assert_eq!(words("codex", &named("--yolo")).as_deref(), Some("resume -- --yolo"));
        assert_eq!(words("claude", &named("$(rm x)")).as_deref(), Some("'--resume=$(rm x)'"));
        assert_eq!(words("gemini", &named("it's")).as_deref(), Some(r"'--resume=it'\''s'"));
        for hostile in ["", "a\nb", "a\u{1b}[0m"] {
            assert_eq!(words("claude", &named(hostile)), None, "{hostile:?}");
        }
    }

    #[test]
    fn a_conversation_that_is_gone_does_not_leave_an_empty_shell() {
        assert_eq!(line("claude --x", "claude", &Resume::Latest), "claude --x --continue || claude --x");
        assert_eq!(line("mine", "mine", &Resume::Latest), "mine");
        assert_eq!(line("aider", "aider", &named("x")), "aider");
    }
}
