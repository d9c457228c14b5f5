//! Scripts in arguments: sed, awk and jq programs that only work on their input.
//!
//! Each is read just far enough to be sure that it runs no command, opens no file of its own and does not see the
//! environment. What implementations read differently is refused.

mod awk;
mod jq;
mod sed;

pub(super) use awk::is_harmless_awk;
pub(super) use jq::is_harmless_jq;
pub(super) use sed::is_harmless_sed;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn script_readers_never_panic(text in "\\PC{0,60}|[sypdawer/\\\\|;{}\\[\\]$0-9!~,+\" >\\n]{0,40}") {
            let _ = (is_harmless_sed(&text), is_harmless_awk(&text), is_harmless_jq(&text));
        }
    }
}
