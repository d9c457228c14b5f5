//! The stored messages that a detector replays when it starts.

use super::PAYLOAD_FIELD;
use super::report::ConflictReport;
use crate::bus::Bus;
use crate::log::{LogError, StoredMessage};
use crate::watch;

/// How many messages are searched for earlier reports. Older reports are sent again.
const HISTORY_LENGTH: u64 = 10_000;

/// Loads the session's messages that the detector needs, oldest first: the current state of each agent, and the
/// detector's own reports.
pub fn load_history(bus: &Bus) -> Result<Vec<StoredMessage>, LogError> {
    // Searching the text is cheaper than parsing it.
    let (field, gone) = (format!("\"{PAYLOAD_FIELD}\""), "\"gone\"");
    let mut past = bus.load_recent(HISTORY_LENGTH, |text| text.contains(&field) || text.contains(gone))?;
    past.retain(|stored| {
        ConflictReport::find(&stored.message).is_some() || watch::is_gone_message(&stored.message)
    });
    past.extend(bus.load_state()?);
    past.sort_by_key(|stored| stored.seq);
    past.dedup_by_key(|stored| stored.seq);
    Ok(past)
}
