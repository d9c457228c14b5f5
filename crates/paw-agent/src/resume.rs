//! The arguments with which a CLI resumes one of its conversations.

use std::ffi::OsStr;

use paw_host::process::shell_quote;

use crate::cli::Cli;

/// Which conversation to resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// The latest one in this directory.
    Latest,
    /// The one with this id, which the CLI assigned.
    Conversation(String),
}

/// The arguments that resume a conversation.
#[derive(Debug, Clone, Copy)]
pub struct ResumeArguments {
    pub latest: &'static [&'static str],
    /// The words before the conversation's id, if the CLI can resume by id. The id is appended directly to a last word
    /// that ends in `=`, so that no id can be mistaken for an option.
    pub named: Option<&'static [&'static str]>,
    /// Whether a resumed conversation still contains the first prompt, so that it is not delivered again.
    pub remembers_first_prompt: bool,
}

/// The arguments that make `cli` resume a conversation, quoted for a shell, or `None` if it cannot.
pub fn arguments(cli: &Cli, resume: &Resume) -> Option<String> {
    let arguments = cli.resume?;
    match resume {
        Resume::Latest => Some(arguments.latest.join(" ")),
        // Ids come from files and hooks that others can write.
        Resume::Conversation(name) if name.is_empty() || name.contains(char::is_control) => None,
        Resume::Conversation(name) => {
            let (last, before) = arguments.named?.split_last()?;
            let last = match last.strip_suffix('=') {
                Some(_) => shell_quote(OsStr::new(&format!("{last}{name}"))),
                None => format!("{last} {}", shell_quote(OsStr::new(name))),
            };
            Some(before.iter().copied().chain([last.as_str()]).collect::<Vec<_>>().join(" "))
        }
    }
}

/// Whether a resumed `cli` still knows its first prompt.
pub fn can_resume(cli: &Cli) -> bool {
    cli.resume.is_some_and(|words| words.remembers_first_prompt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn named(name: &str) -> Resume {
        Resume::Conversation(name.to_owned())
    }

    #[test]
    fn every_cli_with_resume_arguments_resumes_its_latest_conversation() {
        for (cli, expected) in [
            ("claude", "--continue"),
            ("codex", "resume --last"),
            ("gemini", "--resume=latest"),
            ("opencode", "--continue"),
            ("aider", "--restore-chat-history"),
        ] {
            assert_eq!(arguments(cli::descriptor(cli), &Resume::Latest).as_deref(), Some(expected), "{cli}");
        }
    }

    #[test]
    fn a_cli_that_loses_its_first_prompt_cannot_resume_without_it() {
        for (cli, remembers) in [("claude", true), ("codex", true), ("gemini", false), ("my-agent", false)] {
            assert_eq!(can_resume(cli::descriptor(cli)), remembers, "{cli}");
        }
    }

    #[test]
    fn a_conversation_id_cannot_be_mistaken_for_an_option() {
        assert_eq!(arguments(cli::descriptor("claude"), &named("0-1")).as_deref(), Some("--resume=0-1"));
        assert_eq!(
            arguments(cli::descriptor("codex"), &named("--yolo")).as_deref(),
            Some("resume -- --yolo")
        );
        assert_eq!(
            arguments(cli::descriptor("claude"), &named("$(rm x)")).as_deref(),
            Some("'--resume=$(rm x)'")
        );
        assert_eq!(
            arguments(cli::descriptor("gemini"), &named("it's")).as_deref(),
            Some(r"'--resume=it'\''s'")
        );
        for hostile in ["", "a\nb", "a\u{1b}[0m"] {
            assert_eq!(arguments(cli::descriptor("claude"), &named(hostile)), None, "{hostile:?}");
        }
        assert_eq!(
            arguments(cli::descriptor("aider"), &named("x")),
            None,
            "aider resumes only the latest conversation"
        );
    }
}
