//! The signing key of this user, and public keys.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use paw_core::paths::lock_of;
use paw_host::files::{self, Access, Dirs, Lock};

use super::ProofError;

/// The half of a key that checks signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Whether the signature, in hexadecimal digits, belongs to these bytes.
    pub(super) fn has_signed(&self, bytes: &[u8], signature: &str) -> bool {
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
    type Err = ProofError;

    fn from_str(text: &str) -> Result<Self, ProofError> {
        let key = from_hex::<32>(text.trim()).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        key.map(Self).ok_or_else(|| ProofError::NotAKey(text.to_owned()))
    }
}

/// The key that signs. It has no `Debug`, so that it cannot reach a log.
pub(super) struct SecretKey(SigningKey);

impl SecretKey {
    /// The key on disk, if there is one.
    pub(super) fn load(dirs: &Dirs) -> Result<Option<Self>, ProofError> {
        let path = dirs.data().proof_key();
        let Some(text) = files::load_text(&path)? else { return Ok(None) };
        let seed = from_hex::<32>(text.trim()).ok_or(ProofError::DamagedKey(path))?;
        Ok(Some(Self(SigningKey::from_bytes(&seed))))
    }

    /// The key on disk, created on first use.
    pub(super) fn open(dirs: &Dirs) -> Result<Self, ProofError> {
        if let Some(key) = Self::load(dirs)? {
            return Ok(key);
        }
        let path = dirs.data().proof_key();
        let _lock = Lock::wait(&lock_of(&path))?;
        if let Some(key) = Self::load(dirs)? {
            return Ok(key);
        }
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| ProofError::NoRandomness(error.to_string()))?;
        files::write_atomic(&path, format!("{}\n", to_hex(&seed)).as_bytes(), Access::Private)?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    pub(super) fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The signature in hexadecimal digits.
    pub(super) fn sign(&self, bytes: &[u8]) -> String {
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
