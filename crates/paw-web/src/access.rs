//! Which requests are answered. A page of another site must not reach this server, not even through DNS rebinding, and neither
//! must a page that an agent's own server on another port shows.

use std::net::SocketAddr;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Request};
use paw_broker::identity::Token;

use crate::response::WebRefusal;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names under which this server may be addressed.
#[derive(Debug, Clone)]
pub(crate) struct OwnNames {
    /// Values of `Host`.
    hosts: Vec<String>,
    /// Values of `Origin`.
    origins: Vec<String>,
}

impl OwnNames {
    /// The address itself, `localhost` if it is a loopback address, and the names that the user allows, such as the one that a
    /// proxy on this machine forwards.
    pub(crate) fn new(address: SocketAddr, encrypted: bool, allowed: &[String]) -> Self {
        let scheme = if encrypted { "https" } else { "http" };
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            hosts.push(format!("localhost:{}", address.port()));
        }
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("{scheme}://{host}")).collect();
        for name in allowed {
            let name = name.to_ascii_lowercase();
            let with_port = (encrypted && !name.contains(':')).then(|| format!("{name}:{}", address.port()));
            for host in with_port.into_iter().chain([name]) {
                // A proxy that forwards to loopback encrypts by itself.
                origins.push(format!("https://{host}"));
                hosts.push(host);
            }
        }
        Self { hosts, origins }
    }

    fn has_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    fn has_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|own| own == origin)
    }

    /// Checks the headers that a browser sets and a page cannot change. A request that changes something, or opens a WebSocket,
    /// must name its origin.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), WebRefusal> {
        let headers = request.headers();
        let host = single(headers, header::HOST).and_then(|host| host.to_str().ok());
        // A whole URL in the first line names a host, too.
        let named = request.uri().authority().is_none_or(|named| self.has_host(named.as_str()));
        if !named || !host.is_some_and(|host| self.has_host(host)) {
            return Err(WebRefusal::WrongHost);
        }
        let is_own = |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| self.has_origin(origin));
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let needs_origin =
            !matches!(request.method().as_str(), "GET" | "HEAD") || headers.contains_key(header::UPGRADE);
        let own_origin = match origins.next() {
            Some(origin) => is_own(origin) && origins.next().is_none(),
            None => !needs_origin,
        };
        if !own_origin || is_cross_site(headers, needs_origin) {
            return Err(WebRefusal::ForeignOrigin);
        }
        Ok(())
    }
}

/// Whether the browser says that another site or another port made the request. A link may be followed from anywhere.
fn is_cross_site(headers: &HeaderMap, writes: bool) -> bool {
    let site = headers.get(FETCH_SITE).and_then(|site| site.to_str().ok());
    match site {
        None | Some("same-origin" | "none") => false,
        Some(_) => writes || headers.get("sec-fetch-mode").is_none_or(|mode| mode != "navigate"),
    }
}

/// The value of a header that occurs once.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// The token of a request.
pub(crate) fn token(headers: &HeaderMap) -> Option<Token> {
    let text = single(headers, header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Token::from_text(token))
}

/// Whether the content type is JSON. A form of another page cannot send it.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let essence = |value: &HeaderValue| {
        let text = value.to_str().unwrap_or_default();
        text.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
    };
    single(headers, header::CONTENT_TYPE).is_some_and(essence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(method: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method).uri("/api/login");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn only_requests_to_our_own_names_are_answered() {
        let names = OwnNames::new("127.0.0.1:7777".parse().unwrap(), false, &["box.example".to_owned()]);
        let own = ("host", "127.0.0.1:7777");
        let origin = ("origin", "http://localhost:7777");
        for (method, headers, answered) in [
            ("GET", vec![own], true),
            ("GET", vec![("host", "LOCALHOST:7777")], true),
            ("GET", vec![("host", "box.example")], true),
            ("POST", vec![("host", "box.example"), ("origin", "https://box.example")], true),
            ("POST", vec![own, origin], true),
            ("POST", vec![own], false),
            ("GET", vec![own, ("upgrade", "websocket")], false),
            ("GET", vec![own, ("upgrade", "websocket"), origin], true),
            ("GET", vec![], false),
            ("GET", vec![("host", "evil.example:7777")], false),
            ("GET", vec![("host", "127.0.0.1:8080")], false),
            ("GET", vec![own, own], false),
            ("POST", vec![own, ("origin", "null")], false),
            ("POST", vec![own, ("origin", "http://localhost:3000")], false),
            ("POST", vec![own, ("origin", "https://localhost:7777")], false),
            ("POST", vec![own, origin, origin], false),
            ("GET", vec![own, ("sec-fetch-site", "same-site")], false),
            ("GET", vec![own, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")], true),
            (
                "POST",
                vec![own, origin, ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "navigate")],
                false,
            ),
            ("GET", vec![own, ("sec-fetch-site", "same-origin")], true),
        ] {
            assert_eq!(names.check(&head(method, &headers)).is_ok(), answered, "{method} {headers:?}");
        }
    }

    #[test]
    fn encrypted_page_is_addressed_by_its_names_with_and_without_the_port() {
        let names = OwnNames::new("0.0.0.0:7777".parse().unwrap(), true, &["Box.example".to_owned()]);
        for (host, origin, answered) in [
            ("box.example:7777", "https://box.example:7777", true),
            ("box.example", "https://box.example", true),
            ("box.example:7777", "http://box.example:7777", false),
            ("other.example:7777", "https://other.example:7777", false),
        ] {
            let request = head("POST", &[("host", host), ("origin", origin)]);
            assert_eq!(names.check(&request).is_ok(), answered, "{host} {origin}");
        }
    }

    #[test]
    fn whole_url_must_name_our_host() {
        let names = OwnNames::new("127.0.0.1:7777".parse().unwrap(), false, &[]);
        let request = Request::get("http://evil.example/api/events").header("host", "127.0.0.1:7777");
        assert!(names.check(&request.body(()).unwrap()).is_err());
    }
}
