//! Our part of somebody's file, between two marks. Pure: bytes in, bytes out, and every byte that is not ours stays as
//! it is.
//!
//! A region without its end is not ours to delete: where it ended cannot be known, so only the mark itself goes and the
//! text below it stays.

/// The first line of the region.
pub const START: &str = "<!-- git-paw:start — managed by git-paw, do not edit manually -->";
/// The last line of the region.
pub const END: &str = "<!-- git-paw:end -->";

/// Any first line that was ever written begins like this.
const START_BEGINS: &[u8] = b"<!-- git-paw:start";
const NOTE_BEGINS: &[u8] = b"<!-- git-paw:note";
/// What a line inside the region must not begin with.
const MARK: &str = "<!-- git-paw:";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How the file was before the region came, where taking the region out alone would not bring that back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// There was no file.
    Created,
    /// The last line had no end, and got this one.
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

    /// How the lines of a text end, by its first one.
    fn of(bytes: &[u8]) -> Self {
        match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) if bytes[..at].ends_with(b"\r") => Self::CrLf,
            _ => Self::Lf,
        }
    }
}

/// A file with a region in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Put {
    pub(super) bytes: Vec<u8>,
    /// The file had a region without an end; its text is still there.
    pub(super) unfinished: bool,
}

/// A file without its region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    /// Nothing: the file was ours alone and goes with the region.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) unfinished: bool,
}

/// Whether there is any mark of ours.
pub(super) fn is_marked(bytes: &[u8]) -> bool {
    pieces(bytes).iter().any(|piece| !matches!(piece, Piece::Theirs(_)))
}

/// Puts `text` in the place of the region that is there, or at the end. A second region goes.
pub(super) fn put(file: Option<&[u8]>, text: &str) -> Put {
    let Some(file) = file else {
        return Put { bytes: region(text, Eol::Lf, Some(Note::Created)), unfinished: false };
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
    Put { bytes, unfinished: is_unfinished(&pieces) }
}

/// Takes every region and every mark out.
pub(super) fn take(file: &[u8]) -> Taken {
    let pieces = pieces(file);
    let mut bytes = Vec::new();
    let mut created = false;
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Theirs(text) => bytes.extend_from_slice(text),
            Piece::Region { note: Some(Note::Created), .. } => created = true,
            Piece::Region { note: Some(Note::Joined(eol)), .. } => {
                // With something below it, the line needs its end.
                let last = pieces[at + 1..].iter().all(|piece| !matches!(piece, Piece::Theirs(_)));
                if last && bytes.ends_with(eol.as_str().as_bytes()) {
                    bytes.truncate(bytes.len() - eol.as_str().len());
                }
            }
            Piece::Region { note: None, .. } | Piece::Lone { .. } => {}
        }
    }
    let bytes = if created && bytes.is_empty() { None } else { Some(bytes) };
    Taken { bytes, unfinished: is_unfinished(&pieces) }
}

fn is_unfinished(pieces: &[Piece<'_>]) -> bool {
    pieces.iter().any(|piece| matches!(piece, Piece::Lone { opens: true }))
}

fn region(text: &str, eol: Eol, note: Option<Note>) -> Vec<u8> {
    let mut lines = vec![START.to_owned()];
    lines.extend(note.map(|note| note.line().to_owned()));
    // A mark in somebody's spec would end the region early.
    let safe = |line: &str| if line.starts_with(MARK) { format!(" {line}") } else { line.to_owned() };
    lines.extend(text.trim_end().lines().map(safe));
    lines.push(END.to_owned());
    lines.iter().flat_map(|line| [line.as_str(), eol.as_str()]).collect::<String>().into_bytes()
}

/// A file taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece<'a> {
    Theirs(&'a [u8]),
    Region {
        eol: Eol,
        note: Option<Note>,
    },
    /// One line with a mark that has no partner.
    Lone {
        opens: bool,
    },
}

fn pieces(file: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = file;
    while !rest.is_empty() {
        // Not only at the top: what stood above may be gone.
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

/// How many bytes the region at the beginning has, if it ends before another one begins.
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

/// The first line with its end.
fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or(bytes)
}

#[cfg(test)]
mod tests;
