//! Recorded output of real runners, one test per runner and version; no runner is needed.

use super::matrix::check_recorded;

#[test]
fn vitest_4_is_understood() {
    check_recorded("vitest", "4");
}

#[test]
fn jest_30_is_understood() {
    check_recorded("jest", "30");
}

#[test]
fn mocha_12_is_understood() {
    check_recorded("mocha", "12");
}

#[test]
fn bun_1_4_is_understood() {
    check_recorded("bun", "1.4");
}

#[test]
fn node_20_is_understood() {
    check_recorded("node", "20");
}

#[test]
fn node_24_is_understood() {
    check_recorded("node", "24");
}

#[test]
fn go_1_19_1_22_and_1_27_are_understood() {
    for version in ["1.19", "1.22", "1.27"] {
        check_recorded("go", version);
    }
}

#[test]
fn pytest_9_is_understood() {
    check_recorded("pytest", "9");
}
