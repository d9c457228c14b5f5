//! A message as one line for people.

use std::fmt::{self, Write as _};

use super::Message;

/// Never holds a line break or anything else that a terminal would obey.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = Plain(f);
        let id = self.subject();
        match self {
            Self::Status(message) => {
                write!(f, "[{id}] status: {} ({} files modified)", message.status, message.files().len())
            }
            Self::Artifact(message) => {
                write!(f, "[{id}] artifact: {}", message.status)?;
                if message.exports.is_empty() {
                    return Ok(());
                }
                write!(f, " — exports: {}", message.exports.join(", "))
            }
            Self::Blocked(message) => {
                write!(f, "[{id}] blocked: needs {} from {}", message.needs, message.from)
            }
            Self::Verified(message) => {
                write!(f, "[{id}] verified by {}", message.verified_by)?;
                message.message.iter().try_for_each(|text| write!(f, " — {text}"))
            }
            Self::Feedback(message) => {
                write!(f, "[{id}] feedback from {}: {} errors", message.from, message.errors.len())
            }
            Self::Question(message) => write!(f, "[{id}] question: {}", message.question),
            Self::Intent(message) => write!(
                f,
                "[{id}] intent: {} files for {}s — {}",
                message.files.len(),
                message.valid_for_seconds,
                message.summary
            ),
            Self::AdvancedMain(message) => write!(
                f,
                "[{id}] advanced-main: {} → {} ({})",
                message.merged_branch, message.base, message.new_main_sha
            ),
            Self::Learning(message) => {
                let branch = message.branch_id.as_ref().map_or("*", AsRef::as_ref);
                write!(f, "[{id}] learning ({}/{branch}): {}", message.category, message.title)
            }
            Self::VerifyNow(_) => write!(f, "[{id}] verify-now"),
            Self::Answer(message) => {
                write!(f, "[{id}] answer from {}", message.from)?;
                message.re.iter().try_for_each(|re| write!(f, " (re: {re})"))?;
                write!(f, ": {}", message.answer)
            }
        }
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
