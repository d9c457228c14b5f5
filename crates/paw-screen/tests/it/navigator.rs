//! Drawing and keys of the autopilot navigator.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use paw_core::text::width;
use paw_screen::autopilot::{
    NavigatorCommand, NavigatorEffect, NavigatorEvent, NavigatorState, NavigatorView, RunActivity, RunView,
    StatusLabel, SubtaskView, TagView, TaskStatusKind, TaskView, draw,
};
use paw_screen::dashboard::Theme;
use paw_screen::text::Text;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

fn word(text: &str) -> StatusLabel {
    let category = match text {
        "done" => TaskStatusKind::Done,
        "in-progress" => TaskStatusKind::Active,
        "cancelled" => TaskStatusKind::Dropped,
        _ => TaskStatusKind::Open,
    };
    StatusLabel { text: text.into(), category }
}

fn task(id: &str, status: &str, title: &str, subtasks: &[(&str, &str)]) -> TaskView {
    let subtask = |(at, (status, title)): (usize, &(&str, &str))| SubtaskView {
        id: format!("{id}.{}", at + 1),
        title: (*title).into(),
        status: word(status),
        priority: None,
    };
    let subtasks = subtasks.iter().enumerate().map(subtask).collect();
    TaskView { id: id.to_owned(), title: title.into(), status: word(status), priority: None, subtasks }
}

fn tag(name: &str, tasks: Vec<TaskView>) -> TagView {
    TagView { name: name.to_owned(), tasks, problems: Vec::new() }
}

fn run_of(task: &str, activity: RunActivity) -> RunView {
    RunView {
        task: task.to_owned(),
        tag: "analytics".to_owned(),
        subtask: Some(format!("{task}.2")),
        phase: "GREEN, attempt 2 of 3".into(),
        done: 1,
        of: 3,
        activity,
        has_branch: true,
    }
}

fn paused() -> RunActivity {
    RunActivity::Paused { why: "Could not achieve green state after 3 attempts".into() }
}

fn view() -> NavigatorView {
    let metrics = task(
        "42",
        "in-progress",
        "User metrics",
        &[("done", "Schema"), ("pending", "Endpoint"), ("pending", "Dashboard")],
    );
    NavigatorView {
        project: "my-app".into(),
        branch: "analytics/task-42-user-metrics".into(),
        tag: "analytics".to_owned(),
        tags: vec![
            tag("master", vec![task("1", "pending", "Storage", &[])]),
            tag(
                "analytics",
                vec![
                    task("41", "done", "Login", &[]),
                    metrics,
                    task("43", "pending", "Export", &[("pending", "CSV")]),
                ],
            ),
        ],
        problem: None,
        run: None,
        log: ["14:21:03 red 42.2 ok failed 3", "14:22:10 green 42.2 error failed 1"].map(Text::line).into(),
    }
}

fn shown(view: NavigatorView) -> NavigatorState {
    let mut state = NavigatorState::new(Theme::FULL);
    state.on_event(NavigatorEvent::View(Box::new(view)));
    state
}

fn press(state: &mut NavigatorState, code: KeyCode) -> Vec<NavigatorEffect> {
    state.on_event(NavigatorEvent::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn letter(state: &mut NavigatorState, letter: char) -> Vec<NavigatorEffect> {
    press(state, KeyCode::Char(letter))
}

fn screen(state: &NavigatorState, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(state, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let (mut x, mut line) = (0, String::new());
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // The cell behind a wide letter belongs to it.
            x += u16::try_from(width(symbol)).unwrap().max(1);
        }
        line
    };
    (0..rows).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

#[test]
fn a_run_expands_its_task_and_marks_the_current_subtask() {
    let state = shown(NavigatorView { run: Some(run_of("42", RunActivity::Working)), ..view() });
    insta::assert_snapshot!(screen(&state, 60, 18), @r"
    Project: my-app
    Branch:  analytics/task-42-user-metrics
    Tag:     analytics  (2 of 2)

    Tasks  1 of 3 done
      41 [done] Login
    ▾ 42 [in-progress] User metrics
        42.1 [done] Schema
        42.2 [pending] ◀ Endpoint
        42.3 [pending] Dashboard
    ▸ 43 [pending] Export

    Run of task 42: working, 1 of 3 done
      GREEN, attempt 2 of 3
      14:21:03 red 42.2 ok failed 3
      14:22:10 green 42.2 error failed 1
    [s] start  [p] pause  [q] quit
    [Enter] subtasks  [↑↓] move  [←→] tag
    ");
}

#[test]
fn enter_expands_and_collapses_a_task() {
    let mut state = shown(view());
    assert!(!screen(&state, 60, 18).contains("42.1"));
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    let open = screen(&state, 60, 18);
    assert!(
        open.contains("▾ 42 [in-progress] User metrics") && open.contains("42.3 [pending] Dashboard"),
        "{open}"
    );
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert!(!screen(&state, 60, 18).contains("42.1"));
    // The task is chosen again, not whatever moved under the cursor.
    assert_eq!(
        letter(&mut state, 's'),
        [NavigatorEffect::Command(NavigatorCommand::Start { task: "42".into(), tag: "analytics".into() })]
    );
}

#[test]
fn left_and_right_switch_tags() {
    let mut state = shown(view());
    assert!(screen(&state, 60, 18).contains("Tag:     analytics  (2 of 2)"));
    press(&mut state, KeyCode::Right);
    let other = screen(&state, 60, 18);
    assert!(other.contains("Tag:     master  (1 of 2)") && other.contains("1 [pending] Storage"), "{other}");
    assert_eq!(
        letter(&mut state, 's'),
        [NavigatorEffect::Command(NavigatorCommand::Start { task: "1".into(), tag: "master".into() })]
    );
}

#[test]
fn s_starts_a_task_or_explains_why_it_cannot() {
    let mut state = shown(view());
    letter(&mut state, 's');
    assert!(screen(&state, 60, 18).contains("task 41 is done"));

    let mut state = shown(NavigatorView { run: Some(run_of("42", RunActivity::Working)), ..view() });
    press(&mut state, KeyCode::End);
    assert_eq!(letter(&mut state, 's'), [NavigatorEffect::Redraw]);
    assert!(screen(&state, 60, 18).contains("task 42 is running: p pauses it"));

    let mut state = shown(NavigatorView { run: Some(run_of("42", paused())), ..view() });
    assert_eq!(letter(&mut state, 's'), [NavigatorEffect::Command(NavigatorCommand::Resume)]);
    press(&mut state, KeyCode::End);
    letter(&mut state, 's');
    assert!(screen(&state, 60, 18).contains("task 42 is not finished"));

    let mut state = shown(NavigatorView::default());
    assert_eq!(letter(&mut state, 's'), [NavigatorEffect::Redraw]);
}

#[test]
fn p_pauses_or_resumes_the_run() {
    let mut state = shown(NavigatorView { run: Some(run_of("42", RunActivity::Working)), ..view() });
    assert_eq!(letter(&mut state, 'p'), [NavigatorEffect::Command(NavigatorCommand::Pause)]);
    let mut state = shown(NavigatorView { run: Some(run_of("42", paused())), ..view() });
    let waiting = screen(&state, 60, 18);
    assert!(waiting.contains("Could not achieve green state") && waiting.contains("[p] resume"), "{waiting}");
    assert_eq!(letter(&mut state, 'p'), [NavigatorEffect::Command(NavigatorCommand::Resume)]);
    let mut state = shown(NavigatorView { run: Some(run_of("42", RunActivity::Finished)), ..view() });
    assert_eq!(letter(&mut state, 'p'), [NavigatorEffect::Redraw]);
    assert!(screen(&state, 60, 18).contains("nothing is running"));
}

#[test]
fn q_asks_before_leaving_a_running_task() {
    let mut state = shown(view());
    assert_eq!(letter(&mut state, 'q'), [NavigatorEffect::Quit]);
    let mut state = shown(NavigatorView { run: Some(run_of("42", RunActivity::Working)), ..view() });
    assert_eq!(letter(&mut state, 'q'), [NavigatorEffect::Redraw]);
    assert!(screen(&state, 80, 18).contains("task 42 keeps running: press q again to leave"));
    press(&mut state, KeyCode::Down);
    assert_eq!(letter(&mut state, 'q'), [NavigatorEffect::Redraw]);
    assert_eq!(letter(&mut state, 'q'), [NavigatorEffect::Quit]);
}

#[test]
fn an_empty_list_shows_the_reason() {
    let problem = Some("there are no tasks here (git paw tasks add TITLE creates one)".into());
    let state = shown(NavigatorView { problem, tags: Vec::new(), ..view() });
    let screen = screen(&state, 40, 14);
    assert!(screen.contains("there are no tasks here") && screen.contains("one)"), "{screen}");
}

#[test]
fn duplicate_ids_do_not_block_the_selection() {
    let tasks =
        vec![task("1", "pending", "a", &[]), task("1", "pending", "b", &[]), task("2", "pending", "c", &[])];
    let mut state = shown(NavigatorView { tags: vec![tag("analytics", tasks)], ..view() });
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    assert_eq!(
        letter(&mut state, 's'),
        [NavigatorEffect::Command(NavigatorCommand::Start { task: "2".into(), tag: "analytics".into() })]
    );
}

#[test]
fn a_plain_theme_draws_ascii_without_colours() {
    let mut state = NavigatorState::new(Theme { colour: false, unicode: false });
    state.on_event(NavigatorEvent::View(Box::new(NavigatorView {
        run: Some(run_of("42", RunActivity::Working)),
        ..view()
    })));
    assert!(screen(&state, 100, 18).is_ascii());
}

fn anything() -> impl Strategy<Value = NavigatorView> {
    let title = "(\\PC|\u{1b}\\[31m|[\\x00-\\x1f]){0,30}";
    let one = (0_u8..4, title, proptest::collection::vec(title, 0..3));
    let tasks = proptest::collection::vec(one, 0..6);
    let tags = proptest::collection::vec(("[a-z\u{1b}]{0,6}", tasks), 0..3);
    let activity = prop_oneof![
        Just(None),
        Just(Some(RunActivity::Working)),
        Just(Some(paused())),
        Just(Some(RunActivity::Finished))
    ];
    (tags, activity, title).prop_map(|(tags, activity, raw)| {
        let task = |(id, title, subtasks): (u8, String, Vec<String>)| {
            let subtasks: Vec<(&str, &str)> = subtasks.iter().map(|title| ("done", title.as_str())).collect();
            task(&id.to_string(), &raw, &title, &subtasks)
        };
        let tags =
            tags.into_iter().map(|(name, tasks)| tag(&name, tasks.into_iter().map(task).collect())).collect();
        let run = activity.map(|activity| run_of("2", activity));
        NavigatorView { tags, run, problem: Some(Text::new(&raw)), ..view() }
    })
}

fn any_event() -> impl Strategy<Value = NavigatorEvent> {
    let codes = [
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Enter,
        KeyCode::End,
        KeyCode::Home,
        KeyCode::PageDown,
        KeyCode::Tab,
        KeyCode::Char('s'),
        KeyCode::Char('p'),
        KeyCode::Char('q'),
        KeyCode::Char('x'),
    ];
    let key = proptest::sample::select(codes.to_vec());
    prop_oneof![
        4 => key.prop_map(|code| NavigatorEvent::Key(KeyEvent::new(code, KeyModifiers::NONE))),
        1 => anything().prop_map(|view| NavigatorEvent::View(Box::new(view))),
        1 => "\\PC{0,200}".prop_map(|text| NavigatorEvent::CommandResult { text, alarming: true }),
    ]
}

proptest! {
    #[test]
    fn the_screen_is_sound_after_any_events_at_any_size(
        events in proptest::collection::vec(any_event(), 0..25), columns in 1_u16..120, rows in 1_u16..40,
    ) {
        let mut state = NavigatorState::new(Theme::FULL);
        let mut working = false;
        for event in events {
            if let NavigatorEvent::View(view) = &event {
                working = view.run.as_ref().is_some_and(|run| run.activity == RunActivity::Working);
            }
            let pressed = matches!(&event, NavigatorEvent::Key(key) if key.code == KeyCode::Char('s'));
            let effects = state.on_event(event);
            // No task starts while another one is running.
            prop_assert!(!(pressed && working && effects.iter().any(|effect| matches!(effect, NavigatorEffect::Command(_)))));
            let screen = screen(&state, columns, rows);
            prop_assert!(screen.lines().all(|line| width(line) <= usize::from(columns) && !line.contains(char::is_control)));
        }
    }
}

#[test]
fn navigator_shows_the_priority_of_tasks() {
    let mut view = view();
    view.tags[1].tasks[1].priority = Some("critical".into());
    view.tags[1].tasks[2].priority = Some("low".into());
    let drawn = screen(&shown(view), 60, 18);
    assert!(drawn.contains("42 [in-progress] critical User metrics"), "{drawn}");
    assert!(drawn.contains("43 [pending] low Export") && drawn.contains("41 [done] Login"), "{drawn}");
}
