//! A CLI that is not in the list: its descriptor is enough for launch, resume, screen, hooks and a headless turn.

use std::path::Path;

use paw_agent::cli::{self, Cli};
use paw_agent::detect::{CliInfo, CliSource};
use paw_agent::headless::{self, Headless, OutputReader, PLAIN, Turn, TurnEvent, TurnFacts, Unattended};
use paw_agent::hooks::install::with_hooks;
use paw_agent::hooks::{
    self, HookEnvironment, HookEvent, HookEventKind, HookInstall, Hooks, ToolAction, settings,
};
use paw_agent::launch::{ApprovalFlags, command_line};
use paw_agent::resume::{self, Resume, ResumeArguments};
use paw_agent::screen::rules::{
    ApprovalKind, Choices, InputRule, MarkPosition, PromptRule, ScreenRules, SubjectRule, WorkMark,
};
use paw_agent::screen::{self, ApprovalSubject, Screen};
use paw_agent::state::AgentActivity;
use paw_core::config::Approval;
use paw_testkit::Sandbox;
use serde_json::{Value, json};

static ROBIN: Cli = Cli {
    approval: ApprovalFlags { auto: "--trust edits", full_auto: "--trust all" },
    resume: Some(ResumeArguments {
        latest: &["again"],
        named: Some(&["--nest="]),
        remembers_first_prompt: true,
    }),
    headless: Headless {
        arguments: |turn| turn.model.map(|model| format!("--brain={model}").into()).into_iter().collect(),
        reader: || Box::new(Songs::default()),
        unattended: Some(Unattended {
            preference: 9,
            restrict: |command, tests| command.arg(tests.unwrap_or("look")),
        }),
    },
    hooks: Some(&HOOKS),
    screen: Some(&SCREEN),
    ..Cli::known("robin", "Robin Code")
};

static HOOKS: Hooks = Hooks {
    source: "songs",
    install: HookInstall::SettingsFile { path: ".robin/settings.json", events: &["Chirp"], option: None },
    read: |record| {
        let command = record["run"].as_str().ok_or("run")?.to_owned();
        let kind = HookEventKind::ApprovalRequested { id: None, action: ToolAction::Command(command) };
        Ok(HookEvent { conversation: "nest".to_owned(), kind })
    },
    shorten: |record| json!({"run": record["run"]}),
    allow: Some(|| json!({"fly": true})),
    refuse: None,
    usage: None,
    command_directory: None,
};

static SCREEN: ScreenRules = ScreenRules {
    versions: &["1"],
    banner: &["Robin"],
    dialogs: &[],
    deny: &["Escape"],
    prompts: &[PromptRule {
        kind: ApprovalKind::Command,
        edges: ("", ""),
        question: "May I run this? [tweet/hush]:",
        details_below: false,
        choices: Choices::InQuestion,
        footers: &[],
        subject: SubjectRule::Nowhere,
        keys: &["t"],
    }],
    questions: &[],
    input: InputRule::LastRow { prompt: "~" },
    hints: &[],
    working: &[WorkMark { place: MarkPosition::Last, text: "singing" }],
    limits: &[],
    endings: &[],
    sidebar: None,
};

/// Every line is a song; `.` ends the turn well.
#[derive(Default)]
struct Songs {
    facts: TurnFacts,
}

impl OutputReader for Songs {
    fn out(&mut self, line: &str) -> Vec<TurnEvent> {
        if line == "." {
            self.facts.verdict = Some(Ok(()));
            return Vec::new();
        }
        vec![TurnEvent::Text(format!("song: {line}"))]
    }

    fn facts(&self) -> TurnFacts {
        self.facts.clone()
    }
}

#[test]
fn an_unlisted_cli_is_launched_and_resumed_by_its_descriptor() {
    assert!(cli::find(ROBIN.name).is_none());
    let found = CliInfo {
        binary_name: ROBIN.name.to_owned(),
        display_name: ROBIN.display_name.to_owned(),
        source: CliSource::Custom,
        path: "/opt/robin".into(),
        launcher: None,
    };
    let line = |approval| command_line(&ROBIN, &found, None, approval);
    let lines = [Approval::Manual, Approval::Auto, Approval::FullAuto].map(line);
    assert_eq!(lines, ["robin", "robin --trust edits", "robin --trust all"]);
    assert_eq!(resume::arguments(&ROBIN, &Resume::Latest).as_deref(), Some("again"));
    assert_eq!(resume::arguments(&ROBIN, &Resume::Conversation("7".into())).as_deref(), Some("--nest=7"));
    assert!(resume::can_resume(&ROBIN));
}

#[test]
fn an_unlisted_cli_is_read_by_the_rules_of_its_descriptor() {
    let state = |text: &str| screen::read(&ROBIN, &Screen::parse(text)).state;
    assert_eq!(state("Robin 1\n\nauto~ "), AgentActivity::Idle);
    assert_eq!(state("Robin 1\nsinging 3s"), AgentActivity::Working);
    let AgentActivity::WaitingApproval(ask) = state("rm x\nMay I run this? [tweet/hush]:") else { panic!() };
    assert_eq!((ask.kind, ask.keys), (ApprovalKind::Command, Some(&["t"][..])));
    assert!(matches!(ask.subject, ApprovalSubject::Unreadable(_)));
}

#[test]
fn an_unlisted_cli_has_hooks_by_its_descriptor() {
    let program = Path::new("/opt/git-paw");
    assert_eq!(settings::file(&ROBIN, Path::new("/w")).unwrap(), Path::new("/w/.robin/settings.json"));
    let text = settings::with_hooks("", &ROBIN, program).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["hooks"]["Chirp"][0]["hooks"][0]["command"], "/opt/git-paw hook --cli robin");
    assert_eq!(settings::without_hooks(&text, &ROBIN).unwrap(), None);
    let event = hooks::parse(&ROBIN, r#"{"run": "ls", "tree": "oak"}"#).unwrap();
    assert_eq!(
        event.kind,
        HookEventKind::ApprovalRequested { id: None, action: ToolAction::Command("ls".into()) }
    );
    assert!(hooks::parse(&ROBIN, "{}").is_err());
    assert!(ROBIN.is_answerable());
}

#[test]
fn the_command_line_of_an_unlisted_cli_contains_its_hooks() {
    let environment = HookEnvironment { program: "/p".into(), home: Some("/h".into()), is_set: |_| false };
    let line = |install| {
        let hooks: &'static Hooks = Box::leak(Box::new(Hooks { install, ..HOOKS }));
        let cli = Cli { hooks: Some(hooks), ..ROBIN };
        with_hooks("robin".to_owned(), &cli, &environment, Path::new("/r/.git"))
    };
    let arguments = |is_enabled| HookInstall::Arguments {
        is_enabled,
        arguments: |program| format!("--tell {}", program.display()),
    };
    assert_eq!(line(arguments(|home| home == Path::new("/h"))), "robin --tell /p");
    assert_eq!(line(arguments(|_| false)), "robin");
    let plugin = hooks::install::Plugin {
        file: "robin.js",
        variable: "ROBIN",
        text: |_| None,
        value: |file| file.display().to_string(),
    };
    assert_eq!(line(HookInstall::Plugin(plugin)), "env ROBIN=/r/.git/paw-robin.js robin");
}

#[test]
fn an_unlisted_cli_runs_a_headless_turn_by_its_descriptor() {
    let sandbox = Sandbox::new();
    let program = sandbox.install_program("robin", "#!/bin/sh\necho \"$*\"\ncat\necho\necho .\n");
    let turn = Turn { message: "hello", resume: None, model: Some("small") };
    let mut listener = headless::listener(&ROBIN);
    let mut said = Vec::new();
    let command = headless::unattended(&ROBIN, &program, &sandbox.root(), turn, Some("make test"));
    let exit = command.stream(|stream, line| said.extend(listener.read_line(stream, line))).unwrap();
    let song = |text: &str| TurnEvent::Text(format!("song: {text}"));
    assert_eq!(said, [song("--brain=small make test"), song("hello")]);
    assert!(listener.finish(exit).ok);
    assert!(PLAIN.unattended.is_none(), "a CLI without restrictions is not driven");
}
