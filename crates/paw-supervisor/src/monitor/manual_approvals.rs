//! Approvals that the user gave in the pane: a tool that ran after its request was left open. Pure.

use jiff::Timestamp;
use paw_agent::hooks::notes::HookNote;
use paw_agent::hooks::{HookEventKind, ToolAction};

/// More requests than a CLI makes at once.
const MOST: usize = 16;

/// Requests of an agent that have no answer yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PendingApprovals(Vec<(ToolAction, Timestamp)>);

/// An action that the user approved, and when it was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ManualApproval {
    pub(super) action: ToolAction,
    pub(super) asked: Timestamp,
}

impl PendingApprovals {
    /// Applies a hook note. Denials are not reported, so denied requests are dropped with the next prompt.
    pub(super) fn apply(&mut self, note: &HookNote) -> Option<ManualApproval> {
        match note.tracked_event()?.kind {
            HookEventKind::ApprovalRequested { action, .. } if action != ToolAction::Question => {
                if self.0.len() >= MOST {
                    self.0.remove(0);
                }
                self.0.push((action, note.at));
                None
            }
            HookEventKind::ToolEnded(action) => {
                let at = self.0.iter().position(|(asked, _)| *asked == action)?;
                let (action, asked) = self.0.remove(at);
                let denied = note.record["hook_event_name"] == "PermissionDenied";
                (!denied).then_some(ManualApproval { action, asked })
            }
            HookEventKind::PromptSubmitted
            | HookEventKind::TurnEnded
            | HookEventKind::TurnFailed { .. }
            | HookEventKind::Ended => {
                self.0.clear();
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use paw_agent::hooks::notes::HookAnswer;
    use serde_json::json;

    use super::*;

    fn note(second: i64, event: &str, command: &str) -> HookNote {
        let record = json!({
            "hook_event_name": event, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": command},
        });
        HookNote::new(Timestamp::from_second(second).unwrap(), "claude", &record)
    }

    #[test]
    fn an_open_request_whose_tool_runs_was_approved_manually() {
        let mut left = PendingApprovals::default();
        assert_eq!(left.apply(&note(1, "PermissionRequest", "make deploy")), None);
        assert_eq!(left.apply(&note(2, "PostToolUse", "ls")), None, "this one was never requested");
        let approved = left.apply(&note(9, "PostToolUse", "make deploy")).unwrap();
        assert_eq!(approved.action, ToolAction::Command("make deploy".into()));
        assert_eq!(approved.asked.as_second(), 1);
        assert_eq!(left.apply(&note(10, "PostToolUse", "make deploy")), None, "once");
    }

    #[test]
    fn a_request_that_was_answered_or_denied_is_not_a_manual_approval() {
        let mut left = PendingApprovals::default();
        let mut answered = note(1, "PermissionRequest", "cargo test");
        answered.answer = Some(HookAnswer { allowed: true, reason: String::new() });
        left.apply(&answered);
        assert_eq!(left.apply(&note(2, "PostToolUse", "cargo test")), None);
        left.apply(&note(3, "PermissionRequest", "make deploy"));
        assert_eq!(left.apply(&note(4, "PermissionDenied", "make deploy")), None);
        left.apply(&note(5, "PermissionRequest", "make deploy"));
        left.apply(&note(6, "UserPromptSubmit", ""));
        assert_eq!(
            left.apply(&note(7, "PostToolUse", "make deploy")),
            None,
            "it was denied without an event"
        );
    }
}
