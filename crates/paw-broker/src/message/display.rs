//! A message as one line of text.

use std::fmt::{self, Write as _};

use paw_core::text;

use super::Message;

/// One line that is safe to print on a terminal.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = Sanitized(f);
        write!(f, "[{}] ", self.subject())?;
        self.describe(&mut f)
    }
}

/// Sanitizes every part of the line.
struct Sanitized<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Sanitized<'_, '_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0.write_str(&text::line(part))
    }
}
