//! Tracks one agent's state from its CLI's hooks, its process and its screen. Pure.

use jiff::{SignedDuration, Timestamp};
use paw_agent::cli;
use paw_agent::deliver::PaneSnapshot;
use paw_agent::hooks::notes::HookNote;
use paw_agent::hooks::{HookEventKind, ToolAction, Tracker};
use paw_agent::screen::{ApprovalRequest, ApprovalSubject, ScreenReading, may_be_cut};
use paw_agent::state::{
    AgentActivity, ObservationSource, ObservedState, PaneProcess, ScreenObservation, infer_state,
};

/// What is remembered about an agent between two captures.
#[derive(Debug, Clone)]
pub(super) struct AgentTracker {
    cli: String,
    tracker: Tracker,
    /// `None` until its pane was captured.
    life: Option<PaneProcess>,
    sight: Option<ScreenObservation>,
    known: Option<ObservedState>,
    /// The last sign of progress: a hook event, or new text on its screen.
    progress: Timestamp,
    letters: String,
    context_left: Option<u8>,
    repeats: RepeatedCommand,
    /// Since when the pane is watched, if the CLI was never seen in it.
    awaited: Option<Timestamp>,
    /// When the CLI was first and last seen not to be the foreground program.
    away: Option<(Timestamp, Timestamp)>,
    /// Whether the CLI has drawn anything. Until then the pane shows what was there before.
    drawn: bool,
    /// What its screen showed in a wide window.
    wide: Option<WideReading>,
    /// The last capture may show a prompt that was wrapped or cut.
    cut: bool,
}

/// A screen that was read in a wide window.
#[derive(Debug, Clone)]
struct WideReading {
    /// The last rows of the narrow screen.
    rows: String,
    /// `None` if no prompt appeared there.
    reading: Option<ScreenReading>,
    at: Timestamp,
}

/// This many rows at the end of a screen tell prompts apart.
const PROMPT_ROWS: usize = 12;
/// How long a screen has to be unchanged before it is read in a wide window.
const STILL: SignedDuration = SignedDuration::from_secs(1);
/// A CLI on a busy machine may not draw its prompt again in time; then it is read in a wide window again after this time.
const READ_AGAIN: SignedDuration = SignedDuration::from_secs(15);

/// How long a screen may be unrecognized before that is the agent's state.
const UNCLEAR: SignedDuration = SignedDuration::from_secs(5);

/// What a new pane runs for a moment before its shell starts: tmux itself.
const NOT_YET: &str = "tmux";

/// An exit is reported some seconds after it was seen. Until then every poll captures the pane again, because a CLI that
/// restarts without drawing anything is not noticed otherwise.
const UNSURE: SignedDuration = SignedDuration::from_secs(15);

/// How long a CLI may take to appear in its pane. Until then a shell in the pane does not mean that the CLI exited.
const APPEARS: SignedDuration = SignedDuration::from_secs(20);

/// A command that an agent ran, and how often in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RepeatedCommand {
    pub(super) what: String,
    pub(super) times: u32,
}

/// Whether a command reads messages, as the skills ask agents and the supervisor to do in a loop.
fn is_waiting(command: &str) -> bool {
    command.trim_start().starts_with("git paw inbox")
}

/// An approval that a hook reported and left to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenApproval {
    pub(super) ask: ApprovalRequest,
    pub(super) reason: String,
}

impl AgentTracker {
    pub(super) fn new(cli: &str, now: Timestamp) -> Self {
        Self {
            cli: cli.to_owned(),
            tracker: Tracker::default(),
            life: None,
            sight: None,
            known: None,
            progress: now,
            letters: String::new(),
            context_left: None,
            repeats: RepeatedCommand::default(),
            awaited: Some(now),
            away: None,
            drawn: false,
            wide: None,
            cut: false,
        }
    }

    /// An earlier process has seen its CLI in the pane, so a shell there means that the CLI exited.
    pub(super) fn set_seen(&mut self) {
        self.awaited = None;
    }

    /// Whether its screen should be read in a wide window: it may show a prompt that was cut, and was not read there before.
    pub(super) fn wants_wide(&self, now: Timestamp) -> bool {
        let is_read = self
            .wide
            .as_ref()
            .is_some_and(|wide| wide.reading.is_some() || now.duration_since(wide.at) < READ_AGAIN);
        self.cut && !is_read && now.duration_since(self.progress) >= STILL
    }

    /// Takes what its screen, as last captured, shows in a wide window.
    pub(super) fn see_wide(&mut self, look: &PaneSnapshot, reading: Option<ScreenReading>, now: Timestamp) {
        self.wide = Some(WideReading { rows: look.screen.tail(PROMPT_ROWS), reading, at: now });
        self.see(look, now);
    }

    /// Whether the last capture is too old to decide whether the CLI exited, or shows a prompt that has to be read again.
    pub(super) fn is_unsure(&self) -> bool {
        let is_read = self.wide.as_ref().is_some_and(|wide| wide.reading.is_some());
        let is_unread = self.cut && !is_read && !self.has_answering_hook();
        is_unread || self.away.is_some_and(|(first, last)| last.duration_since(first) < UNSURE)
    }

    pub(super) fn cli(&self) -> &str {
        &self.cli
    }

    pub(super) fn repeats(&self) -> &RepeatedCommand {
        &self.repeats
    }

    /// How much context its conversation has left, in percent, as its CLI reports.
    pub(super) fn context_left(&self) -> Option<u8> {
        self.context_left
    }

    pub(super) fn progress(&self) -> Timestamp {
        self.progress
    }

    /// Whether a hook of its CLI answers approvals. The CLI draws the prompt even while the hook runs.
    pub(super) fn has_answering_hook(&self) -> bool {
        cli::descriptor(&self.cli).is_answerable() && self.tracker.state().is_some()
    }

    /// For how long its screen has shown the current state.
    pub(super) fn shown_for(&self, now: Timestamp) -> SignedDuration {
        self.sight.as_ref().map_or(SignedDuration::ZERO, |sight| now.duration_since(sight.since))
    }

    /// Whether it was last seen waiting for the user.
    pub(super) fn waits_for_user(&self) -> bool {
        let state = self.known.as_ref().map(|known| &known.state);
        matches!(state, Some(AgentActivity::WaitingApproval(_) | AgentActivity::WaitingInput))
    }

    /// The state its screen shows.
    pub(super) fn reading(&self) -> Option<&ScreenReading> {
        self.sight.as_ref().map(|sight| &sight.reading)
    }

    /// Applies a hook note. A record that cannot be parsed is ignored.
    pub(super) fn apply(&mut self, note: &HookNote) -> Option<OpenApproval> {
        let event = note.tracked_event()?;
        self.awaited = None;
        self.progress = self.progress.max(note.at);
        let left_open = match (&event.kind, &note.answer) {
            (HookEventKind::ApprovalRequested { action, .. }, Some(answer)) => {
                Some(OpenApproval { ask: action.approval_request(), reason: answer.reason.clone() })
            }
            _ => None,
        };
        match &event.kind {
            // Waiting for messages again is not a loop.
            HookEventKind::ToolEnded(ToolAction::Command(command)) if is_waiting(command) => {}
            HookEventKind::ToolEnded(ToolAction::Command(command)) => self.repeats.count(command),
            HookEventKind::ToolEnded(_) | HookEventKind::PromptSubmitted => {
                self.repeats = RepeatedCommand::default();
            }
            _ => {}
        }
        self.tracker.apply(note.at, &event);
        left_open
    }

    /// Applies a capture of its pane.
    pub(super) fn see(&mut self, look: &PaneSnapshot, now: Timestamp) {
        let life = look.process();
        let is_running = life == PaneProcess::Running;
        self.life = Some(life);
        if is_running {
            self.away = None;
            if look.program != NOT_YET {
                self.awaited = None;
            }
        } else {
            self.away = Some((self.away.map_or(now, |(first, _)| first), now));
            self.drawn = false;
            // Whatever starts there next is a new start.
            self.tracker = Tracker::default();
            self.sight = None;
            return;
        }
        let letters: String = look.screen.letters().chars().filter(|letter| !letter.is_numeric()).collect();
        if letters != self.letters {
            self.letters = letters;
            self.progress = now;
        }
        self.context_left = look.screen.rows().iter().rev().take(4).find_map(|row| context_left(row.text()));
        let reading = self.read(look);
        let since = match &self.sight {
            Some(before) if before.reading.state == reading.state => before.since,
            _ => now,
        };
        self.sight = Some(ScreenObservation { reading, since });
    }

    /// Until the CLI draws something, the prompt of the shell that started it does not mean that the CLI exited.
    fn read(&mut self, look: &PaneSnapshot) -> ScreenReading {
        let cli = cli::descriptor(&self.cli);
        let reading = look.read(cli);
        self.cut = may_be_cut(cli, &look.screen, &reading);
        self.wide.take_if(|wide| wide.rows != look.screen.tail(PROMPT_ROWS));
        if let Some(wide) = self.wide.as_ref().and_then(|wide| wide.reading.clone()) {
            return wide;
        }
        if self.drawn && look.screen.rows().is_empty() {
            let reason = "the pane shows nothing; it may be too small".to_owned();
            return ScreenReading { state: AgentActivity::Unknown, reason, ..reading };
        }
        if reading.state != AgentActivity::Exited {
            self.drawn |= look.program != NOT_YET && !look.screen.letters().is_empty();
        } else if !self.drawn {
            let reason = "the CLI has not drawn anything yet".to_owned();
            return ScreenReading { state: AgentActivity::Unknown, reason, ..reading };
        }
        reading
    }

    /// The agent's state now, and whether it changed to another known state. `None` until its pane was captured: notes that an
    /// earlier process has seen do not say whether the CLI still runs.
    pub(super) fn conclude(&mut self, now: Timestamp) -> Option<(ObservedState, bool)> {
        let life = self.life.as_ref()?;
        let known = match self.awaited {
            Some(since) if *life != PaneProcess::Running && now.duration_since(since) < APPEARS => {
                let reason = "the CLI has not appeared in its pane yet".to_owned();
                ObservedState {
                    state: AgentActivity::Starting,
                    since,
                    source: ObservationSource::Process,
                    reason,
                }
            }
            _ => infer_state(life, self.tracker.state(), self.sight.as_ref(), now),
        };
        let known = known.following(self.known.as_ref());
        let is_unknown = known.state == AgentActivity::Unknown;
        match &self.known {
            Some(before) if is_unknown && outlasts(&before.state, now.duration_since(known.since)) => {
                return Some((before.clone(), false));
            }
            Some(_) | None => {}
        }
        let before = self.known.as_ref().map(|known| &known.state);
        let changed = before.map_or(!is_unknown, |state| differs(state, &known.state));
        self.known = Some(known.clone());
        Some((known, changed))
    }
}

/// The number in a row such as `8% context left` or `Context left until auto-compact: 8%`.
fn context_left(row: &str) -> Option<u8> {
    let row = row.to_lowercase();
    if !row.contains("context") || !["left", "remaining"].iter().any(|word| row.contains(word)) {
        return None;
    }
    let before = row.split_once('%')?.0;
    let digits = before.rfind(|letter: char| !letter.is_ascii_digit()).map_or(before, |at| &before[at..]);
    digits
        .trim_start_matches(|letter: char| !letter.is_ascii_digit())
        .parse()
        .ok()
        .filter(|percent| *percent <= 100)
}

/// Whether a state still counts when the screen has not been recognized for this long: it may be half drawn, or its pane was made
/// wide for a moment.
fn outlasts(state: &AgentActivity, unknown: SignedDuration) -> bool {
    use AgentActivity::{Exited, Starting, Unknown};
    !matches!(state, Exited | Starting | Unknown) && unknown < UNCLEAR
}

/// Whether a change between two states is worth a message. Another command at the prompt is; a command that can no longer be
/// read is not.
fn differs(before: &AgentActivity, now: &AgentActivity) -> bool {
    match (before, now) {
        (AgentActivity::WaitingApproval(before), AgentActivity::WaitingApproval(now)) => {
            let is_readable = |ask: &ApprovalRequest| !matches!(ask.subject, ApprovalSubject::Unreadable(_));
            is_readable(before) && is_readable(now) && before.subject != now.subject
        }
        _ => before.name() != now.name(),
    }
}

impl RepeatedCommand {
    fn count(&mut self, what: &str) {
        if self.what == what {
            self.times += 1;
        } else {
            *self = Self { what: what.to_owned(), times: 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use paw_agent::hooks::notes::HookAnswer;
    use paw_agent::screen::Screen;
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn note(second: i64, event: &str, command: &str) -> HookNote {
        let record = json!({
            "hook_event_name": event, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": command},
        });
        HookNote::new(at(second), "claude", &record)
    }

    fn look(program: &str, text: &str) -> PaneSnapshot {
        PaneSnapshot {
            program: program.into(),
            dead: false,
            cursor_visible: true,
            screen: Screen::parse(text),
        }
    }

    fn idle() -> PaneSnapshot {
        look("claude", &format!("{rule}\n❯ \n{rule}\n  ? for shortcuts", rule = "─".repeat(40)))
    }

    fn state(agent: &mut AgentTracker, second: i64) -> &'static str {
        agent.conclude(at(second)).unwrap().0.state.name()
    }

    #[test]
    fn a_cut_prompt_that_did_not_appear_in_a_wide_window_is_read_there_again() {
        let cut = "  Would you like to run the following\n  command?\n\n  $ cargo test\n\n\u{203a} 1. Yes, proceed (y)\n  \
                   2. Yes, and don't ask again for\n     commands that start with `cargo\n     test` (p)\n\u{2193}\n  \
                   Press enter to confirm or esc to\n  cancel";
        let mut agent = AgentTracker::new("codex", at(0));
        agent.see(&look("codex", cut), at(1));
        assert!(agent.wants_wide(at(3)));
        agent.see_wide(&look("codex", cut), None, at(3));
        assert!(!agent.wants_wide(at(10)), "each attempt redraws the CLI");
        assert!(agent.wants_wide(at(18)));
    }

    #[test]
    fn a_state_change_is_reported_once() {
        let mut agent = AgentTracker::new("claude", at(0));
        assert!(agent.conclude(at(0)).is_none(), "nothing is known yet");
        agent.see(&idle(), at(1));
        assert!(agent.conclude(at(1)).unwrap().1);
        agent.see(&idle(), at(2));
        let (known, news) = agent.conclude(at(2)).unwrap();
        assert!(!news);
        assert_eq!(known.since, at(1));
    }

    #[test]
    fn an_unrecognized_screen_becomes_the_state_after_a_moment() {
        let mut agent = AgentTracker::new("claude", at(0));
        agent.see(&idle(), at(1));
        assert_eq!(state(&mut agent, 1), "idle");
        agent.see(&look("claude", "half a screen"), at(2));
        assert_eq!(state(&mut agent, 3), "idle");
        let (known, changed) = agent.conclude(at(8)).unwrap();
        assert_eq!((known.state.name(), changed), ("unknown", true), "every view is told");
        agent.see(&idle(), at(9));
        assert!(agent.conclude(at(9)).unwrap().1);
    }

    #[test]
    fn a_prompt_that_is_drawn_again_is_the_same_prompt() {
        let prompt = " Bash command\n\n   rm -rf build\n\n Do you want to proceed?\n \u{276f} 1. Yes\n   2. No\n\n Esc to cancel";
        let mut agent = AgentTracker::new("claude", at(0));
        agent.see(&look("claude", prompt), at(1));
        assert_eq!(state(&mut agent, 1), "waiting_approval");
        agent.see(&look("claude", "half a screen"), at(20));
        let (known, changed) = agent.conclude(at(21)).unwrap();
        assert_eq!(
            (known.state.name(), changed),
            ("waiting_approval", false),
            "its pane was made wide for a moment"
        );
        agent.see(&look("claude", prompt), at(22));
        let (known, changed) = agent.conclude(at(22)).unwrap();
        assert_eq!((known.since, changed), (at(1), false), "its age stays");
        agent.see(&look("claude", "half a screen"), at(30));
        assert_eq!(state(&mut agent, 36), "unknown");
    }

    #[test]
    fn a_cli_counts_as_exited_only_after_the_start_timeout() {
        let mut agent = AgentTracker::new("claude", at(0));
        agent.see(&look("bash", "$"), at(1));
        assert_eq!(state(&mut agent, 1), "starting");
        assert_eq!(state(&mut agent, 19), "starting");
        assert_eq!(state(&mut agent, 20), "exited");
        agent.see(&idle(), at(31));
        assert_eq!(state(&mut agent, 31), "idle");
        agent.see(&look("bash", "$"), at(32));
        assert_eq!(state(&mut agent, 32), "exited");
    }

    #[test]
    fn tmux_in_a_new_pane_is_not_taken_for_the_cli() {
        let mut agent = AgentTracker::new("claude", at(0));
        agent.see(&look("tmux", ""), at(0));
        agent.see(&look("sh", ""), at(1));
        assert_eq!(state(&mut agent, 12), "starting");
    }

    #[test]
    fn old_notes_do_not_hide_that_the_cli_has_exited() {
        let mut agent = AgentTracker::new("claude", at(100));
        agent.apply(&note(1, "UserPromptSubmit", ""));
        assert!(agent.conclude(at(100)).is_none(), "a new process has not looked at the pane yet");
        agent.see(&look("bash", "$"), at(101));
        assert_eq!(state(&mut agent, 101), "exited");
    }

    #[test]
    fn a_cli_that_an_earlier_process_has_seen_is_not_awaited() {
        let mut agent = AgentTracker::new("claude", at(100));
        agent.set_seen();
        agent.see(&look("bash", "$"), at(101));
        assert_eq!(state(&mut agent, 101), "exited");
    }

    #[test]
    fn an_exit_is_captured_again_until_it_is_reported() {
        let mut agent = AgentTracker::new("claude", at(0));
        agent.see(&idle(), at(1));
        assert!(!agent.is_unsure());
        agent.see(&look("bash", "$"), at(3));
        agent.see(&look("bash", "$"), at(9));
        assert!(agent.is_unsure(), "the time of the captures counts, not the current time");
        agent.see(&look("bash", "$"), at(18));
        assert!(!agent.is_unsure());
        agent.see(&idle(), at(20));
        assert!(!agent.is_unsure());
    }

    #[test]
    fn a_shell_prompt_from_before_the_cli_is_not_an_exit() {
        let mut agent = AgentTracker::new("worker", at(0));
        agent.see(&look("tmux", "cd app && worker"), at(0));
        agent.see(&look("worker", "cd app && worker\nuser@host:~/app$"), at(1));
        assert_eq!(state(&mut agent, 1), "unknown");
        agent.see(&look("worker", "welcome to worker"), at(2));
        agent.see(&look("worker", "welcome to worker\nuser@host:~/app$"), at(3));
        assert_eq!(state(&mut agent, 3), "exited", "a shell inside the foreground program");
        agent.see(&look("bash", "user@host:~/app$"), at(4));
        agent.see(&look("worker", "user@host:~/app$"), at(5));
        assert_eq!(state(&mut agent, 5), "unknown", "started again, and silent");
    }

    #[test]
    fn an_empty_screen_is_a_start_only_before_the_cli_has_drawn() {
        let mut agent = AgentTracker::new("worker", at(0));
        agent.see(&look("worker", ""), at(0));
        assert_eq!(state(&mut agent, 0), "starting");
        agent.see(&look("worker", "welcome to worker\n> "), at(1));
        agent.see(&look("worker", ""), at(20));
        assert_eq!(state(&mut agent, 30), "unknown", "a pane of one row");
    }

    #[test]
    fn an_approval_answered_by_the_hook_does_not_count_as_waiting() {
        let mut agent = AgentTracker::new("claude", at(0));
        agent.see(&idle(), at(0));
        let mut asked = note(1, "PermissionRequest", "cargo test");
        asked.answer = Some(HookAnswer { allowed: true, reason: String::new() });
        assert_eq!(agent.apply(&asked), None);
        assert_eq!(state(&mut agent, 1), "working");
        asked.answer = Some(HookAnswer { allowed: false, reason: "no".into() });
        let left = agent.apply(&asked).unwrap();
        assert_eq!((left.ask.command(), left.reason.as_str()), (Some("cargo test"), "no"));
        assert_eq!(state(&mut agent, 1), "waiting_approval");
    }

    #[test]
    fn a_cli_that_exited_without_a_hook_event_can_restart() {
        let mut agent = AgentTracker::new("claude", at(0));
        agent.see(&idle(), at(0));
        agent.apply(&note(1, "UserPromptSubmit", ""));
        assert_eq!(state(&mut agent, 1), "working");
        agent.see(&look("bash", "$"), at(2));
        assert_eq!(state(&mut agent, 2), "exited");
        let mut started = note(3, "SessionStart", "");
        started.record["session_id"] = "another".into();
        started.record["source"] = "startup".into();
        agent.apply(&started);
        agent.see(&idle(), at(4));
        assert_eq!(state(&mut agent, 4), "idle");
    }

    #[test]
    fn repeated_commands_are_counted_until_another_one_runs() {
        let mut agent = AgentTracker::new("claude", at(0));
        for second in 0..3 {
            agent.apply(&note(second, "PostToolUse", "cargo test"));
        }
        assert_eq!(agent.repeats().times, 3);
        agent.apply(&note(4, "PostToolUse", "git diff"));
        assert_eq!(agent.repeats(), &RepeatedCommand { what: "git diff".into(), times: 1 });
        for second in 5..15 {
            agent.apply(&note(second, "PostToolUse", "git paw inbox --json --since 42 --wait 60"));
        }
        assert_eq!(agent.repeats().times, 1, "it waits for messages");
    }

    #[test]
    fn context_left_is_read_from_the_last_rows() {
        assert_eq!(context_left("  Context left until auto-compact: 8%"), Some(8));
        assert_eq!(context_left("  42% context left · ? for shortcuts"), Some(42));
        assert_eq!(context_left("Context low (3% remaining)"), Some(3));
        for row in
            ["", "coverage 8%", "context left", "context left %", "context é% left", "context left 999%"]
        {
            assert_eq!(context_left(row), None, "{row}");
        }
    }

    #[test]
    fn a_clock_on_the_screen_is_not_progress() {
        let mut agent = AgentTracker::new("claude", at(0));
        agent.see(&look("claude", "● thinking 12s"), at(5));
        agent.see(&look("claude", "● thinking 57s"), at(50));
        assert_eq!(agent.progress(), at(5));
        agent.see(&look("claude", "● thinking 57s\n● done"), at(60));
        assert_eq!(agent.progress(), at(60));
    }
}
