//! The four parts of every error, from where it is raised to where it is printed, serialized or sent.

use std::error::Error;
use std::fmt;

use serde_json::{Value, json};

use super::ErrorCode;

/// An error that knows its code, message, hints and details.
///
/// `Display` is the message. It has no hints: these are printed below it, or sent beside it.
pub trait Diagnostic: Error + Send + Sync + 'static {
    /// All four parts at once. An error that passes on another one returns the report of that one.
    fn report(&self) -> ErrorReport;
}

/// An error in its four parts. Also the error of code that raises it in one place only and needs no enum.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorReport {
    pub code: ErrorCode,
    /// What happened, and to what.
    pub message: String,
    /// What a terminal shows instead of the message, where that leaves out what is in the details.
    full_text: Option<String>,
    /// What to do next, each a line of its own.
    pub hints: Vec<String>,
    /// What programs can act on; empty where the message says everything.
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

    /// Gives programs a shorter message, because they read the rest in the details.
    #[must_use]
    pub fn summary(mut self, message: &str) -> Self {
        self.full_text = Some(std::mem::replace(&mut self.message, message.to_owned()));
        self
    }

    /// The message as people read it, without the hints.
    pub fn full_text(&self) -> &str {
        self.full_text.as_ref().unwrap_or(&self.message)
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

/// As a terminal shows it: the message, then one line for each hint.
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
