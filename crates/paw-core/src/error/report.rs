//! The four parts of every error: code, message, hints and details.

use std::error::Error;
use std::fmt;

use serde_json::{Value, json};

use super::ErrorCode;

/// An error with a code, message, hints and details.
///
/// `Display` is the message without the hints, which are printed below it or sent separately.
pub trait Diagnostic: Error + Send + Sync + 'static {
    /// All four parts. An error that wraps another one returns the report of that one.
    fn report(&self) -> ErrorReport;
}

/// The four parts of an error. Can also be raised directly where an enum is not worthwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorReport {
    pub code: ErrorCode,
    /// What failed, and on what.
    pub message: String,
    /// The message for a terminal, if `message` omits what the details contain.
    full_text: Option<String>,
    /// What to do next, one line each.
    pub hints: Vec<String>,
    /// Data for programs; may be empty.
    pub details: Value,
}

impl ErrorReport {
    pub fn new(code: ErrorCode, message: impl fmt::Display) -> Self {
        Self { code, message: message.to_string(), full_text: None, hints: Vec::new(), details: json!({}) }
    }

    #[must_use]
    pub fn with_code(self, code: ErrorCode) -> Self {
        Self { code, ..self }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn with_hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// Sets a shorter message for programs, which read the rest from the details.
    #[must_use]
    pub fn summary(mut self, message: &str) -> Self {
        self.full_text = Some(std::mem::replace(&mut self.message, message.to_owned()));
        self
    }

    /// The message for people, without the hints.
    pub fn full_text(&self) -> &str {
        self.full_text.as_ref().unwrap_or(&self.message)
    }

    /// Message and hints of an error that this program printed on another machine, after other output. `None` if there is none.
    pub fn find_printed(output: &str) -> Option<(String, Vec<String>)> {
        let lines = || output.lines().map(str::trim);
        let message = lines().find_map(|line| line.strip_prefix("error: "))?.to_owned();
        let hints = lines().filter_map(|line| line.strip_prefix("hint: ")).map(str::to_owned);
        Some((message, hints.collect()))
    }

    /// The document that `--json` prints.
    pub fn document(&self) -> Value {
        json!({"error": {
            "code": self.code.as_str(),
            "message": self.message,
            "hints": self.hints,
            "details": self.details,
        }})
    }
}

/// The message, then one line for each hint.
impl fmt::Display for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.full_text())?;
        self.hints.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl Error for ErrorReport {}

impl Diagnostic for ErrorReport {
    fn report(&self) -> ErrorReport {
        self.clone()
    }
}
