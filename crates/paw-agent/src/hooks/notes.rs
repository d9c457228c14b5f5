//! What hooks were told, written down for the process that follows the agents: one file per agent, one line per record.
//!
//! A hook never blocks, so it only adds a line. The reader continues where it was, and after a restart from the
//! beginning. Of a record only what can say something about the state is kept.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::AgentId;
use paw_core::paths::{PawDir, rotated};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{HookEvent, HookEventKind, HookRecordError, Tracker, parse, record};
use crate::cli;

/// A file is put aside at this size. What an agent told so long ago says nothing about its state.
const MAX_BYTES: u64 = 1024 * 1024;
/// Read at once.
const PAGE: u64 = 4 * MAX_BYTES;

/// One record of a CLI, and what we said to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookNote {
    pub at: Timestamp,
    pub cli: String,
    pub record: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<HookAnswer>,
    /// A command in it that is not the agent's job.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "breach")]
    pub violation: Option<RoleViolation>,
}

/// A command that is not an agent's job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleViolation {
    pub command: String,
    /// The CLI was told that it may not.
    pub refused: bool,
}

/// What was said to an approval that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAnswer {
    /// It was allowed; else a person is to be asked.
    pub allowed: bool,
    pub reason: String,
}

impl HookNote {
    /// A note of what is worth keeping of a record.
    pub fn new(at: Timestamp, cli: &str, record: &Value) -> Self {
        let hooks = cli::descriptor(cli).hooks;
        let record = hooks.map_or_else(|| record::shorten(record), |hooks| (hooks.shorten)(record));
        Self { at, cli: cli.to_owned(), record, answer: None, violation: None }
    }

    /// Where the CLI keeps what was said, if it tells.
    pub fn transcript(&self) -> Option<&Path> {
        self.record["transcript_path"].as_str().map(Path::new)
    }

    pub fn event(&self) -> Result<HookEvent, HookRecordError> {
        parse(cli::descriptor(&self.cli), &self.record.to_string())
    }

    /// The event as a tracker takes it in, if it is understood: an approval that was given at once never waited.
    pub fn tracked_event(&self) -> Option<HookEvent> {
        let mut event = self.event().ok()?;
        if let HookEventKind::ApprovalRequested { action, .. } = &event.kind
            && self.answer.as_ref().is_some_and(|answer| answer.allowed)
        {
            event.kind = HookEventKind::ToolStarted(action.clone());
        }
        Some(event)
    }
}

/// The notes of a repository's agents. Only their owner can read them: commands may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookNotes {
    files: PawDir,
}

impl HookNotes {
    pub fn of(common_dir: &Path) -> Self {
        Self { files: PawDir::of(common_dir) }
    }

    /// The directory, made if it is not there, so that it can be watched.
    pub fn dir(&self) -> io::Result<PathBuf> {
        let dir = self.files.agents();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        Ok(dir)
    }

    /// Adds one line, in one write, so that several hooks of an agent can do it at once.
    pub fn append(&self, agent: &AgentId, note: &HookNote) -> io::Result<()> {
        let line = format!("{}\n", serde_json::to_string(note)?);
        self.dir()?;
        let path = self.files.agent_notes(agent);
        if fs::metadata(&path).is_ok_and(|file| file.len() >= MAX_BYTES) {
            fs::rename(&path, rotated(&path))?;
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
        file.write_all(line.as_bytes())
    }

    /// Drops what was told of an agent: it is about to be restarted, or is gone.
    pub fn forget(&self, agent: &AgentId) -> io::Result<()> {
        let path = self.files.agent_notes(agent);
        for path in [rotated(&path), path] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// What all that was told so far comes to.
    pub fn tracker(&self, agent: &AgentId) -> io::Result<Tracker> {
        let mut tracker = Tracker::default();
        for note in self.reader(agent).read_new()? {
            if let Some(event) = note.tracked_event() {
                tracker.apply(note.at, &event);
            }
        }
        Ok(tracker)
    }

    pub fn reader(&self, agent: &AgentId) -> NoteReader {
        NoteReader { path: self.files.agent_notes(agent), place: None }
    }
}

/// A place in the notes of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteReader {
    path: PathBuf,
    place: Option<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    file: u64,
    offset: u64,
}

impl NoteReader {
    /// What was told since the last time. A line that is damaged, or not finished yet, is left out.
    pub fn read_new(&mut self) -> io::Result<Vec<HookNote>> {
        let mut notes = Vec::new();
        let Some(mut file) = open(&self.path)? else { return Ok(notes) };
        let now = file.metadata()?.ino();
        let mut offset = 0;
        if let Some(place) = self.place {
            if place.file == now {
                offset = place.offset;
            } else if let Some(mut before) = open(&rotated(&self.path))?
                && before.metadata()?.ino() == place.file
            {
                read_lines(&mut before, place.offset, &mut notes)?;
            }
        }
        let offset = read_lines(&mut file, offset, &mut notes)?;
        self.place = Some(Place { file: now, offset });
        Ok(notes)
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads whole lines from `offset` and returns where the next one begins.
fn read_lines(file: &mut File, offset: u64, notes: &mut Vec<HookNote>) -> io::Result<u64> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(PAGE).read_to_end(&mut bytes)?;
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else { return Ok(offset) };
    let lines = bytes[..end].split(|byte| *byte == b'\n');
    notes.extend(lines.filter_map(|line| serde_json::from_slice::<HookNote>(line).ok()));
    Ok(offset + end as u64 + 1)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::ToolAction;
    use super::*;

    fn note(command: &str) -> HookNote {
        let record = json!({
            "hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash",
            "tool_input": {"command": command, "description": "d"}, "tool_response": {"stdout": "secret"},
        });
        HookNote::new(Timestamp::UNIX_EPOCH, "claude", &record)
    }

    fn agent() -> AgentId {
        AgentId::new("feat-x").unwrap()
    }

    #[test]
    fn notes_are_read_in_their_order_and_each_once() {
        let dir = tempfile::tempdir().unwrap();
        let notes = HookNotes::of(dir.path());
        let mut reader = notes.reader(&agent());
        assert_eq!(reader.read_new().unwrap(), []);
        notes.append(&agent(), &note("a")).unwrap();
        notes.append(&agent(), &note("b")).unwrap();
        assert_eq!(reader.read_new().unwrap(), [note("a"), note("b")]);
        assert_eq!(reader.read_new().unwrap(), []);
        notes.append(&agent(), &note("c")).unwrap();
        assert_eq!(reader.read_new().unwrap(), [note("c")]);
        assert_eq!(notes.reader(&agent()).read_new().unwrap().len(), 3, "a new reader begins fresh");
        let mode = fs::metadata(notes.files.agent_notes(&agent())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        notes.forget(&agent()).unwrap();
        notes.forget(&agent()).unwrap();
        assert_eq!(notes.reader(&agent()).read_new().unwrap(), []);
    }

    #[test]
    fn a_line_that_is_not_finished_is_read_when_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let notes = HookNotes::of(dir.path());
        notes.append(&agent(), &note("a")).unwrap();
        let line = format!("{}\n", serde_json::to_string(&note("b")).unwrap());
        let mut file = OpenOptions::new().append(true).open(notes.files.agent_notes(&agent())).unwrap();
        let mut reader = notes.reader(&agent());
        file.write_all(&line.as_bytes()[..9]).unwrap();
        assert_eq!(reader.read_new().unwrap(), [note("a")]);
        file.write_all(&line.as_bytes()[9..]).unwrap();
        assert_eq!(reader.read_new().unwrap(), [note("b")]);
    }

    #[test]
    fn what_is_told_while_a_file_is_put_aside_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let notes = HookNotes::of(dir.path());
        let mut reader = notes.reader(&agent());
        notes.append(&agent(), &note("a")).unwrap();
        reader.read_new().unwrap();
        notes.append(&agent(), &note("b")).unwrap();
        let padding = " ".repeat(usize::try_from(MAX_BYTES).unwrap());
        let mut file = OpenOptions::new().append(true).open(notes.files.agent_notes(&agent())).unwrap();
        file.write_all(format!("{padding}\n").as_bytes()).unwrap();
        notes.append(&agent(), &note("c")).unwrap();
        assert_eq!(reader.read_new().unwrap(), [note("b"), note("c")]);
    }

    #[test]
    fn only_what_says_something_about_the_state_is_kept() {
        let kept = note("cargo test");
        assert!(!kept.record.to_string().contains("secret"));
        assert_eq!(
            kept.event().unwrap().kind,
            HookEventKind::ToolEnded(ToolAction::Command("cargo test".into()))
        );
        let long = note(&"x".repeat(32 * 1024));
        assert_eq!(
            long.event().unwrap().kind,
            HookEventKind::ToolEnded(ToolAction::Other("Bash, too long to keep".into()))
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let dir = tempfile::tempdir().unwrap();
            let notes = HookNotes::of(dir.path());
            notes.append(&agent(), &note("a")).unwrap();
            let mut file = OpenOptions::new().append(true).open(notes.files.agent_notes(&agent())).unwrap();
            file.write_all(&bytes).unwrap();
            file.write_all(b"\n").unwrap();
            notes.append(&agent(), &note("b")).unwrap();
            let read = notes.reader(&agent()).read_new().unwrap();
            prop_assert_eq!(read.last(), Some(&note("b")));
        }
    }
}
