//! Hearing a program without a thread: one poll over what it says, its end, and whoever wants it to stop.

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
pub(super) struct Ears {
    out: Option<File>,
    err: Option<File>,
    /// Readable once the program has ended; nothing when that was heard.
    end: Option<OwnedFd>,
    bell: Option<PipeReader>,
    buffer: Vec<u8>,
}

/// Whether something happened in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Something,
    Nothing,
}

impl Ears {
    pub(super) fn of(child: &mut Child) -> io::Result<Self> {
        let pid =
            i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self {
            out: child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe))),
            err: child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe))),
            end: Some(end_of(pid)?),
            bell: None,
            buffer: vec![0; 32 * 1024],
        })
    }

    /// With a bell: [`Ears::hear`] returns when something comes through it.
    pub(super) fn with_bell(self, bell: PipeReader) -> Self {
        Self { bell: Some(bell), ..self }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.is_none()
    }

    /// The program has ended, and nobody holds its output open any more.
    pub(super) fn is_done(&self) -> bool {
        self.has_ended() && self.out.is_none() && self.err.is_none()
    }

    /// Waits for something, at most for `limit`, and hands over what was said. No more is read than fits into one piece of
    /// each output, so a program that talks without end does not hold us beyond its limit.
    pub(super) fn hear(
        &mut self,
        limit: Option<Duration>,
        mut said: impl FnMut(Stream, &[u8]),
    ) -> io::Result<Heard> {
        if limit.is_some_and(|limit| limit.is_zero()) {
            return Ok(Heard::Nothing);
        }
        let fds = [
            self.out.as_ref().map(AsFd::as_fd),
            self.err.as_ref().map(AsFd::as_fd),
            self.end.as_ref().map(AsFd::as_fd),
            self.bell.as_ref().map(AsFd::as_fd),
        ];
        let Some([out, err, ended, rung]) = wait_for(fds, limit)? else { return Ok(Heard::Nothing) };
        if out && !read_once(&mut self.out, &mut self.buffer, |bytes| said(Stream::Out, bytes)) {
            self.out = None;
        }
        if err && !read_once(&mut self.err, &mut self.buffer, |bytes| said(Stream::Err, bytes)) {
            self.err = None;
        }
        if ended {
            self.end = None;
        }
        // It rings once.
        if rung {
            self.bell = None;
        }
        Ok(Heard::Something)
    }
}

/// Which of them have something to say. Nothing when the time was over first; a signal counts as something.
fn wait_for<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    limit: Option<Duration>,
) -> io::Result<Option<[bool; N]>> {
    let mut polled: Vec<_> =
        fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    // Rounded up, so that nobody wakes a moment too early again and again.
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

/// Hands over what there is; false when nothing more will come.
fn read_once(pipe: &mut Option<File>, buffer: &mut [u8], said: impl FnOnce(&[u8])) -> bool {
    match pipe.as_mut().map(|pipe| pipe.read(buffer)) {
        Some(Ok(0)) | None => false,
        Some(Ok(n)) => {
            said(&buffer[..n]);
            true
        }
        Some(Err(error)) => error.kind() == io::ErrorKind::Interrupted,
    }
}

/// Something that becomes readable when the child has ended. It is not reaped, so that its process id cannot become
/// somebody else's while we may still want to signal it.
fn end_of(pid: Pid) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Ok(end) => return Ok(end),
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    told_by_a_thread(pid)
}

/// For systems without process descriptors: a pipe that a thread closes.
fn told_by_a_thread(pid: Pid) -> io::Result<OwnedFd> {
    let (end, told) = io::pipe()?;
    thread::spawn(move || {
        let ended = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        while matches!(ended(), Err(rustix::io::Errno::INTR)) {}
        drop(told);
    });
    Ok(end.into())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the child itself is what is heard")]
    fn child(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn everything(ears: &mut Ears) -> (Vec<u8>, Vec<u8>) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        while !ears.is_done() {
            let heard = ears.hear(None, |stream, bytes| match stream {
                Stream::Out => out.extend_from_slice(bytes),
                Stream::Err => err.extend_from_slice(bytes),
            });
            assert_eq!(heard.unwrap(), Heard::Something);
        }
        (out, err)
    }

    #[test]
    fn both_outputs_are_heard_to_their_end_however_much_is_said() {
        let script = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; printf x";
        let mut child = child(script);
        let (out, err) = everything(&mut Ears::of(&mut child).unwrap());
        assert_eq!((out.len(), out.last(), err.len()), (300_001, Some(&b'x'), 200_000));
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_thread_tells_the_end_where_the_system_has_no_descriptor_for_it() {
        let mut child = child("printf said; exit 3");
        let mut ears = Ears::of(&mut child).unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        ears.end = Some(told_by_a_thread(pid).unwrap());
        assert_eq!(everything(&mut ears), (b"said".to_vec(), Vec::new()));
        assert_eq!(child.wait().unwrap().code(), Some(3), "nobody has reaped it");
    }

    #[test]
    fn a_silent_program_is_waited_for_no_longer_than_wanted_and_a_bell_is_heard_once() {
        let mut child = child("exec sleep 600");
        let (bell, mut rope) = io::pipe().unwrap();
        let mut ears = Ears::of(&mut child).unwrap().with_bell(bell);
        let short = Some(Duration::from_millis(20));
        assert_eq!(ears.hear(Some(Duration::ZERO), |_, _| {}).unwrap(), Heard::Nothing);
        assert_eq!(ears.hear(short, |_, _| {}).unwrap(), Heard::Nothing);
        // The longest limit there is is none.
        io::Write::write_all(&mut rope, b"!").unwrap();
        assert_eq!(ears.hear(Some(Duration::MAX), |_, _| {}).unwrap(), Heard::Something);
        assert_eq!(ears.hear(short, |_, _| {}).unwrap(), Heard::Nothing);
        child.kill().unwrap();
        everything(&mut ears);
        child.wait().unwrap();
    }
}
