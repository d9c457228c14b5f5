//! What a radar has to be told when it starts: what holds, and what it has said itself.

use super::PAYLOAD_FIELD;
use super::report::ConflictReport;
use crate::bus::Bus;
use crate::log::{LogError, StoredMessage};
use crate::watch;

/// How far back it is looked for what was said. What is older is said again.
const LOOK_BACK: u64 = 10_000;

/// The messages of the session so far that concern the radar, oldest first.
pub fn load_history(bus: &Bus) -> Result<Vec<StoredMessage>, LogError> {
    // Reading a text is cheaper than understanding it.
    let (field, gone) = (format!("\"{PAYLOAD_FIELD}\""), "\"gone\"");
    let mut past = bus.recent(LOOK_BACK, |text| text.contains(&field) || text.contains(gone))?;
    past.retain(|stored| {
        ConflictReport::find(&stored.message).is_some() || watch::is_gone_message(&stored.message)
    });
    past.extend(bus.state()?);
    past.sort_by_key(|stored| stored.seq);
    past.dedup_by_key(|stored| stored.seq);
    Ok(past)
}
