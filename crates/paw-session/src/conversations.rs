//! Which conversation each agent goes on with: the very one its CLI has told of, and not merely the latest in its
//! directory, which may be somebody else's.

use std::path::Path;

use paw_agent::cli;
use paw_agent::hooks::Tracker;
use paw_agent::hooks::notes::Notes;
use paw_agent::resume::can_resume;
use paw_core::{AgentId, Receipt};

/// What is known about an agent's last conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Last {
    Named(String),
    /// Its CLI has told of one in which nothing was ever said. There is nothing to take up.
    Empty,
    /// Its CLI has told nothing.
    Unknown,
}

/// What a CLI has told since its last start, held against what was known before. One that was taken up and in which nothing
/// has been said since is the one from before, whatever it is called now.
fn last(before: Option<&str>, told: &Tracker) -> Last {
    match (told.conversation(), before) {
        (Some(name), _) if told.has_begun() => Last::Named(name.to_owned()),
        (_, Some(before)) => Last::Named(before.to_owned()),
        (Some(_), None) => Last::Empty,
        (None, None) => Last::Unknown,
    }
}

/// Writes into the receipt which conversations the agents are in, for as long as somebody remembers.
pub fn keep(common_dir: &Path, receipt: &mut Receipt) {
    take_up(common_dir, receipt);
}

/// The same for agents that are about to go on. Returns those that have to begin anew.
pub fn take_up(common_dir: &Path, receipt: &mut Receipt) -> Vec<AgentId> {
    let (notes, mut fresh) = (Notes::of(common_dir), Vec::new());
    for (agent, id) in receipt.agent_ids().into_iter().enumerate() {
        let agent = &mut receipt.worktrees[agent];
        // Notes that cannot be read are none.
        let told = notes.tracker(&id).unwrap_or_default();
        match last(agent.conversation.as_deref(), &told) {
            Last::Named(name) => agent.conversation = Some(name),
            Last::Empty if can_resume(cli::descriptor(&agent.cli)) => fresh.push(id),
            Last::Empty | Last::Unknown => {}
        }
    }
    if let Some(supervisor) = &mut receipt.supervisor {
        let id = AgentId::supervisor();
        let told = notes.tracker(&id).unwrap_or_default();
        match last(supervisor.conversation.as_deref(), &told) {
            Last::Named(name) => supervisor.conversation = Some(name),
            // In the main checkout the latest conversation may well be the user's own.
            Last::Empty | Last::Unknown if can_resume(cli::descriptor(&supervisor.cli)) => fresh.push(id),
            Last::Empty | Last::Unknown => {}
        }
    }
    fresh
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_agent::hooks::notes::Note;
    use paw_core::{AgentReceipt, BranchName, SessionName, SupervisorReceipt};
    use paw_host::files::{self, Access};
    use serde_json::json;

    use super::*;

    struct Place {
        dir: tempfile::TempDir,
        receipt: Receipt,
        id: AgentId,
    }

    impl Place {
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

        fn told(&self, event: &str, conversation: &str, source: &str) {
            let record = json!({"hook_event_name": event, "session_id": conversation, "source": source});
            let note = Note::new(Timestamp::UNIX_EPOCH, "claude", &record);
            Notes::of(self.dir.path()).append(&self.id, &note).unwrap();
        }

        fn take_up(&mut self) -> (Option<String>, bool) {
            let fresh = take_up(self.dir.path(), &mut self.receipt);
            (self.receipt.worktrees[0].conversation.clone(), !fresh.is_empty())
        }
    }

    fn named(name: &str) -> (Option<String>, bool) {
        (Some(name.to_owned()), false)
    }

    #[test]
    fn an_agent_goes_on_with_the_conversation_it_was_in() {
        let mut place = Place::new();
        assert_eq!(place.take_up(), (None, false), "nobody knows of one");
        place.told("SessionStart", "c-1", "startup");
        place.told("UserPromptSubmit", "c-1", "");
        assert_eq!(place.take_up(), named("c-1"));
        place.told("SessionStart", "c-2", "clear");
        place.told("UserPromptSubmit", "c-2", "");
        place.told("SessionEnd", "c-2", "");
        assert_eq!(place.take_up(), named("c-2"), "it was cleared in between");
    }

    #[test]
    fn a_conversation_in_which_nothing_was_said_is_begun_anew() {
        let mut place = Place::new();
        place.told("SessionStart", "c-1", "startup");
        place.told("SessionEnd", "c-1", "");
        assert_eq!(place.take_up(), (None, true));
        place.receipt.worktrees[0].cli = "gemini".into();
        assert_eq!(place.take_up(), (None, false), "it is told its first words in any case");
    }

    #[test]
    fn one_that_was_taken_up_and_left_alone_is_still_the_one() {
        let mut place = Place::new();
        place.receipt.worktrees[0].conversation = Some("c-1".to_owned());
        assert_eq!(place.take_up(), named("c-1"), "nothing was told since");
        place.told("SessionStart", "c-9", "resume");
        assert_eq!(place.take_up(), named("c-1"), "nothing was said in it");
        place.told("UserPromptSubmit", "c-9", "");
        assert_eq!(place.take_up(), named("c-9"));
    }

    #[test]
    fn a_supervisor_begins_anew_unless_its_own_conversation_is_known() {
        let mut place = Place::new();
        let supervisor = SupervisorReceipt { cli: "claude".into(), ..SupervisorReceipt::default() };
        place.receipt.supervisor = Some(supervisor);
        let fresh = take_up(place.dir.path(), &mut place.receipt);
        assert_eq!(fresh, [AgentId::supervisor()], "the latest in the main checkout may be anybody's");

        place.id = AgentId::supervisor();
        place.told("SessionStart", "s-1", "startup");
        place.told("UserPromptSubmit", "s-1", "");
        assert_eq!(take_up(place.dir.path(), &mut place.receipt), []);
        let kept = place.receipt.supervisor.as_ref().and_then(|it| it.conversation.as_deref());
        assert_eq!(kept, Some("s-1"));
    }

    #[test]
    fn notes_that_are_damaged_change_nothing() {
        let mut place = Place::new();
        let file = place.dir.path().join("paw/agents/feat-x.jsonl");
        files::write_atomic(&file, b"{\"at\":\xff\n[]\n", Access::Usual).unwrap();
        place.receipt.worktrees[0].conversation = Some("c-1".to_owned());
        assert_eq!(place.take_up(), named("c-1"));
    }
}
