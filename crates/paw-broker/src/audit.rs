//! The audit trail: every message as one line of JSON, in a file that is rotated by size.
//!
//! It reads the stream like any other subscriber, so publishing never waits for it, and it continues where the file
//! ends.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use paw_host::files;
use serde_json::Value;

use crate::bus::Subscription;
use crate::cache::CachedMessage;

/// A file of this size is rotated.
const MAX_BYTES: u64 = 10 << 20;
/// Rotated files that are kept. `broker.log.1` is the newest.
const MAX_ROTATED: u32 = 3;
/// Pause between two writes, so that many messages are written together under load.
const PAUSE: Duration = Duration::from_millis(25);
/// The first and the longest pause after a failed write.
const RETRY: Duration = Duration::from_millis(500);
const LONGEST_RETRY: Duration = Duration::from_mins(1);

/// The file of the trail.
#[derive(Debug)]
pub struct AuditTrail {
    /// The repository. It may contain symbolic links; their targets must not be written.
    root: PathBuf,
    path: PathBuf,
    max_bytes: u64,
    /// Whether the current problem was logged. Each problem is logged once, not for every message.
    warned: bool,
}

impl AuditTrail {
    pub fn new(root: &Path, path: &Path) -> Self {
        Self { root: root.to_path_buf(), path: path.to_path_buf(), max_bytes: MAX_BYTES, warned: false }
    }

    /// The sequence number of the last message in the file.
    pub fn last_seq(&self) -> Option<u64> {
        let own = |path: &&PathBuf| files::require_no_link(&self.root, path).is_ok();
        [self.path.clone(), self.rotated_path(1)].iter().filter(own).find_map(|path| last_line_seq(path))
    }

    /// Writes messages until the stream ends. What cannot be written, for example on a full disk, is written later.
    pub async fn follow(mut self, mut stream: Subscription) {
        while let Ok(Some(page)) = stream.next().await {
            let page = Arc::new(page);
            let mut retry = RETRY;
            loop {
                let (session, page) = (stream.session().to_string(), Arc::clone(&page));
                let work = tokio::task::spawn_blocking(move || (self.write(&session, &page), self));
                let Ok((written, back)) = work.await else { return };
                self = back;
                if written {
                    break;
                }
                tokio::time::sleep(retry).await;
                retry = (retry * 2).min(LONGEST_RETRY);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns whether the messages were written.
    fn write(&mut self, session: &str, page: &[Arc<CachedMessage>]) -> bool {
        let written = self.try_write(session, page);
        if let Err(error) = &written
            && !self.warned
        {
            tracing::warn!("cannot write the audit trail {}: {error}", self.path.display());
        }
        self.warned = written.is_err();
        written.is_ok()
    }

    fn try_write(&self, session: &str, page: &[Arc<CachedMessage>]) -> io::Result<()> {
        let session = Value::from(session).to_string();
        let mut text = String::new();
        for kept in page {
            push_line(&mut text, &session, kept);
        }
        files::require_no_link(&self.root, &self.path).map_err(io::Error::other)?;
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)?;
        }
        let mut file = files::open_private_log(&self.path)?;
        let end = drop_incomplete_line(&mut file)?;
        if let Err(error) = file.write_all(text.as_bytes()) {
            // No half a line on a full disk.
            let _ = file.set_len(end);
            return Err(error);
        }
        if file.metadata()?.len() >= self.max_bytes {
            self.rotate()?;
        }
        Ok(())
    }

    /// Older files may be readable for others.
    fn rotate(&self) -> io::Result<()> {
        for number in 1..=MAX_ROTATED {
            let older = self.rotated_path(number);
            if older.exists() {
                files::open_private_log(&older)?;
            }
        }
        for number in (1..MAX_ROTATED).rev() {
            match fs::rename(self.rotated_path(number), self.rotated_path(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, self.rotated_path(1))
    }

    fn rotated_path(&self, number: u32) -> PathBuf {
        rotated_path(&self.path, number)
    }
}

/// The files of a trail, oldest first. Some of them may not exist.
pub fn files_of(path: &Path) -> impl Iterator<Item = PathBuf> {
    let rotated = (1..=MAX_ROTATED).rev().map(|number| rotated_path(path, number));
    rotated.chain([path.to_path_buf()])
}

fn rotated_path(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The body is JSON without line breaks; ids and times need no escaping.
fn push_line(text: &mut String, session: &str, kept: &CachedMessage) {
    let entry = &kept.entry;
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        r#"{{"seq":{},"at":"{}","session":{session},"sender":"{}","to":"#,
        entry.seq, entry.at, entry.sender
    );
    let _ = match entry.audience.as_column() {
        Some(to) => write!(text, r#""{to}""#),
        None => write!(text, "null"),
    };
    let _ = writeln!(text, r#","message":{}}}"#, entry.body);
}

/// Removes a last line without a line break, which a crash or a full disk has left; its message is written again. Returns
/// the length of the file.
fn drop_incomplete_line(file: &mut File) -> io::Result<u64> {
    const CHUNK: u64 = 4096;
    let length = file.metadata()?.len();
    let mut end = length;
    let mut chunk = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        file.seek(SeekFrom::Start(start))?;
        chunk.clear();
        Read::by_ref(file).take(end - start).read_to_end(&mut chunk)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            end = start + at as u64 + 1;
            break;
        }
        end = start;
    }
    if end < length {
        file.set_len(end)?;
    }
    Ok(end)
}

/// The sequence number of the last complete line. A crash may have truncated the last one.
fn last_line_seq(path: &Path) -> Option<u64> {
    /// More than the longest line.
    const TAIL: u64 = 1 << 20;
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut last = None;
    for line in BufReader::new(file.take(TAIL)).split(b'\n').map_while(Result::ok) {
        let parsed = serde_json::from_slice::<Value>(&line).ok();
        last = parsed.and_then(|line| line["seq"].as_u64()).or(last);
    }
    last
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_core::AgentId;

    use super::*;
    use crate::log::LogEntry;
    use crate::route::Audience;

    fn page(numbers: std::ops::Range<u64>) -> Vec<Arc<CachedMessage>> {
        let sender = AgentId::new("a").unwrap();
        let entry = |seq| LogEntry {
            seq,
            at: Timestamp::UNIX_EPOCH,
            sender: sender.clone(),
            audience: Audience::Others,
            body: r#"{"type":"agent.artifact"}"#.into(),
            is_replicated: false,
        };
        numbers.map(|seq| Arc::new(CachedMessage::new(entry(seq)))).collect()
    }

    #[test]
    fn audit_trail_writes_each_message_as_one_line_of_json_and_finds_the_last_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/broker.log");
        let mut audit = AuditTrail::new(dir.path(), &path);
        assert_eq!(audit.last_seq(), None);
        audit.write("s", &page(1..4));
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["message"]["type"], "agent.artifact");
        assert_eq!(lines[0]["at"], "1970-01-01T00:00:00Z");
        assert_eq!((audit.last_seq(), lines[2]["to"].as_str()), (Some(3), Some("*")));
    }

    #[test]
    fn audit_trail_replaces_a_truncated_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("broker.log");
        let mut audit = AuditTrail::new(dir.path(), &path);
        audit.write("s", &page(1..3));
        let whole = fs::read(&path).unwrap();
        files::write_atomic(&path, &whole[..whole.len() - 5], files::Access::Usual).unwrap();
        assert_eq!(audit.last_seq(), Some(1));
        audit.write("s", &page(2..4));
        let text = fs::read_to_string(&path).unwrap();
        let numbers: Vec<_> =
            text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64()).collect();
        assert_eq!(numbers, [Some(1), Some(2), Some(3)], "every line is complete");
    }

    #[test]
    fn incomplete_line_is_removed_whatever_its_length() {
        let dir = tempfile::tempdir().unwrap();
        for (lines, rest) in [("", 0), ("", 10_000), ("one\n", 0), ("one\ntwo\n", 4096), ("one\n", 1)] {
            let path = dir.path().join("log");
            let text = [lines.as_bytes(), &vec![b'x'; rest]].concat();
            files::write_atomic(&path, &text, files::Access::Usual).unwrap();
            let mut file = files::open_private_log(&path).unwrap();
            assert_eq!(drop_incomplete_line(&mut file).unwrap(), lines.len() as u64);
            assert_eq!(fs::read_to_string(&path).unwrap(), lines);
        }
    }

    #[test]
    fn audit_trail_rotates_large_files_and_deletes_the_oldest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("broker.log");
        let mut audit = AuditTrail { max_bytes: 200, ..AuditTrail::new(dir.path(), &path) };
        for start in (0..50).step_by(5) {
            audit.write("s", &page(start..start + 5));
        }
        assert_eq!(audit.last_seq(), Some(49));
        let names: std::collections::BTreeSet<_> =
            fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, ["broker.log.1", "broker.log.2", "broker.log.3"].map(Into::into).into());
    }

    #[test]
    fn audit_trail_neither_reads_nor_writes_through_a_symbolic_link() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("repo"), dir.path().join("outside"));
        let line = "{\"seq\":7}\n";
        files::write_atomic(&outside.join("broker.log"), line.as_bytes(), files::Access::Usual).unwrap();
        files::create_dir(&root.join(".git-paw")).unwrap();
        let linked = root.join(".git-paw/broker.log");
        std::os::unix::fs::symlink(outside.join("broker.log"), &linked).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("elsewhere")).unwrap();
        for path in [linked, root.join("elsewhere/broker.log")] {
            let mut audit = AuditTrail::new(&root, &path);
            assert_eq!(audit.last_seq(), None, "{}", path.display());
            audit.write("s", &page(8..9));
            assert!(audit.warned);
        }
        assert_eq!(files::load_text(&outside.join("broker.log")).unwrap().as_deref(), Some(line));
    }

    #[test]
    fn audit_trail_that_cannot_be_written_does_not_panic() {
        let dir = tempfile::tempdir().unwrap();
        let mut audit = AuditTrail::new(dir.path(), dir.path());
        audit.write("s", &page(1..2));
        assert!(audit.warned);
    }
}
