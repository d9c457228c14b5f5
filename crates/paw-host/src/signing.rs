//! Ed25519 keys: the secret half in a private file, the public half as text.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use paw_core::paths::lock_of;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};

use crate::files::{self, Access, FileError, Lock};

/// A key that cannot be read or created.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("'{0}' is not a public key: expected 64 hexadecimal digits")]
    NotAKey(String),
    #[error("the signing key {} is damaged", .0.display())]
    Damaged(PathBuf),
    #[error("cannot create a signing key: {0}")]
    NoRandomness(String),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for KeyError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::NotAKey(_) => report(ErrorCode::InvalidArgument),
            Self::Damaged(_) => report(ErrorCode::FailedPrecondition)
                .hint("move it away; a new key is created, and what the old one signed no longer counts"),
            Self::NoRandomness(_) => report(ErrorCode::Internal),
            Self::File(error) => error.report(),
        }
    }
}

/// The half of a key that checks signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Whether the signature, in hexadecimal digits, belongs to these bytes.
    pub fn has_signed(&self, bytes: &[u8], signature: &str) -> bool {
        let signature = from_hex::<64>(signature).map(|bytes| Signature::from_bytes(&bytes));
        signature.is_some_and(|signature| self.0.verify_strict(bytes, &signature).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&to_hex(self.0.as_bytes()))
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let key = from_hex::<32>(text.trim()).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        key.map(Self).ok_or_else(|| KeyError::NotAKey(text.to_owned()))
    }
}

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

/// The key that signs. `Debug` does not show it.
pub struct SecretKey(SigningKey);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

impl SecretKey {
    /// The key on disk, if there is one.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyError> {
        let Some(text) = files::load_text(path)? else { return Ok(None) };
        let seed = from_hex::<32>(text.trim()).ok_or_else(|| KeyError::Damaged(path.to_path_buf()))?;
        Ok(Some(Self(SigningKey::from_bytes(&seed))))
    }

    /// The key on disk, created on first use.
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        if let Some(key) = Self::load(path)? {
            return Ok(key);
        }
        let _lock = Lock::wait(&lock_of(path))?;
        if let Some(key) = Self::load(path)? {
            return Ok(key);
        }
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| KeyError::NoRandomness(error.to_string()))?;
        files::write_atomic(path, format!("{}\n", to_hex(&seed)).as_bytes(), Access::Private)?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The signature in hexadecimal digits.
    pub fn sign(&self, bytes: &[u8]) -> String {
        to_hex(&self.0.sign(bytes).to_bytes())
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Only lower-case digits, so that a key has one spelling.
fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..text.len()).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}
