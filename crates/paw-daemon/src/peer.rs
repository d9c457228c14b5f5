//! Who may connect: the user of the daemon, and root.

use std::io;

use tokio::net::UnixStream;

/// The user id of the peer, if that user may not connect.
pub(crate) fn find_foreign_uid(stream: &UnixStream) -> io::Result<Option<u32>> {
    let peer = stream.peer_cred()?.uid();
    Ok((!may_connect(peer, rustix::process::geteuid().as_raw())).then_some(peer))
}

fn may_connect(peer: u32, own: u32) -> bool {
    peer == own || peer == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_and_root_may_connect() {
        assert!(may_connect(1000, 1000) && may_connect(0, 1000) && may_connect(0, 0));
        assert!(!may_connect(1001, 1000) && !may_connect(1000, 0));
    }

    #[tokio::test]
    async fn our_own_connection_is_allowed() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(find_foreign_uid(&one).unwrap(), None);
    }
}
