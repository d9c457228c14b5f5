//! Approvals that a person gave in the pane: asked, left open, and done all the same. Pure.

use jiff::Timestamp;
use paw_agent::hooks::notes::Note;
use paw_agent::hooks::{Deed, What};

/// More than any CLI asks at once.
const MOST: usize = 16;

/// What an agent has asked for and nobody has been seen to answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LeftToPeople(Vec<(Deed, Timestamp)>);

/// A deed that somebody has approved, and when it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Approved {
    pub(super) deed: Deed,
    pub(super) asked: Timestamp,
}

impl LeftToPeople {
    /// Takes in a record. A denial is told by nobody; what was denied is forgotten with the next prompt.
    pub(super) fn hear(&mut self, note: &Note) -> Option<Approved> {
        match note.heard()?.what {
            What::ApprovalAsked { deed, .. } if deed != Deed::Question => {
                if self.0.len() >= MOST {
                    self.0.remove(0);
                }
                self.0.push((deed, note.at));
                None
            }
            What::ToolEnded(deed) => {
                let at = self.0.iter().position(|(asked, _)| *asked == deed)?;
                let (deed, asked) = self.0.remove(at);
                let denied = note.record["hook_event_name"] == "PermissionDenied";
                (!denied).then_some(Approved { deed, asked })
            }
            What::PromptTaken | What::TurnEnded | What::TurnFailed { .. } | What::Ended => {
                self.0.clear();
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use paw_agent::hooks::notes::Answer;
    use serde_json::json;

    use super::*;

    fn note(second: i64, event: &str, command: &str) -> Note {
        let record = json!({
            "hook_event_name": event, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": command},
        });
        Note::new(Timestamp::from_second(second).unwrap(), "claude", &record)
    }

    #[test]
    fn what_was_left_open_and_then_done_was_approved_by_somebody() {
        let mut left = LeftToPeople::default();
        assert_eq!(left.hear(&note(1, "PermissionRequest", "make deploy")), None);
        assert_eq!(left.hear(&note(2, "PostToolUse", "ls")), None, "that one was never asked");
        let approved = left.hear(&note(9, "PostToolUse", "make deploy")).unwrap();
        assert_eq!(approved.deed, Deed::Command("make deploy".into()));
        assert_eq!(approved.asked.as_second(), 1);
        assert_eq!(left.hear(&note(10, "PostToolUse", "make deploy")), None, "once");
    }

    #[test]
    fn what_was_answered_for_people_or_denied_is_not_theirs() {
        let mut left = LeftToPeople::default();
        let mut answered = note(1, "PermissionRequest", "cargo test");
        answered.answer = Some(Answer { allowed: true, reason: String::new() });
        left.hear(&answered);
        assert_eq!(left.hear(&note(2, "PostToolUse", "cargo test")), None);
        left.hear(&note(3, "PermissionRequest", "make deploy"));
        assert_eq!(left.hear(&note(4, "PermissionDenied", "make deploy")), None);
        left.hear(&note(5, "PermissionRequest", "make deploy"));
        left.hear(&note(6, "UserPromptSubmit", ""));
        assert_eq!(left.hear(&note(7, "PostToolUse", "make deploy")), None, "it was denied without a word");
    }
}
