//! Logins in a file, so that a browser stays logged in when the session's process is restarted.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use paw_broker::identity::TokenHash;
use paw_host::files::{self, Access, FileError};
use serde::{Deserialize, Serialize};

use super::{Login, Logins, Scope};

/// Uses of a login are written at most this often.
const BETWEEN_WRITES: SignedDuration = SignedDuration::from_hours(1);

/// The file, and what it contains.
#[derive(Debug)]
pub(crate) struct LoginFile {
    path: PathBuf,
    written: Vec<Login>,
}

#[derive(Serialize, Deserialize)]
struct StoredLogin {
    id: u64,
    /// Of the token.
    hash: [u8; 32],
    scope: Scope,
    created: Timestamp,
    used: Timestamp,
}

impl LoginFile {
    /// Loads the logins. A damaged file means that everyone has to log in again.
    pub(crate) fn load(path: PathBuf) -> Result<(Self, Logins), FileError> {
        let text = files::load_text(&path)?.unwrap_or_default();
        let stored: Vec<StoredLogin> = serde_json::from_str(&text).unwrap_or_default();
        let logins: Vec<Login> = stored.into_iter().map(Login::from).collect();
        let next_id = logins.iter().map(|login| login.id).max().unwrap_or_default();
        let all = Logins { browsers: logins.iter().copied().collect(), next_id, ..Logins::default() };
        Ok((Self { path, written: logins }, all))
    }

    /// Writes the logins if one was added or ended, or if one was used much later than the file says.
    pub(crate) fn save(&mut self, logins: &Logins) -> Result<(), FileError> {
        let is_current = |(written, now): (&Login, &Login)| {
            written.id == now.id && now.used.duration_since(written.used) < BETWEEN_WRITES
        };
        if self.written.len() == logins.browsers.len()
            && self.written.iter().zip(&logins.browsers).all(is_current)
        {
            return Ok(());
        }
        let stored: Vec<StoredLogin> = logins.browsers.iter().map(StoredLogin::from).collect();
        let text = serde_json::to_vec(&stored).unwrap_or_default();
        files::write_atomic(&self.path, &text, Access::Private)?;
        self.written = logins.browsers.iter().copied().collect();
        Ok(())
    }
}

impl From<StoredLogin> for Login {
    fn from(stored: StoredLogin) -> Self {
        let StoredLogin { id, hash, scope, created, used } = stored;
        Self { id, hash: TokenHash::from_bytes(hash), scope, created, used }
    }
}

impl From<&Login> for StoredLogin {
    fn from(login: &Login) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(login.hash.as_bytes());
        Self { id: login.id, hash, scope: login.scope, created: login.created, used: login.used }
    }
}

#[cfg(test)]
mod tests {
    use paw_host::clock;

    use super::*;

    #[test]
    fn login_survives_a_restart_and_a_damaged_file_ends_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logins.json");
        let now = clock::now();
        let (mut file, mut logins) = LoginFile::load(path.clone()).unwrap();
        let code = logins.create_code(Scope::Act, now).unwrap();
        let (token, _) = logins.exchange(&code, now).unwrap();
        file.save(&logins).unwrap();
        let (_, mut again) = LoginFile::load(path.clone()).unwrap();
        assert_eq!(again.find(&token, now).map(|login| login.scope), Some(Scope::Act));
        files::write_atomic(&path, b"{", Access::Private).unwrap();
        assert!(LoginFile::load(path).unwrap().1.find(&token, now).is_none());
    }
}
