//! Errors of a call, in a form that a model can act on.

use paw_core::{ErrorCode, PawError};
use serde_json::Value;

pub(super) fn invalid_arguments(message: String, hint: String) -> PawError {
    PawError::new(ErrorCode::InvalidArgument, message).hint(hint)
}

/// The error of a call that panicked; the server keeps running.
pub(super) fn bug(tool: &str) -> PawError {
    PawError::internal(format!("{tool} failed because of a bug in git paw"))
        .hint("check what it has already done before you call it again")
}

/// The document that `--json` prints, plus all hints as one string.
pub(super) fn document(error: &PawError) -> Value {
    let report = error.report();
    let mut document = report.document();
    if !report.hints.is_empty() {
        document["error"]["hint"] = report.hints.join("\n").into();
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_hints_as_a_list_and_as_one_string() {
        let error = PawError::ConfigError("no gate".into()).hint("configure one").hint("or two");
        assert_eq!(
            document(&error).to_string(),
            r#"{"error":{"code":"INVALID_ARGUMENT","message":"no gate","hints":["configure one","or two"],"details":{},"hint":"configure one\nor two"}}"#
        );
    }

    #[test]
    fn an_error_without_hints_has_no_hint_field() {
        let refusal = document(&PawError::UserCancelled);
        assert_eq!((&refusal["error"]["code"], refusal["error"].get("hint")), (&"CANCELLED".into(), None));
    }
}
