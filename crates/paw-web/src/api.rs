//! The API of the page. Each function checks the login, reads the request, and calls what the command line calls.

pub(crate) mod diff;
pub(crate) mod events;
pub(crate) mod login;
pub(crate) mod messages;
pub(crate) mod prompt;
pub(crate) mod questions;
pub(crate) mod runs;
pub(crate) mod terminal;
pub(crate) mod timeline;
pub(crate) mod work;

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::Uri;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::access;
use crate::response::WebRefusal;

/// The largest request body.
const LARGEST_BODY: usize = 64 << 10;
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// Reads the JSON of a request.
async fn read<T: DeserializeOwned>(head: &Parts, body: Incoming) -> Result<T, WebRefusal> {
    if !access::is_json(&head.headers) {
        return Err(WebRefusal::NotJson);
    }
    let bytes = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, LARGEST_BODY).collect()).await;
    let bytes = bytes.map_err(|_| WebRefusal::BadRequest("the request did not arrive in time".to_owned()))?;
    let bytes = bytes.map_err(|_| WebRefusal::TooLarge)?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| WebRefusal::BadRequest(error.to_string()))
}

/// A value in the query, decoded.
fn query(uri: &Uri, name: &str) -> Option<String> {
    let mut pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| decode(value))
}

/// Decodes `%41` and `+`.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail
            .first_chunk::<2>()
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (byte, _) => {
                bytes.push(if *byte == b'+' { b' ' } else { *byte });
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::decode;

    #[test]
    fn query_values_are_decoded() {
        assert_eq!(decode("src%2Fa+b%C3%A4%zz%"), "src/a bä%zz%");
    }

    proptest! {
        #[test]
        fn no_query_makes_the_decoder_fail(text in ".{0,60}") {
            let _ = decode(&text);
        }
    }
}
