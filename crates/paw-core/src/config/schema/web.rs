//! `[web]`: the page for browsers.

use std::path::PathBuf;

use crate::config::section::section;

section! {
    /// The session in a browser.
    WebConfig {
        /// serve the page in every session that has a broker, not only after git paw web
        default enabled: bool = false,
        /// preferred port; another free one if it is taken
        default port: u16 = 9219,
        /// address to listen on; other than loopback only with certificate and key
        default bind: String = "127.0.0.1".to_owned(),
        /// names of the page for browsers elsewhere, such as that of a local proxy
        default hosts: Vec<String> = Vec::new(),
        /// your TLS certificate with its chain, a PEM file
        optional certificate: PathBuf = "/etc/ssl/paw.pem",
        /// the private key of the certificate, a PEM file
        optional key: PathBuf = "/etc/ssl/paw.key",
        /// let every login look, but not act
        default view_only: bool = false,
        /// seconds without input until a terminal that was taken over is released
        default terminal_timeout_seconds: u64 = 60,
    }
}
