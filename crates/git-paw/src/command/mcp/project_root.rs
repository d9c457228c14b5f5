//! Resolves the directory of a call. Pure.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use paw_core::PawError;
use serde_json::Value;

use super::error;

/// The parameter name that other programs use.
pub(super) const PARAMETER: &str = "projectRoot";
pub(super) const DESCRIPTION: &str =
    "Repository or worktree (default: the one in which the server was started)";

/// The named directory, as a path or a `file:` URL, else the server's own.
pub(super) fn resolve(named: Option<Value>, own: &Path) -> Result<PathBuf, PawError> {
    match named {
        None | Some(Value::Null) => Ok(own.to_owned()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(own.to_owned()),
        Some(Value::String(text)) => {
            let path = own.join(path_of(&text));
            let usable = !path.as_os_str().as_encoded_bytes().contains(&0);
            usable.then_some(path).ok_or_else(|| invalid("it contains a zero byte"))
        }
        Some(_) => Err(invalid("it is not a string")),
    }
}

pub(super) fn invalid(why: &str) -> PawError {
    error::invalid_arguments(
        format!("invalid {PARAMETER}: {why}"),
        "give an absolute path, or omit it".into(),
    )
}

fn path_of(text: &str) -> PathBuf {
    let Some(rest) = text.strip_prefix("file:") else { return text.into() };
    let rest = rest.strip_prefix("//").map_or(rest, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
    PathBuf::from(OsString::from_vec(decoded(rest.as_bytes())))
}

/// Decodes `%20` to a space. Anything else stays unchanged.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if let (b'%', Some(high), Some(low)) = (byte, digit(at + 1), digit(at + 2)) {
            decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn resolved(named: Value) -> PathBuf {
        resolve(Some(named), Path::new("/own")).unwrap()
    }

    #[test]
    fn project_root_accepts_paths_and_urls() {
        for text in ["/a b", "file:///a%20b", "file:/a b", "file://localhost/a%20b"] {
            assert_eq!(resolved(json!(text)), Path::new("/a b"), "{text}");
        }
        assert_eq!(resolved(json!("sub")), Path::new("/own/sub"));
        assert_eq!(resolved(json!("/100%")), Path::new("/100%"));
        assert_eq!(resolved(json!("file:///100%zz")), Path::new("/100%zz"));
    }

    #[test]
    fn project_root_defaults_to_the_servers_directory() {
        assert_eq!(resolve(None, Path::new("/own")).unwrap(), Path::new("/own"));
        for nothing in [json!(null), json!(""), json!("  ")] {
            assert_eq!(resolved(nothing), Path::new("/own"));
        }
    }

    #[test]
    fn project_root_refuses_what_is_not_a_path() {
        for wrong in [json!(7), json!(["/a"]), json!("/a\0b"), json!("file:///a%00b")] {
            assert_eq!(
                resolve(Some(wrong), Path::new("/own")).unwrap_err().code().as_str(),
                "INVALID_ARGUMENT"
            );
        }
    }

    proptest! {
        #[test]
        fn decoding_a_url_returns_its_path(path in proptest::collection::vec(1_u8.., 0..40)) {
            let encoded = path.iter().fold(String::new(), |text, byte| text + &format!("%{byte:02X}"));
            prop_assert_eq!(decoded(encoded.as_bytes()), path);
        }

        #[test]
        fn project_root_never_panics_on_any_text(text in any::<String>()) {
            let _ = resolve(Some(json!(text)), Path::new("/own"));
        }
    }
}
