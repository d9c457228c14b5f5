//! Snapshots of the dashboard.

use crossterm::event::KeyCode;
use paw_core::HostName;
use paw_screen::dashboard::{DashboardHost, DashboardOptions, DashboardUpdate};
use paw_view::{BranchTip, HostReach, MemberHost, ViewEvent};

use crate::sample;
use crate::test_dashboard::{TestDashboard, now};

#[test]
fn dashboard_at_60x12() {
    insta::assert_snapshot!("60x12", TestDashboard::of_session(60, 12).screen());
}

#[test]
fn dashboard_without_agents() {
    insta::assert_snapshot!("no_agents", TestDashboard::empty(60, 12).screen());
}

#[test]
fn help_lists_the_keys() {
    insta::assert_snapshot!("60x12_help", TestDashboard::of_session(60, 12).keys("?").screen());
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
    dashboard.keys("i");
    insta::assert_snapshot!("details_agent", dashboard.screen());
    dashboard.key(KeyCode::Esc).key(KeyCode::Tab).key(KeyCode::Tab).key(KeyCode::Enter);
    insta::assert_snapshot!("details_conflict", dashboard.screen());
    dashboard.key(KeyCode::Esc).key(KeyCode::Tab).keys("kk").key(KeyCode::Enter);
    insta::assert_snapshot!("details_message", dashboard.screen());
}

#[test]
fn reply_shows_the_question_and_the_input() {
    insta::assert_snapshot!("60x12_answer", TestDashboard::of_session(60, 12).keys("rrefuse").screen());
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

#[test]
fn commits_ahead_of_and_behind_main_are_shown() {
    let mut view = sample::session(now());
    view.agents[0].tip =
        Some(BranchTip { ahead: Some(2), behind: Some(1), ..BranchTip::new("4fe2a91", false) });
    let mut dashboard = TestDashboard::with(sample::options(), view, 120, 30);
    assert!(dashboard.shows("commits") && dashboard.shows("+2 -1"), "{}", dashboard.screen());
    assert!(dashboard.keys("i").shows("+2 -1"), "{}", dashboard.screen());
}

#[test]
fn an_agent_on_another_machine_shows_its_host_and_since_when_that_is_unreachable() {
    let with_reach = |reach: Option<HostReach>| {
        let mut view = sample::session(now());
        for agent in view.agents.iter_mut().filter(|agent| agent.id.as_str() == "feat-auth") {
            let name = HostName::new("big").unwrap();
            agent.member.as_mut().unwrap().host = Some(MemberHost { name, reach: reach.clone() });
        }
        TestDashboard::with(sample::options(), view, 120, 30)
    };
    let reach = |is_reachable: bool| {
        let problem = (!is_reachable).then(|| "No route to host".to_owned());
        Some(HostReach { is_reachable, since: sample::ago(now(), 42 * 60), problem })
    };
    for reach in [None, reach(true)] {
        let line = with_reach(reach).line("claude@big");
        assert!(line.contains("feat-auth") && line.contains("working") && !line.contains("42m"), "{line}");
    }
    let mut lost = with_reach(reach(false));
    let line = lost.line("claude@big");
    assert!(line.contains("feat-auth") && line.contains("unreachable") && line.contains("42m"), "{line}");
    assert!(!lost.line("feat-api").contains("unreachable"), "only agents there are");
    let details = lost.keys("gi").screen();
    assert!(details.contains("big, unreachable since 2026-11-15 08:48"), "{details}");
    assert!(details.contains("No route to host"), "{details}");
}
