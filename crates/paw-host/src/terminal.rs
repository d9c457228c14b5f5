//! Whether somebody is still at the other end of a terminal.
//!
//! Who reads the end of one and takes it for a pause reads it again and again, and a signal may come too late or not at
//! all.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Whether the other end is gone.
pub fn is_hung_up(terminal: impl AsFd) -> bool {
    look(terminal, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(true)
}

/// Returns when the other end is gone, or when that can never be known.
pub fn wait_for_hangup(terminal: impl AsFd) {
    while matches!(look(&terminal, None), Ok(false) | Err(Errno::INTR | Errno::AGAIN)) {}
}

fn look(terminal: impl AsFd, limit: Option<&Timespec>) -> Result<bool, Errno> {
    // Its end is told whether one asks for it or not.
    let mut fds = [PollFd::new(&terminal, PollFlags::empty())];
    poll(&mut fds, limit)?;
    Ok(!fds[0].revents().is_empty())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::thread;

    use super::*;

    #[test]
    fn only_an_end_is_a_hang_up() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"key").unwrap();
        assert!(!is_hung_up(&reader), "somebody has typed");
        let waiting = thread::spawn(move || {
            wait_for_hangup(&reader);
            is_hung_up(&reader)
        });
        drop(writer);
        assert!(waiting.join().unwrap());
    }
}
