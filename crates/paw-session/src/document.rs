//! Texts that a stranger wrote: read whole or not at all, within a size and a directory, as plain lines.
//!
//! - [`read`]: the file
//! - [`front_matter`]: the YAML between the `---` at its top

pub(crate) mod front_matter;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A text larger than this was not written for anybody to read.
pub(crate) const LIMIT: u64 = 256 * 1024;

/// A text that is not taken, and why.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("it leads out of its directory")]
    Outside,
    #[error("it is not a file")]
    NotAFile,
    #[error("it is larger than {} KiB", LIMIT / 1024)]
    TooLarge,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What was read: no byte order mark, and every line ends with a bare newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// Some bytes were not UTF-8 and show as U+FFFD.
    pub(crate) damaged: bool,
}

/// The text at `path`, or nothing where there is none. Links are followed, but not out of `within`, which has to be
/// a real path.
pub(crate) fn read(path: &Path, within: Option<&Path>) -> Result<Option<Text>, DocumentError> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if within.is_some_and(|within| !real.starts_with(within)) {
        return Err(DocumentError::Outside);
    }
    // Opening a pipe would wait for whoever writes to it.
    if !real.metadata()?.is_file() {
        return Err(DocumentError::NotAFile);
    }
    let mut bytes = Vec::new();
    File::open(&real)?.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(DocumentError::TooLarge);
    }
    Ok(Some(plain(&bytes)))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn plain(bytes: &[u8]) -> Text {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let damaged = matches!(text, std::borrow::Cow::Owned(_));
    Text { text: text.replace("\r\n", "\n"), damaged }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_mark_and_carriage_returns_are_gone_and_odd_bytes_are_told() {
        let read = plain(b"\xef\xbb\xbfa\r\nb\rc\n");
        assert_eq!(read, Text { text: "a\nb\rc\n".to_owned(), damaged: false });
        assert_eq!(plain(b"a\xffb"), Text { text: "a\u{fffd}b".to_owned(), damaged: true });
    }

    #[test]
    fn a_text_is_read_only_where_it_may_be() {
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
        assert!(matches!(read("out.md"), Err(DocumentError::Outside)));
        assert!(matches!(read("."), Err(DocumentError::NotAFile)));
        assert!(read("dangling.md").unwrap().is_none());
        assert!(read("real.md/below").unwrap().is_none());
        let size = usize::try_from(LIMIT).unwrap();
        write(&inside.join("huge.md"), &vec![b'x'; size + 1]);
        assert!(matches!(read("huge.md"), Err(DocumentError::TooLarge)));
        write(&inside.join("large.md"), &vec![b'x'; size]);
        assert_eq!(read("large.md").unwrap().unwrap().text.len(), size);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let read = plain(&bytes);
            prop_assert!(!read.text.contains("\r\n"));
        }
    }
}
