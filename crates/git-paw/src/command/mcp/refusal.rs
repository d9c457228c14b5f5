//! Why a call was not answered, as a model can act on it: a code, what happened, and what to do.

use serde_json::{Value, json};

use crate::failure::Failure;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    details: Option<Box<Value>>,
}

impl Refusal {
    pub(super) fn of_arguments(message: String, hint: String) -> Self {
        Self { code: "INVALID_ARGUMENT".into(), message, hint: Some(hint), details: None }
    }

    /// Something of ours broke; the server goes on.
    pub(super) fn of_bug(tool: &str) -> Self {
        Self {
            code: "INTERNAL".into(),
            message: format!("{tool} stopped in the middle of its work"),
            hint: Some(
                "look at what it has done so far before calling it again; this is a bug of git paw".into(),
            ),
            details: None,
        }
    }

    pub(super) fn document(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(hint) = &self.hint {
            error["hint"] = hint.as_str().into();
        }
        if let Some(details) = &self.details {
            error["details"] = Value::clone(details);
        }
        json!({"error": error})
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let mut document = failure.document();
        let mut error = document["error"].take();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (message, hint) = split(&text(&error["message"]));
        let details = Some(error["details"].take()).filter(|details| !details.is_null()).map(Box::new);
        Self { code: text(&error["code"]), message, hint, details }
    }
}

/// Our messages end with their hints: lines of their own, or a command in parentheses.
fn split(text: &str) -> (String, Option<String>) {
    if let Some((message, hints)) = text.split_once("\nhint: ") {
        return (message.to_owned(), Some(hints.replace("\nhint: ", "\n")));
    }
    let in_parentheses = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    match in_parentheses.filter(|(_, hint)| hint.contains("git ")) {
        Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
        None => (text.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use paw_core::PawError;

    use super::*;

    #[test]
    fn a_hint_is_told_apart_from_what_happened() {
        let error = PawError::ConfigError("no gate\nhint: configure one\nhint: or two".into());
        let refusal = Refusal::from(Failure::from(error));
        assert_eq!(refusal.hint.as_deref(), Some("configure one\nor two"));
        assert!(refusal.message.ends_with("no gate"), "{refusal:?}");
        assert_eq!(refusal.document()["error"]["code"], "INVALID_ARGUMENT");
    }

    #[test]
    fn a_command_in_parentheses_is_a_hint_too() {
        assert_eq!(
            split("no task 9 (git paw tasks list)"),
            ("no task 9".into(), Some("git paw tasks list".into()))
        );
        for plain in ["ended (code 3)", "(git paw)", "open (git paw", ""] {
            assert_eq!(split(plain), (plain.into(), None));
        }
    }

    #[test]
    fn an_error_without_a_hint_has_none() {
        let refusal = Refusal::from(Failure::from(PawError::NotAGitRepo));
        assert_eq!(refusal.code, "FAILED_PRECONDITION");
    }
}
