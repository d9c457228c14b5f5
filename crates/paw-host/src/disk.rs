//! Free disk space.

use std::io;
use std::path::Path;

/// Free bytes, for an ordinary user, on the file system of `path` or of its nearest existing parent.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let stat = rustix::fs::statvfs(existing)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_bytes_works_for_a_path_that_does_not_exist_yet() {
        let here = free_bytes(&std::env::temp_dir()).unwrap();
        let there = free_bytes(&std::env::temp_dir().join("not/there/yet")).unwrap();
        assert!(here > 0 && there > 0);
    }
}
