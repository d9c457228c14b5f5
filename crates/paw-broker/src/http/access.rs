//! Access checks. A web page of another site must not reach the broker, not even through DNS rebinding.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use paw_core::config::BrokerAuth;

use super::ServerContext;
use super::response::ApiError;
use crate::identity::{Caller, Token};

/// The address the broker listens on.
#[derive(Debug, Clone, Copy)]
pub struct ServerAddress(pub SocketAddr);

impl ServerAddress {
    /// Whether a `Host` header names this server. A host name can resolve to anything, so only IP addresses and
    /// `localhost` are accepted.
    fn matches_host(self, host: &str) -> bool {
        let Some(name) = without_port(host) else { return false };
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let Ok(ip) = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() else {
            return false;
        };
        let own = self.0.ip();
        ip.is_loopback() || ip == own || own.is_unspecified()
    }

    /// Whether an `Origin` header names this server.
    fn matches_origin(self, origin: &str) -> bool {
        let port = self.0.port();
        let own = |host: &str| origin == format!("http://{host}:{port}");
        own("localhost") || own("127.0.0.1") || own("[::1]") || origin == format!("http://{}", self.0)
    }
}

/// `None` if the port is not a number.
fn without_port(host: &str) -> Option<&str> {
    match host.rsplit_once(':') {
        // `[::1]` contains colons.
        Some((name, port)) if !port.contains(']') => {
            port.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
        }
        _ => Some(host),
    }
}

/// Checks the headers that protect against requests from web pages.
pub(super) fn check_host_and_origin(address: ServerAddress, head: &Parts) -> Result<(), ApiError> {
    let headers = &head.headers;
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let is_own = |host: &str| address.matches_host(host);
    // A whole URL in the first line names a host, too.
    let named = head.uri.authority().is_none_or(|named| is_own(named.as_str()));
    if hosts.next().is_some() || !host.is_some_and(is_own) || !named {
        return Err(ApiError::wrong_host());
    }
    let is_own = |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| address.matches_origin(origin));
    if headers.get_all(header::ORIGIN).iter().all(is_own) { Ok(()) } else { Err(ApiError::foreign_origin()) }
}

/// The sender of a request.
pub(super) async fn caller(app: &ServerContext, headers: &HeaderMap) -> Result<Caller, ApiError> {
    if app.auth == BrokerAuth::None {
        return Ok(Caller::Unauthenticated);
    }
    let token = token(headers).ok_or_else(ApiError::no_token)?;
    app.tokens.find_owner(&token).await.map(Caller::Known).ok_or_else(ApiError::unknown_token)
}

fn token(headers: &HeaderMap) -> Option<Token> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Token::from_text(token))
}

/// Whether the content type is JSON. A web page's form cannot send it.
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
    fn host_header_must_be_an_address_of_the_server() {
        let address = ServerAddress("127.0.0.1:9119".parse().unwrap());
        for host in ["127.0.0.1:9119", "localhost:9119", "LOCALHOST", "[::1]:9119", "[::1]", "127.0.0.1"] {
            assert!(address.matches_host(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:9119",
            "127.0.0.1.evil.example",
            "10.0.0.1:9119",
            "0.0.0.0",
            "127.0.0.1:1@evil.example",
        ] {
            assert!(!address.matches_host(host), "{host}");
        }
        assert!(ServerAddress("0.0.0.0:9119".parse().unwrap()).matches_host("10.0.0.1:9119"));
        assert!(!ServerAddress("0.0.0.0:9119".parse().unwrap()).matches_host("evil.example"));
    }

    #[test]
    fn origin_on_another_port_is_rejected() {
        let address = ServerAddress("127.0.0.1:9119".parse().unwrap());
        assert!(
            address.matches_origin("http://127.0.0.1:9119")
                && address.matches_origin("http://localhost:9119")
        );
        for origin in ["null", "http://localhost:3000", "https://127.0.0.1:9119", "http://evil.example", ""] {
            assert!(!address.matches_origin(origin), "{origin}");
        }
    }
}
