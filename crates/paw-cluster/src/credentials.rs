//! The file with which the user logs in to NATS servers of their own.
//!
//! Such a file holds a token that the servers' operator has signed, and the secret key that the token names.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_core::config::ClusterConfig;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::{self, FileError};

use crate::nats::{NatsLogin, check_credentials, split_logins};

/// Real files have about 1 KiB.
const LARGEST: u64 = 64 << 10;

/// The credentials of the user cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("[cluster] credentials: {} is not an absolute path", .0.display())]
    NotAbsolute(PathBuf),
    #[error("[cluster] credentials: {} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("[cluster] credentials: {} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("[cluster] credentials: other users can read {} (mode {mode:03o})", path.display())]
    Readable { path: PathBuf, mode: u32 },
    #[error("[cluster] credentials: {} is not a credentials file: {reason}", path.display())]
    Malformed { path: PathBuf, reason: String },
    #[error("[cluster] credentials: {} has {bytes} bytes, too many for a credentials file", path.display())]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("[cluster] has credentials, and a user in the address of a server")]
    TwoLogins,
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for CredentialsError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::NotAbsolute(_) => report.hint("use a path that begins with / or ~/"),
            Self::Missing(_) | Self::NotAFile(_) => {
                report.hint("correct the path in your configuration, or remove it")
            }
            Self::Readable { path, .. } => report.hint(format!("run 'chmod 600 {}'", path.display())),
            Self::Malformed { .. } | Self::TooLarge { .. } => report.hint(
                "it has a part 'NATS USER JWT' and a part 'USER NKEY SEED'; ask the servers' operator for it",
            ),
            Self::TwoLogins => report.hint("remove USER:PASSWORD@ from servers, or credentials"),
            Self::File(error) => error.report(),
        }
    }
}

/// How the user's servers are reached: their addresses without a user, and the login for all of them.
pub fn load_access(config: &ClusterConfig) -> Result<(Vec<String>, Option<NatsLogin>), CredentialsError> {
    let (servers, login) = split_logins(&config.servers);
    let Some(path) = &config.credentials else { return Ok((servers, login)) };
    if login.is_some() {
        return Err(CredentialsError::TwoLogins);
    }
    Ok((servers, Some(load(path, std::env::home_dir().as_deref())?)))
}

fn load(path: &Path, home: Option<&Path>) -> Result<NatsLogin, CredentialsError> {
    let path = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_path_buf(),
    };
    if !path.is_absolute() {
        return Err(CredentialsError::NotAbsolute(path));
    }
    let found = match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(CredentialsError::Missing(path));
        }
        found => found.map_err(FileError::when("read", &path))?,
    };
    if !found.is_file() {
        return Err(CredentialsError::NotAFile(path));
    }
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(CredentialsError::Readable { path, mode });
    }
    if found.len() > LARGEST {
        return Err(CredentialsError::TooLarge { path, bytes: found.len() });
    }
    let credentials = files::load_text(&path)?.ok_or_else(|| CredentialsError::Missing(path.clone()))?;
    match check_credentials(&credentials) {
        Ok(()) => Ok(NatsLogin::Credentials { credentials }),
        Err(reason) => Err(CredentialsError::Malformed { path, reason }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    fn problem(path: &Path, home: &Path) -> (String, String) {
        let report = load(path, Some(home)).unwrap_err().report();
        (report.message.replace(&home.display().to_string(), "HOME"), report.hints.join("; "))
    }

    #[test]
    fn files_that_are_missing_readable_by_others_or_malformed_are_refused_with_what_to_do() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        let write = |text: &str, mode: u32| {
            files::write_atomic(&home.join("user.creds"), text.as_bytes(), files::Access::Usual).unwrap();
            fs::set_permissions(home.join("user.creds"), Permissions::from_mode(mode)).unwrap();
        };
        let path = Path::new("~/user.creds");
        let begin = "[cluster] credentials: ";
        assert_eq!(problem(path, home).0, format!("{begin}HOME/user.creds does not exist"));
        assert_eq!(
            problem(Path::new("user.creds"), home).0,
            format!("{begin}user.creds is not an absolute path")
        );
        assert_eq!(problem(home, home).0, format!("{begin}HOME is not a file"));
        write("x", 0o640);
        let (readable, hint) = problem(path, home);
        assert_eq!(readable, format!("{begin}other users can read HOME/user.creds (mode 640)"));
        assert!(hint.starts_with("run 'chmod 600 /"), "{hint}");
        write("x", 0o600);
        let (malformed, hint) = problem(path, home);
        assert!(
            malformed.contains("HOME/user.creds is not a credentials file: cannot parse user JWT"),
            "{malformed}"
        );
        assert!(hint.contains("USER NKEY SEED"), "{hint}");
        let token = "-----BEGIN NATS USER JWT-----\nabc\n------END NATS USER JWT------\n";
        write(
            &format!("{token}-----BEGIN USER NKEY SEED-----\nSUAX\n------END USER NKEY SEED------\n"),
            0o600,
        );
        assert!(problem(path, home).0.contains("is not a credentials file"));
        write(&"x".repeat(100_000), 0o600);
        assert!(problem(path, home).0.ends_with("has 100000 bytes, too many for a credentials file"));
    }

    #[test]
    fn a_user_in_an_address_and_credentials_are_refused_together() {
        let servers = vec!["nats://me:secret@a:1".to_owned()];
        let both = ClusterConfig { servers, credentials: Some("/x".into()), ..ClusterConfig::default() };
        assert!(matches!(load_access(&both), Err(CredentialsError::TwoLogins)));
    }
}
