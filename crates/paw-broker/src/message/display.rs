//! A message as one line for people.

use std::fmt::{self, Write as _};

use paw_core::text;

use super::Message;

/// One safe line.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = Plain(f);
        write!(f, "[{}] ", self.subject())?;
        self.describe(&mut f)
    }
}

/// Makes every part of the line safe to print.
struct Plain<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Plain<'_, '_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0.write_str(&text::line(part))
    }
}
