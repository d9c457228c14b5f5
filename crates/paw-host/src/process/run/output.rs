//! Polls the output of a program, its exit and a wakeup pipe without a thread.

use std::fs::File;
use std::io::{self, PipeReader, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::Stream;

#[derive(Debug)]
pub(super) struct OutputPoller {
    out: Option<File>,
    err: Option<File>,
    /// Readable once the program has exited; `None` after that was seen.
    end: Option<OwnedFd>,
    wakeup: Option<PipeReader>,
    buffer: Vec<u8>,
}

/// Whether something happened before the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Polled {
    Ready,
    TimedOut,
}

impl OutputPoller {
    pub(super) fn of(child: &mut Child) -> io::Result<Self> {
        let pid =
            i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self {
            out: child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe))),
            err: child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe))),
            end: Some(exit_descriptor(pid)?),
            wakeup: None,
            buffer: vec![0; 32 * 1024],
        })
    }

    /// Adds a pipe that makes [`OutputPoller::poll_once`] return as soon as it has data.
    pub(super) fn with_wakeup(self, wakeup: PipeReader) -> Self {
        Self { wakeup: Some(wakeup), ..self }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.is_none()
    }

    /// The program has exited, and no process holds its output open any more.
    pub(super) fn is_done(&self) -> bool {
        self.has_ended() && self.out.is_none() && self.err.is_none()
    }

    /// Waits for output, for at most `limit`, and passes it on. Reads at most one buffer of each stream, so that a program
    /// that prints without end cannot exceed its time limit.
    pub(super) fn poll_once(
        &mut self,
        limit: Option<Duration>,
        mut on_bytes: impl FnMut(Stream, &[u8]),
    ) -> io::Result<Polled> {
        if limit.is_some_and(|limit| limit.is_zero()) {
            return Ok(Polled::TimedOut);
        }
        let fds = [
            self.out.as_ref().map(AsFd::as_fd),
            self.err.as_ref().map(AsFd::as_fd),
            self.end.as_ref().map(AsFd::as_fd),
            self.wakeup.as_ref().map(AsFd::as_fd),
        ];
        let Some([out, err, ended, woken]) = wait_for(fds, limit)? else { return Ok(Polled::TimedOut) };
        if out && !read_once(&mut self.out, &mut self.buffer, |bytes| on_bytes(Stream::Out, bytes)) {
            self.out = None;
        }
        if err && !read_once(&mut self.err, &mut self.buffer, |bytes| on_bytes(Stream::Err, bytes)) {
            self.err = None;
        }
        if ended {
            self.end = None;
        }
        // One wakeup is enough.
        if woken {
            self.wakeup = None;
        }
        Ok(Polled::Ready)
    }
}

/// Which descriptors are ready; `None` on a timeout. A signal counts as a wakeup without a ready descriptor.
fn wait_for<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    limit: Option<Duration>,
) -> io::Result<Option<[bool; N]>> {
    let mut polled: Vec<_> =
        fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    // Rounded up: poll would otherwise return just before the deadline, again and again.
    let limit =
        limit.and_then(|limit| Timespec::try_from(limit.saturating_add(Duration::from_millis(1))).ok());
    match poll(&mut polled, limit.as_ref()) {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Some([false; N])),
        Err(error) => return Err(error.into()),
    }
    let mut answers = polled.iter().map(|fd| !fd.revents().is_empty());
    Ok(Some(fds.map(|fd| fd.is_some() && answers.next().unwrap_or_default())))
}

/// Reads what is available; false at the end of the stream.
fn read_once(pipe: &mut Option<File>, buffer: &mut [u8], on_bytes: impl FnOnce(&[u8])) -> bool {
    match pipe.as_mut().map(|pipe| pipe.read(buffer)) {
        Some(Ok(0)) | None => false,
        Some(Ok(n)) => {
            on_bytes(&buffer[..n]);
            true
        }
        Some(Err(error)) => error.kind() == io::ErrorKind::Interrupted,
    }
}

/// A descriptor that becomes readable when the child has exited. The child is not reaped, so that its process id is not
/// reused while we may still signal it.
fn exit_descriptor(pid: Pid) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Ok(end) => return Ok(end),
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    exit_pipe(pid)
}

/// For systems without pidfds: a pipe that a thread closes when the child has exited.
fn exit_pipe(pid: Pid) -> io::Result<OwnedFd> {
    let (end, open) = io::pipe()?;
    thread::spawn(move || {
        let ended = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        while matches!(ended(), Err(rustix::io::Errno::INTR)) {}
        drop(open);
    });
    Ok(end.into())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the poller needs the child itself")]
    fn child(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn everything(poller: &mut OutputPoller) -> (Vec<u8>, Vec<u8>) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        while !poller.is_done() {
            let result = poller.poll_once(None, |stream, bytes| match stream {
                Stream::Out => out.extend_from_slice(bytes),
                Stream::Err => err.extend_from_slice(bytes),
            });
            assert_eq!(result.unwrap(), Polled::Ready);
        }
        (out, err)
    }

    #[test]
    fn both_streams_are_read_to_their_end_whatever_their_length() {
        let script = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; printf x";
        let mut child = child(script);
        let (out, err) = everything(&mut OutputPoller::of(&mut child).unwrap());
        assert_eq!((out.len(), out.last(), err.len()), (300_001, Some(&b'x'), 200_000));
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn the_exit_pipe_closes_when_the_child_exits_and_does_not_reap_it() {
        let mut child = child("printf text; exit 3");
        let mut poller = OutputPoller::of(&mut child).unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        poller.end = Some(exit_pipe(pid).unwrap());
        assert_eq!(everything(&mut poller), (b"text".to_vec(), Vec::new()));
        assert_eq!(child.wait().unwrap().code(), Some(3), "the child was not reaped");
    }

    #[test]
    fn polling_a_silent_program_times_out_and_a_wakeup_is_reported_once() {
        let mut child = child("exec sleep 600");
        let (wakeup, mut waker) = io::pipe().unwrap();
        let mut poller = OutputPoller::of(&mut child).unwrap().with_wakeup(wakeup);
        let short = Some(Duration::from_millis(20));
        assert_eq!(poller.poll_once(Some(Duration::ZERO), |_, _| {}).unwrap(), Polled::TimedOut);
        assert_eq!(poller.poll_once(short, |_, _| {}).unwrap(), Polled::TimedOut);
        // The longest limit is no limit.
        io::Write::write_all(&mut waker, b"!").unwrap();
        assert_eq!(poller.poll_once(Some(Duration::MAX), |_, _| {}).unwrap(), Polled::Ready);
        assert_eq!(poller.poll_once(short, |_, _| {}).unwrap(), Polled::TimedOut);
        child.kill().unwrap();
        everything(&mut poller);
        child.wait().unwrap();
    }
}
