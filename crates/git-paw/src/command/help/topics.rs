//! The chapters of the guide, as they are in `docs/`.

use std::borrow::Cow;

use super::keys;

/// One chapter.
pub(super) struct Topic {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The commands it explains.
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
pub(super) const ALL: &[Topic] = &[
    chapter!("first-steps", "The first ten minutes", &["init", "doctor", "demo"]),
    chapter!(
        "sessions",
        "Sessions: start, detach, resume",
        &["start", "attach", "next", "diff", "status", "add", "remove", "pause", "stop", "purge", "replay"]
    ),
    chapter!("agents", "The dashboard: find who needs you, go there, decide", &["dashboard"]),
    chapter!("browser", "The session in a browser, on a phone, too", &["web"]),
    chapter!("clis", "AI CLIs: features per CLI, and custom CLIs", &["list-clis", "add-cli", "remove-cli"]),
    chapter!(
        "worktrees",
        "Worktrees, and restoring work",
        &["worktree", "undo", "shell-init", "completions"]
    ),
    chapter!("messages", "Messages between agents, and conflict detection", &["say", "inbox", "serve"]),
    chapter!(
        "supervisor",
        "The supervisor: states and approvals",
        &["approve", "deny", "approvals", "explain", "tell", "sweep", "report"]
    ),
    chapter!("gates", "Gates: verifying and merging branches", &["verify", "audit", "merge", "proof"]),
    chapter!("hosts", "Other machines", &["host", "cluster", "move"]),
    chapter!("unattended", "Unattended sessions", &[]),
    chapter!("test-first", "Tasks and autopilot", &["tasks", "autopilot"]),
    chapter!("programs", "Integration: JSON, MCP, gRPC", &["mcp", "daemon"]),
    chapter!("configuration", "Configuration files and how they are merged", &[]),
    Topic { name: "keys", title: "All configuration keys", commands: &[], text: || Cow::Owned(keys::page()) },
    chapter!("security", "Security: what git paw trusts", &["trust"]),
    chapter!("troubleshooting", "Error messages and their solutions", &[]),
];

pub(super) fn find(words: &[String]) -> Option<&'static Topic> {
    let [name] = words else { return None };
    ALL.iter().find(|topic| topic.name == name)
}

/// The chapter that explains a command.
pub(super) fn about(command: &str) -> Option<&'static Topic> {
    ALL.iter().find(|topic| topic.commands.contains(&command))
}

pub(super) fn list() -> String {
    let row = |topic: &Topic| format!("  {:<15}  {}", topic.name, topic.title);
    let rows: Vec<_> = ALL.iter().map(row).collect();
    format!("Chapters of the guide (git paw help <chapter>):\n{}", rows.join("\n"))
}
