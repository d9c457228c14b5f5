//! Text files from the repository, which are not trusted: limited in size, and not read from outside a directory.
//!
//! - [`read`]: reads the file
//! - [`front_matter`]: parses the YAML between the `---` lines at its top

pub(crate) mod front_matter;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The largest file that is read.
pub const LIMIT: u64 = 256 * 1024;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum UntrustedTextError {
    #[error("it is a link out of its directory")]
    Outside,
    #[error("it is not a file")]
    NotAFile,
    #[error("it is larger than {} KiB", LIMIT / 1024)]
    TooLarge,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The content of a file, without a byte order mark and with LF line endings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedText {
    pub text: String,
    /// Some bytes were not UTF-8 and were replaced by U+FFFD.
    pub damaged: bool,
}

/// Reads the file at `path`, if it exists. Follows links, but not out of `within`, which must be a canonical path.
pub fn read(path: &Path, within: Option<&Path>) -> Result<Option<UntrustedText>, UntrustedTextError> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if within.is_some_and(|within| !real.starts_with(within)) {
        return Err(UntrustedTextError::Outside);
    }
    // Opening a pipe would block until a process writes to it.
    if !real.metadata()?.is_file() {
        return Err(UntrustedTextError::NotAFile);
    }
    let mut bytes = Vec::new();
    File::open(&real)?.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(UntrustedTextError::TooLarge);
    }
    Ok(Some(plain(&bytes)))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn plain(bytes: &[u8]) -> UntrustedText {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let damaged = matches!(text, std::borrow::Cow::Owned(_));
    UntrustedText { text: text.replace("\r\n", "\n"), damaged }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_loses_byte_order_mark_and_carriage_returns_and_invalid_bytes_are_reported() {
        let read = plain(b"\xef\xbb\xbfa\r\nb\rc\n");
        assert_eq!(read, UntrustedText { text: "a\nb\rc\n".to_owned(), damaged: false });
        assert_eq!(plain(b"a\xffb"), UntrustedText { text: "a\u{fffd}b".to_owned(), damaged: true });
    }

    #[test]
    fn text_is_read_only_inside_its_directory_and_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let inside = root.join("specs");
        std::fs::create_dir(&inside).unwrap();
        let write = |path: &Path, text: &[u8]| {
            paw_host::files::write_atomic(path, text, paw_host::files::Access::Usual).unwrap();
        };
        write(&root.join("secret"), b"secret");
        write(&inside.join("real.md"), b"text");
        symlink("../secret", inside.join("out.md")).unwrap();
        symlink("real.md", inside.join("in.md")).unwrap();
        symlink("nowhere", inside.join("dangling.md")).unwrap();
        let read = |name: &str| read(&inside.join(name), Some(&inside));
        assert_eq!(read("in.md").unwrap().unwrap().text, "text");
        assert!(matches!(read("out.md"), Err(UntrustedTextError::Outside)));
        assert!(matches!(read("."), Err(UntrustedTextError::NotAFile)));
        assert!(read("dangling.md").unwrap().is_none());
        assert!(read("real.md/below").unwrap().is_none());
        let size = usize::try_from(LIMIT).unwrap();
        write(&inside.join("huge.md"), &vec![b'x'; size + 1]);
        assert!(matches!(read("huge.md"), Err(UntrustedTextError::TooLarge)));
        write(&inside.join("large.md"), &vec![b'x'; size]);
        assert_eq!(read("large.md").unwrap().unwrap().text.len(), size);
    }

    proptest! {
        #[test]
        fn decoding_text_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let read = plain(&bytes);
            prop_assert!(!read.text.contains("\r\n"));
        }
    }
}
