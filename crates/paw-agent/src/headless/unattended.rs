//! A turn that nobody watches: the CLI may change files and run the tests, and leaves commits, pushes and branches alone.

use std::ffi::OsString;
use std::path::Path;

use paw_host::process::Command;

use super::{Turn, command, neutral};

/// What an agent must not do; whoever drives it looks afterwards whether it did.
const FORBIDDEN: [&str; 9] =
    ["commit", "push", "checkout", "switch", "branch", "rebase", "reset", "stash", "worktree"];

/// The process of a turn in which the CLI works on its own. With `tests`, the command it may run, it may change files;
/// without, it looks and answers.
pub fn unattended(
    cli: &str,
    program: &Path,
    worktree: &Path,
    turn: Turn<'_>,
    tests: Option<&str>,
) -> Command {
    let command = command(cli, program, worktree, turn).args(arguments(cli, tests));
    match cli {
        // It has no option for it; its configuration can come from a variable.
        "opencode" => command.env("OPENCODE_PERMISSION", permissions(tests.is_some())),
        _ => command,
    }
}

/// A program of the user's own, told what to do on its standard input.
pub fn own(command: Command, worktree: &Path, message: &str) -> Command {
    neutral(command.dir(worktree).input(message.as_bytes()))
}

fn arguments(cli: &str, tests: Option<&str>) -> Vec<OsString> {
    let forbidden = || FORBIDDEN.map(|verb| format!("Bash(git {verb}:*)")).join(",");
    let words: Vec<String> = match (cli, tests) {
        ("claude", Some(tests)) => vec![
            "--permission-mode=acceptEdits".into(),
            format!("--allowedTools=Bash({}:*)", tests.replace([',', '(', ')', '"'], " ")),
            format!("--disallowedTools={}", forbidden()),
        ],
        ("claude", None) => vec!["--disallowedTools=Edit,Write,NotebookEdit,Bash".into()],
        ("codex", tests) => {
            let sandbox = if tests.is_some() { "workspace-write" } else { "read-only" };
            ["--sandbox", sandbox, "-c", "approval_policy=\"never\""].map(Into::into).into()
        }
        ("gemini", Some(_)) => ["--approval-mode", "yolo"].map(Into::into).into(),
        ("aider", tests) => {
            let words = ["--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore"];
            let look = tests.is_none().then_some("--chat-mode=ask");
            words.into_iter().chain(look).map(Into::into).collect()
        }
        _ => Vec::new(),
    };
    words.into_iter().map(OsString::from).collect()
}

fn permissions(works: bool) -> String {
    if !works {
        return serde_json::json!({"edit": "deny", "bash": "deny"}).to_string();
    }
    let mut bash = serde_json::json!({"*": "allow"});
    for verb in FORBIDDEN {
        bash[format!("git {verb}*")] = "deny".into();
    }
    serde_json::json!({"edit": "allow", "bash": bash}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_cli_may_edit_and_test_but_not_commit_or_only_look() {
        let turn = Turn { message: "x", resume: None, model: None };
        let typed =
            |cli: &str, tests| unattended(cli, Path::new(cli), Path::new("/w"), turn, tests).to_string();
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
        assert!(permissions(true).contains(r#""git push*":"deny""#), "{}", permissions(true));
    }
}
