//! Finds the conversation that each agent resumes: the one its CLI has reported, not just the latest one in its directory,
//! which the user may have started.

use std::path::Path;

use paw_agent::cli;
use paw_agent::hooks::Tracker;
use paw_agent::hooks::notes::HookNotes;
use paw_agent::resume::can_resume;
use paw_core::{AgentId, Receipt};

/// The last conversation of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LastConversation {
    Named(String),
    /// The CLI reported a conversation without any prompt. There is nothing to resume.
    Empty,
    /// The CLI reported nothing.
    Unknown,
}

/// Combines what the CLI has reported since its last start with the recorded conversation. A resumed conversation without a
/// new prompt is still the recorded one, even if the CLI has given it a new id.
fn last(before: Option<&str>, reported: &Tracker) -> LastConversation {
    match (reported.conversation(), before) {
        (Some(name), _) if reported.has_begun() => LastConversation::Named(name.to_owned()),
        (_, Some(before)) => LastConversation::Named(before.to_owned()),
        (Some(_), None) => LastConversation::Empty,
        (None, None) => LastConversation::Unknown,
    }
}

/// Records the conversations of all agents in the receipt. Returns the agents that cannot resume one and need a new
/// conversation.
pub fn record(common_dir: &Path, receipt: &mut Receipt) -> Vec<AgentId> {
    let (notes, mut fresh) = (HookNotes::of(common_dir), Vec::new());
    for (agent, id) in receipt.agent_ids().into_iter().enumerate() {
        let agent = &mut receipt.worktrees[agent];
        // Unreadable notes count as none.
        let reported = notes.tracker(&id).unwrap_or_default();
        match last(agent.conversation.as_deref(), &reported) {
            LastConversation::Named(name) => agent.conversation = Some(name),
            LastConversation::Empty if can_resume(cli::descriptor(&agent.cli)) => fresh.push(id),
            LastConversation::Empty | LastConversation::Unknown => {}
        }
    }
    if let Some(supervisor) = &mut receipt.supervisor {
        let id = AgentId::supervisor();
        let reported = notes.tracker(&id).unwrap_or_default();
        match last(supervisor.conversation.as_deref(), &reported) {
            LastConversation::Named(name) => supervisor.conversation = Some(name),
            // In the main checkout the latest conversation may be the user's own.
            LastConversation::Empty | LastConversation::Unknown
                if can_resume(cli::descriptor(&supervisor.cli)) =>
            {
                fresh.push(id);
            }
            LastConversation::Empty | LastConversation::Unknown => {}
        }
    }
    fresh
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_agent::hooks::notes::HookNote;
    use paw_core::{AgentReceipt, BranchName, SessionName, SupervisorReceipt};
    use paw_host::files::{self, Access};
    use serde_json::json;

    use super::*;

    struct Fixture {
        dir: tempfile::TempDir,
        receipt: Receipt,
        id: AgentId,
    }

    impl Fixture {
        fn new() -> Self {
            let name = SessionName::new("paw-app").unwrap();
            let mut receipt = Receipt::new(name, "/app".into(), "app", Timestamp::UNIX_EPOCH);
            receipt.worktrees.push(AgentReceipt::new(
                BranchName::new("feat/x").unwrap(),
                "/w".into(),
                "claude",
            ));
            Self { dir: tempfile::tempdir().unwrap(), receipt, id: AgentId::new("feat-x").unwrap() }
        }

        fn report(&self, event: &str, conversation: &str, source: &str) {
            let record = json!({"hook_event_name": event, "session_id": conversation, "source": source});
            let note = HookNote::new(Timestamp::UNIX_EPOCH, "claude", &record);
            HookNotes::of(self.dir.path()).append(&self.id, &note).unwrap();
        }

        fn record(&mut self) -> (Option<String>, bool) {
            let fresh = record(self.dir.path(), &mut self.receipt);
            (self.receipt.worktrees[0].conversation.clone(), !fresh.is_empty())
        }
    }

    fn named(name: &str) -> (Option<String>, bool) {
        (Some(name.to_owned()), false)
    }

    #[test]
    fn agent_resumes_the_conversation_its_cli_reported_last() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.record(), (None, false), "none was reported");
        fixture.report("SessionStart", "c-1", "startup");
        fixture.report("UserPromptSubmit", "c-1", "");
        assert_eq!(fixture.record(), named("c-1"));
        fixture.report("SessionStart", "c-2", "clear");
        fixture.report("UserPromptSubmit", "c-2", "");
        fixture.report("SessionEnd", "c-2", "");
        assert_eq!(fixture.record(), named("c-2"), "it was cleared in between");
    }

    #[test]
    fn agent_with_an_empty_conversation_starts_a_new_one() {
        let mut fixture = Fixture::new();
        fixture.report("SessionStart", "c-1", "startup");
        fixture.report("SessionEnd", "c-1", "");
        assert_eq!(fixture.record(), (None, true));
        fixture.receipt.worktrees[0].cli = "gemini".into();
        assert_eq!(
            fixture.record(),
            (None, false),
            "gemini cannot resume, so it always gets its boot prompt"
        );
    }

    #[test]
    fn resumed_conversation_without_a_new_prompt_stays_recorded() {
        let mut fixture = Fixture::new();
        fixture.receipt.worktrees[0].conversation = Some("c-1".to_owned());
        assert_eq!(fixture.record(), named("c-1"), "nothing was reported since");
        fixture.report("SessionStart", "c-9", "resume");
        assert_eq!(fixture.record(), named("c-1"), "it has no prompt yet");
        fixture.report("UserPromptSubmit", "c-9", "");
        assert_eq!(fixture.record(), named("c-9"));
    }

    #[test]
    fn supervisor_starts_a_new_conversation_unless_its_own_is_recorded() {
        let mut fixture = Fixture::new();
        let supervisor = SupervisorReceipt { cli: "claude".into(), ..SupervisorReceipt::default() };
        fixture.receipt.supervisor = Some(supervisor);
        let fresh = record(fixture.dir.path(), &mut fixture.receipt);
        assert_eq!(fresh, [AgentId::supervisor()], "the latest one in the main checkout may be the user's");

        fixture.id = AgentId::supervisor();
        fixture.report("SessionStart", "s-1", "startup");
        fixture.report("UserPromptSubmit", "s-1", "");
        assert_eq!(record(fixture.dir.path(), &mut fixture.receipt), []);
        let kept = fixture.receipt.supervisor.as_ref().and_then(|it| it.conversation.as_deref());
        assert_eq!(kept, Some("s-1"));
    }

    #[test]
    fn damaged_notes_do_not_change_the_recorded_conversation() {
        let mut fixture = Fixture::new();
        let file = fixture.dir.path().join("paw/agents/feat-x.jsonl");
        files::write_atomic(&file, b"{\"at\":\xff\n[]\n", Access::Usual).unwrap();
        fixture.receipt.worktrees[0].conversation = Some("c-1".to_owned());
        assert_eq!(fixture.record(), named("c-1"));
    }
}
