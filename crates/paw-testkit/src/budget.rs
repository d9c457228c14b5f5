//! Support for benchmarks: a directory to measure in, and the result table of `bench/all`.

use std::fs::OpenOptions;
use std::io::Write as _;

use tempfile::TempDir;

/// A directory to measure in. `bench/all` deletes all of them at its end: after many deletions, ext4 creates files more
/// slowly for some minutes, which would distort the next measurement.
pub fn bench_dir() -> TempDir {
    let keep = std::env::var_os("PAW_BENCH_KEEP").is_some();
    tempfile::Builder::new().disable_cleanup(keep).tempdir().expect("a directory")
}

/// Adds a line to the result table if PAW_BENCH_RESULTS is set.
pub fn record_budget(what: &str, measured: &str, budget: &str, met: bool) {
    let Some(path) = std::env::var_os("PAW_BENCH_RESULTS") else { return };
    let verdict = if met { "met" } else { "MISSED" };
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the table");
    writeln!(file, "{what}\t{measured}\t{budget}\t{verdict}").expect("a line of the table");
}
