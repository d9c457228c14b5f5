//! A message as one line for people.

use std::fmt::{self, Write as _};

use paw_core::text::{self, plural};

use super::Message;

/// One safe line.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = Plain(f);
        let id = self.subject();
        match self {
            Self::Status(message) => {
                let files = plural(message.files().len(), "file");
                write!(f, "[{id}] status: {} ({files} modified)", message.status)
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
                write!(f, "[{id}] feedback from {}: {}", message.from, plural(message.errors.len(), "error"))
            }
            Self::Question(message) => write!(f, "[{id}] question: {}", message.question),
            Self::Intent(message) => write!(
                f,
                "[{id}] intent: {} for {}s — {}",
                plural(message.files.len(), "file"),
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

/// Makes every part of the line safe to print.
struct Plain<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Plain<'_, '_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0.write_str(&text::line(part))
    }
}
