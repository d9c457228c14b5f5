//! What is known about one agent, from what its CLI tells, whether it lives, and what its screen shows. Pure.

use jiff::{SignedDuration, Timestamp};
use paw_agent::cli;
use paw_agent::deliver::Look;
use paw_agent::hooks::notes::Note;
use paw_agent::hooks::{Deed, Tracker, What};
use paw_agent::screen::{Ask, Reading};
use paw_agent::state::{Known, Life, Sight, Source, State, conclude};

/// What is remembered of an agent between two looks.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    cli: String,
    tracker: Tracker,
    life: Life,
    sight: Option<Sight>,
    known: Option<Known>,
    /// The last sign that it gets on: something told, or other words on its screen.
    progress: Timestamp,
    letters: String,
    room: Option<u8>,
    repeats: Repeats,
    /// Since when somebody looks at its pane, if its CLI was never seen there.
    awaited: Option<Timestamp>,
    /// When its CLI was first and last seen not to be in front.
    away: Option<(Timestamp, Timestamp)>,
    /// Its CLI has shown something of its own. Until then its pane shows what was there before.
    drawn: bool,
}

/// What a new pane runs for a moment, before its shell: tmux itself.
const NOT_YET: &str = "tmux";

/// An end is told some seconds after it was seen. Until then every look has to be a new one: what starts without drawing
/// anything is not noticed otherwise.
const UNSURE: SignedDuration = SignedDuration::from_secs(15);

/// How long a CLI may take to appear in its pane. Until then the shell that is to start it is no sign of an end.
const APPEARS: SignedDuration = SignedDuration::from_secs(20);

/// How often in a row an agent has done the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Repeats {
    pub(super) what: String,
    pub(super) times: u32,
}

/// An approval that a hook has told of and left to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOpen {
    pub(super) ask: Ask,
    pub(super) reason: String,
}

impl Agent {
    pub(super) fn new(cli: &str, now: Timestamp) -> Self {
        Self {
            cli: cli.to_owned(),
            tracker: Tracker::default(),
            life: Life::Running,
            sight: None,
            known: None,
            progress: now,
            letters: String::new(),
            room: None,
            repeats: Repeats::default(),
            awaited: Some(now),
            away: None,
            drawn: false,
        }
    }

    /// Whether the last look is not enough to go by.
    pub(super) fn is_unsure(&self) -> bool {
        self.away.is_some_and(|(first, last)| last.duration_since(first) < UNSURE)
    }

    pub(super) fn cli(&self) -> &str {
        &self.cli
    }

    pub(super) fn repeats(&self) -> &Repeats {
        &self.repeats
    }

    /// How much room its conversation has left, in percent, as its CLI says.
    pub(super) fn room(&self) -> Option<u8> {
        self.room
    }

    pub(super) fn progress(&self) -> Timestamp {
        self.progress
    }

    /// Whether a hook of its CLI answers approvals. The prompt is drawn all the same while the hook is at it.
    pub(super) fn has_answering_hook(&self) -> bool {
        cli::descriptor(&self.cli).is_answerable() && self.tracker.heard().is_some()
    }

    /// For how long its screen has shown what it shows.
    pub(super) fn shown_for(&self, now: Timestamp) -> SignedDuration {
        self.sight.as_ref().map_or(SignedDuration::ZERO, |sight| now.duration_since(sight.since))
    }

    /// What its screen shows.
    pub(super) fn reading(&self) -> Option<&Reading> {
        self.sight.as_ref().map(|sight| &sight.reading)
    }

    /// Takes in what its CLI has told. A record that nobody understands says nothing.
    pub(super) fn hear(&mut self, note: &Note) -> Option<LeftOpen> {
        let event = note.heard()?;
        self.awaited = None;
        self.progress = self.progress.max(note.at);
        let left_open = match (&event.what, &note.answer) {
            (What::ApprovalAsked { deed, .. }, Some(answer)) => {
                Some(LeftOpen { ask: deed.ask(), reason: answer.reason.clone() })
            }
            _ => None,
        };
        match &event.what {
            What::ToolEnded(Deed::Command(command)) => self.repeats.count(command),
            What::ToolEnded(_) | What::PromptTaken => self.repeats = Repeats::default(),
            _ => {}
        }
        self.tracker.hear(note.at, &event);
        left_open
    }

    /// Takes in a look at its pane.
    pub(super) fn see(&mut self, look: &Look, now: Timestamp) {
        self.life = look.life();
        if self.life == Life::Running {
            self.away = None;
            if look.program != NOT_YET {
                self.awaited = None;
            }
        } else {
            self.away = Some((self.away.map_or(now, |(first, _)| first), now));
            self.drawn = false;
            // Whatever is started there next is another start.
            self.tracker = Tracker::default();
            self.sight = None;
            return;
        }
        let letters: String = look.screen.letters().chars().filter(|letter| !letter.is_numeric()).collect();
        if letters != self.letters {
            self.letters = letters;
            self.progress = now;
        }
        self.room = look.screen.rows().iter().rev().take(4).find_map(|row| room(row.text()));
        let reading = self.read(look);
        let since = match &self.sight {
            Some(before) if before.reading.state == reading.state => before.since,
            _ => now,
        };
        self.sight = Some(Sight { reading, since });
    }

    /// A prompt of the shell that has started the CLI is no sign of its end, as long as the CLI draws nothing.
    fn read(&mut self, look: &Look) -> Reading {
        let reading = look.read(cli::descriptor(&self.cli));
        if reading.state != State::Exited {
            self.drawn |= look.program != NOT_YET && !look.screen.letters().is_empty();
        } else if !self.drawn {
            let reason = "its CLI has drawn nothing yet".to_owned();
            return Reading { state: State::Unknown, reason, ..reading };
        }
        reading
    }

    /// What it is doing now. Says whether that is another state than before, one that is known.
    pub(super) fn conclude(&mut self, now: Timestamp) -> (Known, bool) {
        let known = match self.awaited {
            Some(since) if self.life != Life::Running && now.duration_since(since) < APPEARS => {
                let reason = "its CLI has not appeared in its pane yet".to_owned();
                Known { state: State::Starting, since, source: Source::Process, reason }
            }
            _ => conclude(&self.life, self.tracker.heard(), self.sight.as_ref(), now),
        };
        let known = known.following(self.known.as_ref());
        let before = self.known.as_ref().map(|known| known.state.name());
        let changed = known.state != State::Unknown && before != Some(known.state.name());
        if changed || self.known.is_none() || known.state != State::Unknown {
            self.known = Some(known.clone());
        }
        (known, changed)
    }
}

/// The number in a row such as `8% context left` or `Context left until auto-compact: 8%`.
fn room(row: &str) -> Option<u8> {
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

impl Repeats {
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
    use paw_agent::hooks::notes::Answer;
    use paw_agent::screen::Screen;
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn note(second: i64, event: &str, command: &str) -> Note {
        let record = json!({
            "hook_event_name": event, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": command},
        });
        Note::new(at(second), "claude", &record)
    }

    fn look(program: &str, text: &str) -> Look {
        Look { program: program.into(), dead: false, cursor_visible: true, screen: Screen::parse(text) }
    }

    fn idle() -> Look {
        look("claude", &format!("{rule}\n❯ \n{rule}\n  ? for shortcuts", rule = "─".repeat(40)))
    }

    fn state(agent: &mut Agent, second: i64) -> &'static str {
        agent.conclude(at(second)).0.state.name()
    }

    #[test]
    fn a_state_is_news_once() {
        let mut agent = Agent::new("claude", at(0));
        assert!(!agent.conclude(at(0)).1, "nothing is known yet");
        agent.see(&idle(), at(1));
        assert!(agent.conclude(at(1)).1);
        agent.see(&idle(), at(2));
        let (known, news) = agent.conclude(at(2));
        assert!(!news);
        assert_eq!(known.since, at(1));
    }

    #[test]
    fn a_cli_that_is_slow_to_start_has_not_ended_and_one_that_never_does_has() {
        let mut agent = Agent::new("claude", at(0));
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
    fn tmux_itself_in_a_new_pane_is_not_the_cli_yet() {
        let mut agent = Agent::new("claude", at(0));
        agent.see(&look("tmux", ""), at(0));
        agent.see(&look("sh", ""), at(1));
        assert_eq!(state(&mut agent, 12), "starting");
    }

    #[test]
    fn an_end_is_looked_at_again_until_it_was_told() {
        let mut agent = Agent::new("claude", at(0));
        agent.see(&idle(), at(1));
        assert!(!agent.is_unsure());
        agent.see(&look("bash", "$"), at(3));
        agent.see(&look("bash", "$"), at(9));
        assert!(agent.is_unsure(), "however late it is now");
        agent.see(&look("bash", "$"), at(18));
        assert!(!agent.is_unsure());
        agent.see(&idle(), at(20));
        assert!(!agent.is_unsure());
    }

    #[test]
    fn the_prompt_that_stood_there_before_a_cli_is_no_end_of_it() {
        let mut agent = Agent::new("worker", at(0));
        agent.see(&look("tmux", "cd app && worker"), at(0));
        agent.see(&look("worker", "cd app && worker\nuser@host:~/app$"), at(1));
        assert_eq!(state(&mut agent, 1), "unknown");
        agent.see(&look("worker", "welcome to worker"), at(2));
        agent.see(&look("worker", "welcome to worker\nuser@host:~/app$"), at(3));
        assert_eq!(state(&mut agent, 3), "exited", "a shell inside of what is in front");
        agent.see(&look("bash", "user@host:~/app$"), at(4));
        agent.see(&look("worker", "user@host:~/app$"), at(5));
        assert_eq!(state(&mut agent, 5), "unknown", "started again, and silent");
    }

    #[test]
    fn an_approval_that_was_given_at_once_is_no_waiting() {
        let mut agent = Agent::new("claude", at(0));
        let mut asked = note(1, "PermissionRequest", "cargo test");
        asked.answer = Some(Answer { allowed: true, reason: String::new() });
        assert_eq!(agent.hear(&asked), None);
        assert_eq!(state(&mut agent, 1), "working");
        asked.answer = Some(Answer { allowed: false, reason: "no".into() });
        let left = agent.hear(&asked).unwrap();
        assert_eq!((left.ask.command(), left.reason.as_str()), (Some("cargo test"), "no"));
        assert_eq!(state(&mut agent, 1), "waiting_approval");
    }

    #[test]
    fn a_cli_that_died_without_a_word_can_be_started_again() {
        let mut agent = Agent::new("claude", at(0));
        agent.hear(&note(1, "UserPromptSubmit", ""));
        assert_eq!(state(&mut agent, 1), "working");
        agent.see(&look("bash", "$"), at(2));
        assert_eq!(state(&mut agent, 2), "exited");
        let mut started = note(3, "SessionStart", "");
        started.record["session_id"] = "another".into();
        started.record["source"] = "startup".into();
        agent.hear(&started);
        agent.see(&idle(), at(4));
        assert_eq!(state(&mut agent, 4), "idle");
    }

    #[test]
    fn the_same_command_again_and_again_is_counted_until_something_else_is_done() {
        let mut agent = Agent::new("claude", at(0));
        for second in 0..3 {
            agent.hear(&note(second, "PostToolUse", "cargo test"));
        }
        assert_eq!(agent.repeats().times, 3);
        agent.hear(&note(4, "PostToolUse", "git diff"));
        assert_eq!(agent.repeats(), &Repeats { what: "git diff".into(), times: 1 });
    }

    #[test]
    fn the_room_of_a_conversation_is_read_from_the_last_rows() {
        assert_eq!(room("  Context left until auto-compact: 8%"), Some(8));
        assert_eq!(room("  42% context left · ? for shortcuts"), Some(42));
        assert_eq!(room("Context low (3% remaining)"), Some(3));
        for row in
            ["", "coverage 8%", "context left", "context left %", "context é% left", "context left 999%"]
        {
            assert_eq!(room(row), None, "{row}");
        }
    }

    #[test]
    fn a_clock_on_the_screen_is_no_progress() {
        let mut agent = Agent::new("claude", at(0));
        agent.see(&look("claude", "● thinking 12s"), at(5));
        agent.see(&look("claude", "● thinking 57s"), at(50));
        assert_eq!(agent.progress(), at(5));
        agent.see(&look("claude", "● thinking 57s\n● done"), at(60));
        assert_eq!(agent.progress(), at(60));
    }
}
