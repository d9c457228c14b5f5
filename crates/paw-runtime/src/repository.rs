//! Notices that the repository was deleted, moved or replaced. Nothing can be published in it any more.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

/// Often enough to leave nothing behind, rare enough to cost nothing.
pub(super) const CHECK_EVERY: Duration = Duration::from_secs(30);

/// Resolves when the directory is not the one that it was at the first call.
pub(super) async fn gone(dir: &Path, every: Duration) {
    let before = identity(dir);
    loop {
        tokio::time::sleep(every).await;
        if before.is_none() || identity(dir) != before {
            return;
        }
    }
}

fn identity(dir: &Path) -> Option<(u64, u64)> {
    fs::metadata(dir).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_deleted_and_a_replaced_directory_are_gone() {
        let root = tempfile::tempdir().unwrap();
        let often = Duration::from_millis(1);
        for replaced in [false, true] {
            let dir = root.path().join("git");
            fs::create_dir_all(&dir).unwrap();
            let watched = gone(&dir, often);
            tokio::pin!(watched);
            assert!(tokio::time::timeout(20 * often, &mut watched).await.is_err(), "it is still there");
            fs::rename(&dir, root.path().join(format!("moved-{replaced}"))).unwrap();
            if replaced {
                fs::create_dir(&dir).unwrap();
            }
            watched.await;
        }
    }
}
