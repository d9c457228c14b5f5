//! `git paw sweep` and `git paw tell`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use paw_testkit::{Sandbox, Terminal, wait_until};
use serde_json::{Value, json};

use super::World;
use crate::paw::{PROGRAM, document, paw};

/// A session whose agent waits for an approval that the monitor does not give.
fn waiting() -> World {
    let world = World::supervised("");
    world.submit("[[bash:git push --force ; say:finished]]");
    wait_until("the agent asks", || world.has_event("asked git push --force").then_some(()));
    wait_until("its screen shows the prompt", || {
        let swept = document(&world.paw(&["sweep", "status", "--json"]));
        (swept[0]["state"] == "waiting_approval").then_some(())
    });
    world
}

#[test]
fn sweep_shows_screens_states_and_requests_of_all_agents() {
    let world = waiting();
    let status = document(&world.paw(&["sweep", "status", "--json"]));
    assert_eq!(status[0]["agent"], "feat-x");
    assert_eq!(status[0]["pane"], world.pane().as_str());
    assert_eq!(status[0]["waits_for"], "git push --force");
    let stuck = world.paw(&["sweep", "detect-stuck"]);
    assert!(stuck.stdout.contains("waiting_approval"), "{stuck}");
    let shown = world.paw(&["sweep", "capture", "feat/x"]);
    assert!(shown.stdout.contains("Do you want to proceed?"), "{shown}");
    let snapshot = world.paw(&["sweep", "snapshot", "--lines", "3"]);
    assert!(snapshot.stdout.starts_with("=== feat-x (waiting_approval)\n"), "{snapshot}");
    assert!(snapshot.stdout.lines().count() <= 4, "{snapshot}");
    fs::write(world.worktree().join("new.txt"), "x").unwrap();
    let trees = document(&world.paw(&["sweep", "worktrees", "--json"]));
    assert_eq!((&trees[0]["changed"], &trees[0]["branch"]), (&json!(1), &json!("feat/x")));
    wait_until("the supervisor was asked", || {
        let inbox = document(&world.paw(&["sweep", "inbox", "--json"]));
        (inbox["messages"][0]["message"]["type"] == "agent.question").then_some(())
    });
}

#[test]
fn sweep_approve_presses_the_key_once_and_only_for_supervisor_or_user() {
    let mut world = waiting();
    world.sandbox.set("GIT_PAW_AGENT_ID", "feat-y");
    let ran = world.paw(&["sweep", "approve", "feat-x"]);
    assert_eq!(
        (ran.code, ran.stderr.contains("agent 'feat-y' is not allowed to approve")),
        (1, true),
        "{ran}"
    );
    world.sandbox.unset("GIT_PAW_AGENT_ID");
    let ran = world.paw(&["sweep", "approve", "feat-x"]);
    assert_eq!(ran.stdout, "approved for feat-x: git push --force\n", "{ran}");
    wait_until("the agent continues", || world.has_event("allowed git push --force").then_some(()));
    let allowed = ("git push --force".to_owned(), "allow".to_owned());
    assert!(world.verdicts().contains(&allowed), "{:?}", world.verdicts());
    wait_until("the agent is idle", || (world.phase() == "idle").then_some(()));
    let again = world.paw(&["sweep", "approve", "feat-x"]);
    assert!(again.code == 1 && again.stderr.contains("feat-x is not waiting for an approval"), "{again}");
    assert!(!world.agent.events().iter().any(|event| event == "key 1"));
}

#[test]
fn sweep_restart_starts_a_cli_that_exited_and_no_other() {
    let mut world = World::supervised("");
    wait_until("the agent is idle", || (world.phase() == "idle").then_some(()));
    let report = world.paw(&["report"]).stdout;
    assert_eq!(report, "nothing happened yet: no agent had anything verified, merged, asked or approved\n");
    let ran = world.paw(&["sweep", "restart", "feat-x"]);
    assert!(ran.code == 1 && ran.stderr.contains("the CLI of feat-x is still running"), "{ran}");
    world.submit("[[die]]");
    wait_until("the agent has exited", || (world.phase() == "exited").then_some(()));
    world.tmux(&["send-keys", "-t", &world.pane(), "-l", "rm -rf half-typed"]);
    world.sandbox.set("GIT_PAW_AGENT_ID", "feat-y");
    let ran = world.paw(&["sweep", "restart", "feat-x"]);
    assert!(ran.stderr.contains("agent 'feat-y' is not allowed to restart an agent"), "{ran}");
    world.sandbox.unset("GIT_PAW_AGENT_ID");
    let pane = world.pane();
    let ran = world.paw(&["sweep", "restart", "feat/x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "restarted feat-x\n"), "{ran}");
    wait_until("the agent is idle again", || (world.phase() == "idle").then_some(()));
    assert_eq!(world.agent.events().iter().filter(|event| *event == "ready").count(), 2);
    assert_eq!(world.pane(), pane, "it is the same pane");
    let tell = world.paw(&["tell", "feat-x", "--now", "[[say:continued as before]]"]);
    assert_eq!(tell.code, 0, "{tell}");
    wait_until("it takes prompts", || {
        let shown = world.paw(&["sweep", "capture", "feat-x"]).stdout;
        shown.lines().any(|line| line.contains("continued") && !line.contains("[[")).then_some(())
    });
}

#[test]
fn approve_and_deny_act_on_the_prompt_itself() {
    let world = waiting();
    let ran = world.paw(&["approve", "feat"]);
    assert!(ran.code != 0 && !world.has_event("allowed git push --force"), "it asks first: {ran}");
    // A look decides nothing, and a decision about another prompt is refused.
    let shown = document(&world.paw(&["approve", "feat-x", "--dry-run", "--json"]));
    assert_eq!(
        (&shown["text"], &shown["allowed"], &shown["refused"]),
        (&json!("git push --force"), &json!(false), &Value::Null),
        "{shown}"
    );
    for verb in [&["approve", "--yes"][..], &["deny"]] {
        let other = world.paw(&[verb, &["feat-x", "--expect", "git push"]].concat());
        assert!(other.code == 1 && other.stderr.contains("the prompt of feat-x has changed"), "{other}");
    }
    let ran =
        world.paw(&["deny", "feat/x", "--tell", "push to your own branch", "--expect=git push --force"]);
    assert_eq!(ran.stdout, "denied for feat-x: git push --force\n", "{ran}");
    wait_until("the agent was refused", || world.has_event("denied git push --force").then_some(()));
    let report = world.paw(&["report"]).stdout;
    assert!(report.ends_with("needed you 1 time\n  feat-x: denied: git push --force\n"), "{report}");
    let report = document(&world.paw(&["report", "--json"]));
    assert_eq!((&report["needed_you"], &report["decisions"][0]["kind"]), (&json!(1), &json!("denied")));
    let told = json!(["[directive] push to your own branch"]).to_string();
    wait_until("the agent was told", || {
        world.messages("agent.feedback", "errors").contains(&told).then_some(())
    });
    wait_until("the question is closed", || {
        let status = document(&world.paw(&["status", "--json"]));
        (status["questions"] == json!([])).then_some(())
    });
    let again = world.paw(&["deny", "feat-x"]);
    assert!(again.code == 1 && again.stderr.contains("is not waiting for an approval"), "{again}");

    world.submit("[[bash:rm -rf build ; say:finished]]");
    wait_until("it asks again", || world.has_event("asked rm -rf build").then_some(()));
    wait_until("the prompt is approved", || {
        (world.paw(&["approve", "x", "--yes"]).stdout == "approved for feat-x: rm -rf build\n").then_some(())
    });
    wait_until("the agent continues", || world.has_event("allowed rm -rf build").then_some(()));
}

#[test]
fn approve_shows_the_whole_command_and_the_verdict_before_it_asks() {
    let world = waiting();
    let mut terminal = Terminal::run(&world.sandbox, &world.repo.root, PROGRAM, &["approve", "feat-x"]);
    terminal.wait_for("Approve it once?");
    let shown = terminal.shown();
    for part in ["feat-x (claude) wants:", "git push --force", "not allowed automatically"] {
        assert!(shown.contains(part), "{shown}");
    }
    terminal.send("n\r");
    assert_eq!(terminal.finish(), 2);
    assert!(!world.has_event("allowed git push --force"));
}

#[test]
fn sweep_feedback_and_directives_reach_the_agent_with_tags() {
    let world = World::supervised("");
    wait_until("the broker is running", || {
        let status = document(&world.paw(&["status", "--json"]));
        (status["broker"]["running"] == json!(true)).then_some(())
    });
    let sent = |args: &[&str]| assert_eq!(world.paw(args).stdout, "sent to feat-x\n", "{args:?}");
    sent(&["sweep", "feedback", "feat-x", "testing", "lex::numbers fails"]);
    sent(&["sweep", "verified", "feat-x", "all gates pass"]);
    sent(&["tell", "feat/x", "--inbox", "use bcrypt"]);
    let tagged = |text: &str| json!([text]).to_string();
    let expected = [tagged("[testing] lex::numbers fails"), tagged("[directive] use bcrypt")];
    // The monitor may have sent messages, too.
    wait_until("all messages are stored", || {
        let sent = world.messages("agent.feedback", "errors");
        expected.iter().all(|text| sent.contains(text)).then_some(())
    });
    let head = world.repo.git(["rev-parse", "HEAD"]);
    assert_eq!(world.messages("agent.verified", "commit"), [head]);
}

#[test]
fn tell_types_into_the_pane_of_an_idle_agent_and_sends_a_message_to_a_busy_one() {
    let world = World::supervised("");
    let pending = || document(&world.paw(&["status", "--json"]))["worktrees"][0]["prompt"].clone();
    wait_until("the agent got its first prompt", || (pending() == json!("delivered")).then_some(()));
    wait_until("the agent is idle", || (world.phase() == "idle").then_some(()));
    let ran = world.paw(&["tell", "feat-x", "[[wait]]"]);
    assert_eq!(ran.stdout, "typed into the pane of feat-x\n", "{ran}");
    wait_until("the agent works", || (world.phase() == "working").then_some(()));
    let ran = world.paw(&["tell", "--all", "use bcrypt"]);
    assert_eq!(ran.stdout, "sent to feat-x\n", "{ran}");
    let ran = world.paw(&["tell", "--all", "feat-x", "use bcrypt"]);
    assert!(ran.code == 1 && ran.stderr.contains("--all takes only the text"), "{ran}");
}

#[test]
fn tell_now_types_into_the_pane() {
    let world = World::supervised("");
    wait_until("the agent got its first prompt", || (!world.agent.prompts().is_empty()).then_some(()));
    let ran = world.paw(&["tell", "feat-x", "--now", "skip the migration"]);
    assert_eq!(ran.stdout, "typed into the pane of feat-x\n", "{ran}");
    assert_eq!(world.agent.prompts().last().map(String::as_str), Some("skip the migration"));
}

#[test]
fn tell_refuses_empty_text_and_names_unknown_agents() {
    let world = World::supervised("");
    let ran = world.paw(&["tell", "feat-z", "hello"]);
    assert!(ran.stderr.contains("the session has no agent 'feat-z'\nhint: agents: feat/x"), "{ran}");
    assert!(world.paw(&["tell", "feat-x", " "]).stderr.contains("the text is empty"));
    let error = document(&world.paw(&["sweep", "capture", "nobody", "--json"]));
    assert!(error["error"]["message"].is_string(), "{error}");
}

#[test]
fn init_writes_the_sweep_script_and_keeps_an_existing_one() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    assert_eq!(paw(&sandbox, &repo.root, &["init"]).code, 0);
    let script = repo.root.join(".git-paw/scripts/sweep.sh");
    assert!(fs::read_to_string(&script).unwrap().ends_with("exec git paw sweep \"$@\"\n"));
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o111, 0o111);
    fs::write(&script, "mine\n").unwrap();
    assert_eq!(paw(&sandbox, &repo.root, &["init"]).code, 0);
    assert_eq!(fs::read_to_string(&script).unwrap(), "mine\n");
}

#[test]
fn explain_uses_the_agents_hook_events() {
    let world = World::supervised("");
    wait_until("the agent got its first prompt", || (!world.agent.prompts().is_empty()).then_some(()));
    let record = json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"});
    assert_eq!(world.hook(&record.to_string()).code, 0);
    let explained = document(&world.paw(&["explain", "feat-x", "--json"]));
    let expected = json!({"state": "idle", "reason": "the conversation started", "source": "hooks"});
    assert_eq!(explained, expected);
    assert!(matches!(explained, Value::Object(_)));
}
