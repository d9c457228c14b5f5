//! The id of a run: its start time in UTC.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(String);

impl RunId {
    /// `2025-01-15-142033`; a second run in the same second gets a number.
    pub fn of(began: Timestamp, taken: impl Fn(&str) -> bool) -> Self {
        let name = began.strftime("%Y-%m-%d-%H%M%S").to_string();
        if !taken(&name) {
            return Self(name);
        }
        let mut number = 2_u32;
        loop {
            let candidate = format!("{name}-{number}");
            if !taken(&candidate) {
                return Self(candidate);
            }
            number += 1;
        }
    }

    /// Parses an id; rejects anything that could leave the directory of runs.
    pub fn parse(text: &str) -> Option<Self> {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '-';
        (!text.is_empty() && text.chars().all(legal)).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_id_is_unique_within_a_second() {
        let began = "2025-01-15T14:20:33.9Z".parse().unwrap();
        assert_eq!(RunId::of(began, |_| false).as_str(), "2025-01-15-142033");
        assert_eq!(RunId::of(began, |name| !name.ends_with("-3")).as_str(), "2025-01-15-142033-3");
        assert_eq!(RunId::parse("../x"), None);
    }
}
