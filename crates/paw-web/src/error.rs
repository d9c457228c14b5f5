//! Why the page cannot be served.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use paw_core::{Diagnostic, ErrorCode, ErrorReport, PawError};
use paw_host::files::FileError;

use crate::login::LoginError;

#[derive(Debug, thiserror::Error)]
pub enum WebError {
    #[error("cannot serve the page at {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("[web] bind is not an IP address: {0}")]
    BadAddress(String),
    #[error("cannot serve the page at {0} without your own certificate")]
    NoCertificate(IpAddr),
    #[error("cannot serve the page at {0} without the names of this machine")]
    NoName(IpAddr),
    #[error("cannot use the certificate in {}: {why}", .file.display())]
    BadCertificate { file: PathBuf, why: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    Session(#[from] PawError),
}

impl Diagnostic for WebError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::BadAddress(_) => ErrorReport::new(ErrorCode::InvalidArgument, self),
            Self::Listen { .. } | Self::BadCertificate { .. } => {
                ErrorReport::new(ErrorCode::FailedPrecondition, self)
            }
            Self::NoCertificate(_) => ErrorReport::new(ErrorCode::FailedPrecondition, self)
                .hint("keep the page on this machine and forward it: ssh -L 9219:127.0.0.1:9219 HOST")
                .hint("or forward it with 'tailscale serve 9219' and add its name to [web] hosts")
                .hint("or set [web] certificate and key in your own configuration"),
            Self::NoName(_) => ErrorReport::new(ErrorCode::FailedPrecondition, self)
                .hint("list the names that browsers use in [web] hosts, or bind one address"),
            Self::File(error) => error.report(),
            Self::Login(_) => ErrorReport::new(ErrorCode::Internal, self),
            Self::Session(error) => error.report(),
        }
    }
}
