//! From a message to the JSON it is stored and sent as.

use serde_json::{Map, Value};

use super::{Extra, IntentFile, Message};

impl Message {
    pub fn extra(&self) -> &Extra {
        match self {
            Self::Status(message) => &message.extra,
            Self::Artifact(message) => &message.extra,
            Self::Blocked(message) => &message.extra,
            Self::Verified(message) => &message.extra,
            Self::Feedback(message) => &message.extra,
            Self::Question(message) => &message.extra,
            Self::Intent(message) => &message.extra,
            Self::AdvancedMain(message) => &message.extra,
            Self::Learning(message) => &message.extra,
            Self::VerifyNow(message) => &message.extra,
            Self::Answer(message) => &message.extra,
        }
    }

    pub fn extra_mut(&mut self) -> &mut Extra {
        match self {
            Self::Status(message) => &mut message.extra,
            Self::Artifact(message) => &mut message.extra,
            Self::Blocked(message) => &mut message.extra,
            Self::Verified(message) => &mut message.extra,
            Self::Feedback(message) => &mut message.extra,
            Self::Question(message) => &mut message.extra,
            Self::Intent(message) => &mut message.extra,
            Self::AdvancedMain(message) => &mut message.extra,
            Self::Learning(message) => &mut message.extra,
            Self::VerifyNow(message) => &mut message.extra,
            Self::Answer(message) => &mut message.extra,
        }
    }

    /// Known fields in their usual order, unknown ones after them. A list that was absent is `[]`, except the files
    /// of a status, where silence means something else than none.
    pub fn to_json(&self) -> Value {
        let mut envelope = Object::default();
        envelope.put("type", self.type_name());
        let mut payload = Object::default();
        let nested = self.fill(&mut envelope, &mut payload);
        if nested {
            payload.keep(&self.extra().payload);
            envelope.put("payload", Value::Object(payload.0));
        }
        envelope.keep(&self.extra().envelope);
        Value::Object(envelope.0)
    }

    /// Puts every known field in its place. Whether there is a payload at all.
    fn fill(&self, envelope: &mut Object, payload: &mut Object) -> bool {
        match self {
            Self::AdvancedMain(message) => {
                envelope.put("from", message.from.as_str());
                envelope.put("merged_branch", message.merged_branch.as_str());
                envelope.put("new_main_sha", message.new_main_sha.as_str());
                envelope.put("base", message.base.as_str());
                envelope.put("merged_at", message.merged_at.as_str());
                envelope.put_some("summary", message.summary.as_deref());
                return false;
            }
            Self::VerifyNow(message) => {
                envelope.put("branch_id", message.branch_id.as_str());
                return false;
            }
            Self::Learning(_) => {}
            _ => envelope.put("agent_id", self.subject().as_str()),
        }
        self.fill_payload(payload);
        true
    }

    fn fill_payload(&self, payload: &mut Object) {
        match self {
            Self::Status(message) => {
                payload.put("status", message.status.as_str());
                payload.put_some("modified_files", message.modified_files.clone());
                payload.put_some("message", message.message.as_deref());
                payload.put_some("cli", message.cli.as_deref());
                payload.put_some("phase", message.phase.as_deref());
                payload.put_some("detail", message.detail.clone());
            }
            Self::Artifact(message) => {
                payload.put("status", message.status.as_str());
                payload.put("exports", message.exports.clone());
                payload.put("modified_files", message.modified_files.clone());
            }
            Self::Blocked(message) => {
                payload.put("needs", message.needs.as_str());
                payload.put("from", message.from.as_str());
            }
            Self::Verified(message) => {
                payload.put("verified_by", message.verified_by.as_str());
                payload.put_some("message", message.message.as_deref());
                payload.put_some("commit", message.commit.as_deref());
            }
            Self::Feedback(message) => {
                payload.put("from", message.from.as_str());
                payload.put("errors", message.errors.clone());
            }
            Self::Question(message) => payload.put("question", message.question.as_str()),
            Self::Intent(message) => {
                let files: Vec<Value> = message.files.iter().map(IntentFile::to_json).collect();
                payload.put("files", files);
                payload.put("summary", message.summary.as_str());
                payload.put("valid_for_seconds", message.valid_for_seconds);
            }
            Self::Learning(message) => {
                payload.put_some("id", message.id.as_deref());
                payload.put("agent_id", message.agent_id.as_str());
                payload.put_some("branch_id", message.branch_id.as_ref().map(AsRef::as_ref));
                payload.put("category", message.category.as_str());
                payload.put("title", message.title.as_str());
                payload.put("body", message.body.clone());
                payload.put("timestamp", message.timestamp.as_str());
            }
            Self::Answer(message) => {
                payload.put("from", message.from.as_str());
                payload.put("answer", message.answer.as_str());
                payload.put_some("re", message.re.as_deref());
            }
            Self::AdvancedMain(_) | Self::VerifyNow(_) => {}
        }
    }
}

#[derive(Default)]
struct Object(Map<String, Value>);

impl Object {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn put_some<T: Into<Value>>(&mut self, name: &str, value: Option<T>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// Unknown fields never stand in for a known one.
    fn keep(&mut self, extra: &Map<String, Value>) {
        for (name, value) in extra {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
}
