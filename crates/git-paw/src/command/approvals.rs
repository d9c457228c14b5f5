//! `git paw approvals`

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use paw_core::PawError;
use paw_core::text::{self, plural};
use paw_host::process::shell_quote;
use paw_supervisor::approval::log::{VerdictEntry, VerdictLog, find_narrowed_rules, suggest};
use paw_supervisor::approval::{self, ApprovalVerdict};
use serde_json::json;

use crate::approval::rules;
use crate::context::Context;

/// List the approval verdicts on agents' commands, and suggest rules
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  git paw approvals
  git paw approvals --limit 20 --json
  git paw approvals check -- 'cargo test 2>&1 | tail'
  git paw approvals check --worktree ../app-feat-x -- 'git push'"
)]
pub(crate) struct ApprovalsArgs {
    /// Show only the last N verdicts
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Show only the verdicts of this session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    Check(CheckArgs),
}

/// Check whether a command would be approved without asking, and why
///
/// Nothing is run. The verdict is the one that an agent's permission prompt would get. It follows your own rules and the
/// repository's rules that you have approved.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw approvals check -- 'cargo test && git commit -am \"fix\"'
  git paw approvals check --json --worktree ../app-feat-x -- 'rm -rf build'")]
struct CheckArgs {
    /// The worktree that the command would run in [default: the current one]
    #[arg(long, value_name = "PATH")]
    worktree: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// The command line, as one argument
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl ApprovalsArgs {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.action {
            Some(Action::Check(args)) => args.json,
            None => self.json,
        }
    }
}

pub(crate) fn run(args: &ApprovalsArgs, context: &Context) -> Result<(), PawError> {
    match &args.action {
        Some(Action::Check(check_args)) => check(check_args, context),
        None => list(args, context),
    }
}

fn check(args: &CheckArgs, context: &Context) -> Result<(), PawError> {
    let (rules, place) = rules::gather(args.worktree.as_deref(), context)?;
    let verdict = match command_line(&args.command) {
        Some(line) => approval::judge(&line, &rules, &place),
        None => ApprovalVerdict::Ask { reason: "not valid UTF-8".to_owned() },
    };
    if context.output.wants_json() {
        return context.output.document(&json!({"verdict": verdict.word(), "reason": verdict.reason()}));
    }
    context.output.say(&format!("{}: {}", verdict.word(), verdict.reason()))
}

/// One argument is a whole shell command line; several arguments are its words.
fn command_line(words: &[OsString]) -> Option<String> {
    if let [line] = words {
        return line.to_str().map(str::to_owned);
    }
    let words: Option<Vec<_>> = words.iter().map(|word| word.to_str()).collect();
    Some(words?.iter().map(|word| shell_quote(OsStr::new(word))).collect::<Vec<_>>().join(" "))
}

fn list(args: &ApprovalsArgs, context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    let mut entries = VerdictLog::of(&repo.common_dir).load()?;
    if let Some(session) = &args.session {
        entries.retain(|entry| entry.session.as_ref() == Some(session));
    }
    let suggestions = suggest(&entries);
    let shown = &entries[entries.len().saturating_sub(args.limit)..];
    if context.output.wants_json() {
        let document = json!({"session": args.session, "approvals": suggestions, "verdicts": shown});
        return context.output.document(&document);
    }
    if entries.is_empty() {
        return context.output.say("no verdicts yet");
    }
    context
        .output
        .table(["TIME", "AGENT", "VERDICT", "COMMAND", "REASON"], shown.iter().map(row).collect())?;
    for suggestion in &suggestions {
        let times = plural(suggestion.count, "time");
        let rule = &suggestion.pattern;
        context.output.note(&format!(
            "hint: asked {times} about `{rule}`; to allow it: [supervisor.common_dev_allowlist] extra = [\"{rule}\"]"
        ));
    }
    let (rules, _) = rules::gather(None, context)?;
    for narrowed in find_narrowed_rules(&entries, &rules) {
        let rule = &narrowed.rule;
        context.output.note(&format!(
            "hint: the rule `{rule}` no longer covers `{}`; to allow any continuation, end it in ` *`: \"{rule} *\"",
            text::reveal(&text::truncate_chars(&narrowed.command, 100))
        ));
    }
    Ok(())
}

fn row(entry: &VerdictEntry) -> [String; 5] {
    let at = entry.at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let plain = |words: &str| text::reveal(&text::truncate_chars(words, 100));
    [at, plain(&entry.agent), plain(&entry.verdict), plain(&entry.command), plain(&entry.reason)]
}
