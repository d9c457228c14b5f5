//! What the process of one task is told: what we were told, save what is decided for it.

use paw_autopilot::fleet::run::Begin;
use paw_autopilot::tasks::TaskId;

use super::super::{AutopilotArgs, budget};

pub(super) fn flags(args: &AutopilotArgs, begin: &Begin<'_>) -> Vec<String> {
    let mut flags = vec!["autopilot".to_owned(), "--json".into(), "--no-confirm".into()];
    let mut put = |name: &str, value: Option<String>| {
        flags.extend(value.map(|value| format!("--{name}={value}")));
    };
    put("executor", args.executor.clone());
    put("max-attempts", args.max_attempts.map(|times| times.to_string()));
    put("budget", args.budget.as_ref().map(budget::words));
    let force: Vec<&str> = args.force.iter().map(|what| what.as_str()).collect();
    put("force", (!force.is_empty()).then(|| force.join(",")));
    if let Begin::New { tag, built_on, .. } = begin {
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
        ("--resume", *begin == Begin::Resume),
    ];
    flags.extend(switches.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name.to_owned()));
    if let Begin::New { task, .. } = begin {
        // An id never begins with a dash.
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
    fn everything_that_was_said_is_said_again_and_understood() {
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
        let told = flags(&args, &Begin::New { task: &task, tag: &tag, built_on: &built_on });
        let words: Vec<&str> = told[1..].iter().map(String::as_str).collect();
        let heard = parse(&words);
        assert_eq!((heard.tasks, heard.built_on), (vec!["43".to_owned()], vec![built_on[0].clone()]));
        assert_eq!(
            (heard.executor, heard.max_attempts, heard.budget),
            (args.executor.clone(), Some(5), args.budget)
        );
        assert_eq!(
            (heard.runner, heard.commit_scope, heard.tag),
            (args.runner.clone(), args.commit_scope.clone(), Some("web".into()))
        );
        assert_eq!((heard.force, heard.no_push, heard.no_pr), (args.force.clone(), true, false));
        assert!(
            heard.json
                && heard.no_confirm
                && heard.trust
                && heard.executor_mode
                && heard.pane
                && !heard.resume
        );
        let again = flags(&args, &Begin::Resume);
        let words: Vec<&str> = again[1..].iter().map(String::as_str).collect();
        let resumed = parse(&words);
        assert!(resumed.resume && resumed.tasks.is_empty() && resumed.tag.is_none());
    }
}
