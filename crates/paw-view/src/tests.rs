use std::sync::Arc;

use jiff::Timestamp;
use paw_broker::record::AgentRecords;
use paw_broker::{Message, SessionId, StoredMessage, route, watch};
use paw_core::{AgentId, BranchName};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    AgentState, AgentUsage, BranchTip, CliState, ConflictKind, NeedKind, Observation, PromptDelivery,
    SessionFacts, SessionMember, SessionSnapshot, SessionView, StateSource, StatusCategory, SupervisorView,
    TipVerification, ViewChanges, ViewEvent, WorktreeState,
};

fn id(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_second(i64::try_from(second).unwrap()).unwrap()
}

fn stored(seq: u64, message: Message) -> Arc<StoredMessage> {
    let (session, sender) = (SessionId::new("s"), route::sender(&message).clone());
    Arc::new(StoredMessage { seq, at: at(seq), session, sender, message })
}

fn message(name: &str, agent: &str, payload: &Value) -> Message {
    Message::from_json(json!({"type": name, "agent_id": agent, "payload": payload})).unwrap()
}

fn status(agent: &str, payload: &Value) -> Message {
    message("agent.status", agent, payload)
}

fn warning(you: &str, other: &str, kind: &str, level: &str) -> Message {
    let facts = json!({"kind": kind, "level": level, "you": you, "other": other,
        "files": [{"path": "a.rs", "your_lines": [[1, 2]], "their_lines": [[7, 9]]}]});
    message(
        "agent.feedback",
        you,
        &json!({"from": "supervisor", "errors": ["both change a.rs"], "conflict": facts}),
    )
}

/// Applies messages, numbered from 1.
fn view(messages: Vec<Message>) -> SessionView {
    let mut view = SessionView::new(50);
    apply(&mut view, messages, 1);
    view
}

fn apply(view: &mut SessionView, messages: Vec<Message>, first: u64) -> ViewChanges {
    let mut changes = ViewChanges::default();
    for (seq, message) in (first..).zip(messages) {
        changes = view.apply(ViewEvent::Message(stored(seq, message)));
    }
    changes
}

fn members(names: &[&str]) -> ViewEvent {
    let member = |name: &&str| {
        let branch = BranchName::new(name.replacen('-', "/", 1)).unwrap();
        (id(name), SessionMember::new(branch, "codex"))
    };
    ViewEvent::Members(names.iter().map(member).collect())
}

fn seen(second: u64, state: AgentState, source: StateSource) -> Observation {
    let reason = String::new();
    Observation { state, since: at(second), at: at(second), source, reason, waits_for: None }
}

#[test]
fn an_agent_at_its_prompt_is_idle_even_with_changed_files() {
    let idle = json!({"status": "idle", "phase": "idle"});
    let view_of = |second: Value| view(vec![status("feat-x", &idle), status("feat-x", &second)]);
    let view = view_of(json!({"status": "working"}));
    assert_eq!(view.agents[0].status(), (StatusCategory::Idle, "idle"));
    let view = view_of(json!({"status": "working", "phase": "tests"}));
    assert_eq!(view.agents[0].status(), (StatusCategory::Working, "tests"));
}

#[test]
fn a_status_text_does_not_repeat_the_phase() {
    let text = |payload: Value| view(vec![status("feat-x", &payload)]).messages[0].text.clone();
    assert_eq!(text(json!({"status": "idle", "phase": "idle"})), "idle");
    assert_eq!(text(json!({"status": "working", "phase": "tests"})), "working (tests)");
}

#[test]
fn an_agent_that_left_is_removed_with_its_conflicts_until_it_returns() {
    let mut view = SessionView::new(50);
    view.apply(members(&["feat-x"]));
    let working = json!({"status": "working"});
    apply(&mut view, vec![status("feat-y", &working), warning("feat-y", "feat-x", "forward", "overlap")], 1);
    assert_eq!((view.listed().count(), view.conflicts.len()), (2, 1));
    let gone = stored(3, watch::gone_message(&id("feat-x")));
    view.apply(ViewEvent::Message(Arc::clone(&gone)));
    assert_eq!((view.listed().count(), view.conflicts.len()), (1, 0));
    apply(&mut view, vec![status("feat-x", &working)], 4);
    assert_eq!(view.listed().count(), 2);
    assert_eq!(view.apply(ViewEvent::Message(gone)), ViewChanges::default());
    assert_eq!(view.listed().count(), 2);
}

#[test]
fn answered_prompt_is_not_the_last_message_of_its_agent() {
    let asked = |text: &str| message("agent.question", "feat-x", &json!({"question": text}));
    let view = view(vec![asked("which port?"), asked("[approval] feat-x wants: make deploy")]);
    assert_eq!(view.agents[0].last_message, "which port?");
}

#[test]
fn an_agent_in_newer_records_survives_a_replay_of_its_departure() {
    let records: AgentRecords = view(vec![status("feat-x", &json!({"status": "working"}))])
        .agents
        .into_iter()
        .filter_map(|agent| agent.reported)
        .collect();
    let mut view = SessionView::new(50);
    view.apply(ViewEvent::Records { records, seq: 9 });
    let asked = message("agent.question", "feat-x", &json!({"question": "why?"}));
    apply(&mut view, vec![asked, watch::gone_message(&id("feat-x"))], 1);
    assert_eq!((view.listed().count(), view.agents[0].last_message.as_str()), (1, ""));
    assert!(view.questions.is_empty());
}

#[test]
fn members_keep_the_order_of_the_session_and_other_senders_follow_by_id() {
    let mut view = SessionView::new(50);
    apply(
        &mut view,
        ["feat-z", "feat-b", "feat-a"].map(|name| status(name, &json!({"status": "idle"}))).into(),
        1,
    );
    assert!(view.apply(members(&["feat-z", "feat-m"])).changed);
    assert!(!view.apply(members(&["feat-z", "feat-m"])).changed);
    let order = |view: &SessionView| view.agents.iter().map(|agent| agent.id.to_string()).collect::<Vec<_>>();
    assert_eq!(order(&view), ["feat-z", "feat-m", "feat-a", "feat-b"]);
    assert!(view.apply(members(&["feat-m"])).changed);
    assert_eq!(order(&view), ["feat-m", "feat-a", "feat-b", "feat-z"]);
    assert_eq!((view.agents[0].cli(), view.agents[3].cli()), ("codex", ""));
}

#[test]
fn warnings_to_both_agents_are_one_conflict_with_its_first_time() {
    let view = view(vec![
        warning("feat-y", "feat-x", "in-flight", "overlap"),
        warning("feat-x", "feat-y", "in-flight", "conflict"),
        warning("feat-x", "feat-y", "in-flight", "escalated"),
    ]);
    let [conflict] = view.conflicts.as_slice() else { panic!("{:?}", view.conflicts) };
    assert_eq!((conflict.kind, conflict.lines.as_str(), conflict.since), (ConflictKind::Clash, "1-2", at(1)));
    assert_eq!(conflict.agents, [id("feat-x"), id("feat-y")]);
}

#[test]
fn a_planned_conflict_ends_when_a_plan_expires() {
    let plan = json!({"files": ["a.rs"], "summary": "s", "valid_for_seconds": 3});
    let intent = message("agent.intent", "feat-x", &plan);
    let mut view = view(vec![intent, warning("feat-x", "feat-y", "forward", "overlap")]);
    assert_eq!(view.conflicts.len(), 1);
    apply(&mut view, vec![status("feat-y", &json!({"status": "working"}))], 5);
    assert!(view.conflicts.is_empty());
}

#[test]
fn an_approval_closes_when_its_agent_continues_and_other_questions_stay_open() {
    let ask = |text: &str| message("agent.question", "feat-x", &json!({"question": text}));
    let waiting = json!({"status": "waiting", "phase": "waiting_approval", "source": "tower"});
    let mut view = view(vec![
        ask("[approval] feat-x wants: make deploy"),
        ask("which port?"),
        status("feat-x", &waiting),
    ]);
    assert_eq!(view.questions.len(), 2);
    assert_eq!(view.needs()[0].kind, NeedKind::Approval);
    let working = json!({"status": "working", "phase": "working", "source": "tower"});
    let changes = apply(&mut view, vec![status("feat-x", &working)], 4);
    assert!(changes.settled[0].is_approval());
    assert_eq!(view.needs().iter().map(|need| need.kind).collect::<Vec<_>>(), [NeedKind::Answer]);
}

#[test]
fn the_newer_observation_wins_and_a_continuing_state_keeps_its_start() {
    let mut view = SessionView::new(50);
    let observe = |view: &mut SessionView, second, state, source| {
        let seen = seen(second, state, source);
        view.apply(ViewEvent::Observed { agent: id("feat-x"), seen }).changed
    };
    observe(&mut view, 20, AgentState::Working, StateSource::Screen);
    observe(&mut view, 30, AgentState::Working, StateSource::Hooks);
    let idle = json!({"status": "idle", "phase": "idle", "source": "tower"});
    apply(&mut view, vec![status("feat-x", &idle)], 25);
    let observed = view.agents[0].observed.clone().unwrap();
    assert_eq!(
        (observed.state, observed.since, observed.source),
        (AgentState::Working, at(20), StateSource::Hooks)
    );
    apply(&mut view, vec![status("feat-x", &idle)], 40);
    assert_eq!(view.agents[0].observed.as_ref().map(|seen| seen.state), Some(AgentState::Idle));
}

#[test]
fn needs_are_ordered_by_waiting_time() {
    let ask = |agent: &str| message("agent.question", agent, &json!({"question": "which?"}));
    let mut view = view(vec![ask("feat-b"), ask("feat-a")]);
    let seen = seen(1, AgentState::WaitingInput, StateSource::Hooks);
    view.apply(ViewEvent::Observed { agent: id("feat-c"), seen });
    let needs = view.needs();
    let order: Vec<_> = needs.iter().map(|need| (need.agent_id.as_str(), need.kind)).collect();
    assert_eq!(
        order,
        [("feat-b", NeedKind::Answer), ("feat-c", NeedKind::Input), ("feat-a", NeedKind::Answer)]
    );
}

#[test]
fn a_check_belongs_to_its_commit_and_the_latest_one_counts() {
    let verified =
        message("agent.verified", "feat-x", &json!({"verified_by": "supervisor", "commit": "aaaaaaa"}));
    let failed = message(
        "agent.feedback",
        "feat-x",
        &json!({"from": "supervisor", "errors": ["lex fails"], "commit": "aaaaaaa"}),
    );
    let view = view(vec![status("feat-x", &json!({"status": "working"})), verified, failed]);
    let check = view.agents[0].find_check("aaaaaaa").unwrap();
    assert_eq!((check.passed, view.agents[0].checks.len()), (false, 1));
    assert_eq!(view.agents[0].find_check("bbbbbbb"), None);
}

#[test]
fn an_agent_is_verified_only_if_the_tip_of_its_branch_is() {
    let tip = |commit: &str, proven| ViewEvent::Tips(vec![(id("feat-x"), BranchTip::new(commit, proven))]);
    let verified = |commit: &str| {
        message("agent.verified", "feat-x", &json!({"verified_by": "supervisor", "commit": commit}))
    };
    let failed = message(
        "agent.feedback",
        "feat-x",
        &json!({"from": "operator", "errors": ["[regression] lex fails"], "commit": "aaaaaaaaaa"}),
    );
    let mut view = view(vec![status("feat-x", &json!({"status": "working"})), verified("aaaaaaa")]);
    let shown = |view: &SessionView| view.agents[0].status().1.to_owned();
    assert_eq!(shown(&view), "verified by hand", "the tip is not known");
    view.apply(tip("aaaaaaaaaa", false));
    assert_eq!(shown(&view), "verified by hand");
    view.apply(tip("aaaaaaaaaa", true));
    assert_eq!(shown(&view), "verified");
    view.apply(tip("bbbbbbbbbb", false));
    assert_eq!(shown(&view), "committed", "it moved");
    view.apply(tip("aaaaaaaaaa", true));
    let opinion = json!({"from": "feat-y", "errors": ["it is ugly"], "commit": "aaaaaaaaaa"});
    apply(&mut view, vec![message("agent.feedback", "feat-x", &opinion)], 3);
    assert_eq!(shown(&view), "verified", "another agent cannot fail it");
    apply(&mut view, vec![failed], 4);
    assert_eq!(shown(&view), "gates failed", "it failed later");
    apply(&mut view, vec![verified("aaaaaaaaaa")], 5);
    assert_eq!(view.agents[0].verification(), Some(TipVerification::Proven));
}

#[test]
fn a_view_limits_messages_and_senders() {
    let chatter = (0..5_000).map(|n| status(&format!("a-{n}"), &json!({"status": "working"})));
    let mut view = SessionView::new(5);
    view.apply(members(&["feat-x"]));
    apply(&mut view, chatter.collect(), 1);
    assert_eq!((view.messages.len(), view.agents.len()), (5, 4096));
    assert!(view.find(&id("feat-x")).is_some() && view.find(&id("a-4999")).is_some());
}

#[test]
fn the_json_of_a_snapshot_has_stable_field_names() {
    let mut member = SessionMember::new(BranchName::new("feat/x").unwrap(), "claude");
    member.worktree_path = Some("/w".into());
    member.worktree = Some(WorktreeState::OtherBranch("main".to_owned()));
    member.process = Some(CliState::Running);
    member.prompt = Some(PromptDelivery::Failed { prompt_problem: "no prompt seen".to_owned() });
    let supervisor = SupervisorView {
        cli: "codex".to_owned(),
        pane: Some("%1".to_owned()),
        state: CliState::Ended,
        prompt: PromptDelivery::Pending,
    };
    let session = SessionFacts { session: "paw-app".to_owned(), ..SessionFacts::default() };
    let agents = vec![(id("feat-x"), member)];
    let snapshot = SessionSnapshot { session, supervisor: Some(supervisor), agents, observed: Vec::new() };
    let mut view = SessionView::new(0);
    assert!(view.apply(ViewEvent::Snapshot(Box::new(snapshot.clone()))).changed);
    assert!(!view.apply(ViewEvent::Snapshot(Box::new(snapshot))).changed);
    assert_eq!(view.needs()[0].kind, NeedKind::Prompt);
    let document = serde_json::to_value(&view).unwrap();
    let expected = json!({"agent_id": "feat-x", "branch": "feat/x", "cli": "claude", "worktree_path": "/w",
        "worktree": {"other-branch": "main"}, "pane": null, "state": "running", "prompt": "failed",
        "prompt_problem": "no prompt seen", "observed": null, "reported": null, "last_message": "", "plan": null});
    assert_eq!(document["agents"][0], expected);
    let expected = json!({"cli": "codex", "pane": "%1", "state": "ended", "prompt": "pending"});
    assert_eq!((&document["session"], &document["supervisor"]), (&json!("paw-app"), &expected));
    assert_eq!(serde_json::from_value::<SessionView>(document).unwrap(), view);
}

#[test]
fn a_supervisor_whose_prompt_was_not_delivered_needs_the_user() {
    let supervisor =
        |prompt| SupervisorView { cli: "codex".to_owned(), pane: None, state: CliState::Running, prompt };
    let needs = |view: &SessionView| {
        view.needs().into_iter().map(|need| (need.agent_id, need.kind, need.text)).collect::<Vec<_>>()
    };
    let mut view = SessionView::new(0);
    view.apply(ViewEvent::Supervisor(Some(supervisor(PromptDelivery::Pending))));
    assert_eq!(needs(&view), []);
    let failed = PromptDelivery::Failed { prompt_problem: "a trust dialog is open".to_owned() };
    view.apply(ViewEvent::Supervisor(Some(supervisor(failed))));
    let expected = [(id("supervisor"), NeedKind::Prompt, "a trust dialog is open".to_owned())];
    assert_eq!(needs(&view), expected, "before its first message");
    apply(&mut view, vec![status("supervisor", &json!({"status": "working"}))], 1);
    assert_eq!(needs(&view), expected);
    view.apply(ViewEvent::Supervisor(Some(supervisor(PromptDelivery::Delivered))));
    assert_eq!(needs(&view), []);
}

#[test]
fn an_agent_that_waits_is_never_working_or_running() {
    let mut member = SessionMember::new(BranchName::new("feat/x").unwrap(), "claude");
    member.process = Some(CliState::Running);
    let mut view = view(vec![status("feat-x", &json!({"status": "working", "phase": "tests"}))]);
    view.apply(ViewEvent::Members(vec![(id("feat-x"), member)]));
    assert_eq!(view.agents[0].status(), (StatusCategory::Working, "tests"));
    for (second, state, word) in [
        (10, AgentState::WaitingApproval, "needs approval"),
        (11, AgentState::WaitingInput, "needs input"),
        (12, AgentState::RateLimited, "rate-limited"),
    ] {
        view.apply(ViewEvent::Observed {
            agent: id("feat-x"),
            seen: seen(second, state, StateSource::Hooks),
        });
        assert_eq!(view.agents[0].status(), (StatusCategory::Blocked, word));
        assert_eq!(view.agents[0].since(), Some(at(second)));
    }
}

#[test]
fn an_agent_without_messages_shows_what_was_observed() {
    let mut view = SessionView::new(50);
    view.apply(members(&["feat-x"]));
    assert_eq!(view.agents[0].status().1, "unknown");
    let observe = |view: &mut SessionView, second, state| {
        view.apply(ViewEvent::Observed {
            agent: id("feat-x"),
            seen: seen(second, state, StateSource::Screen),
        });
        view.agents[0].status().1.to_owned()
    };
    assert_eq!(observe(&mut view, 1, AgentState::Idle), "idle");
    assert_eq!(observe(&mut view, 2, AgentState::Unknown), "running", "that much is known");
    assert_eq!(view.agents[0].since(), Some(at(2)));
    // An observation is newer than the phase of an older message.
    apply(
        &mut view,
        vec![status("feat-x", &json!({"status": "working", "phase": "working", "source": "tower"}))],
        1,
    );
    assert_eq!(observe(&mut view, 3, AgentState::Idle), "idle");
}

#[test]
fn work_whose_gates_fail_is_not_shown_as_verified_until_the_next_commit() {
    let commit =
        |id: &str| message("agent.artifact", "feat-x", &json!({"status": "committed", "commit": id}));
    let failed = json!({"from": "supervisor", "errors": ["lex fails"], "commit": "aaaaaaa"});
    let mut view = view(vec![
        commit("aaaaaaa"),
        message("agent.verified", "feat-x", &json!({"verified_by": "supervisor", "commit": "aaaaaaa"})),
        message("agent.feedback", "feat-x", &failed),
    ]);
    assert_eq!(view.agents[0].status(), (StatusCategory::Failed, "gates failed"));
    apply(&mut view, vec![commit("bbbbbbb")], 4);
    assert_eq!(view.agents[0].status().0, StatusCategory::Committed);
}

#[test]
fn an_answer_never_closes_an_approval_and_the_next_prompt_does() {
    let ask = |text: &str| message("agent.question", "feat-x", &json!({"question": text}));
    let answer = |re: Value| {
        message("agent.answer", "feat-x", &json!({"from": "operator", "answer": "yes", "re": re}))
    };
    let mut view = view(vec![ask("[approval] make deploy"), ask("which port?"), answer(Value::Null)]);
    assert_eq!(
        view.questions.iter().map(|open| open.text.as_str()).collect::<Vec<_>>(),
        ["[approval] make deploy"]
    );
    apply(&mut view, vec![answer(json!("[approval] make deploy"))], 4);
    assert_eq!(view.questions.len(), 1);
    let changes = apply(&mut view, vec![ask("[approval] make undeploy")], 5);
    assert_eq!((changes.settled[0].text.as_str(), view.questions.len()), ("[approval] make deploy", 1));
    // Its agent was seen at work before the session's process said so.
    view.apply(ViewEvent::Observed {
        agent: id("feat-x"),
        seen: seen(9, AgentState::Working, StateSource::Screen),
    });
    assert_eq!((view.open_questions().count(), view.needs().len()), (0, 0));
}

#[test]
fn the_session_process_reports_the_whole_command_and_the_tokens() {
    let waiting = json!({"status": "waiting", "phase": "waiting_approval", "source": "tower",
        "waits_for": "make deploy", "usage": {"context_tokens": 251_100, "total_tokens": null}});
    let view = view(vec![status("feat-x", &waiting)]);
    assert_eq!(view.needs()[0].text, "make deploy");
    let usage = AgentUsage { context_tokens: Some(251_100), ..AgentUsage::default() };
    assert_eq!(view.agents[0].usage, Some(usage));
    // Only the session's process reports them.
    let view = crate::tests::view(vec![status(
        "feat-x",
        &json!({"status": "working", "usage": {"context_tokens": 1}}),
    )]);
    assert_eq!(view.agents[0].usage, None);
}

#[test]
fn conflicts_about_generated_files_are_one_group_and_those_about_one_file_another() {
    let conflict = |you: &str, other: &str, path: &str| {
        let facts = json!({"kind": "in-flight", "level": "conflict", "you": you, "other": other, "files": [{"path": path}]});
        message("agent.feedback", you, &json!({"from": "supervisor", "errors": ["x"], "conflict": facts}))
    };
    let mut messages: Vec<_> =
        (0..36).map(|n| conflict("feat-a", "feat-b", &format!("__pycache__/{n}.pyc"))).collect();
    messages.extend([
        conflict("feat-a", "feat-b", "src/lib.rs"),
        conflict("feat-a", "feat-c", "src/lib.rs"),
        conflict("feat-b", "feat-c", "src/lib.rs"),
        conflict("feat-c", "feat-a", "Cargo.lock"),
    ]);
    let view = view(messages);
    let groups = view.conflict_groups();
    let rows: Vec<_> =
        groups.iter().map(|group| (group.key(), group.files.len(), group.agents.len())).collect();
    assert_eq!(rows, [("src/lib.rs", 1, 3), ("", 37, 3)]);
}

#[test]
fn generated_files_give_way_when_there_are_too_many_conflicts() {
    let paths = (0..250).map(|n| format!("dist/{n}.js")).chain(["src/lib.rs".to_owned()]);
    let files: Vec<_> = paths.map(|path| json!({"path": path})).collect();
    let facts =
        json!({"kind": "in-flight", "level": "conflict", "you": "feat-a", "other": "feat-b", "files": files});
    let warned = json!({"from": "supervisor", "errors": ["x"], "conflict": facts});
    let view = view(vec![message("agent.feedback", "feat-a", &warned)]);
    assert_eq!(view.conflict_groups()[0].key(), "src/lib.rs");
}

fn any_message() -> impl Strategy<Value = Message> {
    let agent = || proptest::sample::select(vec!["feat-a", "feat-b", "feat-c", "supervisor"]);
    let word =
        || proptest::sample::select(vec!["working", "idle", "done", "waiting_approval", "[approval] x"]);
    prop_oneof![
        4 => (agent(), word(), proptest::option::of(word()), proptest::option::of(word()), any::<bool>()).prop_map(
            |(agent, word, phase, text, observed)| {
                let mut payload = json!({"status": word, "modified_files": [word]});
                if let Some(phase) = phase { payload["phase"] = phase.into(); }
                if let Some(text) = text { payload["message"] = text.into(); }
                if observed { payload["source"] = "tower".into(); }
                status(agent, &payload)
            }
        ),
        1 => (agent(), word()).prop_map(|(agent, word)| message("agent.artifact", agent, &json!({"status": word}))),
        1 => (agent(), agent()).prop_map(|(agent, from)| message("agent.blocked", agent, &json!({"needs": "x", "from": from}))),
        2 => (agent(), word()).prop_map(|(agent, word)| message("agent.question", agent, &json!({"question": word}))),
        2 => (agent(), proptest::option::of(word())).prop_map(|(agent, re)| {
            message("agent.answer", agent, &json!({"from": "operator", "answer": "yes", "re": re}))
        }),
        1 => (agent(), 1..20_u64).prop_map(|(agent, seconds)| {
            message("agent.intent", agent, &json!({"files": ["a.rs"], "summary": "s", "valid_for_seconds": seconds}))
        }),
        1 => (agent(), "[ab]{7}").prop_map(|(agent, commit)| {
            message("agent.verified", agent, &json!({"verified_by": "supervisor", "commit": commit}))
        }),
        1 => (agent(), "[ab]{7}").prop_map(|(agent, commit)| {
            message("agent.feedback", agent, &json!({"from": "supervisor", "errors": ["x"], "commit": commit}))
        }),
        3 => (
            agent(), agent(), proptest::sample::select(vec!["forward", "in-flight", "ownership"]),
            proptest::sample::select(vec!["cleared", "additive", "overlap", "conflict", "escalated"]),
        ).prop_map(|(you, other, kind, level)| warning(you, other, kind, level)),
        1 => agent().prop_map(|agent| watch::gone_message(&id(agent))),
    ]
}

proptest! {
    #[test]
    fn a_view_from_records_and_the_log_equals_one_that_saw_every_message(
        messages in proptest::collection::vec(any_message(), 0..60), known in 0..60_usize,
    ) {
        let live = view(messages.clone());
        let known = known.min(messages.len());
        let mut records = AgentRecords::default();
        for (seq, message) in (1..).zip(&messages[..known]) {
            records.apply(&stored(seq, message.clone()));
        }
        let mut built = SessionView::new(50);
        built.apply(ViewEvent::Records { records, seq: known as u64 });
        apply(&mut built, messages, 1);
        prop_assert_eq!(built, live);
    }

    #[test]
    fn records_that_arrive_before_their_messages_make_the_same_view(
        messages in proptest::collection::vec(any_message(), 0..60), read in 0..60_usize, known in 0..60_usize,
    ) {
        let live = view(messages.clone());
        let read = read.min(messages.len());
        let known = known.clamp(read, messages.len());
        let messages: Vec<_> = (1..).zip(messages).map(|(seq, message)| stored(seq, message)).collect();
        let mut built = SessionView::new(50);
        built.apply_messages(&messages[..read]);
        let mut records = AgentRecords::default();
        messages[..known].iter().for_each(|stored| records.apply(stored));
        built.apply(ViewEvent::Records { records, seq: known as u64 });
        built.apply_messages(&messages[read..]);
        prop_assert_eq!(built, live);
    }

    #[test]
    fn messages_that_are_read_together_make_the_same_view(
        messages in proptest::collection::vec(any_message(), 0..60), together in 1..20_usize, kept in 0..8_usize,
    ) {
        let (mut one, mut pages) = (SessionView::new(kept), SessionView::new(kept));
        apply(&mut one, messages.clone(), 1);
        let messages: Vec<_> = (1..).zip(messages).map(|(seq, message)| stored(seq, message)).collect();
        for page in messages.chunks(together) {
            pages.apply_messages(page);
        }
        prop_assert_eq!(pages, one);
    }

    #[test]
    fn a_replayed_log_changes_nothing(messages in proptest::collection::vec(any_message(), 0..60)) {
        let once = view(messages.clone());
        let mut twice = once.clone();
        for (seq, message) in (1..).zip(messages) {
            prop_assert_eq!(twice.apply(ViewEvent::Message(stored(seq, message))), ViewChanges::default());
        }
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn a_view_round_trips_through_json(messages in proptest::collection::vec(any_message(), 0..30)) {
        let mut view = view(messages);
        view.apply(members(&["feat-b", "feat-a"]));
        let text = serde_json::to_string(&view).unwrap();
        prop_assert_eq!(serde_json::from_str::<SessionView>(&text).unwrap(), view);
    }
}
