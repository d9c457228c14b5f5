//! Keys that act on agents: approve, deny, go there, changes, tell, verify, merge, pause, remove.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::SignedDuration;
use paw_screen::dashboard::{
    AgentAction, DashboardEvent, DashboardHost, DashboardOptions, DashboardRequest, DashboardUpdate,
    ShownPrompt,
};
use paw_view::{AgentState, Observation, StateSource, ViewEvent};

use crate::sample::{self, id};
use crate::test_dashboard::{TestDashboard, now};

const COMMAND: &str = "cargo publish --token \"$TOKEN\"";

/// The observed state of an agent, some seconds after `now`.
fn seen(agent: &str, second: i64, state: AgentState, waits_for: Option<&str>) -> DashboardUpdate {
    let at = now() + SignedDuration::from_secs(second);
    let waits_for = waits_for.map(str::to_owned);
    let (source, reason) = (StateSource::Hooks, "the agent requests an approval".to_owned());
    let seen = Observation { state, since: at, at, source, reason, waits_for };
    DashboardUpdate::View(ViewEvent::Observed { agent: id(agent), seen })
}

fn prompt(number: u64, text: &str) -> ShownPrompt {
    ShownPrompt {
        id: number,
        cli: "claude".to_owned(),
        text: text.to_owned(),
        allowed: false,
        reason: "`cargo publish` is not on the allowlist".to_owned(),
        refusal: None,
    }
}

fn shown(agent: &str, prompt: ShownPrompt) -> DashboardUpdate {
    DashboardUpdate::Prompt { agent: id(agent), found: Ok(prompt) }
}

/// A dashboard in which feat-api waits for an approval, with its prompt open.
fn at_prompt(text: &str) -> TestDashboard {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.update(seen("feat-api", 0, AgentState::WaitingApproval, Some(text)));
    dashboard.keys("a");
    assert_eq!(dashboard.requests.pop(), Some(DashboardRequest::ReadPrompt(id("feat-api"))));
    dashboard.update(shown("feat-api", prompt(7, text)));
    dashboard
}

fn replied(dashboard: &TestDashboard) -> Vec<(u64, bool)> {
    let reply = |request: &DashboardRequest| match request {
        DashboardRequest::Reply { prompt, approve, .. } => Some((*prompt, *approve)),
        _ => None,
    };
    dashboard.requests.iter().filter_map(reply).collect()
}

#[test]
fn an_approval_shows_the_whole_command_and_the_verdict_before_any_key_answers_it() {
    let mut dashboard = at_prompt(COMMAND);
    assert!(dashboard.shows("feat-api (claude) wants") && dashboard.shows(COMMAND));
    assert!(dashboard.shows("not allowed automatically: `cargo publish` is not on the allowlist"));
    assert_eq!(replied(&dashboard), []);
    dashboard.keys("a");
    assert_eq!(replied(&dashboard), [(7, true)]);
    dashboard.keys("a");
    assert_eq!(replied(&dashboard), [(7, true)], "one answer per prompt");
    dashboard
        .update(DashboardUpdate::Replied { agent: id("feat-api"), done: Ok("approved for feat-api".into()) });
    assert!(dashboard.shows("approved for feat-api") && !dashboard.shows("wants"));
}

#[test]
fn the_prompt_of_the_supervisor_is_answered_like_that_of_an_agent() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.update(seen("supervisor", 0, AgentState::WaitingApproval, Some(COMMAND)));
    dashboard.keys("n");
    dashboard.keys("a");
    assert_eq!(dashboard.requests.pop(), Some(DashboardRequest::ReadPrompt(id("supervisor"))));
    dashboard.update(shown("supervisor", prompt(3, COMMAND)));
    dashboard.keys("a");
    assert_eq!(replied(&dashboard), [(3, true)]);
}

#[test]
fn a_prompt_that_is_still_being_read_cannot_be_answered() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.update(seen("feat-api", 0, AgentState::WaitingApproval, Some(COMMAND)));
    dashboard.keys("aaad");
    assert_eq!(replied(&dashboard), []);
    let control = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::CONTROL);
    dashboard.update(shown("feat-api", prompt(7, COMMAND))).on(DashboardEvent::Key(control));
    assert_eq!(replied(&dashboard), []);
    dashboard.keys("d");
    assert_eq!(replied(&dashboard), [(7, false)]);
}

#[test]
fn a_long_command_is_approved_only_after_its_end_was_shown() {
    let long = "echo step \\\n".repeat(60);
    let mut dashboard = at_prompt(&format!("{long}rm -rf ~"));
    assert!(dashboard.shows("lines more below") && !dashboard.shows("rm -rf ~"));
    dashboard.keys("a");
    assert_eq!(replied(&dashboard), []);
    assert!(dashboard.shows("scroll to the end of the command first"));
    dashboard.keys("G");
    assert!(dashboard.shows("rm -rf ~"));
    dashboard.keys("a");
    assert_eq!(replied(&dashboard), [(7, true)]);
}

#[test]
fn hidden_characters_of_a_command_are_spelled_out() {
    let mut dashboard = at_prompt("ls \u{202e}fr- mr\u{1b}[2J");
    assert!(dashboard.shows(r"ls \u{202e}fr- mr\u{1b}[2J"), "{}", dashboard.screen());
}

#[test]
fn a_prompt_that_changed_is_read_again_and_needs_another_key() {
    let mut dashboard = at_prompt(COMMAND);
    dashboard.keys("a");
    let done = Err("the prompt of feat-api has changed; no key was pressed".into());
    dashboard.update(DashboardUpdate::Replied { agent: id("feat-api"), done });
    assert!(dashboard.shows("no key was pressed") && dashboard.shows("reading its pane"));
    assert_eq!(dashboard.requests.last(), Some(&DashboardRequest::ReadPrompt(id("feat-api"))));
    dashboard.keys("a");
    assert_eq!(replied(&dashboard).len(), 1);
    dashboard.update(shown("feat-api", prompt(8, "make deploy")));
    assert!(dashboard.shows("make deploy") && !dashboard.shows(COMMAND));
}

#[test]
fn a_prompt_that_was_answered_in_the_pane_closes() {
    let mut dashboard = at_prompt(COMMAND);
    dashboard.now = now() + SignedDuration::from_secs(3);
    dashboard.update(seen("feat-api", 2, AgentState::Working, None));
    assert!(dashboard.shows("the prompt of feat-api was answered") && !dashboard.shows("wants"));
    assert!(!dashboard.shows("needs approval"));
    // An older observation says nothing about a prompt that was read after it.
    let mut dashboard = at_prompt(COMMAND);
    dashboard.update(seen("feat-auth", 2, AgentState::Working, None));
    assert!(dashboard.shows(COMMAND));
}

#[test]
fn an_approval_cannot_be_answered_with_a_text() {
    let text = "[approval] feat-api wants: cargo publish (not approved automatically: because)";
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.update(sample::question(50, now(), "feat-api", text));
    assert!(dashboard.line("! feat-api").contains("approve"), "{}", dashboard.screen());
    for keys in ["nnr", "nn\n", "6r"] {
        let mut dashboard = TestDashboard::of_session(100, 30);
        dashboard.update(sample::question(50, now(), "feat-api", text));
        for letter in keys.chars() {
            let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
            dashboard.key(code);
        }
        if keys != "6r" {
            assert_eq!(
                dashboard.requests.last(),
                Some(&DashboardRequest::ReadPrompt(id("feat-api"))),
                "{keys:?}"
            );
        }
        dashboard.keys("yes").key(KeyCode::Enter);
        assert!(dashboard.answers.iter().all(|answer| !answer.quoted.starts_with("[approval]")), "{keys:?}");
    }
    // An answer to the agent's question leaves the approval open.
    dashboard.update(sample::answer(51, now(), "feat-api", "yes", None));
    assert!(dashboard.shows("! feat-api"));
}

#[test]
fn enter_goes_to_the_pane_of_the_selected_agent() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.update(seen("feat-search", 0, AgentState::WaitingInput, None));
    dashboard.key(KeyCode::Enter);
    assert_eq!(
        dashboard.requests.last(),
        Some(&DashboardRequest::Jump(id("feat-auth"))),
        "the longest waiting"
    );
    dashboard.keys("nn").key(KeyCode::Enter);
    assert_eq!(dashboard.requests.last(), Some(&DashboardRequest::Jump(id("feat-search"))));
    let options = DashboardOptions { host: DashboardHost::Attached, ..sample::options() };
    let mut attached = TestDashboard::with(options, sample::session(now()), 100, 30);
    attached.key(KeyCode::Enter);
    assert_eq!(attached.attached, Some(id("feat-auth")));
}

#[test]
fn the_pane_of_the_selected_agent_is_followed_while_it_is_shown() {
    let previews = |dashboard: &mut TestDashboard| std::mem::take(&mut dashboard.requests);
    let wanted = |agent: &str| [DashboardRequest::Preview(Some(id(agent)))];
    let mut dashboard = TestDashboard::of_session(100, 40);
    dashboard.keys("jk");
    assert_eq!(previews(&mut dashboard), [], "a small screen shows it only on request");
    dashboard.keys("p");
    assert_eq!(previews(&mut dashboard), wanted("feat-auth"));
    let rows = ["$ cargo test".to_owned(), "  3 passed".to_owned(), String::new()];
    dashboard.update(DashboardUpdate::Preview { agent: id("feat-auth"), rows: rows.to_vec() });
    assert!(dashboard.shows("pane of feat-auth") && dashboard.shows("  3 passed"));
    dashboard.keys("G");
    assert_eq!(previews(&mut dashboard), wanted("fix-checkout-rounding"));
    assert!(!dashboard.shows("  3 passed"), "the pane of another agent is not shown");
    dashboard.keys("?");
    assert_eq!(
        previews(&mut dashboard),
        [DashboardRequest::Preview(None)],
        "nothing is read for a hidden panel"
    );
    let mut wide = TestDashboard::of_session(200, 50);
    wide.on(DashboardEvent::Wake);
    assert_eq!(previews(&mut wide), wanted("feat-auth"));
}

#[test]
fn verify_runs_at_once_and_what_destroys_asks_first() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("v");
    let Some(DashboardRequest::Run(job)) = dashboard.requests.pop() else { panic!() };
    assert_eq!((job.title().as_str(), &job.action), ("verify feat/auth", &AgentAction::Verify));
    assert!(dashboard.shows("verify feat/auth is running"));
    dashboard.update(DashboardUpdate::Progress { job: job.clone(), line: "running test".into() });
    assert!(dashboard.shows("verify feat/auth is running: running test"));
    dashboard.keys("v");
    assert_eq!(dashboard.requests, [], "once at a time");
    let output = ["GATE  RESULT", "test  failed", "failed feat/auth at 1234567"].map(str::to_owned).to_vec();
    dashboard.update(DashboardUpdate::Ended { job, success: false, output });
    assert!(dashboard.shows("verify feat/auth failed") && dashboard.shows("test  failed"));
    dashboard.key(KeyCode::Esc);
    for (key, text) in [("m", "merge feat/auth?"), ("X", "remove feat/auth?"), ("P", "pause?")] {
        dashboard.keys(key);
        assert!(dashboard.shows(text) && dashboard.requests.is_empty(), "{key}: {}", dashboard.screen());
        dashboard.keys("z").key(KeyCode::Enter);
        assert!(dashboard.shows(text), "only y means yes");
        dashboard.key(KeyCode::Esc);
        assert!(!dashboard.shows(text) && dashboard.requests.is_empty());
    }
    dashboard.keys("Xy");
    let Some(DashboardRequest::Run(job)) = dashboard.requests.pop() else { panic!() };
    assert_eq!(job.action, AgentAction::Remove);
    let output = vec!["removed the agent of feat/auth; kept the branch".to_owned()];
    dashboard.update(DashboardUpdate::Ended { job, success: true, output });
    assert!(dashboard.shows("removed the agent of feat/auth; kept the branch"));
}

#[test]
fn t_tells_an_agent_and_readline_keys_edit_the_text() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("tuse md5 ");
    for letter in ['w', 'w'] {
        dashboard.on(DashboardEvent::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)));
    }
    dashboard.on(DashboardEvent::Key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL)));
    dashboard.key(KeyCode::Enter);
    assert!(dashboard.requests.is_empty() && dashboard.shows("the text is empty"));
    dashboard.keys("use bcrypt").key(KeyCode::Enter);
    let Some(DashboardRequest::Run(job)) = dashboard.requests.pop() else { panic!() };
    assert_eq!(job.action, AgentAction::Tell("use bcrypt".to_owned()));
}

#[test]
fn changes_are_read_once_per_file_and_scroll() {
    let mut dashboard = TestDashboard::of_session(120, 40);
    dashboard.keys("c");
    assert_eq!(dashboard.requests.pop(), Some(DashboardRequest::ReadChanges(id("feat-auth"))));
    dashboard.update(sample::changes("feat-auth"));
    let Some(DashboardRequest::ReadPatch { file, .. }) = dashboard.requests.pop() else { panic!() };
    assert_eq!(file.path.to_str(), Some("src/auth.rs"));
    dashboard.update(sample::patch("feat-auth", "src/auth.rs", 200));
    assert!(dashboard.shows("+line 1 of src/auth.rs") && dashboard.shows("more below"));
    dashboard.key(KeyCode::Tab).keys("G");
    assert!(dashboard.shows("+line 200 of src/auth.rs"));
    dashboard.keys("n");
    let Some(DashboardRequest::ReadPatch { file, .. }) = dashboard.requests.pop() else { panic!() };
    assert_eq!(file.path.to_str(), Some("src/token.rs"));
    dashboard.update(sample::patch("feat-auth", "src/auth.rs", 3));
    assert!(dashboard.shows("reading"), "the patch of another file is not shown");
    dashboard.key(KeyCode::Esc).key(KeyCode::Esc);
    assert!(dashboard.shows("agents 5"));
}
