//! Appends the output of a pane to its log, up to a size.
//!
//! A log has two parts: the file itself, and the part before it with `.1` at the end of its name. When the file is full, it
//! becomes the part before, and the one before that is deleted. The first line of a part says how much came before it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use super::LogsError;

/// The size of one part. A log keeps between one and two of them.
pub const PART_BYTES: u64 = 16 * 1024 * 1024;

const NOTE: &str = "[git paw: ";
const BEFORE: &str = " bytes came before this line; ";

/// The part of a log that was written before the file itself.
pub fn earlier_part(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Whether a part starts with our note.
pub(super) fn is_note(line: &[u8]) -> bool {
    line.starts_with(NOTE.as_bytes())
}

/// Appends everything from `input`, in parts of `part_bytes`.
pub fn append(log: &Path, mut input: impl Read, part_bytes: u64) -> Result<(), LogsError> {
    let mut writer = LogWriter::open(log, part_bytes).map_err(LogsError::when("write", log))?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => writer.write(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(LogsError::when("read the output for", log)(error)),
        }
    }
}

struct LogWriter<'a> {
    log: &'a Path,
    file: File,
    /// The bytes in the current part.
    size: u64,
    /// The bytes before the current part.
    before: u64,
    part_bytes: u64,
    /// The bytes that could not be written, and why.
    lost: Option<(u64, io::Error)>,
}

impl<'a> LogWriter<'a> {
    fn open(log: &'a Path, part_bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(log)?;
        let size = file.metadata()?.len();
        Ok(Self { log, file, size, before: load_before(log), part_bytes, lost: None })
    }

    /// Never fails: the pane would stop if its output were not read any more. What is missing is noted in the log.
    fn write(&mut self, bytes: &[u8]) {
        if let Err(error) = self.try_write(bytes) {
            // Half a write must not be followed by the next one.
            let _ = self.file.set_len(self.size);
            let lost = self.lost.take().map_or(0, |(lost, _)| lost);
            self.lost = Some((lost + bytes.len() as u64, error));
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.size > 0 && self.size + bytes.len() as u64 > self.part_bytes {
            self.start_part()?;
        }
        if let Some((lost, error)) = &self.lost {
            let note = format!("\r\n{NOTE}{lost} bytes are missing here: {error}]\r\n");
            self.file.write_all(note.as_bytes())?;
            self.size += note.len() as u64;
            self.lost = None;
        }
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    fn start_part(&mut self) -> io::Result<()> {
        let before = self.before + self.size;
        let earlier = earlier_part(self.log);
        fs::rename(self.log, &earlier)?;
        // `create_new` does not follow a link.
        let mut file = OpenOptions::new().create_new(true).append(true).open(self.log)?;
        let name = earlier.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let note =
            format!("{NOTE}{before}{BEFORE}the newest of them are in {name}, older ones were deleted]\r\n");
        file.write_all(note.as_bytes())?;
        (self.file, self.size, self.before) = (file, note.len() as u64, before);
        Ok(())
    }
}

/// The number in the note at the start of a part.
fn load_before(log: &Path) -> u64 {
    let mut start = [0; 64];
    let read = File::open(log).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let text = String::from_utf8_lossy(&start[..read]).into_owned();
    let number = text.strip_prefix(NOTE).and_then(|rest| rest.split_once(BEFORE)).map(|(number, _)| number);
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn log_keeps_two_parts_and_says_how_much_came_before() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("feat--a.log");
        for number in 0..10 {
            append(&log, format!("{number}{}\n", "x".repeat(98)).as_bytes(), 250).unwrap();
        }
        let (earlier, current) = (text(&earlier_part(&log)), text(&log));
        assert!(earlier.len() <= 250 && current.len() <= 250, "{} {}", earlier.len(), current.len());
        assert!(earlier.starts_with("[git paw: ") && earlier.contains("8x"), "{earlier}");
        assert!(current.contains(" bytes came before this line; the newest of them are in feat--a.log.1"));
        assert!(current.ends_with(&format!("9{}\n", "x".repeat(98))), "{current}");
        let parts = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(parts, 2);
    }

    #[test]
    fn log_of_a_flood_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("a.log");
        append(&log, io::repeat(b'x').take(5_000_000), 100_000).unwrap();
        let size = |path: &Path| fs::metadata(path).unwrap().len();
        assert!(size(&log) + size(&earlier_part(&log)) <= 200_000);
        let before = load_before(&log);
        assert!(before > 4_800_000, "{before}");
    }

    #[test]
    fn log_that_cannot_be_written_notes_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("a.log");
        let mut writer = LogWriter::open(&log, 1000).unwrap();
        writer.write(b"one\n");
        let file =
            std::mem::replace(&mut writer.file, OpenOptions::new().append(true).open("/dev/full").unwrap());
        writer.write(b"two\n");
        writer.write(b"three\n");
        writer.file = file;
        writer.write(b"four\n");
        let found = text(&log);
        assert!(found.starts_with("one\n\r\n[git paw: 10 bytes are missing here: No space left"), "{found}");
        assert!(found.ends_with("]\r\nfour\n"), "{found}");
    }
}
