//! Descriptors that this process inherited. One of a hidden directory would be a way around the sandbox.

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// Closes every descriptor except standard input, output and error in programs started from now on. Our own files have this flag
/// already; those that our parent left open do not.
pub(super) fn close_on_exec() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let open = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    for descriptor in open.filter(|descriptor| *descriptor > 2) {
        // The descriptor of this listing is closed at the end.
        let _ = fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    }
}
