//! A terminal's stream as lines of text: escape sequences taken out, and what they did to the line done.
//!
//! Works a piece at a time in bounded memory, wherever the pieces are cut. What moves within a line (backspace,
//! carriage return, cursor left and right, erasing) is followed, so overprinted progress reads as it looked last and
//! words that were set apart by a movement stay apart. What moves to another line begins a new one.

mod line;
mod pen;

use line::Line;
use paw_core::text::is_unsafe;
pub use pen::Keep;

/// Parameters of a control sequence that are looked at; the rest of a longer one is only skipped.
const PARAMETERS: usize = 256;
/// A string sequence that is longer has lost its end: a stream must not be able to hide its own rest.
const LONGEST_STRING: usize = 1 << 20;
/// How often one repetition is believed.
const REPETITIONS: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    /// A two-byte escape with bytes in between: character sets and the like.
    Intermediate,
    Control,
    /// Text for the terminal itself: a title, a clipboard, an image.
    Text {
        bell_ends: bool,
        length: usize,
    },
    /// An escape inside such a text: its end, or the beginning of something else.
    TextEscape,
}

/// The filter. Feed it with [`Strip::push`], and call [`Strip::finish`] at the end.
#[derive(Debug)]
pub struct Strip {
    keep: Keep,
    state: State,
    parameters: String,
    /// The beginning of a character whose rest has not come yet.
    pending: Vec<u8>,
    line: Line,
    last: Option<char>,
}

impl Strip {
    pub fn new(keep: Keep) -> Self {
        Self {
            keep,
            state: State::Ground,
            parameters: String::new(),
            pending: Vec::new(),
            line: Line::default(),
            last: None,
        }
    }

    /// Takes the next bytes and appends to `out` what is certain by now.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        let mut joined = std::mem::take(&mut self.pending);
        joined.extend_from_slice(bytes);
        let mut rest = joined.as_slice();
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return self.read(text, out),
                Err(error) => error,
            };
            let (good, bad) = rest.split_at(error.valid_up_to());
            self.read(&String::from_utf8_lossy(good), out);
            let Some(length) = error.error_len() else {
                self.pending = bad.to_vec();
                return;
            };
            self.step(char::REPLACEMENT_CHARACTER, out);
            rest = &bad[length..];
        }
    }

    /// The stream has ended, perhaps in the middle of something.
    pub fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.pending).is_empty() {
            self.step(char::REPLACEMENT_CHARACTER, out);
        }
        self.state = State::Ground;
        self.line.end(out);
    }

    fn read(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            self.step(c, out);
        }
    }

    fn step(&mut self, c: char, out: &mut String) {
        match self.state {
            State::Ground => self.ground(c, out),
            State::Escape => self.escape(c, out),
            State::Intermediate => match c {
                ' '..='/' => {}
                '0'..='~' => self.state = State::Ground,
                c => self.broken_off(c, out),
            },
            State::Control => self.control(c, out),
            State::Text { bell_ends, length } => match c {
                '\u{1b}' => self.state = State::TextEscape,
                '\u{9c}' | '\u{18}' | '\u{1a}' => self.state = State::Ground,
                '\u{7}' if bell_ends => self.state = State::Ground,
                _ if length >= LONGEST_STRING => self.state = State::Ground,
                _ => self.state = State::Text { bell_ends, length: length + 1 },
            },
            State::TextEscape if c == '\\' => self.state = State::Ground,
            State::TextEscape => {
                self.state = State::Escape;
                self.escape(c, out);
            }
        }
    }

    fn ground(&mut self, c: char, out: &mut String) {
        match c {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.begin_control(),
            '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.begin_text(false),
            '\u{9d}' => self.begin_text(true),
            '\n' | '\u{b}' | '\u{c}' | '\u{84}' | '\u{85}' => self.line.feed(out),
            '\r' => self.line.move_to(0),
            '\u{8}' => self.line.back(1),
            '\t' => self.line.tab(),
            // Without a cell of its own on a terminal, and not to be printed when the log is replayed.
            c if is_unsafe(c) => {}
            c => {
                self.last = Some(c);
                self.line.put(c, out);
            }
        }
    }

    fn escape(&mut self, c: char, out: &mut String) {
        match c {
            '[' => self.begin_control(),
            ']' | 'k' => self.begin_text(true),
            'P' | 'X' | '^' | '_' => self.begin_text(false),
            ' '..='/' => self.state = State::Intermediate,
            'D' | 'E' | 'M' | 'c' => {
                self.state = State::Ground;
                self.line.leave(0, out);
            }
            '0'..='~' => self.state = State::Ground,
            c => self.broken_off(c, out),
        }
    }

    fn control(&mut self, c: char, out: &mut String) {
        match c {
            ' '..='?' if self.parameters.len() < PARAMETERS => self.parameters.push(c),
            ' '..='?' => {}
            '@'..='~' => {
                self.state = State::Ground;
                let parameters = std::mem::take(&mut self.parameters);
                self.obey(c, &parameters, out);
            }
            c => self.broken_off(c, out),
        }
    }

    /// A terminal does what a control character says even inside a sequence; anything else ends the sequence.
    fn broken_off(&mut self, c: char, out: &mut String) {
        match c {
            '\u{18}' | '\u{1a}' => self.state = State::Ground,
            '\u{7f}' => {}
            '\0'..'\u{20}' if c != '\u{1b}' => self.ground(c, out),
            c => {
                self.state = State::Ground;
                self.ground(c, out);
            }
        }
    }

    fn begin_control(&mut self) {
        self.parameters.clear();
        self.state = State::Control;
    }

    fn begin_text(&mut self, bell_ends: bool) {
        self.state = State::Text { bell_ends, length: 0 };
    }

    fn obey(&mut self, verb: char, parameters: &str, out: &mut String) {
        // Anything but numbers belongs to a sequence of somebody's own, which moves nothing.
        if !parameters.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')) {
            return;
        }
        let number =
            |place: usize| parameters.split(';').nth(place).and_then(|text| text.parse::<usize>().ok());
        let count = number(0).unwrap_or(1).max(1);
        match verb {
            'C' | 'a' => self.line.forward(count),
            'D' => self.line.back(count),
            'G' | '`' => self.line.move_to(count - 1),
            'K' | 'J' => match number(0).unwrap_or(0) {
                0 => self.line.erase_after(),
                1 => self.line.erase_before(),
                _ if verb == 'K' => self.line.erase(),
                _ => self.line.leave_here(out),
            },
            'X' => self.line.blank(count),
            'P' => self.line.delete(count),
            '@' => self.line.insert(count),
            'b' => {
                for c in self.last.into_iter().cycle().take(count.min(REPETITIONS)) {
                    self.line.put(c, out);
                }
            }
            'H' | 'f' => self.line.leave(number(1).unwrap_or(1).max(1) - 1, out),
            'E' | 'F' | 'r' => self.line.leave(0, out),
            'A' | 'B' | 'd' | 'e' | 'L' | 'M' | 'S' | 'T' => self.line.leave_here(out),
            'm' if self.keep == Keep::Colour => self.line.pen.change(parameters),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
