//! Starts a sandboxed program again if its sandbox could not be set up because a mount disappeared meanwhile: another program, such
//! as a container that ends, unmounted it.

use super::Stream;
use crate::process::{Exit, ProcessError};
use crate::sandbox::{self, ATTEMPTS};

/// Calls `run` until the program has been started, and passes its output on. What the engine prints is held back until then.
pub(super) fn with_retries(
    mut run: impl FnMut(&mut dyn FnMut(Stream, &[u8])) -> Result<Exit, ProcessError>,
    mut on_bytes: impl FnMut(Stream, &[u8]),
) -> Result<Exit, ProcessError> {
    let mut attempt = 1;
    loop {
        let (mut held, mut is_held) = (Vec::new(), true);
        let exit = run(&mut |stream, bytes| {
            if is_held && stream == Stream::Err && sandbox::may_be_engine_text(&[&held, bytes].concat()) {
                held.extend_from_slice(bytes);
                return;
            }
            if std::mem::take(&mut is_held) && !held.is_empty() {
                on_bytes(Stream::Err, &held);
            }
            on_bytes(stream, bytes);
        })?;
        if !is_held {
            return Ok(exit);
        }
        if exit != Exit::Code(1) || !sandbox::is_lost_mount(&held) || attempt == ATTEMPTS {
            if !held.is_empty() {
                on_bytes(Stream::Err, &held);
            }
            return Ok(exit);
        }
        tracing::debug!(target: "paw::process", "a mount disappeared while a sandbox was set up; trying again");
        attempt += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: &str = "bwrap: Can't bind mount /oldroot/ on /newroot/: Unable to apply mount flags: remount \"/newroot/run/netns/a\": No such file or directory\n";

    /// Runs programs that print these texts to stderr, one after the other, and exit with 1 if it is not empty.
    fn run(printed: &[&str]) -> (Exit, String, usize) {
        let (mut seen, mut runs) = (String::new(), 0);
        let exit = with_retries(
            |on_bytes| {
                let text = printed[runs.min(printed.len() - 1)];
                runs += 1;
                // In pieces, as a pipe may deliver them.
                text.as_bytes().chunks(5).for_each(|piece| on_bytes(Stream::Err, piece));
                Ok(Exit::Code(i32::from(!text.is_empty())))
            },
            |_, bytes| seen.push_str(std::str::from_utf8(bytes).unwrap()),
        );
        (exit.unwrap(), seen, runs)
    }

    #[test]
    fn a_sandbox_whose_mounts_disappear_is_set_up_again() {
        assert_eq!(run(&[LOST, LOST, ""]), (Exit::Code(0), String::new(), 3));
        assert_eq!(run(&[LOST, "a test fails\n"]), (Exit::Code(1), "a test fails\n".to_owned(), 2));
    }

    #[test]
    fn a_sandbox_that_cannot_be_set_up_and_a_failed_program_are_not_started_again() {
        let other = "bwrap: execvp make: No such file or directory\n";
        let program = format!("make: failed\n{LOST}");
        for text in [other, "bw", program.as_str()] {
            assert_eq!(run(&[text]), (Exit::Code(1), text.to_owned(), 1));
        }
        assert_eq!(run(&[LOST]), (Exit::Code(1), LOST.to_owned(), ATTEMPTS), "there is an end");
    }
}
