//! The name of a rescue: when it was made and what it was about, short enough to type.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Where rescues live. Git keeps whatever a ref reaches.
pub(super) const PREFIX: &str = "refs/paw/rescue/";
/// A long branch name is cut; the time tells two of them apart.
const MAX_SUBJECT_LEN: usize = 40;

/// `20261115-081500-feat-auth`: sorts by time, needs no quotes, and its beginning is enough to name it.
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

/// What somebody meant by `typed`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IdMatch<'a> {
    One(&'a str),
    None,
    Several(Vec<&'a str>),
}

/// The id itself beats a beginning, a beginning must fit only one. A full ref is understood as well.
pub(super) fn match_id<'a>(typed: &str, ids: impl Iterator<Item = &'a str>) -> IdMatch<'a> {
    let typed = typed.strip_prefix(PREFIX).unwrap_or(typed);
    let fitting: Vec<&str> = ids.filter(|id| !typed.is_empty() && id.starts_with(typed)).collect();
    match fitting.as_slice() {
        [] => IdMatch::None,
        [one] => IdMatch::One(one),
        several => several
            .iter()
            .find(|id| **id == typed)
            .map_or(IdMatch::Several(fitting.clone()), |id| IdMatch::One(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_when_and_what_and_needs_no_quotes() {
        let at: Timestamp = "2026-11-15T08:15:00Z".parse().unwrap();
        assert_eq!(new_id(at, "feat/Auth", 0), "20261115-081500-feat-auth");
        assert_eq!(new_id(at, "feat/Auth", 1), "20261115-081500-feat-auth-2");
        assert_eq!(new_id(at, "--$(x)'é", 0), "20261115-081500-x");
        assert_eq!(new_id(at, "é", 0), "20261115-081500-work");
        assert!(new_id(at, &"long-".repeat(50), 0).len() < 60);
    }

    #[test]
    fn a_beginning_is_enough_when_it_fits_only_one() {
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
