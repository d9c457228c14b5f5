//! Detects that a terminal was closed (hangup).
//!
//! A program that mistakes the end of input for a pause would read in a busy loop, and SIGHUP may arrive late or never.

use std::io::Write as _;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Whether the other end is closed.
pub fn is_hung_up(terminal: impl AsFd) -> bool {
    poll_hangup(terminal, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(true)
}

/// Returns when the other end is closed, or if that cannot be detected.
pub fn wait_for_hangup(terminal: impl AsFd) {
    while matches!(poll_hangup(&terminal, None), Ok(false) | Err(Errno::INTR | Errno::AGAIN)) {}
}

/// Puts a pipe with one pressed key in the place of a closed stdin. A reader that retries at the end of file gets the key and
/// returns to its caller.
pub fn unblock_stdin() -> std::io::Result<()> {
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(b"q")?;
    rustix::stdio::dup2_stdin(&reader)?;
    // Without a writer the reader would be at the end of file again.
    std::mem::forget(writer);
    Ok(())
}

fn poll_hangup(terminal: impl AsFd, limit: Option<&Timespec>) -> Result<bool, Errno> {
    // poll always reports a hangup, even without requested events.
    let mut fds = [PollFd::new(&terminal, PollFlags::empty())];
    poll(&mut fds, limit)?;
    Ok(!fds[0].revents().is_empty())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn input_is_not_a_hangup_and_a_closed_end_is() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"key").unwrap();
        assert!(!is_hung_up(&reader), "input is available");
        let waiting = thread::spawn(move || {
            wait_for_hangup(&reader);
            is_hung_up(&reader)
        });
        drop(writer);
        assert!(waiting.join().unwrap());
    }
}
