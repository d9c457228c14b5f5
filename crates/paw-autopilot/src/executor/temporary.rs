//! Classifies executor failures as temporary or permanent.

use paw_host::process::Exit;

/// EX_TEMPFAIL: try again later.
const TRY_AGAIN: i32 = 75;

/// Messages of a service that is busy, unreachable or rate limiting.
const WORDS: [&str; 22] = [
    "rate limit",
    "rate_limit",
    "ratelimit",
    "too many requests",
    "overloaded",
    "temporarily",
    "try again",
    "timed out",
    "timeout",
    "connection error",
    "connection refused",
    "connection reset",
    "could not connect",
    "unable to connect",
    "unreachable",
    "network error",
    "service unavailable",
    "internal server error",
    "bad gateway",
    "api error",
    "econnrefused",
    "reconnecting",
];

/// Failures that only the user can fix, whatever else the message contains.
const LASTING: [&str; 8] = [
    "401",
    "403",
    "invalid api key",
    "authentication",
    "unauthorized",
    "not logged in",
    "credit balance",
    "permission denied",
];

pub fn is_temporary(exit: Exit, message: &str) -> bool {
    let message = message.to_lowercase();
    if LASTING.iter().any(|words| message.contains(words)) {
        return false;
    }
    exit == Exit::Code(TRY_AGAIN)
        || WORDS.iter().any(|words| message.contains(words))
        || ["429", "500", "502", "503", "529"].iter().any(|code| has_number(&message, code))
}

fn has_number(text: &str, number: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_service_is_temporary_and_wrong_key_is_not() {
        let of = |message: &str| is_temporary(Exit::Code(1), message);
        for message in ["API Error: Connection error.", "429 Too Many Requests", "Overloaded", "HTTP 529"] {
            assert!(of(message), "{message}");
        }
        for message in
            ["API Error: 401 invalid x-api-key", "unknown option", "line 5291", "Credit balance is too low"]
        {
            assert!(!of(message), "{message}");
        }
        assert!(is_temporary(Exit::Code(75), ""));
    }
}
