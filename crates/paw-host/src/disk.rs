//! Space on the file system.

use std::io;
use std::path::Path;

/// Bytes an ordinary user may still write where `path` is or, when it does not exist yet, where it would be.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let stat = rustix::fs::statvfs(existing)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_exist_yet_is_measured_where_it_would_be() {
        let here = free_bytes(&std::env::temp_dir()).unwrap();
        let there = free_bytes(&std::env::temp_dir().join("not/there/yet")).unwrap();
        assert!(here > 0 && there > 0);
    }
}
