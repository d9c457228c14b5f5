//! The files of the page, which are part of the program.

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{StatusCode, body::Bytes};

use crate::response::{self, Response};

struct Asset {
    path: &'static str,
    content_type: &'static str,
    content: &'static [u8],
}

macro_rules! assets {
    ($($path:literal $content_type:literal)*) => {
        &[$(Asset {
            path: concat!("/", $path),
            content_type: $content_type,
            content: include_bytes!(concat!("../assets/", $path)),
        }),*]
    };
}

const ASSETS: &[Asset] = assets![
    "style.css" "text/css; charset=utf-8"
    "app.js" "text/javascript; charset=utf-8"
    "api.js" "text/javascript; charset=utf-8"
    "store.js" "text/javascript; charset=utf-8"
    "format.js" "text/javascript; charset=utf-8"
    "overview.js" "text/javascript; charset=utf-8"
    "agent.js" "text/javascript; charset=utf-8"
    "prompt.js" "text/javascript; charset=utf-8"
    "diff.js" "text/javascript; charset=utf-8"
    "terminal.js" "text/javascript; charset=utf-8"
    "conflicts.js" "text/javascript; charset=utf-8"
    "messages.js" "text/javascript; charset=utf-8"
    "timeline.js" "text/javascript; charset=utf-8"
    "runs.js" "text/javascript; charset=utf-8"
    "work.js" "text/javascript; charset=utf-8"
    "notify.js" "text/javascript; charset=utf-8"
    "service-worker.js" "text/javascript; charset=utf-8"
    "icon.svg" "image/svg+xml"
    "vendor/preact.js" "text/javascript; charset=utf-8"
    "vendor/xterm.js" "text/javascript; charset=utf-8"
    "vendor/xterm.css" "text/css; charset=utf-8"
];

const PAGE: &str = include_str!("../assets/index.html");

/// The page itself, with the nonce for the terminal's style element.
pub(crate) fn page(nonce: &str) -> Response {
    let text = PAGE.replace("{{nonce}}", nonce).replace("{{version}}", env!("CARGO_PKG_VERSION"));
    response::bytes("text/html; charset=utf-8", Bytes::from(text))
}

/// One of the page's files; `None` if there is none at this path. A browser keeps it until the program changes.
pub(crate) fn find(path: &str, headers: &HeaderMap) -> Option<Response> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    let tag = tag(asset.content);
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if known {
        response::empty(StatusCode::NOT_MODIFIED)
    } else {
        response::bytes(asset.content_type, Bytes::from_static(asset.content))
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    Some(response)
}

/// FNV-1a: it tells versions apart, nothing else depends on it.
fn tag(content: &[u8]) -> String {
    let hash = content.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("\"{hash:016x}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_view_is_small() {
        let lazy = |asset: &&Asset| !asset.path.contains("xterm");
        let size: usize = ASSETS.iter().filter(lazy).map(|asset| asset.content.len()).sum();
        assert!(size + PAGE.len() < 200_000, "{size} bytes");
    }

    #[test]
    fn first_view_asks_for_every_module_at_once() {
        let is_module = |asset: &&Asset| {
            let is_later = asset.path.contains("xterm") || asset.path == "/service-worker.js";
            asset.content_type.starts_with("text/javascript") && !is_later
        };
        for asset in ASSETS.iter().filter(is_module) {
            let named = format!("=\"{}\"", asset.path);
            assert!(PAGE.contains(&named), "{}", asset.path);
        }
    }

    #[test]
    fn unchanged_file_is_not_sent_again() {
        let first = find("/app.js", &HeaderMap::new()).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
        assert_eq!(find("/app.js", &headers).unwrap().status(), StatusCode::NOT_MODIFIED);
        assert!(find("/../Cargo.toml", &headers).is_none());
    }

    #[test]
    fn page_has_no_inline_script_and_no_foreign_address() {
        assert!(!PAGE.contains("http://") && !PAGE.contains("https://"));
        for (at, _) in PAGE.match_indices("<script") {
            assert!(PAGE[at..].starts_with("<script type=\"module\" src=\"/"), "{}", &PAGE[at..at + 40]);
        }
    }
}
