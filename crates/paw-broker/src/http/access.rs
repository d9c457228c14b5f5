//! Who may come in. A web page of somebody else must not reach the broker, even one that calls itself by our address.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{self, HeaderValue};
use paw_core::config::BrokerAuth;

use super::ServerContext;
use super::response::ApiError;
use crate::identity::{Caller, Token};

/// The address the broker listens on.
#[derive(Debug, Clone, Copy)]
pub struct ServerAddress(pub SocketAddr);

impl ServerAddress {
    /// Whether a `Host` header means us. A name could point anywhere, so only addresses and `localhost` count.
    fn is_meant_by(self, host: &str) -> bool {
        let name = without_port(host);
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let Ok(ip) = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() else {
            return false;
        };
        let own = self.0.ip();
        ip.is_loopback() || ip == own || own.is_unspecified()
    }

    /// Whether an `Origin` is a page that we served ourselves.
    fn is_origin(self, origin: &str) -> bool {
        let port = self.0.port();
        let own = |host: &str| origin == format!("http://{host}:{port}");
        own("localhost") || own("127.0.0.1") || own("[::1]") || origin == format!("http://{}", self.0)
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // `[::1]` has colons of its own.
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    }
}

/// The checks before anything else is looked at.
pub(super) fn check_host_and_origin(address: ServerAddress, headers: &HeaderMap) -> Result<(), ApiError> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    if hosts.next().is_some() || !host.is_some_and(|host| address.is_meant_by(host)) {
        return Err(ApiError::wrong_host());
    }
    let is_own = |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| address.is_origin(origin));
    if headers.get_all(header::ORIGIN).iter().all(is_own) { Ok(()) } else { Err(ApiError::foreign_origin()) }
}

/// Who sends a request.
pub(super) async fn caller(app: &ServerContext, headers: &HeaderMap) -> Result<Caller, ApiError> {
    if app.auth == BrokerAuth::None {
        return Ok(Caller::Unauthenticated);
    }
    let token = token(headers).ok_or_else(ApiError::no_token)?;
    app.keys.owner(&token).await.map(Caller::Known).ok_or_else(ApiError::unknown_token)
}

fn token(headers: &HeaderMap) -> Option<Token> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Token::from_text(token))
}

/// Whether a body calls itself JSON. A form of a web page cannot.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let essence = |value: &HeaderValue| {
        let text = value.to_str().unwrap_or_default();
        text.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
    };
    headers.get(header::CONTENT_TYPE).is_some_and(essence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_addresses_are_meant_by_a_host() {
        let address = ServerAddress("127.0.0.1:9119".parse().unwrap());
        for host in ["127.0.0.1:9119", "localhost:9119", "LOCALHOST", "[::1]:9119", "[::1]", "127.0.0.1"] {
            assert!(address.is_meant_by(host), "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:9119", "127.0.0.1.evil.example", "10.0.0.1:9119", "0.0.0.0"]
        {
            assert!(!address.is_meant_by(host), "{host}");
        }
        assert!(ServerAddress("0.0.0.0:9119".parse().unwrap()).is_meant_by("10.0.0.1:9119"));
        assert!(!ServerAddress("0.0.0.0:9119".parse().unwrap()).is_meant_by("evil.example"));
    }

    #[test]
    fn a_page_of_another_port_is_foreign() {
        let address = ServerAddress("127.0.0.1:9119".parse().unwrap());
        assert!(address.is_origin("http://127.0.0.1:9119") && address.is_origin("http://localhost:9119"));
        for origin in ["null", "http://localhost:3000", "https://127.0.0.1:9119", "http://evil.example", ""] {
            assert!(!address.is_origin(origin), "{origin}");
        }
    }
}
