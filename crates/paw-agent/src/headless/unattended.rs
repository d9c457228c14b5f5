//! An unattended turn: the CLI may change files and run the tests, but not commit, push or change branches.

use std::path::Path;

use paw_host::process::Command;

use super::{Turn, command, without_foreign_variables};
use crate::cli::Cli;

/// git commands that an agent must not run. The driver checks afterwards whether it did.
pub(crate) const FORBIDDEN: [&str; 9] =
    ["commit", "push", "checkout", "switch", "branch", "rebase", "reset", "stash", "worktree"];

/// The process of an unattended turn. With `tests`, the command it may run, the CLI may change files; without, it may
/// only read and answer.
pub fn unattended(
    cli: &Cli,
    program: &Path,
    worktree: &Path,
    turn: Turn<'_>,
    tests: Option<&str>,
) -> Command {
    let command = command(cli, program, worktree, turn);
    match cli.headless.unattended {
        Some(unattended) => (unattended.restrict)(command, tests),
        None => command,
    }
}

/// The process of a turn run by a custom program, which reads the message from standard input.
pub fn custom_command(command: Command, worktree: &Path, message: &str) -> Command {
    without_foreign_variables(command.dir(worktree).input(message.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn unattended_turns_may_edit_and_test_or_only_read() {
        let turn = Turn { message: "x", resume: None, model: None };
        let typed = |cli: &str, tests| {
            unattended(cli::descriptor(cli), Path::new(cli), Path::new("/w"), turn, tests).to_string()
        };
        let lines = ["claude", "codex", "gemini", "aider", "opencode"]
            .map(|cli| format!("{}\n{}", typed(cli, Some("npm test")), typed(cli, None)));
        insta::assert_snapshot!(lines.join("\n"), @r#"
        claude -p --output-format stream-json --verbose --permission-mode=acceptEdits '--allowedTools=Bash(npm test:*)' '--disallowedTools=Bash(git commit:*),Bash(git push:*),Bash(git checkout:*),Bash(git switch:*),Bash(git branch:*),Bash(git rebase:*),Bash(git reset:*),Bash(git stash:*),Bash(git worktree:*)'
        claude -p --output-format stream-json --verbose --disallowedTools=Edit,Write,NotebookEdit,Bash
        codex exec --json - --sandbox workspace-write -c 'approval_policy="never"'
        codex exec --json - --sandbox read-only -c 'approval_policy="never"'
        gemini -o stream-json --approval-mode yolo
        gemini -o stream-json
        aider --message-file /dev/stdin --no-pretty --no-stream --yes-always --no-auto-commits --no-dirty-commits --no-gitignore
        aider --message-file /dev/stdin --no-pretty --no-stream --yes-always --no-auto-commits --no-dirty-commits --no-gitignore --chat-mode=ask
        opencode run --format json
        opencode run --format json
        "#);
    }
}
