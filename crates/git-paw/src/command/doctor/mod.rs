//! `git paw doctor`: checks everything that a session needs, with a remedy for each problem.

mod configuration;
mod damage;
mod environment;
mod project;
mod state;

use std::process::ExitCode;

use clap::Args;
use paw_core::PawError;
use paw_core::text;
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::output::Style;

/// Check git, tmux, the sandbox, AI CLIs, gates, specs, the configuration and leftovers
///
/// Every finding has a remedy. The exit code is 1 if there are problems, and 0 if there are only warnings.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw doctor\n  git paw doctor --json\n  git paw doctor --repair")]
pub(crate) struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Set damaged files aside and rebuild what can be rebuilt, then check
    #[arg(long, conflicts_with = "json")]
    repair: bool,
}

/// From best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckStatus {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct DoctorCheck {
    group: &'static str,
    name: String,
    status: CheckStatus,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl DoctorCheck {
    fn ok(group: &'static str, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { group, name: name.into(), status: CheckStatus::Ok, detail: detail.into(), remedy: None }
    }

    /// Something that is fine and could be better.
    fn offer(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    fn warn(self, remedy: impl Into<String>) -> Self {
        Self { status: CheckStatus::Warn, remedy: Some(remedy.into()), ..self }
    }

    fn fail(self, remedy: impl Into<String>) -> Self {
        Self { status: CheckStatus::Fail, remedy: Some(remedy.into()), ..self }
    }
}

pub(crate) fn run(args: &DoctorArgs, context: &Context) -> Result<ExitCode, PawError> {
    let repo = context.find_repo();
    if args.repair {
        damage::repair(repo.as_ref().ok().and_then(Option::as_ref), context)?;
    }
    let found_repo = repo.as_ref().ok().and_then(Option::as_ref);
    let root = found_repo.map(|repo| repo.root.as_path());
    let mut checks = environment::check(context, &repo);
    let (found, config) = configuration::check(root, &context.dirs);
    checks.push(environment::check_sandbox(&config));
    checks.extend(environment::check_nats_server(&config, context));
    checks.push(environment::check_manual(context));
    checks.extend(found);
    checks.extend(root.map(|root| configuration::check_governance(&config, root)).unwrap_or_default());
    checks.extend(environment::check_clis(&config, context));
    if let Some(repo) = found_repo {
        checks.extend(project::check(&config, repo, context));
    }
    checks.extend(damage::check(found_repo, context));
    checks.extend(state::check(&config, found_repo, &context.dirs));

    let status = checks.iter().map(|check| check.status).max().unwrap_or(CheckStatus::Ok);
    if context.output.wants_json() {
        context.output.document(&json!({"status": status, "checks": checks}))?;
    } else {
        print(&checks, context)?;
    }
    Ok(if status == CheckStatus::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(checks: &[DoctorCheck], context: &Context) -> Result<(), PawError> {
    let width = checks.iter().map(|check| text::width(&check.name)).max().unwrap_or_default();
    let mut group = "";
    for check in checks {
        if check.group != group {
            group = check.group;
            context.output.say(&context.output.paint(Style::Bold, group))?;
        }
        let (mark, style) = match check.status {
            CheckStatus::Ok => ("ok", Style::Success),
            CheckStatus::Warn => ("warn", Style::Warning),
            CheckStatus::Fail => ("FAIL", Style::Error),
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
    context.output.say(&match (count(CheckStatus::Fail), count(CheckStatus::Warn)) {
        (0, 0) => "no problems found".to_owned(),
        (0, warnings) => text::plural(warnings, "warning"),
        (failures, warnings) => {
            format!("{}, {}", text::plural(failures, "problem"), text::plural(warnings, "warning"))
        }
    })
}
