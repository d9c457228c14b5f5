//! Hook records on disk, for the process that monitors the agents: one file per agent, one line per record.
//!
//! Hooks never block, so a hook only appends a line. The reader continues where it stopped, and starts over after a
//! restart. Only the parts of a record that affect the state are stored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::AgentId;
use paw_core::paths::{PawDir, rotated};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::transcript::TranscriptUsage;
use super::{HookEvent, HookEventKind, HookRecordError, Tracker, parse, record};
use crate::cli;

/// A file is rotated at this size. Records that old no longer matter for the state.
const MAX_BYTES: u64 = 1024 * 1024;
/// Bytes read at once.
const PAGE: u64 = 4 * MAX_BYTES;

/// One record of a CLI, and our answer to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookNote {
    pub at: Timestamp,
    pub cli: String,
    pub record: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<HookAnswer>,
    /// A command in the record that is not the agent's job.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "breach")]
    pub violation: Option<RoleViolation>,
}

/// A command that is not an agent's job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleViolation {
    pub command: String,
    /// The hook refused the command.
    pub refused: bool,
}

/// Our answer to an approval request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAnswer {
    /// Allowed; otherwise the CLI asks the user.
    pub allowed: bool,
    pub reason: String,
}

impl HookNote {
    /// A note with the parts of a record that are worth keeping.
    pub fn new(at: Timestamp, cli: &str, record: &Value) -> Self {
        let hooks = cli::descriptor(cli).hooks;
        let record = hooks.map_or_else(|| record::shorten(record), |hooks| (hooks.shorten)(record));
        Self { at, cli: cli.to_owned(), record, answer: None, violation: None }
    }

    /// The path of the CLI's transcript, if the record contains it.
    pub fn transcript(&self) -> Option<&Path> {
        self.record["transcript_path"].as_str().map(Path::new)
    }

    /// What the conversation of the record has used, if the record says so.
    pub fn usage(&self) -> Option<TranscriptUsage> {
        cli::descriptor(&self.cli).hooks?.usage?(&self.record)
    }

    pub fn event(&self) -> Result<HookEvent, HookRecordError> {
        parse(cli::descriptor(&self.cli), &self.record.to_string())
    }

    /// The event for a tracker, if the record is understood. A request that the hook approved counts as a started tool.
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

/// The hook notes of a repository's agents. Only their owner can read them, because commands may contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookNotes {
    files: PawDir,
}

impl HookNotes {
    pub fn of(common_dir: &Path) -> Self {
        Self { files: PawDir::of(common_dir) }
    }

    /// The directory of the notes, created if missing, so that it can be watched.
    pub fn dir(&self) -> io::Result<PathBuf> {
        let dir = self.files.agents();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        Ok(dir)
    }

    /// Appends a line in a single write, so that several hooks can append at the same time.
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

    /// Deletes the notes of an agent that is about to be restarted or was removed.
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

    /// A tracker with all notes of an agent applied.
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

/// A position in the notes of one agent.
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
    /// Reads the notes since the last call. Skips damaged and unfinished lines.
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
    fn a_reader_returns_each_note_once_and_in_order() {
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
        assert_eq!(notes.reader(&agent()).read_new().unwrap().len(), 3, "a new reader starts over");
        let mode = fs::metadata(notes.files.agent_notes(&agent())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        notes.forget(&agent()).unwrap();
        notes.forget(&agent()).unwrap();
        assert_eq!(notes.reader(&agent()).read_new().unwrap(), []);
    }

    #[test]
    fn a_reader_waits_for_an_unfinished_line() {
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
    fn a_reader_loses_no_note_when_the_file_is_rotated() {
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
    fn a_note_keeps_only_what_affects_the_state() {
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
        fn a_reader_skips_any_garbage(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
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
