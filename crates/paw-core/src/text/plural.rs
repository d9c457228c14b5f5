//! A number with its noun.

use std::fmt::Display;

/// `1 agent`, `3 agents`.
pub fn plural<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `1 process`, `3 processes`.
pub fn plural_irregular<N: Copy + Display + PartialEq + From<u8>>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    if number == N::from(1) { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!([0_usize, 1, 2].map(|n| plural(n, "agent")), ["0 agents", "1 agent", "2 agents"]);
        assert_eq!(
            [1_u64, 2].map(|n| plural_irregular(n, "process", "processes")),
            ["1 process", "2 processes"]
        );
    }
}
