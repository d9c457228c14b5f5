//! The chapters of the guide, as they are in `docs/`.

use std::borrow::Cow;

use super::keys;

/// One chapter.
pub(super) struct Topic {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The commands it is about.
    commands: &'static [&'static str],
    pub(super) text: fn() -> Cow<'static, str>,
}

/// A chapter that is a file in `docs/`.
macro_rules! chapter {
    ($name:literal, $title:literal, $commands:expr) => {
        Topic {
            name: $name,
            title: $title,
            commands: $commands,
            text: || Cow::Borrowed(include_str!(concat!("../../../../../docs/", $name, ".md"))),
        }
    };
}

/// In the order in which they are read.
const TOPICS: &[Topic] = &[
    chapter!("first-steps", "The first ten minutes", &["init", "doctor", "demo"]),
    chapter!(
        "sessions",
        "Agents in panes: start, leave, come back",
        &["start", "attach", "status", "add", "remove", "pause", "stop", "purge", "replay"]
    ),
    chapter!("clis", "AI CLIs: what works with which, and your own", &["list-clis", "add-cli", "remove-cli"]),
    chapter!("worktrees", "Worktrees, and work that is not lost", &["worktree", "undo", "shell-init"]),
    chapter!("messages", "What agents tell each other; the radar", &["say", "inbox", "serve", "dashboard"]),
    chapter!(
        "supervisor",
        "States, approvals, and who looks after whom",
        &["approvals", "explain", "tell", "sweep"]
    ),
    chapter!("gates", "Proof of a branch, and merging", &["verify", "merge"]),
    chapter!("unattended", "A session with nobody at the keyboard", &[]),
    chapter!("test-first", "Tasks, and autopilot on them", &["tasks", "autopilot"]),
    chapter!("programs", "For other programs: JSON, MCP, gRPC", &["mcp", "daemon", "completions"]),
    chapter!("configuration", "Where settings are, and how they are merged", &[]),
    Topic {
        name: "keys",
        title: "Every key of the configuration",
        commands: &[],
        text: || Cow::Owned(keys::page()),
    },
    chapter!("security", "What is trusted, and what is not", &["trust"]),
    chapter!("troubleshooting", "Error messages, and what to do", &[]),
];

pub(super) fn find(words: &[String]) -> Option<&'static Topic> {
    let [name] = words else { return None };
    TOPICS.iter().find(|topic| topic.name == name)
}

/// The chapter that explains a command.
pub(super) fn about(command: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.commands.contains(&command))
}

pub(super) fn list() -> String {
    let row = |topic: &Topic| format!("  {:<15}  {}", topic.name, topic.title);
    let rows: Vec<_> = TOPICS.iter().map(row).collect();
    format!("Chapters of the guide (git paw help <chapter>):\n{}", rows.join("\n"))
}
