//! The listening socket, in a directory that only the user can enter.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use paw_host::files;
use tokio::net::{UnixListener, UnixStream};

use crate::error::DaemonError;

/// The longest socket path that all supported systems accept.
const LONGEST_PATH: usize = 103;

/// A listening socket, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

pub(crate) async fn listen(path: &Path) -> Result<(UnixListener, Socket), DaemonError> {
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(DaemonError::PathTooLong(path.to_path_buf()));
    }
    if let Some(dir) = path.parent() {
        files::create_private_dir(dir)?;
    }
    remove_stale_socket(path).await?;
    let listening = |source| DaemonError::Listen { socket: path.to_path_buf(), source };
    let listener = UnixListener::bind(path).map_err(listening)?;
    let socket = Socket { path: path.to_path_buf() };
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(listening)?;
    Ok((listener, socket))
}

/// Removes the socket of a killed daemon. Fails if another program is listening on it.
async fn remove_stale_socket(path: &Path) -> Result<(), DaemonError> {
    let unusable = |source| DaemonError::Listen { socket: path.to_path_buf(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(DaemonError::NotASocket(path.to_path_buf()));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Ok(stream) => {
            let pid = stream.peer_cred().ok().and_then(|peer| peer.pid()).and_then(|pid| pid.try_into().ok());
            Err(DaemonError::SocketTaken { socket: path.to_path_buf(), pid })
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(unusable)
        }
        Err(error) => Err(unusable(error)),
    }
}
