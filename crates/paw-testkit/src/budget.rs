//! The table that `bench/all` makes of what the benchmarks measured.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Adds a line to the table, if somebody makes one.
pub fn record_budget(what: &str, measured: &str, budget: &str, met: bool) {
    let Some(path) = std::env::var_os("PAW_BENCH_RESULTS") else { return };
    let verdict = if met { "met" } else { "MISSED" };
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the table");
    writeln!(file, "{what}\t{measured}\t{budget}\t{verdict}").expect("a line of the table");
}
