//! Rescue ids: time and subject, short enough to type.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The ref namespace of rescues.
pub const PREFIX: &str = "refs/paw/rescue/";
/// Longer branch names are truncated; the time keeps ids distinct.
const MAX_SUBJECT_LEN: usize = 40;

/// For example `20261115-081500-feat-auth`: sorts by time, needs no quoting, and can be abbreviated.
pub(super) fn new_id(at: Timestamp, about: &str, attempt: u32) -> String {
    let time = at.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string();
    let subject = subject(about);
    if attempt == 0 { format!("{time}-{subject}") } else { format!("{time}-{subject}-{}", attempt + 1) }
}

fn subject(about: &str) -> String {
    let mut subject = String::new();
    for c in about.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() || c == '_' {
            subject.push(c);
        } else if !subject.is_empty() && !subject.ends_with('-') {
            subject.push('-');
        }
    }
    subject.truncate(MAX_SUBJECT_LEN);
    let subject = subject.trim_matches('-');
    if subject.is_empty() { "work".to_owned() } else { subject.to_owned() }
}

/// The ids that match what the user typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IdMatch<'a> {
    One(&'a str),
    None,
    Several(Vec<&'a str>),
}

/// Matches an exact id, a unique prefix, or a full ref.
pub(super) fn match_id<'a>(typed: &str, ids: impl Iterator<Item = &'a str>) -> IdMatch<'a> {
    let typed = typed.strip_prefix(PREFIX).unwrap_or(typed);
    let matching: Vec<&str> = ids.filter(|id| !typed.is_empty() && id.starts_with(typed)).collect();
    match matching.as_slice() {
        [] => IdMatch::None,
        [one] => IdMatch::One(one),
        several => several
            .iter()
            .find(|id| **id == typed)
            .map_or(IdMatch::Several(matching.clone()), |id| IdMatch::One(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescue_id_has_time_and_subject_and_needs_no_quoting() {
        let at: Timestamp = "2026-11-15T08:15:00Z".parse().unwrap();
        assert_eq!(new_id(at, "feat/Auth", 0), "20261115-081500-feat-auth");
        assert_eq!(new_id(at, "feat/Auth", 1), "20261115-081500-feat-auth-2");
        assert_eq!(new_id(at, "--$(x)'é", 0), "20261115-081500-x");
        assert_eq!(new_id(at, "é", 0), "20261115-081500-work");
        assert!(new_id(at, &"long-".repeat(50), 0).len() < 60);
    }

    #[test]
    fn unique_prefix_selects_a_rescue() {
        let ids = ["20261115-a", "20261115-a-2", "20261116-b"];
        let of = |typed| match_id(typed, ids.into_iter());
        assert_eq!(of("20261116"), IdMatch::One("20261116-b"));
        assert_eq!(of("20261115-a"), IdMatch::One("20261115-a"));
        assert_eq!(of("refs/paw/rescue/20261115-a-2"), IdMatch::One("20261115-a-2"));
        assert_eq!(of("2026"), IdMatch::Several(ids.to_vec()));
        assert_eq!(of("x"), IdMatch::None);
        assert_eq!(of(""), IdMatch::None);
    }
}
