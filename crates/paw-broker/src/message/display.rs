//! A message as one line for people.

use std::fmt::{self, Write as _};

use super::Message;

/// Never holds a line break or anything else that a terminal would obey.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = Plain(f);
        write!(f, "[{}] ", self.subject())?;
        self.describe(&mut f)
    }
}

/// Lets nothing through that moves a cursor, ends a line or turns the direction of writing.
struct Plain<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Plain<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(is_active) {
            let kept = part.trim_end_matches(is_active);
            self.0.write_str(kept)?;
            if kept.len() < part.len() {
                self.0.write_char(' ')?;
            }
        }
        Ok(())
    }
}

fn is_active(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
