//! `--dry-run`: prints the plan. Asks nothing, runs no test, writes nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use paw_autopilot::executor::ExecutorError;
use paw_autopilot::work::finish::FinalCommands;
use paw_autopilot::work::plan::PlannedStep;
use paw_autopilot::work::{self, PlanCheck, ProjectContext, RunOptions, RunPlan};
use paw_core::PawError;
use paw_core::text::plural;
use serde_json::json;

use super::AutopilotArgs;
use super::format::line;
use crate::approval::autopilot as approved;
use crate::context::Context;
use crate::output::Style;

pub(super) fn run(
    args: &AutopilotArgs,
    site: &ProjectContext,
    context: &Context,
) -> Result<ExitCode, PawError> {
    let config = approved::approved_config(&site.repo, context)?;
    let executor = approved::choose(args.executor.as_deref(), &config, context);
    let tools = match &executor {
        Ok(executor) => vec![executor.program()],
        Err(ExecutorError::NotInstalled(name)) => vec![name.clone()],
        Err(_) => Vec::new(),
    };
    let options = args.options(site);
    let commands = FinalCommands::from(config);
    let mut plan = work::plan(site, &options, &tools, &commands)?;
    // The list of tools already names a missing program.
    if let Err(error) = executor
        && !matches!(error, ExecutorError::NotInstalled(_))
    {
        let words = error.to_string();
        plan.checks.push(PlanCheck {
            ok: false,
            needed: true,
            words: words.lines().next().unwrap_or_default().to_owned(),
        });
    }
    if context.output.wants_json() {
        context
            .output
            .document(&json!({"dryRun": true, "plan": plan, "ready": plan.problems().is_empty()}))?;
    } else {
        show(&plan, &finalization(&plan, &options, &commands, args.no_confirm), context)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(plan: &RunPlan, last: &[String], context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let title = format!("Autopilot Plan for Task #{} [{}]: {}", plan.task_id, plan.tag, line(&plan.title));
    output.say(&output.paint(Style::Bold, &title))?;
    output.say(&"─".repeat(61))?;
    output.say("Preflight:")?;
    for check in &plan.checks {
        let (mark, style) = if check.ok { ("✓", Style::Success) } else { ("✗", Style::Error) };
        output.say(&format!("  {} {}", output.paint(style, mark), line(&check.words)))?;
    }
    output.say("Branch & Tag:")?;
    let verb = if plan.on_branch_already { "Continue on branch" } else { "Create branch" };
    let instead = plan
        .instead_of
        .as_ref()
        .map(|preferred| format!(" (cannot create {preferred} next to the existing branches)"));
    output.say(&format!("  → {verb}: {}{}", plan.branch, instead.unwrap_or_default()))?;
    output.say(&format!("  → Set active tag: {}", plan.tag))?;
    output.say(&format!("Subtasks ({} pending):", plan.subtasks.len()))?;
    if plan.needs_subtasks {
        output.say("  none yet")?;
    }
    for (step, number) in plan.subtasks.iter().zip(1..) {
        subtask(step, number, context)?;
    }
    output.say("Finalization:")?;
    last.iter().try_for_each(|step| output.say(&format!("  → {step}")))?;
    output.say("Run without --dry-run to execute.")
}

fn subtask(step: &PlannedStep, number: usize, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let depends: Vec<String> = step.depends_on.iter().map(ToString::to_string).collect();
    let depends =
        if depends.is_empty() { String::new() } else { format!(" [depends on {}]", depends.join(", ")) };
    output.say(&format!("  {number}. {}: {}{depends}", step.id, line(&step.title)))?;
    let named = |paths: &[PathBuf], with: &str, without: &str| {
        let shown: Vec<String> = paths.iter().map(|path| line(&path.display().to_string())).collect();
        if shown.is_empty() { without.to_owned() } else { format!("{with} {}", shown.join(", ")) }
    };
    output
        .say(&format!("     - RED: {}", named(&step.tests, "generate tests in", "generate failing tests")))?;
    output.say(&format!("     - GREEN: {}", named(&step.files, "implement", "make them pass")))?;
    output.say(&format!("     - COMMIT: \"{}\"", line(&step.commit)))
}

/// The steps after the last subtask.
fn finalization(
    plan: &RunPlan,
    options: &RunOptions,
    commands: &FinalCommands,
    no_confirm: bool,
) -> Vec<String> {
    let own = [("Format", &commands.format), ("Lint", &commands.lint)].into_iter();
    let own = own.filter_map(|(title, command)| Some(format!("{title}: {}", line(command.as_ref()?))));
    let mut steps: Vec<String> = own.collect();
    let tests = plan.test_command.as_deref().unwrap_or("no test command");
    steps.push(format!("Run full test suite: {}", line(tests)));
    let title = if plan.coverage.gate { "Check coverage" } else { "No coverage gate" };
    steps.push(format!("{title}: {}", line(&plan.coverage.words)));
    let asks = if no_confirm { "" } else { " (will confirm)" };
    steps.push(match (&plan.remote, options.push) {
        (Some(remote), true) => format!("Push branch to {remote}{asks}"),
        (None, true) => "Pause before the push: no remote".to_owned(),
        (_, false) => format!("Keep {} on branch {}", plural(plan.subtasks.len(), "commit"), plan.branch),
    });
    if options.pull_request {
        let base = plan.base.as_deref().unwrap_or("the default branch");
        steps.push(format!("Create PR targeting {base}"));
    }
    steps
}
