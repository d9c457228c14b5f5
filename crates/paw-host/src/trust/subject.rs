//! The content of an approval: its fields, their fingerprint, and the text shown to the user.

use std::fmt::{self, Write as _};

use paw_core::text::{self, plural};
use sha2::{Digest as _, Sha256};

/// The fields that the user is asked to approve, in order, such as the setup commands of a repository.
///
/// Two subjects have the same fingerprint only if their kinds and the number, order, keys and values of their fields are
/// equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustSubject {
    kind: String,
    fields: Vec<(String, Vec<u8>)>,
}

impl TrustSubject {
    /// An empty subject of a kind: `setup`, `config`, …
    pub fn new(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), fields: Vec::new() }
    }

    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.fields.push((key.into(), value.into()));
        self
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Hashes every part after its length, so that moving bytes between fields changes the fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update(length(bytes.len()));
            hash.update(bytes);
        };
        part(b"git-paw trust 1");
        part(self.kind.as_bytes());
        for (key, value) in &self.fields {
            part(key.as_bytes());
            part(value);
        }
        Fingerprint(hash.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }))
    }

    /// The full content for a terminal. A value of several lines is printed below its key.
    pub fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (key, value) in &self.fields {
            let text = String::from_utf8_lossy(value);
            let key = text::reveal(key);
            match text.trim_end_matches('\n') {
                one if !one.contains('\n') => lines.push(format!("{key}: {}", text::reveal(one))),
                many => {
                    lines.push(format!("{key}:"));
                    lines.extend(many.split('\n').map(|line| format!("  | {}", text::reveal(line))));
                }
            }
        }
        lines
    }

    /// One line per field, stored with the approval.
    pub fn summary(&self) -> Vec<String> {
        let line = |(key, value): &(String, Vec<u8>)| {
            let text = String::from_utf8_lossy(value);
            let mut lines = text.trim_end_matches('\n').split('\n');
            let first = text::reveal(lines.next().unwrap_or_default());
            match lines.count() {
                0 => format!("{}: {first}", text::reveal(key)),
                more => format!("{}: {first} (and {})", text::reveal(key), plural(more, "more line")),
            }
        };
        self.fields.iter().map(line).collect()
    }
}

fn length(bytes: usize) -> [u8; 8] {
    u64::try_from(bytes).unwrap_or(u64::MAX).to_be_bytes()
}

/// A SHA-256 hash in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(String);

impl Fingerprint {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 64 && text.bytes().all(digit) {
            Ok(Self(text))
        } else {
            Err(format!("'{}' is not a SHA-256 hash", text::reveal(&text)))
        }
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.0
    }
}
