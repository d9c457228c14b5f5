//! A runner that ended before it could write anything: its last words are all there is.

use super::call::Said;
use super::place::places_in;
use super::report::{Broken, Report};

/// Broken code where the words name a file of the project, else nothing that proves anything.
pub(super) fn last_words(said: &Said) -> Report {
    if said.exit.success() {
        return Report::unreadable("it ended well but left no report");
    }
    let places = places_in(&said.output(), &said.root, |_| false);
    if places.is_empty() {
        return Report::unreadable(format!("it left no report: {}", said.output()));
    }
    Report::of_broken(vec![Broken::new(said.output(), places)])
}
