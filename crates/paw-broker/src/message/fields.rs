//! Takes known fields out of a JSON object, with validation. The fields that remain are unknown, and kept.

use jiff::Timestamp;
use paw_core::text;
use paw_core::{AgentId, BranchName};
use serde_json::{Map, Value};

use super::MessageError;
use super::object::Object;

/// Characters of an invalid value in an error message.
const MAX_SHOWN: usize = 200;
/// No branch in git has a longer slug.
const MAX_ID_LENGTH: usize = 255;

/// The fields of one level of a message.
pub(super) struct Fields<'a> {
    object: Object<'a>,
    /// The prefix of field names in errors: `payload.` or empty.
    level: &'static str,
}

impl<'a> Fields<'a> {
    pub(super) fn new(object: impl Into<Object<'a>>, level: &'static str) -> Self {
        Self { object: object.into(), level }
    }

    /// The fields that were not taken.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.object.into()
    }

    /// A field that is present and not null.
    pub(super) fn find(&mut self, name: &str) -> Option<Value> {
        self.object.take(name).filter(|value| !value.is_null())
    }

    #[expect(clippy::unnecessary_wraps, reason = "every method that takes a field of a type has this shape")]
    pub(super) fn find_value(&mut self, name: &str) -> Result<Option<Value>, MessageError> {
        Ok(self.find(name))
    }

    #[expect(clippy::unnecessary_wraps, reason = "every method that takes a field of a type has this shape")]
    pub(super) fn value_or_null(&mut self, name: &str) -> Result<Value, MessageError> {
        Ok(self.find(name).unwrap_or_default())
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.object.set(name, value);
    }

    /// Sets a field that is missing or null.
    pub(super) fn set_default(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value
            && self.object.get(name).is_none_or(Value::is_null)
        {
            self.object.set(name, value.into());
        }
    }

    pub(super) fn find_text(&mut self, name: &str) -> Result<Option<String>, MessageError> {
        match self.find(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a string", &other)),
        }
    }

    /// A text that is not blank.
    pub(super) fn require_text(&mut self, name: &str) -> Result<String, MessageError> {
        match self.find_text(name)? {
            None => Err(MessageError::field(self.path(name), "is missing")),
            Some(text) if text.trim().is_empty() => {
                Err(MessageError::field(self.path(name), "must not be blank"))
            }
            Some(text) => Ok(text),
        }
    }

    /// A text that is not blank and not a placeholder from an example.
    pub(super) fn require_filled(&mut self, name: &str) -> Result<String, MessageError> {
        let text = self.require_text(name)?;
        filled(name, text)
    }

    pub(super) fn find_filled(&mut self, name: &str) -> Result<Option<String>, MessageError> {
        self.find_text(name)?.map(|text| filled(name, text)).transpose()
    }

    pub(super) fn require_agent(&mut self, name: &'static str) -> Result<AgentId, MessageError> {
        let text = self.require_text(name)?;
        agent_id(name, &text)
    }

    pub(super) fn find_agent(&mut self, name: &'static str) -> Result<Option<AgentId>, MessageError> {
        self.find_text(name)?.map(|text| agent_id(name, &text)).transpose()
    }

    pub(super) fn find_texts(&mut self, name: &str) -> Result<Option<Vec<String>>, MessageError> {
        let Some(value) = self.find(name) else { return Ok(None) };
        let Value::Array(items) = value else { return Err(self.wrong(name, "a list of strings", &value)) };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text),
                other => return Err(self.wrong(&format!("{name}[{index}]"), "a string", &other)),
            }
        }
        Ok(Some(texts))
    }

    /// A list of strings, empty if it is missing.
    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>, MessageError> {
        Ok(self.find_texts(name)?.unwrap_or_default())
    }

    /// At least one string, none of them a placeholder from an example.
    pub(super) fn require_filled_texts(&mut self, name: &str) -> Result<Vec<String>, MessageError> {
        let texts = self.texts(name)?;
        if texts.is_empty() {
            return Err(MessageError::field(self.path(name), "must not be empty"));
        }
        texts.into_iter().map(|text| filled(name, text)).collect()
    }

    /// A time in RFC 3339, unchanged.
    pub(super) fn require_time(&mut self, name: &str) -> Result<String, MessageError> {
        let text = self.require_text(name)?;
        match text.parse::<Timestamp>() {
            Ok(_) => Ok(text),
            Err(_) => {
                Err(MessageError::field(self.path(name), "must be a time such as 2026-01-31T12:00:00Z"))
            }
        }
    }

    pub(super) fn find_number(&mut self, name: &str) -> Result<Option<u64>, MessageError> {
        match self.find(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong(name, "a whole number", &value)),
            },
        }
    }

    pub(super) fn find_flag(&mut self, name: &str) -> Result<Option<bool>, MessageError> {
        match self.find(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong(name, "true or false", &other)),
        }
    }

    /// Whether a field that is not taken yet is true.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.object.get(name) == Some(&Value::Bool(true))
    }

    pub(super) fn find_list(&mut self, name: &str) -> Result<Vec<Value>, MessageError> {
        match self.find(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(self.wrong(name, "a list", &other)),
        }
    }

    pub(super) fn wrong(&self, name: &str, expected: &str, found: &Value) -> MessageError {
        MessageError::field(self.path(name), format!("must be {expected}, not {}", kind(found)))
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.level)
    }
}

/// The type of a JSON value, for error messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Parses an id as agents write it: the id itself, or its branch (`feat/x` for `feat-x`).
pub fn agent_id(field: &'static str, text: &str) -> Result<AgentId, MessageError> {
    let refused = |detail: String| MessageError::AgentId { field, value: shown(text), detail };
    if text.len() > MAX_ID_LENGTH {
        return Err(refused(format!("longer than {MAX_ID_LENGTH} characters")));
    }
    let id = match AgentId::new(text) {
        Ok(id) => id,
        Err(error) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.');
            match BranchName::new(text) {
                Ok(branch) if text.chars().all(plain) => AgentId::slug(&branch),
                _ => return Err(refused(rule(&error.to_string()))),
            }
        }
    };
    Ok(id)
}

/// The violated rule without the value, which the response contains separately.
fn rule(error: &str) -> String {
    error.rsplit_once(": ").map_or(error, |(_, rule)| rule).to_owned()
}

/// Whether a value is a placeholder that was copied from an example, such as `<branch>`.
pub fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    text.len() >= 2 && text.starts_with('<') && text.ends_with('>') && !text.contains('\n')
}

fn filled(field: &str, text: String) -> Result<String, MessageError> {
    if is_placeholder(&text) {
        return Err(MessageError::Placeholder { field: field.to_owned(), value: shown(&text) });
    }
    Ok(text)
}

pub(super) fn shown(value: &str) -> String {
    text::truncate_chars(value, MAX_SHOWN).into_owned()
}
