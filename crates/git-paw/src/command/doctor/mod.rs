//! `git paw doctor`: is everything here that a session needs, and what to do where it is not.

mod configuration;
mod environment;
mod state;

use std::process::ExitCode;

use clap::Args;
use paw_core::PawError;
use paw_core::text;
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::output::Style;

/// Check git, tmux, AI CLIs, configuration and what earlier sessions left behind
///
/// Every finding comes with its remedy. The exit code is 1 only when something has to be mended first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw doctor\n  git paw doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// From "fine" to "this has to be mended first".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    group: &'static str,
    name: String,
    status: Status,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Check {
    fn ok(group: &'static str, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { group, name: name.into(), status: Status::Ok, detail: detail.into(), remedy: None }
    }

    fn warn(self, remedy: impl Into<String>) -> Self {
        Self { status: Status::Warn, remedy: Some(remedy.into()), ..self }
    }

    fn fail(self, remedy: impl Into<String>) -> Self {
        Self { status: Status::Fail, remedy: Some(remedy.into()), ..self }
    }
}

pub(crate) fn run(context: &Context) -> Result<ExitCode, PawError> {
    let repo = context.find_repo();
    let root = repo.as_ref().ok().and_then(Option::as_ref).map(|repo| repo.root.as_path());
    let mut checks = environment::check(context, &repo);
    let (found, config) = configuration::check(root, &context.dirs);
    checks.extend(found);
    checks.extend(environment::check_clis(&config, context));
    checks.extend(state::check(&config, root, &context.dirs));

    let status = checks.iter().map(|check| check.status).max().unwrap_or(Status::Ok);
    if context.output.wants_json() {
        context.output.document(&json!({"status": status, "checks": checks}))?;
    } else {
        print(&checks, context)?;
    }
    Ok(if status == Status::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(checks: &[Check], context: &Context) -> Result<(), PawError> {
    let width = checks.iter().map(|check| text::width(&check.name)).max().unwrap_or_default();
    let mut group = "";
    for check in checks {
        if check.group != group {
            group = check.group;
            context.output.say(&context.output.paint(Style::Bold, group))?;
        }
        let (mark, style) = match check.status {
            Status::Ok => ("ok", Style::Good),
            Status::Warn => ("warn", Style::Doubtful),
            Status::Fail => ("FAIL", Style::Bad),
        };
        let mark = context.output.paint(style, &format!("{mark:4}"));
        let mut detail = check.detail.lines();
        context.output.say(&format!(
            "  {mark}  {:width$}  {}",
            check.name,
            detail.next().unwrap_or_default()
        ))?;
        for line in detail {
            context.output.say(&format!("        {:width$}  {line}", ""))?;
        }
        if let Some(remedy) = &check.remedy {
            context
                .output
                .say(&context.output.paint(Style::Dim, &format!("        {:width$}  → {remedy}", "")))?;
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    context.output.say(&match (count(Status::Fail), count(Status::Warn)) {
        (0, 0) => "everything is fine".to_owned(),
        (0, warnings) => format!("ready, with {warnings} to look at"),
        (failures, warnings) => format!("{failures} to mend first, {warnings} to look at"),
    })
}
