//! Reads the messages of a session from their log, one by one or into a view.

use std::path::Path;
use std::sync::Arc;

use paw_broker::log::{self, LogEntry, LogError, MessageLog, PageLimit};
use paw_broker::record::AgentRecords;
use paw_broker::{SessionId, StoredMessage};
use paw_core::paths::PawDir;
use paw_view::{LOOK_BACK, SessionView, ViewEvent};

/// Applies the messages of `session`, or of the current session in the log.
pub fn load(common_dir: &Path, session: Option<&SessionId>, view: &mut SessionView) -> Result<(), LogError> {
    let Some(log) = log::find(&PawDir::of(common_dir).log())? else { return Ok(()) };
    let current = match session {
        Some(session) => Some(session.clone()),
        None => log.current_session()?,
    };
    current.map_or(Ok(()), |session| read(&*log, &session, view))
}

/// Calls `on_message` with every message of a session, oldest first.
pub fn each(
    common_dir: &Path,
    session: &SessionId,
    mut on_message: impl FnMut(StoredMessage),
) -> Result<(), LogError> {
    let Some(log) = log::find(&PawDir::of(common_dir).log())? else { return Ok(()) };
    let mut since = 0;
    loop {
        let page = log.history(session, since, PageLimit::DEFAULT)?;
        let Some(last) = page.last() else { return Ok(()) };
        since = last.seq;
        page.iter().filter_map(|entry| entry.parse(session)).for_each(&mut on_message);
    }
}

/// Reads only what the current state needs: the saved records, the messages they refer to, and the newest messages.
fn read(log: &dyn MessageLog, session: &SessionId, view: &mut SessionView) -> Result<(), LogError> {
    let saved = log.load_snapshot(session)?;
    let saved = saved.and_then(|(seq, body)| Some((seq, serde_json::from_str::<AgentRecords>(&body).ok()?)));
    let (recorded, records) = saved.unwrap_or_default();
    let mut since = read_from(recorded, log.head()?);
    let mut older: Vec<u64> = records.state_messages();
    older.extend(records.iter().map(|record| record.last_seq));
    older.sort_unstable();
    older.dedup();
    view.apply(ViewEvent::Records { records, seq: recorded });
    let mut apply = |page: &[LogEntry]| {
        for stored in page.iter().filter_map(|entry| entry.parse(session)) {
            view.apply(ViewEvent::Message(Arc::new(stored)));
        }
    };
    for seq in older.into_iter().filter(|seq| (1..=since).contains(seq)) {
        apply(&log.history(session, seq - 1, PageLimit { messages: 1, ..PageLimit::DEFAULT })?);
    }
    loop {
        let page = log.history(session, since, PageLimit::DEFAULT)?;
        let Some(last) = page.last() else { return Ok(()) };
        since = last.seq;
        apply(&page);
    }
}

/// The sequence number to read from: after the saved records, but at least the newest [`LOOK_BACK`] messages.
fn read_from(recorded: u64, head: u64) -> u64 {
    recorded.min(head.saturating_sub(LOOK_BACK))
}

#[cfg(test)]
mod tests {
    use paw_broker::Message;
    use paw_broker::log::MessageDraft;
    use paw_host::clock;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn view_contains_an_old_intent_that_is_still_valid() {
        let place = tempfile::tempdir().unwrap();
        let log = log::open(&place.path().join("log.db")).unwrap();
        let session = SessionId::new("s");
        log.begin(&session, clock::now()).unwrap();
        let draft = |message: Value| MessageDraft::new(Message::from_json(message).unwrap(), clock::now());
        let status = |agent: &str, words: &str| {
            draft(
                json!({"type": "agent.status", "agent_id": agent, "payload": {"status": "working", "message": words}}),
            )
        };
        let plan = json!({"type": "agent.intent", "agent_id": "a",
            "payload": {"files": ["x"], "summary": "the plan", "valid_for_seconds": 86_400}});
        log.append(&session, &[draft(plan), status("a", "old words")]).unwrap();
        let many: Vec<_> = (0..LOOK_BACK + 100).map(|_| status("b", "chatter")).collect();
        log.append(&session, &many).unwrap();
        let mut records = AgentRecords::default();
        for stored in log.history(&session, 0, PageLimit { messages: 2, bytes: 1 << 20 }).unwrap() {
            records.apply(&stored.parse(&session).unwrap());
        }
        log.save_snapshot(&session, 2, &serde_json::to_string(&records).unwrap()).unwrap();
        let mut view = SessionView::new(10);
        read(&*log, &session, &mut view).unwrap();
        assert_eq!(view.agents[0].plan.as_ref().map(|plan| plan.summary.as_str()), Some("the plan"));
        let words: Vec<_> = view.agents.iter().map(|agent| agent.last_message.as_str()).collect();
        assert_eq!(words, ["old words", "chatter"]);
        assert_eq!(view.messages.len(), 10);
    }

    #[test]
    fn messages_are_read_from_the_records_or_the_look_back_limit() {
        assert_eq!(read_from(0, 500), 0);
        assert_eq!(read_from(400, 500), 0);
        assert_eq!(read_from(999_000, 1_000_000), 990_000);
        assert_eq!(read_from(2_048, 1_000_000), 2_048, "messages without a record must be read");
    }
}
