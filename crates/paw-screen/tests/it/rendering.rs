//! Snapshots of the dashboard.

use crossterm::event::KeyCode;
use paw_screen::dashboard::{DashboardHost, DashboardOptions, DashboardUpdate, Theme};
use paw_view::{SessionView, ViewEvent};

use crate::sample;
use crate::test_dashboard::{TestDashboard, now};

#[test]
fn dashboard_at_60x12() {
    insta::assert_snapshot!(TestDashboard::of_session(60, 12).screen(), @r"
     git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119
    ▸ agents 5 ─────────────────────────────────────────────────
    ○ supervisor   watching     12s     0 supervisor online
    ✓ docs-guide   done         14m     0 quick start and troub…
    ▲ feat-api     blocked       3m     1 needs the User type f…
    ─ questions 1 ──────────────────────────────────────────────
    ? feat-auth    33s Should expired tokens be refused with 40…
    ─ conflicts 2 ──────────────────────────────────────────────
    conflict     1m …are/session.rs:41-58 feat-auth ⇄ feat-api
    ─ messages 10 ──────────────────────────────────────────────
    09:29 feat-auth status   working, 3 files
     1 working, 2 done, 1 blocked, 1 committed  q hide  ? keys
    ");
}

#[test]
fn dashboard_at_100x30() {
    insta::assert_snapshot!(TestDashboard::of_session(100, 30).screen(), @r"
     git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119
    ▸ agents 5 ─────────────────────────────────────────────────────────────────────────────────────────
      agent              state        age files cli    branch       last message
    ○ supervisor         watching     12s     0 claude              supervisor online
    ✓ docs-guide         done         14m     0 claude docs/guide   quick start and troubleshooting
    ▲ feat-api           blocked       3m     1 codex  feat/api     needs the User type from feat-auth
    ● feat-auth          working       4s     3 claude feat/auth    hash passwords with argon2
    ◆ feat-search        committed     1m     2 claude feat/search  inverted index with prefix queries
    ✔ fix-checkout-roun… verified   1h02m     1 claude fix/checkou… all gates passed at 4fe2a91
    ─ questions 1 ──────────────────────────────────────────────────────────────────────────────────────
    ? feat-auth    33s Should expired tokens be refused with 401, or refreshed silently when the refres…
    ─ conflicts 2 ──────────────────────────────────────────────────────────────────────────────────────
    conflict     1m src/middleware/session.rs:41-58 feat-auth ⇄ feat-api
    additive    30s src/lib.rs                      feat-search ⇄ feat-api
    ─ messages 10 ──────────────────────────────────────────────────────────────────────────────────────
    1 status 2 artifact 3 blocked 4 verified 5 feedback 6 question 7 answer 8 intent 9 main 0 learning
    09:16:00 docs-guide                       artifact done: quick start and troubleshooting
    09:18:20 feat-auth                        intent   3 files for 15m: argon2 behind a trait
    09:21:30 feat-auth                        status   working, 1 file
    09:25:00 feat-search                      artifact committed: src/search.rs, src/index.rs
    09:26:50 feat-api → feat-auth             blocked  needs the User type
    09:28:24 supervisor → feat-auth           feedback [conflict-detector] in-flight conflict: src/midd…
    09:28:25 supervisor → feat-api            feedback [conflict-detector] in-flight conflict: src/midd…
    09:29:00 supervisor → fix-checkout-round… verified all gates passed at 4fe2a91
    09:29:27 feat-auth → supervisor           question Should expired tokens be refused with 401, or re…
    09:29:56 feat-auth                        status   working, 3 files



     5 agents: 1 working, 2 done, 1 blocked, 1 committed        Enter detail  r answer  q hide  ? keys
    ");
}

#[test]
fn dashboard_at_200x50() {
    let mut dashboard = TestDashboard::of_session(200, 50);
    let seen = dashboard.screen();
    // The rest is empty but for the line between the columns.
    let (top, rest) = seen.split_at(seen.match_indices('\n').nth(14).unwrap().0);
    insta::assert_snapshot!(top, @r"
     git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119
    ▸ agents 5 ───────────────────────────────────────────────────────────────────────────────────────────────────│─ messages 10 ───────────────────────────────────────────────────────────────────────────
      agent                 state        age files cli    branch              last message                        │1stat 2arti 3bloc 4veri 5feed 6ques 7answ 8inte 9main 0lear
    ○ supervisor            watching     12s     0 claude                     supervisor online                   │09:16:00 docs-guide                    artifact done: quick start and troubleshooting
    ✓ docs-guide            done         14m     0 claude docs/guide          quick start and troubleshooting     │09:18:20 feat-auth                     intent   3 files for 15m: argon2 behind a trait
    ▲ feat-api              blocked       3m     1 codex  feat/api            needs the User type from feat-auth  │09:21:30 feat-auth                     status   working, 1 file
    ● feat-auth             working       4s     3 claude feat/auth           hash passwords with argon2          │09:25:00 feat-search                   artifact committed: src/search.rs, src/index.rs
    ◆ feat-search           committed     1m     2 claude feat/search         inverted index with prefix queries  │09:26:50 feat-api → feat-auth          blocked  needs the User type
    ✔ fix-checkout-rounding verified   1h02m     1 claude fix/checkout-round… all gates passed at 4fe2a91         │09:28:24 supervisor → feat-auth        feedback [conflict-detector] in-flight conflict: …
    ─ questions 1 ────────────────────────────────────────────────────────────────────────────────────────────────│09:28:25 supervisor → feat-api         feedback [conflict-detector] in-flight conflict: …
    ? feat-auth    33s Should expired tokens be refused with 401, or refreshed silently when the refresh token is…│09:29:00 supervisor → fix-checkout-ro… verified all gates passed at 4fe2a91
    ─ conflicts 2 ────────────────────────────────────────────────────────────────────────────────────────────────│09:29:27 feat-auth → supervisor        question Should expired tokens be refused with 40…
    conflict     1m src/middleware/session.rs:41-58 feat-auth ⇄ feat-api                                          │09:29:56 feat-auth                     status   working, 3 files
    additive    30s src/lib.rs                      feat-search ⇄ feat-api                                        │
                                                                                                                  │
    ");
    let rest: Vec<_> = rest.trim_start().lines().collect();
    assert!(rest[..rest.len() - 1].iter().all(|line| line.trim() == "│"), "{rest:?}");
    insta::assert_snapshot!(rest[rest.len() - 1], @" 5 agents: 1 working, 2 done, 1 blocked, 1 committed                                                                  Tab panel  / search  o only its messages  Enter detail  r answer  q hide  ? keys");
}

#[test]
fn dashboard_without_agents() {
    insta::assert_snapshot!(TestDashboard::empty(60, 12).screen(), @r"
     git paw
    ▸ agents 0 ─────────────────────────────────────────────────
      No agents connected yet
    ─ messages 0 ───────────────────────────────────────────────
    1stat 2arti 3bloc 4veri 5feed 6ques 7answ 8inte 9main 0lear
      No messages yet





     0 agents                     Enter detail  q hide  ? keys
    ");
}

#[test]
fn dashboard_without_unicode() {
    let theme = Theme { colour: false, unicode: false };
    let options = DashboardOptions { theme, ..sample::options() };
    let mut dashboard = TestDashboard::with(options, sample::session(now()), 60, 12);
    let seen = dashboard.screen();
    assert!(seen.lines().all(|line| line.replace('…', "").is_ascii()), "{seen}");
    insta::assert_snapshot!(seen, @r"
     git paw  paw-shop - /home/ada/code/shop - 127.0.0.1:9119
    > agents 5 -------------------------------------------------
    o supervisor   watching     12s     0 supervisor online
    v docs-guide   done         14m     0 quick start and troub…
    ! feat-api     blocked       3m     1 needs the User type f…
    - questions 1 ----------------------------------------------
    ? feat-auth    33s Should expired tokens be refused with 40…
    - conflicts 2 ----------------------------------------------
    conflict     1m …are/session.rs:41-58 feat-auth <> feat-api
    - messages 10 ----------------------------------------------
    09:29 feat-auth status   working, 3 files
     1 working, 2 done, 1 blocked, 1 committed  q hide  ? keys
    ");
}

#[test]
fn dashboard_with_26_agents_on_a_small_screen() {
    let agent = |number| sample::agent(now(), &format!("feat-{number:02}"), "working", &[], number, "busy");
    let view = SessionView { agents: (0..26).map(agent).collect(), ..sample::empty() };
    let mut dashboard = TestDashboard::with(sample::options(), view, 80, 24);
    for _ in 0..25 {
        dashboard.key(KeyCode::Char('j'));
    }
    insta::assert_snapshot!(dashboard.screen(), @r"
     git paw
    ▸ agents 26 ────────────────────────────────────────────────────────────────────
      agent   state      age files cli    branch  last message
    ● feat-15 working    15s     0 claude feat/15 busy
    ● feat-16 working    16s     0 claude feat/16 busy
    ● feat-17 working    17s     0 claude feat/17 busy
    ● feat-18 working    18s     0 claude feat/18 busy
    ● feat-19 working    19s     0 claude feat/19 busy
    ● feat-20 working    20s     0 claude feat/20 busy
    ● feat-21 working    21s     0 claude feat/21 busy
    ● feat-22 working    22s     0 claude feat/22 busy
    ● feat-23 working    23s     0 claude feat/23 busy
    ● feat-24 working    24s     0 claude feat/24 busy
    ● feat-25 working    25s     0 claude feat/25 busy
    ─ messages 0 ───────────────────────────────────────────────────────────────────
    1stat 2arti 3bloc 4veri 5feed 6ques 7answ 8inte 9main 0lear
      No messages yet






     26 agents: 26 working       o only its messages  Enter detail  q hide  ? keys
    ");
}

#[test]
fn help_lists_the_keys() {
    insta::assert_snapshot!(TestDashboard::of_session(60, 12).keys("?").screen(), @r"
     git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119
    ▸ keys 3 more below ────────────────────────────────────────
    Tab    next panel; Shift-Tab: previous panel
    j k    down and up, also arrows, PgDn, PgUp, g, G
    Enter  show details, or answer a question
    r      answer the selected or the oldest question
    d      dismiss a question on this screen
    1-9 0  show only this message type; again: undo
    o      show only messages of this agent; again: undo
    /      search messages
    a Esc  show all messages, and jump to the newest
     1 working, 2 done, 1 blocked, 1 committed        Esc back
    ");
    assert!(TestDashboard::of_session(100, 30).keys("?").shows("hide the view; the broker keeps running"));
    let attached = DashboardOptions { host: DashboardHost::Attached, ..sample::options() };
    assert!(
        TestDashboard::with(attached, sample::empty(), 100, 30)
            .keys("?")
            .shows("close the view; the broker keeps running")
    );
}

#[test]
fn details_of_an_agent_a_conflict_and_a_message() {
    let mut dashboard = TestDashboard::of_session(80, 14);
    dashboard.keys("jjj").key(KeyCode::Enter);
    insta::assert_snapshot!(dashboard.screen(), @r"
     git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119
    ▸ feat-auth ────────────────────────────────────────────────────────────────────
    state      working
    branch     feat/auth
    cli        claude
    last seen  2026-11-15 09:29:56 UTC
    message    hash passwords with argon2
    files 3    src/auth.rs
               src/token.rs
               tests/auth.rs



     5 agents: 1 working, 2 done, 1 blocked, 1 committed      j/k scroll  Esc back
    ");
    dashboard.key(KeyCode::Esc).key(KeyCode::Tab).key(KeyCode::Tab).key(KeyCode::Enter);
    insta::assert_snapshot!(dashboard.screen(), @r"
     git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119
    ▸ conflict ─────────────────────────────────────────────────────────────────────
    where    src/middleware/session.rs:41-58
    agents   feat-auth
             feat-api
    since    2026-11-15 09:28:25 UTC
    details  both changed the signature of open_session
             git cannot merge lines 41-58





     5 agents: 1 working, 2 done, 1 blocked, 1 committed      j/k scroll  Esc back
    ");
    dashboard.key(KeyCode::Esc).key(KeyCode::Tab).keys("kk").key(KeyCode::Enter);
    insta::assert_snapshot!(dashboard.screen(), @r"
     git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119
    ▸ verified 8 ───────────────────────────────────────────────────────────────────
    from  supervisor
    to    fix-checkout-rounding
    at    2026-11-15 09:29:00 UTC
    text  all gates passed at 4fe2a91







     5 agents: 1 working, 2 done, 1 blocked, 1 committed      j/k scroll  Esc back
    ");
}

#[test]
fn reply_shows_the_question_and_the_input() {
    insta::assert_snapshot!(TestDashboard::of_session(60, 12).keys("rrefuse").screen(), @r"
     git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119
    ─ agents 5 ─────────────────────────────────────────────────
    ○ supervisor   watching     12s     0 supervisor online
    ✓ docs-guide   done         14m     0 quick start and troub…
    ─ questions 1 ──────────────────────────────────────────────
    ─ conflicts 2 ──────────────────────────────────────────────
    ─ messages 10 ──────────────────────────────────────────────
    ▸ feat-auth asks ───────────────────────────────────────────
      Should expired tokens be refused with 401, or refreshed
      silently when the refresh token is still good?
    › refuse
     1 working, 2 done, 1 blocked, 1 committed      Enter send
    ");
}

#[test]
fn hidden_view_explains_itself() {
    let sentence = "view hidden, broker still running; any key shows it again; git paw pause stops it";
    let mut dashboard = TestDashboard::of_session(100, 30);
    assert_eq!(dashboard.keys("q").screen().trim(), sentence);
    let mut narrow = TestDashboard::of_session(60, 12);
    let seen = narrow.keys("q").screen();
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>().join(" "), sentence);
}

#[test]
fn header_warns_about_missing_auth_and_a_lost_broker() {
    let mut dashboard = TestDashboard::of_session(100, 12);
    let mut facts = sample::facts();
    facts.broker.as_mut().unwrap().open_to_all = Some(true);
    dashboard.update(DashboardUpdate::View(ViewEvent::Session(Box::new(facts))));
    insta::assert_snapshot!(dashboard.line("git paw"), @" git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119         auth none: senders are not checked");
    dashboard.update(DashboardUpdate::Disconnected("no broker is running".into()));
    insta::assert_snapshot!(dashboard.line("git paw"), @" git paw  paw-shop · /home/ada/code/shop · 127.0.0.1:9119          broker lost: no broker is running");
    dashboard.resize(60, 12);
    insta::assert_snapshot!(dashboard.line("git paw"), @" git paw  paw-shop         broker lost: no broker is running");
    dashboard.update(DashboardUpdate::Connected);
    insta::assert_snapshot!(dashboard.line("git paw"), @" git paw  paw-shop · …a/code/shop · 127.0.0.1:9119 auth none");
}

#[test]
fn lines_fit_the_screen_and_the_counts_stay_visible() {
    for (columns, rows) in [(20, 5), (33, 8), (60, 12), (79, 24), (120, 20), (150, 16), (200, 50)] {
        let mut dashboard = TestDashboard::of_session(columns, rows);
        let seen = dashboard.screen();
        assert_eq!(seen.lines().count(), usize::from(rows));
        assert!(seen.lines().all(|line| paw_core::text::width(line) <= usize::from(columns)), "{seen}");
        assert!(seen.contains("? keys"), "{columns}x{rows}\n{seen}");
    }
}
