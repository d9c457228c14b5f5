//! Why a call was not answered, as a model can act on it.

use paw_core::{ErrorCode, PawError};
use serde_json::Value;

pub(super) fn of_arguments(message: String, hint: String) -> PawError {
    PawError::new(ErrorCode::InvalidArgument, message).hint(hint)
}

/// Something of ours broke; the server keeps running.
pub(super) fn of_bug(tool: &str) -> PawError {
    PawError::internal(format!("{tool} stopped in the middle of its work"))
        .hint("look at what it has done so far before calling it again; this is a bug of git paw")
}

/// What `--json` prints, and all hints as one text where there are some.
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
    fn a_refusal_has_the_hints_as_a_list_and_as_one_text() {
        let error = PawError::ConfigError("no gate".into()).hint("configure one").hint("or two");
        assert_eq!(
            document(&error).to_string(),
            r#"{"error":{"code":"INVALID_ARGUMENT","message":"no gate","hints":["configure one","or two"],"details":{},"hint":"configure one\nor two"}}"#
        );
    }

    #[test]
    fn a_refusal_without_hints_has_no_hint() {
        let refusal = document(&PawError::UserCancelled);
        assert_eq!((&refusal["error"]["code"], refusal["error"].get("hint")), (&"CANCELLED".into(), None));
    }
}
