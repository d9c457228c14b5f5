use jiff::SignedDuration;
use paw_broker::{SessionId, route};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

/// A session with two agents, `a` and `b`, and its messages.
struct Session {
    workers: Workers,
    seq: u64,
}

impl Session {
    fn new() -> Self {
        let member = |name: &str| MergeMember { agent: id(name), branch: BranchName::new(name).unwrap() };
        Self { workers: Workers::new(&[member("a"), member("b")], 1, at(0)), seq: 0 }
    }

    fn alone() -> Self {
        let mut session = Self::new();
        session.workers.agents.pop();
        session
    }

    fn say(&mut self, second: i64, message: &Value) {
        self.seq += 1;
        let message = Message::from_json(message.clone()).unwrap();
        let sender = route::sender(&message).clone();
        let (seq, session) = (self.seq, SessionId::new("s"));
        self.workers.record(&StoredMessage { seq, session, at: at(second), sender, message });
    }

    /// The monitor reports an agent's state.
    fn does(&mut self, second: i64, agent: &str, phase: &str) {
        let payload = json!({"status": "x", "phase": phase, "source": "tower"});
        self.say(second, &json!({"type": "agent.status", "agent_id": agent, "payload": payload}));
    }

    fn commits(&mut self, second: i64, agent: &str, commit: &str) {
        let payload = json!({"status": "committed", "commit": commit});
        self.say(second, &json!({"type": "agent.artifact", "agent_id": agent, "payload": payload}));
    }

    fn asks(&mut self, second: i64, agent: &str, question: &str) {
        let payload = json!({"question": question});
        self.say(second, &json!({"type": "agent.question", "agent_id": agent, "payload": payload}));
    }

    fn next(&mut self, second: i64) -> UnattendedStep {
        self.workers.next(at(second))
    }

    fn verifies(&mut self, second: i64, agent: &str) {
        assert_eq!(
            self.next(second),
            UnattendedStep::Verify { agent: id(agent), branch: BranchName::new(agent).unwrap() }
        );
    }

    fn passes(&mut self, second: i64, agent: &str, commit: &str) {
        assert!(!self.workers.judged(
            &id(agent),
            WorkJudgement::Verified { commit: commit.into() },
            at(second)
        ));
    }

    fn fails(&mut self, second: i64, agent: &str, commit: &str) -> bool {
        let errors = vec!["[testing] no".to_owned()];
        self.workers.judged(&id(agent), WorkJudgement::Failed { commit: commit.into(), errors }, at(second))
    }

    fn words(&self, second: i64) -> Vec<&'static str> {
        self.workers.outcomes(at(second)).iter().map(|(_, _, outcome)| outcome.word()).collect()
    }
}

#[test]
fn committed_work_is_checked_once_its_agent_is_idle() {
    let mut session = Session::new();
    session.does(1, "a", "working");
    session.does(1, "b", "working");
    session.commits(2, "a", "c1");
    assert_eq!(session.next(3), UnattendedStep::Wait(None), "it is still working");
    session.does(4, "a", "idle");
    assert_eq!(session.next(5), UnattendedStep::Wait(Some(at(7))));
    session.verifies(7, "a");
    assert_eq!(session.next(8), UnattendedStep::Wait(None), "one at a time");
    session.passes(9, "a", "c1");
    assert_eq!(session.next(9), UnattendedStep::Wait(None), "the other one is working");
    session.commits(10, "b", "c2");
    session.does(10, "b", "exited");
    session.verifies(13, "b");
    session.passes(14, "b", "c2");
    assert_eq!(session.next(14), UnattendedStep::Over);
    assert_eq!(session.words(14), ["verified", "verified"]);
}

#[test]
fn a_failing_agent_gets_the_configured_attempts() {
    let mut session = Session::alone();
    session.commits(1, "a", "c1");
    session.does(1, "a", "idle");
    session.verifies(4, "a");
    assert!(session.fails(5, "a", "c1"), "it gets the fix prompt");
    assert_eq!(session.next(6), UnattendedStep::Wait(Some(at(125))));
    session.does(7, "a", "working");
    session.commits(8, "a", "c2");
    session.does(9, "a", "idle");
    session.verifies(12, "a");
    assert!(!session.fails(13, "a", "c2"), "no attempts left");
    assert_eq!(session.next(13), UnattendedStep::Over);
    assert_eq!(session.words(13), ["failed"]);
}

#[test]
fn an_unused_fix_attempt_expires() {
    let mut session = Session::alone();
    session.commits(1, "a", "c1");
    session.does(1, "a", "idle");
    session.verifies(4, "a");
    assert!(session.fails(5, "a", "c1"));
    assert_eq!(session.next(124), UnattendedStep::Wait(Some(at(125))));
    assert_eq!(session.next(125), UnattendedStep::Over);
    assert_eq!(session.words(125), ["failed"]);
}

#[test]
fn an_exited_cli_gets_no_further_attempt() {
    let mut session = Session::alone();
    session.commits(1, "a", "c1");
    session.does(1, "a", "exited");
    session.verifies(4, "a");
    assert!(!session.fails(5, "a", "c1"));
    assert_eq!(session.next(5), UnattendedStep::Over);
}

#[test]
fn fixed_work_is_verified() {
    let mut session = Session::alone();
    session.commits(1, "a", "c1");
    session.does(1, "a", "idle");
    session.verifies(4, "a");
    assert!(session.fails(5, "a", "c1"));
    session.commits(6, "a", "c2");
    session.verifies(9, "a");
    session.passes(10, "a", "c2");
    assert_eq!(session.next(10), UnattendedStep::Over);
    assert_eq!(session.words(10), ["verified"]);
}

#[test]
fn an_agent_that_waits_for_the_user_is_parked_until_it_continues() {
    let mut session = Session::alone();
    session.does(1, "a", "waiting_approval");
    assert_eq!(session.next(2), UnattendedStep::Wait(Some(at(31))), "the monitor may still answer it");
    session.asks(2, "a", "[approval] a wants: rm -rf /");
    assert_eq!(session.next(2), UnattendedStep::Over);
    assert_eq!(session.words(2), ["parked"]);
    session.does(3, "a", "working");
    assert_eq!(session.next(3), UnattendedStep::Wait(None));
    session.does(4, "a", "waiting_approval");
    assert_eq!(session.next(5), UnattendedStep::Wait(Some(at(34))), "it is another one");
    assert_eq!(session.next(34), UnattendedStep::Over);
    assert_eq!(session.workers.questions(), [], "an approval is not a question");
}

#[test]
fn an_open_question_parks_an_idle_agent() {
    let mut session = Session::alone();
    session.asks(1, "a", "may I\u{1b}?");
    session.does(2, "a", "idle");
    assert_eq!(session.next(5), UnattendedStep::Over);
    let outcomes = session.workers.outcomes(at(5));
    let why = "asks: may I\\u{1b}?".to_owned();
    assert_eq!(outcomes[0].2, AgentOutcome::Parked { why });
    let answer =
        json!({"type": "agent.answer", "agent_id": "a", "payload": {"from": "operator", "answer": "yes"}});
    session.say(6, &answer);
    assert!(matches!(session.next(6), UnattendedStep::Wait(Some(_))));
    assert_eq!(session.workers.questions(), []);
}

#[test]
fn an_idle_agent_without_commits_finishes_with_nothing() {
    let mut session = Session::alone();
    session.does(1, "a", "idle");
    assert_eq!(session.next(2), UnattendedStep::Wait(Some(at(121))));
    session.verifies(121, "a");
    assert!(!session.workers.judged(&id("a"), WorkJudgement::Nothing, at(122)));
    assert_eq!(session.next(122), UnattendedStep::Over);
    assert_eq!(session.words(122), ["nothing"]);
    session.commits(123, "a", "c1");
    assert_eq!(session.words(123), ["unfinished"], "it committed after all");
}

#[test]
fn only_a_rate_limit_with_a_reset_time_is_waited_for() {
    let mut session = Session::alone();
    let limited = |resets: &[(&str, &str)]| {
        let mut payload = json!({"status": "waiting", "phase": "rate_limited", "source": "tower"});
        for (key, value) in resets {
            payload[*key] = (*value).into();
        }
        json!({"type": "agent.status", "agent_id": "a", "payload": payload})
    };
    session.say(1, &limited(&[("resets", "3pm")]));
    assert_eq!(session.next(10_000), UnattendedStep::Wait(None));
    session.say(10_001, &limited(&[]));
    assert_eq!(session.next(10_004), UnattendedStep::Over);
    assert_eq!(session.words(10_004), ["parked"]);
}

#[test]
fn an_agent_with_an_unreadable_screen_is_done_when_it_reports_done() {
    let mut session = Session::alone();
    session.commits(1, "a", "c1");
    assert_eq!(session.next(2), UnattendedStep::Wait(Some(at(121))));
    session.say(3, &json!({"type": "agent.status", "agent_id": "a", "payload": {"status": "done"}}));
    session.verifies(6, "a");
}

#[test]
fn a_branch_that_moved_during_its_check_is_checked_again() {
    let mut session = Session::alone();
    session.commits(1, "a", "c1");
    session.does(1, "a", "idle");
    session.verifies(4, "a");
    session.commits(5, "a", "c2");
    assert!(!session.workers.judged(&id("a"), WorkJudgement::Void, at(6)));
    session.verifies(6, "a");
    session.passes(7, "a", "c2");
    session.workers.moved(&id("a"), "c3");
    session.verifies(8, "a");
}

#[test]
fn a_commit_that_was_declared_verified_by_hand_is_still_checked() {
    for by in ["supervisor", "operator", "b"] {
        let payload = json!({"verified_by": by, "commit": "c1"});
        let mut session = Session::alone();
        session.commits(1, "a", "c1");
        session.does(1, "a", "idle");
        session.say(2, &json!({"type": "agent.verified", "agent_id": "a", "payload": payload}));
        session.verifies(9, "a");
    }
}

#[test]
fn an_unfinished_agent_says_what_it_is_doing() {
    let mut session = Session::new();
    session.does(1, "a", "working");
    let stall = json!({"type": "agent.feedback", "agent_id": "supervisor",
        "payload": {"from": "a", "errors": ["[stall] a: working for 20 minutes without progress"]}});
    session.say(2, &stall);
    let outcomes = session.workers.outcomes(at(3));
    assert!(outcomes[0].2.to_string().contains("20 minutes"), "{outcomes:?}");
    assert_eq!(outcomes[1].2.to_string(), "state unknown");
}

/// Anything that can happen to an agent.
fn happenings() -> impl Strategy<Value = Vec<(u8, u8, i64)>> {
    proptest::collection::vec((0..12u8, 0..2u8, 0..200i64), 0..60)
}

proptest! {
    /// When all have finished no agent is unfinished, and none is verified without a judgement that says so.
    #[test]
    fn a_session_ends_only_when_every_agent_has_finished(happenings in happenings()) {
        let mut session = Session::new();
        let (mut now, mut passed) = (0, false);
        for (what, who, later) in happenings {
            now += later;
            let agent = ["a", "b"][usize::from(who)];
            match what {
                0 => session.does(now, agent, "working"),
                1 | 2 => session.does(now, agent, "idle"),
                3 => session.does(now, agent, "exited"),
                4 => session.does(now, agent, "waiting_approval"),
                5 => session.asks(now, agent, "[approval] x"),
                6 => session.asks(now, agent, "may I?"),
                _ => session.commits(now, agent, &format!("c{now}")),
            }
            match session.next(now) {
                UnattendedStep::Verify { agent, .. } => {
                    let commit = format!("c{now}");
                    let judgement = match what {
                        8 => WorkJudgement::Void,
                        9 => WorkJudgement::Nothing,
                        10 => WorkJudgement::Failed { commit, errors: Vec::new() },
                        _ => { passed = true; WorkJudgement::Verified { commit } }
                    };
                    session.workers.judged(&agent, judgement, at(now));
                }
                UnattendedStep::Over => prop_assert!(!session.words(now).contains(&"unfinished")),
                UnattendedStep::Wait(Some(until)) => {
                    prop_assert!(until >= at(now).checked_sub(SignedDuration::from_secs(1)).unwrap());
                }
                UnattendedStep::Wait(None) => {}
            }
            prop_assert!(passed || !session.words(now).contains(&"verified"));
        }
    }
}
