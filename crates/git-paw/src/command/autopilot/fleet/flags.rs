//! The flags of one task's process: the flags of this command, plus the task.

use paw_autopilot::fleet::run::TaskStart;
use paw_autopilot::tasks::TaskId;

use super::super::{AutopilotArgs, budget};

pub(super) fn flags(args: &AutopilotArgs, begin: &TaskStart<'_>) -> Vec<String> {
    let mut flags = vec!["autopilot".to_owned(), "--json".into(), "--no-confirm".into()];
    let mut put = |name: &str, value: Option<String>| {
        flags.extend(value.map(|value| format!("--{name}={value}")));
    };
    put("executor", args.executor.clone());
    put("max-attempts", args.max_attempts.map(|times| times.to_string()));
    put("budget", args.budget.as_ref().map(budget::words));
    let force: Vec<&str> = args.force.iter().map(|what| what.as_str()).collect();
    put("force", (!force.is_empty()).then(|| force.join(",")));
    if let TaskStart::New { tag, built_on, .. } = begin {
        put("runner", args.runner.clone());
        put("commit-scope", args.commit_scope.clone());
        put("tag", Some(tag.to_string()));
        let built_on: Vec<&str> = built_on.iter().map(TaskId::as_str).collect();
        put("built-on", (!built_on.is_empty()).then(|| built_on.join(",")));
    }
    let switches = [
        ("--no-push", args.no_push),
        ("--no-pr", args.no_pr),
        ("--executor-mode", args.executor_mode),
        ("--pane", args.pane),
        ("--trust", args.trust),
        ("--resume", *begin == TaskStart::Resume),
    ];
    flags.extend(switches.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name.to_owned()));
    if let TaskStart::New { task, .. } = begin {
        // A task id never starts with a dash.
        flags.push(task.to_string());
    }
    flags
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use paw_autopilot::tasks::TagName;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: AutopilotArgs,
    }

    fn parse(words: &[&str]) -> AutopilotArgs {
        Line::try_parse_from(std::iter::once("autopilot").chain(words.iter().copied())).unwrap().args
    }

    #[test]
    fn task_flags_parse_back_to_the_original_arguments() {
        let args = parse(&[
            "42",
            "43",
            "--parallel",
            "2",
            "--executor",
            "codex",
            "--max-attempts",
            "5",
            "--budget",
            "30m,$2.50",
            "--force=coverage",
            "--runner",
            "npm test --",
            "--commit-scope=-x",
            "--no-push",
            "--executor-mode",
            "--pane",
            "--trust",
        ]);
        let (task, tag) = (TaskId::new("43").unwrap(), TagName::new("web").unwrap());
        let built_on = [TaskId::new("42").unwrap()];
        let passed_on = flags(&args, &TaskStart::New { task: &task, tag: &tag, built_on: &built_on });
        let words: Vec<&str> = passed_on[1..].iter().map(String::as_str).collect();
        let parsed = parse(&words);
        assert_eq!((parsed.tasks, parsed.built_on), (vec!["43".to_owned()], vec![built_on[0].clone()]));
        assert_eq!(
            (parsed.executor, parsed.max_attempts, parsed.budget),
            (args.executor.clone(), Some(5), args.budget)
        );
        assert_eq!(
            (parsed.runner, parsed.commit_scope, parsed.tag),
            (args.runner.clone(), args.commit_scope.clone(), Some("web".into()))
        );
        assert_eq!((parsed.force, parsed.no_push, parsed.no_pr), (args.force.clone(), true, false));
        assert!(
            parsed.json
                && parsed.no_confirm
                && parsed.trust
                && parsed.executor_mode
                && parsed.pane
                && !parsed.resume
        );
        let again = flags(&args, &TaskStart::Resume);
        let words: Vec<&str> = again[1..].iter().map(String::as_str).collect();
        let resumed = parse(&words);
        assert!(resumed.resume && resumed.tasks.is_empty() && resumed.tag.is_none());
    }
}
