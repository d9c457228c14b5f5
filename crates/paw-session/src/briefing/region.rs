//! Our region of a user's file, between two marks. Pure: never changes a byte outside of the region.
//!
//! If the end mark is missing, the end of the region is unknown. Then only the start mark is removed and the text stays.

/// The first line of the region.
pub const START: &str = "<!-- git-paw:start — managed by git-paw, do not edit manually -->";
/// The last line of the region.
pub const END: &str = "<!-- git-paw:end -->";

/// Every version of git paw has written a first line with this prefix.
const START_BEGINS: &[u8] = b"<!-- git-paw:start";
const NOTE_BEGINS: &[u8] = b"<!-- git-paw:note";
/// A line inside the region must not start with this.
const MARK: &str = "<!-- git-paw:";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What else has to be undone when the region is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// The file did not exist.
    Created,
    /// The last line had no line break; this one was added.
    Joined(Eol),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Eol {
    Lf,
    CrLf,
}

impl Note {
    const ALL: [Self; 3] = [Self::Created, Self::Joined(Eol::Lf), Self::Joined(Eol::CrLf)];

    fn line(self) -> &'static str {
        match self {
            Self::Created => "<!-- git-paw:note file made by git-paw -->",
            Self::Joined(Eol::Lf) => "<!-- git-paw:note line end above made by git-paw (LF) -->",
            Self::Joined(Eol::CrLf) => "<!-- git-paw:note line end above made by git-paw (CRLF) -->",
        }
    }
}

impl Eol {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    /// The line ending of the first line.
    fn of(bytes: &[u8]) -> Self {
        match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) if bytes[..at].ends_with(b"\r") => Self::CrLf,
            _ => Self::Lf,
        }
    }
}

/// A file after the region was inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InsertedRegion {
    pub(super) bytes: Vec<u8>,
    /// The file had a region without an end mark; its text is still there.
    pub(super) unfinished: bool,
}

/// A file after the region was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemovedRegion {
    /// `None` if the file contained only the region and should be deleted.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) unfinished: bool,
}

/// Whether the file contains any of our marks.
pub(super) fn is_marked(bytes: &[u8]) -> bool {
    pieces(bytes).iter().any(|piece| !matches!(piece, Piece::Theirs(_)))
}

/// Replaces the region with `text`, or appends one. Removes additional regions.
pub(super) fn insert(file: Option<&[u8]>, text: &str) -> InsertedRegion {
    let Some(file) = file else {
        return InsertedRegion { bytes: region(text, Eol::Lf, Some(Note::Created)), unfinished: false };
    };
    let pieces = pieces(file);
    let mut bytes = Vec::new();
    let mut done = false;
    for piece in &pieces {
        match piece {
            Piece::Theirs(text) => bytes.extend_from_slice(text),
            Piece::Region { eol, note } if !done => {
                done = true;
                bytes.extend(region(text, *eol, *note));
            }
            Piece::Region { .. } | Piece::Lone { .. } => {}
        }
    }
    if !done {
        let eol = Eol::of(&bytes);
        let joined = !bytes.is_empty() && !bytes.ends_with(b"\n");
        if joined {
            bytes.extend_from_slice(eol.as_str().as_bytes());
        }
        bytes.extend(region(text, eol, joined.then_some(Note::Joined(eol))));
    }
    InsertedRegion { bytes, unfinished: is_unfinished(&pieces) }
}

/// Removes every region and every mark.
pub(super) fn remove(file: &[u8]) -> RemovedRegion {
    let pieces = pieces(file);
    let mut bytes = Vec::new();
    let mut created = false;
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Theirs(text) => bytes.extend_from_slice(text),
            Piece::Region { note: Some(Note::Created), .. } => created = true,
            Piece::Region { note: Some(Note::Joined(eol)), .. } => {
                // If the user added text below the region, the line break stays.
                let last = pieces[at + 1..].iter().all(|piece| !matches!(piece, Piece::Theirs(_)));
                if last && bytes.ends_with(eol.as_str().as_bytes()) {
                    bytes.truncate(bytes.len() - eol.as_str().len());
                }
            }
            Piece::Region { note: None, .. } | Piece::Lone { .. } => {}
        }
    }
    let bytes = if created && bytes.is_empty() { None } else { Some(bytes) };
    RemovedRegion { bytes, unfinished: is_unfinished(&pieces) }
}

fn is_unfinished(pieces: &[Piece<'_>]) -> bool {
    pieces.iter().any(|piece| matches!(piece, Piece::Lone { opens: true }))
}

fn region(text: &str, eol: Eol, note: Option<Note>) -> Vec<u8> {
    let mut lines = vec![START.to_owned()];
    lines.extend(note.map(|note| note.line().to_owned()));
    // A mark inside a spec would end the region early.
    let safe = |line: &str| if line.starts_with(MARK) { format!(" {line}") } else { line.to_owned() };
    lines.extend(text.trim_end().lines().map(safe));
    lines.push(END.to_owned());
    lines.iter().flat_map(|line| [line.as_str(), eol.as_str()]).collect::<String>().into_bytes()
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece<'a> {
    Theirs(&'a [u8]),
    Region {
        eol: Eol,
        note: Option<Note>,
    },
    /// A start or end mark without its counterpart.
    Lone {
        opens: bool,
    },
}

fn pieces(file: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = file;
    while !rest.is_empty() {
        // It may be in the middle, if text above it was deleted.
        if let Some(after) = rest.strip_prefix(BYTE_ORDER_MARK) {
            pieces.push(Piece::Theirs(BYTE_ORDER_MARK));
            rest = after;
            continue;
        }
        let line = first_line(rest);
        if line.starts_with(START_BEGINS) {
            if let Some(length) = region_length(rest) {
                pieces.push(Piece::Region { eol: Eol::of(line), note: note_of(&rest[line.len()..]) });
                rest = &rest[length..];
                continue;
            }
            pieces.push(Piece::Lone { opens: true });
        } else if line.starts_with(END.as_bytes()) || line.starts_with(NOTE_BEGINS) {
            pieces.push(Piece::Lone { opens: false });
        } else {
            pieces.push(Piece::Theirs(line));
        }
        rest = &rest[line.len()..];
    }
    pieces
}

/// The length of the region that `bytes` starts with, if it ends before another one starts.
fn region_length(bytes: &[u8]) -> Option<usize> {
    let mut length = first_line(bytes).len();
    while length < bytes.len() {
        let line = first_line(&bytes[length..]);
        length += line.len();
        if line.starts_with(END.as_bytes()) {
            return Some(length);
        }
        if line.starts_with(START_BEGINS) {
            return None;
        }
    }
    None
}

fn note_of(bytes: &[u8]) -> Option<Note> {
    let line = first_line(bytes).trim_ascii_end();
    Note::ALL.into_iter().find(|note| note.line().as_bytes() == line)
}

/// The first line, including its line break.
fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or(bytes)
}

#[cfg(test)]
mod tests;
