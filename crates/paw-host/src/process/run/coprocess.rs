//! A program that answers one request after another, so that a request does not cost a process.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::{prepare, start, wait_error};
use crate::process::{Command, ProcessError};

impl Command {
    /// Starts the program and keeps it running until the returned value is dropped. What it prints to stderr is discarded.
    pub fn coprocess(&self) -> Result<Coprocess, ProcessError> {
        let mut prepared = prepare(self)?;
        prepared.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = start(prepared, self)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| wait_error(self, io::ErrorKind::BrokenPipe.into()))?;
        tracing::debug!(target: "paw::process", "{self} started");
        Ok(Coprocess { command: self.clone(), input, output: BufReader::new(output), child })
    }
}

/// A running program that answers requests. An error means that it has ended or will not answer again.
#[derive(Debug)]
pub struct Coprocess {
    command: Command,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    child: Child,
}

impl Coprocess {
    pub fn send(&mut self, request: &[u8]) -> Result<(), ProcessError> {
        self.input.write_all(request).map_err(|source| wait_error(&self.command, source))
    }

    /// The next line, without its newline.
    pub fn read_line(&mut self) -> Result<String, ProcessError> {
        let mut line = Vec::new();
        let read = self.output.read_until(b'\n', &mut line);
        let ended = match read {
            Ok(_) if line.pop() == Some(b'\n') => return Ok(String::from_utf8_lossy(&line).into_owned()),
            Ok(_) => io::ErrorKind::UnexpectedEof.into(),
            Err(error) => error,
        };
        Err(wait_error(&self.command, ended))
    }

    pub fn read_bytes(&mut self, count: usize) -> Result<Vec<u8>, ProcessError> {
        let mut bytes = vec![0; count];
        self.output.read_exact(&mut bytes).map_err(|source| wait_error(&self.command, source))?;
        Ok(bytes)
    }
}

impl Drop for Coprocess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coprocess_answers_several_requests() {
        let mut cat = Command::new("cat").coprocess().unwrap();
        for request in ["first", "second"] {
            cat.send(format!("{request}\n").as_bytes()).unwrap();
            assert_eq!(cat.read_line().unwrap(), request);
        }
        cat.send(b"\0\xff\n").unwrap();
        assert_eq!(cat.read_bytes(3).unwrap(), b"\0\xff\n");
    }

    #[test]
    fn a_coprocess_that_has_ended_is_an_error() {
        let mut ended = Command::new("true").coprocess().unwrap();
        assert!(ended.read_line().is_err());
    }
}
