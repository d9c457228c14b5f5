//! The colour and style of terminal output.

use std::sync::Arc;

/// Longer parameters are ignored, to limit memory.
const LONGEST: usize = 100;

/// Which escape sequences are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeptEscapes {
    #[default]
    None,
    Colour,
}

/// The parameters set since the last reset. `None` is the terminal's default style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pen(Option<Arc<str>>);

impl Pen {
    pub(super) fn change(&mut self, parameters: &str) {
        let new = after_reset(parameters);
        let kept =
            if new.len() == parameters.len() && !parameters.is_empty() { self.0.as_deref() } else { None };
        let joined = match (kept, new) {
            (None, "") => return self.0 = None,
            (Some(kept), new) if kept.len() + new.len() < LONGEST => format!("{kept};{new}"),
            (_, new) if new.len() < LONGEST => new.to_owned(),
            _ => return,
        };
        self.0 = Some(joined.into());
    }

    pub(super) fn is_plain(&self) -> bool {
        self.0.is_none()
    }

    /// Writes the escape sequences that change this pen to another.
    pub(super) fn switch(&self, to: &Self, out: &mut String) {
        if self == to {
            return;
        }
        out.push_str("\x1b[0m");
        if let Some(parameters) = &to.0 {
            out.push_str("\x1b[");
            out.push_str(parameters);
            out.push('m');
        }
    }
}

/// The parameters after the last reset. A zero inside a colour (`38;5;0`) is not a reset.
fn after_reset(parameters: &str) -> &str {
    let mut rest = parameters;
    let mut start = parameters;
    let mut inside = 0_usize;
    let mut chooses_kind = false;
    loop {
        let (one, more) = rest.split_once(';').map_or((rest, None), |(one, more)| (one, Some(more)));
        if chooses_kind {
            chooses_kind = false;
            inside = match one {
                "5" => 1,
                "2" => 3,
                _ => 0,
            };
        } else if inside > 0 {
            inside -= 1;
        } else if matches!(one, "38" | "48" | "58") {
            chooses_kind = true;
        } else if one.bytes().all(|byte| byte == b'0') {
            start = more.unwrap_or("");
        }
        match more {
            Some(more) => rest = more,
            None => return start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pen(changes: &[&str]) -> Option<String> {
        let mut pen = Pen::default();
        for change in changes {
            pen.change(change);
        }
        pen.0.map(|text| text.to_string())
    }

    #[test]
    fn pen_parameters_accumulate_until_a_reset() {
        assert_eq!(pen(&["1", "31"]).as_deref(), Some("1;31"));
        assert_eq!(pen(&["1", "0"]), None);
        assert_eq!(pen(&["1", ""]), None);
        assert_eq!(pen(&["1", "0;32"]).as_deref(), Some("32"));
        assert_eq!(pen(&["1", "32;0"]), None);
        assert_eq!(pen(&["1", "00;4"]).as_deref(), Some("4"));
    }

    #[test]
    fn zero_inside_a_colour_does_not_reset_the_pen() {
        assert_eq!(pen(&["1", "38;5;0"]).as_deref(), Some("1;38;5;0"));
        assert_eq!(pen(&["48;2;0;0;0;1"]).as_deref(), Some("48;2;0;0;0;1"));
        assert_eq!(pen(&["38:5:0"]).as_deref(), Some("38:5:0"));
    }

    #[test]
    fn pen_length_is_limited() {
        let many: Vec<_> = std::iter::repeat_n("31;1", 1000).collect();
        assert!(pen(&many).is_some_and(|text| text.len() < LONGEST));
        assert_eq!(pen(&[&"1;".repeat(200)]), None);
    }
}
