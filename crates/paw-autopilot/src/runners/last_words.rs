//! A runner that ended before it could write anything: its last words are all there is.

use super::call::Said;
use super::place::places_in;
use super::report::{Broken, Report};

/// Broken code where the words name a file of the project, else nothing that proves anything.
pub(super) fn last_words(said: &Said) -> Report {
    if said.exit.success() {
        return Report::unreadable("it ended well but left no report");
    }
    let broken = broken(said);
    if broken.places.is_empty() {
        return Report::unreadable(format!("it left no report: {}", said.output()));
    }
    Report::of_broken(vec![broken])
}

/// What it said, as something that could not be loaded, whether or not it says where.
pub(super) fn broken(said: &Said) -> Broken {
    let output = said.output();
    let places = places_in(&output, &said.root, |path| said.has_source(path));
    Broken::new(output, places)
}
