//! The scripts of our hooks. Pure.

use std::path::Path;

use paw_core::paths::{AGENT_FILE, BRANCH_FILE};
use paw_host::process::shell_quote;

/// The hooks that git runs in a worktree. Hooks that run many times for one command are installed only if the user has
/// one.
pub(super) const ALWAYS: [&str; 15] = [
    "applypatch-msg",
    "commit-msg",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "sendemail-validate",
];
pub(super) const FREQUENT: [&str; 6] = [
    "p4-changelist",
    "p4-post-changelist",
    "p4-prepare-changelist",
    "p4-pre-submit",
    "post-index-change",
    "reference-transaction",
];

const FIND_USER_HOOK: &str = r#"#!/bin/sh
# Created by git-paw and removed with the session. Runs the hook that would run without it.
name=${0##*/}
own=${0%/*}
dir=
while IFS= read -r line; do
    [ "$line" = "$own" ] || dir=$line
done <<END
$(git config --type=path --get-all core.hooksPath 2>/dev/null)
END
[ -n "$dir" ] || dir=$(git rev-parse --path-format=absolute --git-common-dir)/hooks
hook=$dir/$name
[ -f "$hook" ] && [ -x "$hook" ] || hook=
"#;

const RUN_USER_HOOK: &str = r#"[ -n "$hook" ] || exit 0
exec "$hook" "$@"
"#;

/// Refuses commits on a branch other than the worktree's own. A detached HEAD is allowed: it may be a rebase.
const GUARD: &str = r#"file=$(git rev-parse --path-format=absolute --git-path "$branch_file")
if [ -f "$file" ]; then
    expected=$(cat "$file")
    branch=$(git symbolic-ref --quiet HEAD)
    if [ -n "$branch" ] && [ "$branch" != "$expected" ]; then
        printf 'error: this worktree belongs to %s, but %s is checked out\n' \
            "${expected#refs/heads/}" "${branch#refs/heads/}" >&2
        printf 'hint: switch back before you commit\n' >&2
        exit 1
    fi
fi
"#;

/// The commit exists already: this must not fail, block or keep the output open. Some CLIs end every process of a command when
/// the command ends, so the report gets up to three seconds before the hook ends.
const SIGNAL: &str = r#"status=0
if [ -n "$hook" ]; then
    "$hook" "$@"
    status=$?
fi
if [ -f "$(git rev-parse --path-format=absolute --git-path "$agent_file")" ] && [ -x "$program" ]; then
    commit=$(git rev-parse --verify --quiet HEAD)
    if [ -n "$commit" ]; then
        "$program" __commit-signal "$commit" </dev/null >/dev/null 2>&1 &
        waits=0
        while [ "$waits" -lt 60 ] && kill -0 "$!" 2>/dev/null; do
            sleep 0.05 2>/dev/null || break
            waits=$((waits + 1))
        done
    fi
fi
exit "$status"
"#;

/// The script of a hook. The post-commit hook calls `program`.
pub(super) fn script(name: &str, program: &Path) -> String {
    match name {
        "post-commit" => {
            let program = shell_quote(program.as_os_str());
            format!("{FIND_USER_HOOK}program={program}\nagent_file={AGENT_FILE}\n{SIGNAL}")
        }
        "pre-commit" | "pre-merge-commit" => {
            format!("{FIND_USER_HOOK}branch_file={BRANCH_FILE}\n{GUARD}{RUN_USER_HOOK}")
        }
        _ => format!("{FIND_USER_HOOK}{RUN_USER_HOOK}"),
    }
}
