//! What a radar has to be told when it starts: what holds, and what it has said itself.

use super::FIELD;
use super::facts::Facts;
use crate::bus::Bus;
use crate::log::{LogError, Stored};
use crate::watch;

/// How far back it is looked for what was said. What is older is said again.
const LOOK_BACK: u64 = 10_000;

/// The messages of the session so far that concern the radar, oldest first.
pub fn past(bus: &Bus) -> Result<Vec<Stored>, LogError> {
    // Reading a text is cheaper than understanding it.
    let (field, gone) = (format!("\"{FIELD}\""), "\"gone\"");
    let mut past = bus.recent(LOOK_BACK, |text| text.contains(&field) || text.contains(gone))?;
    past.retain(|stored| Facts::find(&stored.message).is_some() || watch::is_gone(&stored.message));
    past.extend(bus.state()?);
    past.sort_by_key(|stored| stored.seq);
    past.dedup_by_key(|stored| stored.seq);
    Ok(past)
}
