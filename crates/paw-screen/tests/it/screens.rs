//! Every screen at three sizes, with 1, 6 and 25 agents, in colour, without colour and in ASCII.

use crossterm::event::KeyCode;
use paw_screen::dashboard::{AgentAction, AgentJob, DashboardOptions, DashboardUpdate, Theme};
use ratatui::style::Color;

use crate::sample::{self, id};
use crate::test_dashboard::{TestDashboard, now};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];
const COUNTS: [usize; 3] = [1, 6, 25];
const NO_COLOUR: Theme = Theme { colour: false, unicode: true };
const ASCII: Theme = Theme { colour: false, unicode: false };

fn dashboard(theme: Theme, count: usize, (columns, rows): (u16, u16)) -> TestDashboard {
    let options = DashboardOptions { theme, ..sample::options() };
    TestDashboard::with(options, sample::session_of(now(), count), columns, rows)
}

type Screen = (&'static str, fn(&mut TestDashboard));

/// The screens that cover the panels, or a part of them.
const SCREENS: [Screen; 9] = [
    ("browse", |_| {}),
    ("preview", |dashboard| {
        dashboard.keys("pp");
        if !dashboard.shows("pane of") {
            dashboard.keys("p");
        }
        let rows = [
            "● I will hash the passwords with argon2.",
            "",
            "  Bash(cargo publish --dry-run)",
            "  Do you want to proceed?",
        ];
        let rows = rows.map(str::to_owned).to_vec();
        dashboard.update(DashboardUpdate::Preview { agent: id("feat-auth"), rows });
    }),
    ("approval", |dashboard| {
        dashboard.keys("a");
        dashboard.update(DashboardUpdate::Prompt { agent: id("feat-auth"), found: Ok(sample::prompt()) });
    }),
    ("changes", |dashboard| {
        dashboard.keys("c").update(sample::changes("feat-auth"));
        dashboard.update(sample::patch("feat-auth", "src/auth.rs", 60));
    }),
    ("help", |dashboard| {
        dashboard.keys("?");
    }),
    ("details", |dashboard| {
        dashboard.keys("i");
    }),
    ("answer", |dashboard| {
        dashboard.keys("rwith 401");
    }),
    ("confirm", |dashboard| {
        dashboard.keys("X");
    }),
    ("output", |dashboard| {
        dashboard.keys("v");
        let job =
            AgentJob { action: AgentAction::Verify, agent: id("feat-auth"), name: "feat/auth".to_owned() };
        let output =
            ["GATE  RESULT  TIME  COMMAND", "test  failed  12s   cargo test", "failed feat/auth at 4fe2a91"];
        let output = output.map(str::to_owned).to_vec();
        dashboard.update(DashboardUpdate::Ended { job, success: false, output });
    }),
];

#[test]
fn the_screen_with_1_6_and_25_agents() {
    for size in SIZES {
        for count in COUNTS {
            let seen = dashboard(Theme::FULL, count, size).screen();
            insta::assert_snapshot!(format!("{}x{}_{count}_agents", size.0, size.1), seen);
        }
    }
}

#[test]
fn every_other_screen() {
    for size in SIZES {
        for (name, open) in &SCREENS[1..] {
            let mut dashboard = dashboard(Theme::FULL, 6, size);
            open(&mut dashboard);
            insta::assert_snapshot!(format!("{}x{}_{name}", size.0, size.1), dashboard.screen());
        }
    }
}

#[test]
fn every_screen_is_sound_in_every_size_and_theme() {
    for size in SIZES {
        for count in COUNTS {
            for (name, open) in SCREENS {
                let [full, plain, ascii] = [Theme::FULL, NO_COLOUR, ASCII].map(|theme| {
                    let mut dashboard = dashboard(theme, count, size);
                    open(&mut dashboard);
                    let seen = dashboard.screen();
                    let colours = dashboard.terminal.backend().buffer().content().iter();
                    let coloured =
                        colours.filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count();
                    assert_eq!(coloured > 0, theme.colour, "{name} {size:?} {count}");
                    seen
                });
                let which = format!("{name} at {size:?} with {count}");
                assert_eq!(full, plain, "{which}: colours carry no meaning of their own");
                assert!(ascii.is_ascii(), "{which}\n{ascii}");
                for seen in [&full, &ascii] {
                    assert_eq!(seen.lines().count(), usize::from(size.1), "{which}");
                    assert!(
                        seen.lines().all(|line| paw_core::text::width(line) <= usize::from(size.0)),
                        "{which}\n{seen}"
                    );
                    assert!(seen.contains("git paw  paw-shop"), "{which}\n{seen}");
                }
            }
        }
    }
}

#[test]
fn what_needs_the_user_is_visible_without_scrolling() {
    for size in SIZES {
        for count in COUNTS {
            let mut dashboard = dashboard(Theme::FULL, count, size);
            let seen = dashboard.screen();
            let row = dashboard.line("needs approval");
            assert!(row.contains("feat-auth") && row.contains("cargo publish"), "{seen}");
            assert!(dashboard.line("! feat-").contains("approve"), "{seen}");
            assert!(seen.contains("need you") || seen.contains("needs you"), "{seen}");
            assert!(seen.contains("a/d approve, deny") && seen.contains("? keys"), "{seen}");
        }
    }
}

#[test]
fn the_pane_below_the_agents_keeps_them_visible() {
    let mut dashboard = dashboard(Theme::FULL, 6, (80, 24));
    dashboard.keys("p").key(KeyCode::Down);
    assert!(dashboard.shows("feat-auth") && dashboard.shows("pane of"), "{}", dashboard.screen());
}
