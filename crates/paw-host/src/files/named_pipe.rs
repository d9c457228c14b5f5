//! A named pipe that is read while programs write to it, so that nothing they wrote can be taken back.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::FileError;

/// A pipe with a name in the file system.
#[derive(Debug)]
pub struct NamedPipe {
    path: PathBuf,
    /// Open for both directions: readers and writers never wait for each other, and there is no end of file.
    file: File,
    /// Written at the end. Programs cannot guess it.
    end: [u8; 16],
    reader: JoinHandle<io::Result<Vec<u8>>>,
}

/// What was written to a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PipeContent {
    Nothing,
    Bytes(Vec<u8>),
    /// The pipe was removed, or another file is in its place.
    Replaced,
}

impl NamedPipe {
    /// Creates the pipe and starts to read. Keeps `most` bytes.
    pub fn create(path: &Path, most: usize) -> Result<Self, FileError> {
        let made = mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
        made.map_err(|error| FileError::when("create", path)(error.into()))?;
        let open = || File::options().read(true).write(true).open(path);
        let file = open().map_err(FileError::when("open", path))?;
        let end = *uuid::Uuid::now_v7().as_bytes();
        let incoming = open().map_err(FileError::when("open", path))?;
        let reader = thread::spawn(move || read_until(incoming, end, most));
        Ok(Self { path: path.to_path_buf(), file, end, reader })
    }

    /// Ends reading and returns what was written until now.
    pub fn finish(mut self) -> Result<PipeContent, FileError> {
        let failed = FileError::when("read", &self.path);
        let own = self.file.metadata().and_then(|own| {
            self.file.write_all(&self.end)?;
            Ok((own.dev(), own.ino()))
        });
        let read = self.reader.join().unwrap_or_else(|_| Err(io::Error::other("its reader panicked")));
        let (own, bytes) = match (own, read) {
            (Ok(own), Ok(bytes)) => (own, bytes),
            (Err(error), _) | (_, Err(error)) => return Err(failed(error)),
        };
        let is_own = fs::symlink_metadata(&self.path)
            .is_ok_and(|there| there.file_type().is_fifo() && (there.dev(), there.ino()) == own);
        Ok(match bytes {
            _ if !is_own => PipeContent::Replaced,
            bytes if bytes.is_empty() => PipeContent::Nothing,
            bytes => PipeContent::Bytes(bytes),
        })
    }
}

/// Drops what exceeds `most`, so that writers never wait.
fn read_until(mut incoming: File, end: [u8; 16], most: usize) -> io::Result<Vec<u8>> {
    let (mut kept, mut tail) = (Vec::new(), Vec::new());
    let mut chunk = vec![0; 1 << 16];
    loop {
        let read = incoming.read(&mut chunk)?;
        tail.extend_from_slice(&chunk[..read]);
        let at = tail.windows(end.len()).position(|window| window == end);
        // The beginning of the end mark may be in this chunk, its rest in the next.
        let done = at.unwrap_or_else(|| tail.len().saturating_sub(end.len() - 1));
        let room = most.saturating_sub(kept.len()).min(done);
        kept.extend_from_slice(&tail[..room]);
        tail.drain(..done);
        if at.is_some() {
            return Ok(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Access, write_atomic};

    fn pipe(most: usize) -> (tempfile::TempDir, PathBuf, NamedPipe) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report");
        let pipe = NamedPipe::create(&path, most).unwrap();
        (dir, path, pipe)
    }

    fn write(path: &Path, bytes: &[u8]) {
        File::options().write(true).truncate(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    #[test]
    fn a_second_write_does_not_replace_the_first() {
        let (_dir, path, pipe) = pipe(1 << 20);
        write(&path, b"first ");
        write(&path, &vec![b'x'; 300_000]);
        let PipeContent::Bytes(bytes) = pipe.finish().unwrap() else { panic!() };
        assert!(bytes.starts_with(b"first x") && bytes.len() == 300_006);
    }

    #[test]
    fn an_unused_pipe_is_empty_and_a_replaced_one_is_reported() {
        let (_dir, _path, unused) = pipe(10);
        assert_eq!(unused.finish().unwrap(), PipeContent::Nothing);
        let (_dir, path, replaced) = pipe(10);
        write(&path, b"true");
        fs::remove_file(&path).unwrap();
        write_atomic(&path, b"fake", Access::Usual).unwrap();
        assert_eq!(replaced.finish().unwrap(), PipeContent::Replaced);
    }

    #[test]
    fn a_writer_never_waits_and_the_rest_is_dropped() {
        let (_dir, path, pipe) = pipe(4);
        write(&path, &vec![b'x'; 1 << 20]);
        assert_eq!(pipe.finish().unwrap(), PipeContent::Bytes(b"xxxx".to_vec()));
    }
}
