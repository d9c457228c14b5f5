//! What the benchmarks share: a place to measure in, and the table that `bench/all` makes of what they measured.

use std::fs::OpenOptions;
use std::io::Write as _;

use tempfile::TempDir;

/// A directory to measure in. `bench/all` deletes all of them at its end: ext4 steps over every file deleted in the last
/// minutes when it makes a new one, so deleting many would be paid for by whoever is measured next.
pub fn bench_dir() -> TempDir {
    let keep = std::env::var_os("PAW_BENCH_KEEP").is_some();
    tempfile::Builder::new().disable_cleanup(keep).tempdir().expect("a directory")
}

/// Adds a line to the table, if somebody makes one.
pub fn record_budget(what: &str, measured: &str, budget: &str, met: bool) {
    let Some(path) = std::env::var_os("PAW_BENCH_RESULTS") else { return };
    let verdict = if met { "met" } else { "MISSED" };
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the table");
    writeln!(file, "{what}\t{measured}\t{budget}\t{verdict}").expect("a line of the table");
}
