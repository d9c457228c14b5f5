use proptest::prelude::*;

use super::*;
use crate::cli;
use crate::screen::{DialogKind, Screen};

const TEXT: &str = "Read AGENTS.md in this directory and begin.";
/// The time between two captures of the model.
const TICK: Duration = Duration::from_millis(150);

fn options() -> DeliveryOptions {
    DeliveryOptions { ready_timeout: Duration::from_secs(90), ..DeliveryOptions::default() }
}

/// A CLI that looks like claude, as a model.
#[derive(Debug, Clone)]
struct ModelCli {
    mode: Mode,
    /// Text in the input.
    typed: String,
    /// What has been submitted since the CLI was started.
    submitted: Vec<String>,
    /// A paste appears after this many ticks.
    echo: u32,
    pasting: Option<(String, u32)>,
    /// So many Enters are ignored.
    deaf: u32,
    /// Keys that reached a shell or a dialog.
    misdirected: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Shell,
    Banner,
    Trust,
    Idle,
    Working(u32),
}

impl ModelCli {
    fn new() -> Self {
        Self {
            mode: Mode::Shell,
            typed: String::new(),
            submitted: Vec::new(),
            echo: 0,
            pasting: None,
            deaf: 0,
            misdirected: 0,
        }
    }

    fn look(&self) -> PaneSnapshot {
        let rule = "─".repeat(60);
        let sent: Vec<String> = self.submitted.iter().map(|text| format!("> {text}\n\n")).collect();
        let sent = sent.concat();
        let (program, screen) = match self.mode {
            Mode::Shell => ("bash", "user@host:~/app$ ".to_owned()),
            Mode::Banner => ("claude", " ▐▛███▜▌   Claude Code v2.1.197\n".to_owned()),
            Mode::Trust => (
                "claude",
                format!(
                    "{rule}\n Accessing workspace:\n /w\n\n ❯ 1. Yes, I trust this folder\n   2. No, exit\n\n Enter to confirm · Esc to cancel"
                ),
            ),
            Mode::Idle => ("claude", format!("{sent}{rule}\n❯ {}\n{rule}\n  ? for shortcuts", self.typed)),
            Mode::Working(_) => {
                ("claude", format!("{sent}{rule}\n❯ {}\n{rule}\n  esc to interrupt", self.typed))
            }
        };
        PaneSnapshot {
            program: program.into(),
            dead: false,
            cursor_visible: true,
            screen: Screen::parse(&screen),
        }
    }

    fn paste(&mut self, text: &str) {
        match self.mode {
            Mode::Idle | Mode::Working(_) => self.pasting = Some((text.to_owned(), self.echo)),
            _ => self.misdirected += 1,
        }
    }

    fn enter(&mut self) {
        match self.mode {
            Mode::Idle if self.deaf > 0 => self.deaf -= 1,
            Mode::Idle if !self.typed.is_empty() => {
                self.submitted.push(std::mem::take(&mut self.typed));
                self.mode = Mode::Working(8);
            }
            Mode::Idle | Mode::Working(_) => {}
            _ => self.misdirected += 1,
        }
    }

    fn tick(&mut self) {
        if let Some((text, left)) = self.pasting.take() {
            match left.checked_sub(1) {
                Some(left) => self.pasting = Some((text, left)),
                None => self.typed.push_str(&text),
            }
        }
        if let Mode::Working(left) = self.mode {
            self.mode = left.checked_sub(1).map_or(Mode::Idle, Mode::Working);
        }
    }

    /// The program exits. A new one knows nothing of what the old one was told.
    fn restart(&mut self, mode: Mode) {
        *self = Self { mode, echo: self.echo, misdirected: self.misdirected, ..Self::new() };
    }
}

/// What happens to the CLI or to the process that delivers, apart from the delivery.
#[derive(Debug, Clone, Copy)]
enum Event {
    Become(Mode),
    /// The CLI exits, and is started again much later.
    Exit,
    /// The user gives it a task, or types something and leaves it there.
    UserTask,
    UserTypes,
    UserClears,
    SlowEcho(u32),
    IgnoreEnters(u32),
    /// The delivering process is killed; `before_key`: after it stored what it was about to do.
    Kill {
        before_key: bool,
    },
    Nothing(u32),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => prop_oneof![Just(Mode::Banner), Just(Mode::Trust), Just(Mode::Idle)].prop_map(Event::Become),
        1 => Just(Event::Exit),
        1 => Just(Event::UserTask),
        1 => Just(Event::UserTypes),
        1 => Just(Event::UserClears),
        1 => (0..20_u32).prop_map(Event::SlowEcho),
        1 => (0..5_u32).prop_map(Event::IgnoreEnters),
        2 => any::<bool>().prop_map(|before_key| Event::Kill { before_key }),
        6 => (1..80_u32).prop_map(Event::Nothing),
    ]
}

/// The model, and the process that delivers to it.
struct World {
    cli: ModelCli,
    machine: DeliveryMachine,
    /// What the process has stored.
    stored: Option<PromptStage>,
    delivered: bool,
    killed_before_key: bool,
    now: Duration,
}

impl World {
    fn new() -> Self {
        Self {
            cli: ModelCli::new(),
            machine: Self::machine(None),
            stored: None,
            delivered: false,
            killed_before_key: false,
            now: Duration::ZERO,
        }
    }

    fn machine(stored: Option<PromptStage>) -> DeliveryMachine {
        DeliveryMachine::new(cli::descriptor("claude"), TEXT, options(), stored).unwrap()
    }

    fn tick(&mut self) {
        self.cli.tick();
        self.now += TICK;
        if self.delivered {
            return;
        }
        let step = self.machine.step(&self.cli.look(), self.now);
        if step == DeliveryStep::Delivered {
            self.delivered = true;
            return;
        }
        let Some(stage) = step.stage() else { return };
        self.stored = Some(stage);
        if std::mem::take(&mut self.killed_before_key) {
            self.machine = Self::machine(self.stored);
            return;
        }
        match step {
            DeliveryStep::Paste => self.cli.paste(TEXT),
            _ => self.cli.enter(),
        }
        self.machine.done(step, true, self.now);
    }

    fn apply(&mut self, event: Event) {
        match event {
            // A dialog before the start appears only until the CLI is ready.
            Event::Become(mode) if self.cli.mode == Mode::Shell || self.cli.mode == Mode::Banner => {
                self.cli.restart(mode);
            }
            Event::Become(Mode::Idle) if self.cli.mode == Mode::Trust => self.cli.mode = Mode::Idle,
            Event::Exit => {
                self.cli.restart(Mode::Shell);
                (0..40).for_each(|_| self.tick());
            }
            Event::UserTask
                if self.cli.mode == Mode::Idle && self.cli.typed.is_empty() && self.cli.pasting.is_none() =>
            {
                self.cli.submitted.push("a task of the user".into());
                self.cli.mode = Mode::Working(20);
            }
            Event::UserTypes if self.cli.mode == Mode::Idle && self.cli.pasting.is_none() => {
                self.cli.typed.push_str(" and more");
            }
            Event::UserClears if self.cli.mode == Mode::Idle && self.cli.pasting.is_none() => {
                self.cli.typed.clear();
            }
            Event::Become(_) | Event::UserTask | Event::UserTypes | Event::UserClears => {}
            Event::SlowEcho(ticks) => self.cli.echo = ticks,
            Event::IgnoreEnters(count) => self.cli.deaf = count,
            Event::Kill { before_key: true } => self.killed_before_key = true,
            Event::Kill { before_key: false } => self.machine = Self::machine(self.stored),
            Event::Nothing(ticks) => (0..ticks).for_each(|_| self.tick()),
        }
        self.tick();
    }

    fn times_submitted(&self) -> usize {
        self.cli.submitted.iter().filter(|text| text.contains(TEXT)).count()
    }
}

proptest! {
    /// Whatever happens to the CLI and to the delivering process: nothing is typed into a shell or a dialog, the prompt is
    /// submitted at most once to each start of the CLI, and it arrives once the CLI stays ready.
    #[test]
    fn a_prompt_arrives_once_whatever_happens(events in prop::collection::vec(event(), 0..24)) {
        let mut world = World::new();
        for event in events {
            world.apply(event);
            prop_assert_eq!(world.cli.misdirected, 0);
            prop_assert!(world.times_submitted() <= 1, "{:?}", world.cli.submitted);
        }
        let was_delivered = world.delivered;
        // From here on a person answers the dialog, removes what was left in the input, and nothing else happens.
        world.killed_before_key = false;
        (world.cli.deaf, world.cli.echo) = (0, 0);
        match world.cli.mode {
            Mode::Shell | Mode::Banner => world.cli.restart(Mode::Idle),
            Mode::Trust => world.cli.mode = Mode::Idle,
            Mode::Idle | Mode::Working(_) => {}
        }
        (0..30).for_each(|_| world.tick());
        if world.cli.typed.contains("and more") {
            world.cli.typed.clear();
        }
        (0..10_000).for_each(|_| world.tick());
        prop_assert!(world.delivered);
        prop_assert_eq!(world.cli.misdirected, 0);
        prop_assert!(world.times_submitted() <= 1, "{:?}", world.cli.submitted);
        if !was_delivered {
            prop_assert!(world.cli.typed.is_empty(), "the prompt is not left in the input: {:?}", world.cli.typed);
        }
    }
}

fn run(world: &mut World, seconds: u64) {
    (0..seconds * 1000 / 150).for_each(|_| world.tick());
}

#[test]
fn a_trust_dialog_that_is_answered_after_ten_minutes_does_not_lose_the_prompt() {
    let mut world = World::new();
    world.cli.restart(Mode::Trust);
    run(&mut world, 5);
    let problem = world.machine.problem(world.now);
    assert!(
        matches!(
            &problem,
            Some(DeliveryError::NotReady { obstacle: Obstacle::Dialog(DialogKind::Trust), .. })
        ),
        "{problem:?}"
    );
    run(&mut world, 600);
    assert!(!world.delivered && world.stored.is_none());
    world.cli.mode = Mode::Idle;
    run(&mut world, 10);
    assert!(world.delivered);
    assert_eq!(world.cli.submitted, [TEXT]);
}

#[test]
fn a_cli_that_starts_slowly_is_a_problem_only_after_a_while() {
    let mut world = World::new();
    run(&mut world, 15);
    assert!(world.machine.problem(world.now).is_none(), "a shell may take a while to start it");
    run(&mut world, 10);
    assert!(matches!(
        world.machine.problem(world.now),
        Some(DeliveryError::NotReady { obstacle: Obstacle::Shell(_), .. })
    ));
    world.cli.restart(Mode::Banner);
    run(&mut world, 60);
    assert!(world.machine.problem(world.now).is_none());
    world.cli.mode = Mode::Idle;
    run(&mut world, 10);
    assert!(world.delivered);
}

#[test]
fn a_cli_that_restarts_before_it_accepted_the_prompt_gets_it_again() {
    let mut world = World::new();
    world.cli.restart(Mode::Idle);
    world.cli.deaf = 2;
    run(&mut world, 5);
    assert!(!world.delivered && world.machine.sent().enters > 0);
    world.cli.restart(Mode::Shell);
    run(&mut world, 5);
    world.cli.restart(Mode::Idle);
    run(&mut world, 10);
    assert!(world.delivered);
    assert_eq!(world.cli.submitted, [TEXT]);
}

#[test]
fn a_prompt_that_a_person_deletes_before_enter_is_typed_again() {
    let mut world = World::new();
    world.cli.restart(Mode::Idle);
    while !matches!(world.machine.stage, Stage::Typed { .. }) {
        world.tick();
    }
    world.cli.typed.clear();
    run(&mut world, 10);
    assert!(world.delivered);
    assert_eq!(world.cli.submitted, [TEXT]);
}

#[test]
fn a_prompt_that_is_not_accepted_is_reported_and_sent_again_later() {
    let mut world = World::new();
    world.cli.restart(Mode::Idle);
    world.cli.deaf = 4;
    run(&mut world, 30);
    assert!(matches!(world.machine.problem(world.now), Some(DeliveryError::NotAccepted { .. })));
    run(&mut world, 120);
    assert!(world.delivered);
    assert_eq!(world.cli.submitted, [TEXT]);
}

#[test]
fn an_agent_that_works_on_something_else_gets_the_prompt_afterwards() {
    let mut world = World::new();
    world.cli.restart(Mode::Working(4000));
    run(&mut world, 300);
    assert!(world.machine.problem(world.now).is_none(), "it is not a problem for a person");
    run(&mut world, 320);
    assert_eq!(world.cli.submitted, [TEXT]);
}

#[test]
fn polling_slows_down_on_a_stable_screen() {
    let mut machine = World::machine(None);
    let look = ModelCli { mode: Mode::Trust, ..ModelCli::new() }.look();
    let (mut now, mut polls) = (Duration::ZERO, 0);
    while now < Duration::from_secs(90) {
        machine.step(&look, now);
        let interval = machine.poll_interval(now);
        assert!(interval >= MIN_POLL && interval <= MAX_POLL);
        assert!(interval <= MIN_POLL.max(now / 8), "{interval:?} after {now:?}");
        now += interval;
        polls += 1;
    }
    assert!(polls < 120, "{polls} polls of one pane");
    assert_eq!(machine.poll_interval(Duration::from_hours(1)), LONG_POLL);
}

#[test]
fn polling_slows_down_while_a_changing_screen_accepts_no_prompt() {
    let mut machine = World::machine(None);
    let mut look = ModelCli { mode: Mode::Banner, ..ModelCli::new() }.look();
    let (mut now, mut polls) = (Duration::ZERO, 0);
    while now < Duration::from_mins(10) {
        look.screen = Screen::parse(&format!("loading, {polls} so far"));
        machine.step(&look, now);
        let interval = machine.poll_interval(now);
        assert!(interval <= MIN_POLL.max(now / 60), "{interval:?} after {now:?}");
        now += interval;
        polls += 1;
    }
    assert!(polls < 600, "{polls} polls of one pane");
}
