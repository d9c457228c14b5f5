//! The machine this program runs on.

/// Its name in the network, as far as it knows it.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
