//! The events of opencode, as its stream has them and as our plugin hands them on.

use jiff::Timestamp;
use serde_json::Value;

use super::{Deed, Event, What, text};

/// Words of a refusal that is over by itself at some time.
const LIMITS: [&str; 5] = ["rate limit", "usage limit", "too many requests", "quota", "limit reached"];

pub(super) fn read(record: &Value) -> Result<Event, &'static str> {
    let name = text(record, "type")?;
    let facts = &record["properties"];
    let what = match (name.as_str(), facts["status"]["type"].as_str()) {
        ("session.created", _) if facts["info"]["parentID"].is_string() => What::SubagentBegins,
        // The person at the keyboard has begun it: it takes the place of the one before.
        ("session.created", _) => What::Started { anew: false },
        ("session.status", Some("busy")) => What::Busy,
        ("session.idle", _) | ("session.status", Some("idle")) => What::TurnEnded,
        ("session.status", Some("retry")) => retry(&facts["status"]),
        ("session.error", _) => failure(&facts["error"]),
        ("permission.asked", _) => What::ApprovalAsked { id: Some(text(facts, "id")?), deed: asked(facts)? },
        ("permission.replied", _) => What::ApprovalAnswered { id: text(facts, "requestID")? },
        ("question.asked", _) => What::ApprovalAsked { id: Some(text(facts, "id")?), deed: Deed::Question },
        ("question.replied" | "question.rejected", _) => {
            What::ApprovalAnswered { id: text(facts, "requestID")? }
        }
        ("message.part.updated", _) => tool(&facts["part"]),
        _ => What::Other(name),
    };
    // Some events belong to the server and to no conversation.
    let conversation = facts["sessionID"].as_str().unwrap_or_default().to_owned();
    Ok(Event { conversation, what })
}

fn asked(facts: &Value) -> Result<Deed, &'static str> {
    let permission = text(facts, "permission")?;
    let about = &facts["metadata"];
    Ok(match permission.as_str() {
        "bash" => Deed::Command(text(about, "command")?),
        "edit" => edited(about)?.map_or(Deed::Other(permission), Deed::Edit),
        _ => Deed::Other(permission),
    })
}

/// Every file that an edit touches. A patch names them one by one, what it moves and where to; in the one line for people they
/// stand with commas between them, and could as well be one odd name.
fn edited(about: &Value) -> Result<Option<Vec<String>>, &'static str> {
    if about["files"].is_null() {
        let file = text(about, "filepath")?;
        return Ok((!file.contains(", ")).then(|| vec![file]));
    }
    let mut touched = Vec::new();
    for file in about["files"].as_array().into_iter().flatten() {
        touched.push(text(file, "filePath")?);
        touched.extend(file["movePath"].as_str().map(str::to_owned));
    }
    Ok((!touched.is_empty()).then_some(touched))
}

/// It tries again by itself. Only where it says that it was refused for having asked too much there is a limit.
fn retry(status: &Value) -> What {
    let reason = status["message"].as_str().unwrap_or_default().to_owned();
    if !is_limit(&reason) {
        return What::Busy;
    }
    let next = status["next"].as_i64().and_then(|at| Timestamp::from_millisecond(at).ok());
    What::Limited { reason, resets: next.map(|at| at.to_string()) }
}

fn failure(error: &Value) -> What {
    let words = [&error["data"]["message"], &error["message"], &error["name"]];
    let reason = words.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned();
    What::TurnFailed { limited: is_limit(&reason), reason }
}

fn is_limit(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    LIMITS.iter().any(|words| reason.contains(words))
}

/// A tool at work is a part of a message.
fn tool(part: &Value) -> What {
    let (tool, input) = (part["tool"].as_str(), &part["state"]["input"]);
    let deed = || match (tool, input["command"].as_str(), input["filePath"].as_str()) {
        (Some("bash"), Some(command), _) => Deed::Command(command.to_owned()),
        (Some("edit" | "write"), _, Some(file)) => Deed::Edit(vec![file.to_owned()]),
        (tool, ..) => Deed::Other(tool.unwrap_or_default().to_owned()),
    };
    match part["state"]["status"].as_str() {
        Some("running") if tool.is_some() => What::ToolBegins(deed()),
        Some("completed" | "error") if tool.is_some() => What::ToolEnded(deed()),
        _ => What::Other("message.part.updated".to_owned()),
    }
}
