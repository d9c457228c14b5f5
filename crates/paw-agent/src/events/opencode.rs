//! The event stream of opencode, one `data:` line for each event.

use serde_json::Value;

use super::{Deed, Event, What, text};

pub(super) fn read(record: &Value) -> Result<Event, &'static str> {
    let name = text(record, "type")?;
    let facts = &record["properties"];
    let what = match (name.as_str(), facts["status"]["type"].as_str()) {
        ("session.status", Some("busy")) => What::Busy,
        ("session.idle", _) | ("session.status", Some("idle")) => What::TurnEnded,
        ("session.status", Some("retry")) => {
            What::TurnFailed { reason: facts["status"].to_string(), limited: false }
        }
        ("permission.asked", _) => What::ApprovalAsked { id: Some(text(facts, "id")?), deed: deed(facts)? },
        ("permission.replied", _) => What::ApprovalAnswered { id: text(facts, "requestID")? },
        _ => What::Other(name),
    };
    // Some events belong to the server and to no conversation.
    let conversation = facts["sessionID"].as_str().unwrap_or_default().to_owned();
    Ok(Event { conversation, what })
}

fn deed(facts: &Value) -> Result<Deed, &'static str> {
    let permission = text(facts, "permission")?;
    Ok(match permission.as_str() {
        "bash" => Deed::Command(text(&facts["metadata"], "command")?),
        _ => Deed::Other(permission),
    })
}
