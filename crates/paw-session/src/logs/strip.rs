//! Converts terminal output to lines of text: removes escape sequences and applies their effect on the line.
//!
//! Processes chunks of any size in bounded memory. Movements within a line (backspace, carriage return, cursor left and
//! right, erasing) are applied, so an overwritten progress bar shows its last state and words separated by a movement stay
//! separate. A movement to another line starts a new line.

mod line;
mod pen;

use line::TerminalLine;
use paw_core::text::is_unsafe;
pub use pen::KeptEscapes;

/// The longest parameter string of a control sequence that is parsed; the rest is skipped.
const PARAMETERS: usize = 256;
/// A longer string sequence counts as ended, so that a missing terminator does not hide the rest of the output.
const LONGEST_STRING: usize = 1 << 20;
/// The highest repeat count that is applied.
const REPETITIONS: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParserState {
    Ground,
    Escape,
    /// An escape with intermediate bytes, such as a character set.
    Intermediate,
    Control,
    /// A string for the terminal, such as a title, the clipboard or an image.
    Text {
        bell_ends: bool,
        length: usize,
    },
    /// An escape inside such a string: its terminator, or the start of another sequence.
    TextEscape,
}

/// Converts a stream. Feed it with [`EscapeStripper::push`], and call [`EscapeStripper::finish`] at the end.
#[derive(Debug)]
pub struct EscapeStripper {
    keep: KeptEscapes,
    state: ParserState,
    parameters: String,
    /// The start of an incomplete UTF-8 character.
    pending: Vec<u8>,
    line: TerminalLine,
    last: Option<char>,
}

impl EscapeStripper {
    pub fn new(keep: KeptEscapes) -> Self {
        Self {
            keep,
            state: ParserState::Ground,
            parameters: String::new(),
            pending: Vec::new(),
            line: TerminalLine::default(),
            last: None,
        }
    }

    /// Processes the next bytes and appends finished lines to `out`.
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

    /// Appends the rest of an unfinished line.
    pub fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.pending).is_empty() {
            self.step(char::REPLACEMENT_CHARACTER, out);
        }
        self.state = ParserState::Ground;
        self.line.end(out);
    }

    fn read(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            self.step(c, out);
        }
    }

    fn step(&mut self, c: char, out: &mut String) {
        match self.state {
            ParserState::Ground => self.ground(c, out),
            ParserState::Escape => self.escape(c, out),
            ParserState::Intermediate => match c {
                ' '..='/' => {}
                '0'..='~' => self.state = ParserState::Ground,
                c => self.interrupt(c, out),
            },
            ParserState::Control => self.control(c, out),
            ParserState::Text { bell_ends, length } => match c {
                '\u{1b}' => self.state = ParserState::TextEscape,
                '\u{9c}' | '\u{18}' | '\u{1a}' => self.state = ParserState::Ground,
                '\u{7}' if bell_ends => self.state = ParserState::Ground,
                _ if length >= LONGEST_STRING => self.state = ParserState::Ground,
                _ => self.state = ParserState::Text { bell_ends, length: length + 1 },
            },
            ParserState::TextEscape if c == '\\' => self.state = ParserState::Ground,
            ParserState::TextEscape => {
                self.state = ParserState::Escape;
                self.escape(c, out);
            }
        }
    }

    fn ground(&mut self, c: char, out: &mut String) {
        match c {
            '\u{1b}' => self.state = ParserState::Escape,
            '\u{9b}' => self.begin_control(),
            '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.begin_text(false),
            '\u{9d}' => self.begin_text(true),
            '\n' | '\u{b}' | '\u{c}' | '\u{84}' | '\u{85}' => self.line.feed(out),
            '\r' => self.line.move_to(0),
            '\u{8}' => self.line.back(1),
            '\t' => self.line.tab(),
            // Invisible on a terminal, and unsafe to print when the log is replayed.
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
            ' '..='/' => self.state = ParserState::Intermediate,
            'D' | 'E' | 'M' | 'c' => {
                self.state = ParserState::Ground;
                self.line.leave(0, out);
            }
            '0'..='~' => self.state = ParserState::Ground,
            c => self.interrupt(c, out),
        }
    }

    fn control(&mut self, c: char, out: &mut String) {
        match c {
            ' '..='?' if self.parameters.len() < PARAMETERS => self.parameters.push(c),
            ' '..='?' => {}
            '@'..='~' => {
                self.state = ParserState::Ground;
                let parameters = std::mem::take(&mut self.parameters);
                self.apply(c, &parameters, out);
            }
            c => self.interrupt(c, out),
        }
    }

    /// Terminals execute control characters inside a sequence; any other character ends the sequence.
    fn interrupt(&mut self, c: char, out: &mut String) {
        match c {
            '\u{18}' | '\u{1a}' => self.state = ParserState::Ground,
            '\u{7f}' => {}
            '\0'..'\u{20}' if c != '\u{1b}' => self.ground(c, out),
            c => {
                self.state = ParserState::Ground;
                self.ground(c, out);
            }
        }
    }

    fn begin_control(&mut self) {
        self.parameters.clear();
        self.state = ParserState::Control;
    }

    fn begin_text(&mut self, bell_ends: bool) {
        self.state = ParserState::Text { bell_ends, length: 0 };
    }

    fn apply(&mut self, verb: char, parameters: &str, out: &mut String) {
        // Other parameters belong to private sequences, which do not move the cursor.
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
            'm' if self.keep == KeptEscapes::Colour => self.line.pen.change(parameters),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
