//! The learnings of a session, from its messages.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use paw_broker::learnings::run::run;
use paw_broker::learnings::{Learnings, LearningsFlush, LearningsSettings, file};
use paw_broker::log::{self, PageLimit};
use paw_broker::{Bus, Message, SessionId, StoredMessage};
use paw_core::config::LearningsConfig;
use proptest::prelude::*;
use serde_json::{Value, json};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn settings() -> LearningsSettings {
    LearningsSettings::from_config(&LearningsConfig::default())
}

/// A session's log, and its learnings.
struct Session {
    id: SessionId,
    log: Vec<Arc<StoredMessage>>,
    learnings: Learnings,
}

impl Session {
    fn new(id: &str) -> Self {
        let id = SessionId::new(id);
        let learnings = Learnings::new(id.clone(), settings(), at(0));
        Self { id, log: Vec::new(), learnings }
    }

    /// As after a crash: a new process that has only the log.
    fn restarted(self, second: i64) -> Self {
        let mut learnings = Learnings::new(self.id.clone(), settings(), at(second));
        for stored in &self.log {
            learnings.on_message(stored);
        }
        Self { learnings, ..self }
    }

    fn hear(&mut self, second: i64, message: Message) {
        let stored = Arc::new(StoredMessage {
            seq: self.log.len() as u64 + 1,
            session: self.id.clone(),
            at: at(second),
            sender: message.sender().unwrap_or(message.subject()).clone(),
            message,
        });
        self.learnings.on_message(&stored);
        self.log.push(stored);
    }

    fn say(&mut self, second: i64, name: &str, agent: &str, payload: Value) -> &mut Self {
        let mut message = json!({"type": name, "agent_id": agent});
        message["payload"] = payload;
        self.hear(second, Message::from_json(message).unwrap());
        self
    }

    fn meet(
        &mut self,
        second: i64,
        kind: &str,
        level: &str,
        pair: (&str, &str),
        files: &[&str],
    ) -> &mut Self {
        let files: Vec<Value> = files.iter().map(|path| json!({"path": path})).collect();
        for (you, other) in [pair, (pair.1, pair.0)].into_iter().take(if kind == "ownership" { 1 } else { 2 })
        {
            let facts = json!({"kind": kind, "level": level, "you": you, "other": other, "files": files});
            let payload = json!({"from": "supervisor", "errors": ["words"], "conflict": facts});
            self.say(second, "agent.feedback", you, payload);
        }
        self
    }

    fn approve(&mut self, second: i64, pattern: &str, times: usize) -> &mut Self {
        for _ in 0..times {
            self.say(
                second,
                "agent.status",
                "a",
                json!({"status": "auto_approved", "detail": {"pattern": pattern}}),
            );
        }
        self
    }

    fn learn(&mut self, second: i64, category: &str, title: &str, body: Value) -> &mut Self {
        let mut payload = json!({"id": title, "agent_id": "supervisor", "category": category, "title": title,
            "timestamp": "2026-09-21T00:00:00Z"});
        payload["body"] = body;
        self.hear(second, Message::from_json(json!({"type": "agent.learning", "payload": payload})).unwrap());
        self
    }

    /// Writes what is due to the file and the log. Returns whether the file changed, and what was published.
    fn flush(&mut self, second: i64, repository: &Path) -> (bool, Vec<String>) {
        let flush = self.learnings.on_tick(at(second));
        self.keep(second, flush, repository)
    }

    fn end(&mut self, second: i64, repository: &Path) -> (bool, Vec<String>) {
        let flush = self.learnings.on_end(at(second));
        self.keep(second, flush, repository)
    }

    fn keep(&mut self, second: i64, flush: LearningsFlush, repository: &Path) -> (bool, Vec<String>) {
        let written = file::update(repository, &self.id, &flush.entries, at(second)).unwrap();
        let titles = flush.publish.iter().map(|message| match message {
            Message::Learning(learning) => learning.title.clone(),
            other => panic!("{other}"),
        });
        let titles = titles.collect();
        for message in flush.publish {
            self.hear(second, message);
        }
        (written, titles)
    }
}

/// A session with every kind of learning.
fn eventful(session: &mut Session) {
    session
        .meet(1, "in-flight", "conflict", ("feat-b", "feat-a"), &["src/lib.rs"])
        .meet(2, "in-flight", "escalated", ("feat-b", "feat-a"), &["src/lib.rs", "src/x.rs"])
        .meet(3, "in-flight", "additive", ("feat-a", "feat-c"), &["docs.md"])
        .meet(3, "in-flight", "cleared", ("feat-a", "feat-b"), &["src/lib.rs"])
        .meet(4, "forward", "overlap", ("feat-a", "feat-c"), &["src/y.rs"])
        .meet(5, "ownership", "overlap", ("feat-c", "feat-a"), &["src/z.rs"])
        .say(10, "agent.blocked", "feat-a", json!({"needs": "types", "from": "feat-b"}))
        .say(
            20,
            "agent.status",
            "feat-a",
            json!({"status": "working", "modified_files": ["q"], "source": "watcher"}),
        )
        .say(30, "agent.blocked", "feat-a", json!({"needs": "the types", "from": "feat-b"}))
        .say(135, "agent.artifact", "feat-a", json!({"status": "done"}))
        .say(140, "agent.feedback", "feat-b", json!({"from": "supervisor", "errors": ["[testing] red"]}))
        .say(150, "agent.feedback", "feat-b", json!({"from": "supervisor", "errors": ["[testing] red"]}))
        .say(160, "agent.verified", "feat-b", json!({"verified_by": "supervisor"}))
        .approve(170, "cargo test", 5)
        .approve(170, "rm x", 4)
        .learn(180, "doc_gap", "no page about tokens", json!({"where": "docs/", "pages": ["a", "b"]}))
        .learn(181, "recurring_failure_shape", "forgets `mod` lines", Value::Null)
        .learn(182, "a_new_one", "# not a heading\n- nor a list", json!("x"));
}

#[test]
fn learnings_file_has_all_sections_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = file::path(dir.path());
    let mut session = Session::new("paw-app-1");
    eventful(&mut session);
    let (written, published) = session.flush(200, dir.path());
    assert!(written);
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap(), @r"
    ## Session Learnings — 2026-09-21T14:16:40Z
    <!-- git-paw session: paw-app-1 -->

    ### Conflict events

    - forward-conflict-cross-spec: feat-a and feat-c in `src/y.rs`
    - in-flight-conflict: feat-a and feat-b in `src/lib.rs`, `src/x.rs`
    - ownership-violation: feat-c edited `src/z.rs` owned by feat-a

    ### Where agents got stuck

    - feat-a: blocked 2m05s waiting on feat-b

    ### Recovery cycles

    - feat-b: 2 feedback cycles before verifying

    ### Permission patterns

    - `cargo test` auto-approved 5 times

    ### Recurring failure shapes

    - forgets `mod` lines

    ### Documentation gaps

    - no page about tokens: where: docs/; pages: a; b

    ### Other learnings

    - \# not a heading - nor a list: x
    ");
    insta::assert_snapshot!(published.join("\n"), @r"
    forward-conflict-cross-spec: feat-a and feat-c in `src/y.rs`
    in-flight-conflict: feat-a and feat-b in `src/lib.rs`, `src/x.rs`
    ownership-violation: feat-c edited `src/z.rs` owned by feat-a
    feat-a: blocked 2m05s waiting on feat-b
    feat-b: 2 feedback cycles before verifying
    `cargo test` auto-approved 5 times
    ");
}

#[test]
fn recurring_errors_and_sandbox_warnings_are_counted_by_their_shape() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::new("s");
    let fail = |session: &mut Session, agent: &str, commit: &str, failures: Value| {
        let payload =
            json!({"from": "supervisor", "errors": ["[testing]"], "commit": commit, "failures": failures});
        session.say(1, "agent.feedback", agent, payload);
    };
    let test = |shape: &str| json!({"gate": "test", "shape": shape});
    fail(&mut session, "feat-a", "c1", json!([test("error: no field x at line 12"), test("once")]));
    fail(&mut session, "feat-a", "c1", json!([test("error: no field x at line 12")]));
    assert_eq!(session.flush(100, dir.path()), (false, vec![]), "the same commit again");
    let denied = json!({"gate": "lint", "shape": "the sandbox denied access to y", "sandbox": true});
    fail(&mut session, "feat-b", "c2", json!([test("error: no field x at line 40"), denied]));
    let forged = json!({"from": "feat-b", "errors": ["e"], "failures": [test("once")]});
    session.say(2, "agent.feedback", "feat-a", forged);
    session.learn(3, "doc_gap", "no page", Value::Null);
    let again = json!({"agent_id": "feat-b", "category": "doc_gap", "title": "no page", "timestamp": "2026-09-21T00:00:00Z"});
    for _ in 0..2 {
        session.hear(4, Message::from_json(json!({"type": "agent.learning", "payload": again})).unwrap());
    }
    assert!(session.flush(200, dir.path()).0);
    let mut session = session.restarted(300);
    fail(&mut session, "feat-c", "c3", json!([test("error: no field x at line 7")]));
    assert!(session.flush(500, dir.path()).0);
    insta::assert_snapshot!(fs::read_to_string(file::path(dir.path())).unwrap(), @r"
    ## Session Learnings — 2026-09-21T14:16:40Z
    <!-- git-paw session: s -->

    ### Recurring failure shapes

    - `error: no field x at line …` in gate test: 3 times (feat-a, feat-b, feat-c)

    ### Sandbox warnings

    - `the sandbox denied access to y` in gate lint: 1 time (feat-b)

    ### Documentation gaps

    - no page (3 times)
    ");
}

/// One run of a process: the learnings are written when it ends.
fn live(dir: &Path, messages: Vec<Message>) -> (String, usize) {
    let log = log::open(&dir.join("broker.db")).unwrap();
    let bus = Bus::open(log, SessionId::new("s"), false).unwrap();
    for message in messages {
        bus.publish_blocking(message, at(0)).unwrap();
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(run(Arc::clone(&bus), settings(), dir.to_path_buf(), async {})).unwrap();
    let all = runtime.block_on(bus.history(0, PageLimit::DEFAULT)).unwrap();
    let published = all.iter().filter(|kept| kept.entry.body.contains("agent.learning")).count();
    bus.close();
    (fs::read_to_string(file::path(dir)).unwrap_or_default(), published)
}

#[test]
fn learnings_loop_replays_the_log_and_publishes_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::new("s");
    eventful(&mut session);
    let messages = session.log.iter().map(|stored| stored.message.clone()).collect();
    let (written, published) = live(dir.path(), messages);
    assert!(written.contains("- `cargo test` auto-approved 5 times"), "{written}");
    assert_eq!(published, 9, "six new learnings and three from the log");
    assert_eq!(live(dir.path(), Vec::new()), (written, published));
}

#[test]
fn learnings_are_not_written_through_a_symbolic_link() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::new("s");
    eventful(&mut session);
    let entries = session.learnings.on_tick(at(200)).entries;
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("session-learnings.md"), "mine").unwrap();
    for linked in [".git-paw", ".git-paw/session-learnings.md", ".git-paw/session-learnings.lock"] {
        let repository = tempfile::tempdir_in(dir.path()).unwrap().keep();
        let link = repository.join(linked);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let leads_to =
            if linked == ".git-paw" { outside.clone() } else { outside.join(link.file_name().unwrap()) };
        symlink(leads_to, &link).unwrap();
        let error = file::update(&repository, &session.id, &entries, at(200)).unwrap_err();
        assert!(error.to_string().ends_with("it is a symbolic link"), "{linked}: {error}");
    }
    assert_eq!(fs::read_to_string(outside.join("session-learnings.md")).unwrap(), "mine");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1, "nothing was created there");
}

#[test]
fn nothing_is_written_or_published_without_news() {
    let dir = tempfile::tempdir().unwrap();
    let path = file::path(dir.path());
    let mut session = Session::new("s");
    assert_eq!(session.learnings.next_wake(), None);
    assert_eq!(session.end(100, dir.path()), (false, Vec::new()));
    assert!(!path.exists());
    eventful(&mut session);
    session.flush(200, dir.path());
    let before = fs::read_to_string(&path).unwrap();
    assert_eq!(session.learnings.next_wake(), None);
    session.say(300, "agent.status", "feat-a", json!({"status": "working"}));
    assert_eq!(session.flush(400, dir.path()), (false, Vec::new()));
    assert_eq!(session.end(500, dir.path()), (false, Vec::new()));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn learnings_file_is_written_at_most_once_per_interval() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::new("s");
    session.meet(1, "in-flight", "conflict", ("a", "b"), &["x"]);
    assert_eq!(session.learnings.next_wake(), Some(at(60)));
    assert!(!session.flush(59, dir.path()).0);
    assert!(session.flush(60, dir.path()).0);
    session.meet(61, "in-flight", "conflict", ("a", "c"), &["x"]);
    assert_eq!(session.learnings.next_wake(), Some(at(120)));
}

#[test]
fn a_killed_session_continues_where_the_file_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = file::path(dir.path());
    let mut session = Session::new("s");
    eventful(&mut session);
    session.flush(200, dir.path());
    let before = fs::read_to_string(&path).unwrap();
    let mut session = session.restarted(300);
    assert_eq!(session.flush(400, dir.path()), (false, Vec::new()));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    session.meet(500, "in-flight", "overlap", ("feat-c", "feat-d"), &["new.rs"]);
    let (written, published) = session.flush(600, dir.path());
    assert!(written);
    assert_eq!(published, ["in-flight-conflict: feat-c and feat-d in `new.rs`"]);
    let after = fs::read_to_string(&path).unwrap();
    assert_eq!(after.matches("## Session Learnings").count(), 1);
    let added: Vec<_> = after.lines().filter(|line| !before.lines().any(|known| known == *line)).collect();
    assert_eq!(added, ["- in-flight-conflict: feat-c and feat-d in `new.rs`"]);
}

#[test]
fn unwritten_learnings_survive_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::new("s");
    eventful(&mut session);
    let mut session = session.restarted(300);
    let (written, published) = session.flush(400, dir.path());
    assert!(written && !published.is_empty());
}

#[test]
fn unresolved_entries_are_written_at_the_end_and_updated_after_a_resume() {
    let dir = tempfile::tempdir().unwrap();
    let path = file::path(dir.path());
    let mut session = Session::new("s");
    session.say(0, "agent.blocked", "a", json!({"needs": "x", "from": "b"}));
    session.say(1, "agent.feedback", "c", json!({"from": "supervisor", "errors": ["e"]}));
    session.end(45, dir.path());
    let bullets = || -> Vec<String> {
        let text = fs::read_to_string(&path).unwrap();
        text.lines().filter(|line| line.starts_with("- ")).map(str::to_owned).collect()
    };
    assert_eq!(
        bullets(),
        [
            "- a: blocked 45s waiting on b (unresolved at session end)",
            "- c: 1 feedback cycle and not verified (unresolved at session end)",
        ]
    );
    let mut session = session.restarted(100);
    session.end(125, dir.path());
    assert_eq!(bullets()[0], "- a: blocked 2m05s waiting on b (unresolved at session end)");
    let mut session = session.restarted(200);
    session.say(300, "agent.status", "a", json!({"status": "working", "message": "it came"}));
    session.say(310, "agent.verified", "c", json!({"verified_by": "supervisor"}));
    session.flush(400, dir.path());
    assert_eq!(bullets(), ["- a: blocked 5m00s waiting on b", "- c: 1 feedback cycle before verifying"]);
}

#[test]
fn two_waits_of_the_same_length_are_two_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = file::path(dir.path());
    let mut session = Session::new("s");
    for start in [0, 100] {
        session.say(start, "agent.blocked", "a", json!({"needs": "x", "from": "b"}));
        session.say(start + 10, "agent.artifact", "a", json!({"status": "done"}));
        session.flush(start + 70, dir.path());
    }
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("- a: blocked 10s waiting on b").count(), 2);
    assert_eq!(session.restarted(500).flush(600, dir.path()), (false, Vec::new()));
}

#[test]
fn approvals_are_counted_in_one_line_and_published_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = file::path(dir.path());
    let mut session = Session::new("s");
    session.approve(1, "cargo test", 5);
    assert_eq!(session.flush(60, dir.path()).1, ["`cargo test` auto-approved 5 times"]);
    session.approve(61, "cargo test", 7);
    assert_eq!(session.flush(120, dir.path()), (true, Vec::new()));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("auto-approved").count(), 1);
    assert!(text.contains("- `cargo test` auto-approved 12 times"), "{text}");
}

#[test]
fn several_sessions_and_users_share_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = file::path(dir.path());
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, "# Ours\n\nby hand").unwrap();
    let (mut first, mut second) = (Session::new("one"), Session::new("two"));
    first.meet(1, "in-flight", "conflict", ("a", "b"), &["x"]);
    first.flush(60, dir.path());
    second.approve(1, "cargo test", 5);
    second.flush(61, dir.path());
    first.meet(70, "forward", "overlap", ("a", "b"), &["y"]);
    first.say(71, "agent.feedback", "a", json!({"from": "supervisor", "errors": ["e"]}));
    first.say(72, "agent.verified", "a", json!({"verified_by": "supervisor"}));
    let text = fs::read_to_string(&path).unwrap().replace("- in-flight", "A note of mine.\n\n- in-flight");
    fs::write(&path, text).unwrap();
    first.flush(130, dir.path());
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap(), @r"
    # Ours

    by hand

    ## Session Learnings — 2026-09-21T14:14:20Z
    <!-- git-paw session: one -->

    ### Conflict events

    A note of mine.

    - in-flight-conflict: a and b in `x`
    - forward-conflict-cross-spec: a and b in `y`

    ### Recovery cycles

    - a: 1 feedback cycle before verifying

    ## Session Learnings — 2026-09-21T14:14:21Z
    <!-- git-paw session: two -->

    ### Permission patterns

    - `cargo test` auto-approved 5 times
    ");
}

#[test]
fn messages_of_other_sessions_are_ignored() {
    let mut other = Session::new("other");
    eventful(&mut other);
    let mut learnings = Learnings::new(SessionId::new("mine"), settings(), at(0));
    for stored in &other.log {
        learnings.on_message(stored);
    }
    assert_eq!(learnings.on_end(at(1_000)), LearningsFlush::default());
}

#[test]
fn the_text_of_messages_is_ignored() {
    let mut session = Session::new("s");
    let words = "[conflict-detector] in-flight conflict: file x is being modified by both you and b";
    session.say(1, "agent.question", "a", json!({"question": words}));
    session.say(
        2,
        "agent.status",
        "a",
        json!({"status": "auto_approved", "message": "auto_approved: matched x"}),
    );
    assert_eq!(session.learnings.on_end(at(100)), LearningsFlush::default());
}

#[test]
fn conflict_reports_of_other_senders_are_ignored() {
    let mut session = Session::new("s");
    let facts = json!({"kind": "in-flight", "level": "conflict", "you": "a", "other": "b", "files": []});
    session.say(1, "agent.feedback", "a", json!({"from": "mallory", "errors": ["e"], "conflict": facts}));
    session.say(2, "agent.verified", "a", json!({"verified_by": "supervisor"}));
    let texts: Vec<_> = session.learnings.entries().into_iter().map(|entry| entry.text).collect();
    assert_eq!(texts, ["a: 1 feedback cycle before verifying"]);
}

#[test]
fn force_off_keeps_learnings_in_the_file() {
    let config = LearningsConfig {
        broker_publish: paw_core::config::LearningsPublish::ForceOff,
        ..LearningsConfig::default()
    };
    let mut session = Session::new("s");
    session.learnings = Learnings::new(SessionId::new("s"), LearningsSettings::from_config(&config), at(0));
    eventful(&mut session);
    let flush = session.learnings.on_tick(at(200));
    assert!(!flush.entries.is_empty() && flush.publish.is_empty());
}

proptest! {
    // Few cases: every flush waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A restart at any point neither repeats nor loses a line.
    #[test]
    fn a_kill_at_any_point_leads_to_the_same_file(
        steps in proptest::collection::vec((0_usize..7, 0_usize..3, 0_usize..3), 0..40),
        kills in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c"];
        let play = |repository: &Path, kills: &[bool]| {
            let mut session = Session::new("s");
            let mut published = Vec::new();
            for (place, (what, who, whom)) in steps.iter().enumerate() {
                let second = i64::try_from(place).unwrap() * 100;
                let (who, whom) = (names[*who], names[*whom]);
                match what {
                    0 if who != whom => _ = session.meet(second, "in-flight", "conflict", (who, whom), &[who]),
                    1 if who != whom => _ = session.meet(second, "ownership", "overlap", (who, whom), &[whom]),
                    2 => _ = session.say(second, "agent.blocked", who, json!({"needs": "x", "from": whom})),
                    3 => _ = session.say(second, "agent.artifact", who, json!({"status": "done"})),
                    4 => _ = session.say(second, "agent.feedback", who, json!({"from": whom, "errors": ["e"]})),
                    5 => _ = session.say(second, "agent.verified", who, json!({"verified_by": "supervisor"})),
                    _ => _ = session.approve(second, who, 2),
                }
                if kills[place] {
                    session = session.restarted(second);
                } else {
                    published.extend(session.flush(second + 90, repository).1);
                }
            }
            published.extend(session.end(10_000, repository).1);
            (fs::read_to_string(file::path(repository)).unwrap_or_default(), published)
        };
        let bullets = |text: &str| {
            let mut lines: Vec<_> = text.lines().filter(|line| line.starts_with("- ")).map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let (uninterrupted, published) = play(&dir.path().join("uninterrupted"), &[false; 40]);
        let (killed, published_again) = play(&dir.path().join("killed"), &kills);
        prop_assert_eq!(bullets(&uninterrupted), bullets(&killed));
        prop_assert_eq!(published.len(), published_again.len());
    }

    #[test]
    fn existing_lines_of_any_file_are_kept(text in "([#\\-< a-z]{0,12}\\n){0,12}") {
        let mut session = Session::new("s");
        session.meet(1, "in-flight", "conflict", ("a", "b"), &["x"]);
        let entries = session.learnings.entries();
        let merged = file::merge(&text, &session.id, &entries, at(0)).unwrap();
        prop_assert!(merged.starts_with(text.trim_end_matches('\n')));
        prop_assert_eq!(file::merge(&merged, &session.id, &entries, at(9)), None);
    }
}
