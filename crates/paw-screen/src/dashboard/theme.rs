//! Symbols and colours. Every colour comes with a word or a symbol, so the screen is readable without colours.

use paw_view::{ConflictKind, MessageKind, NeedKind, StatusCategory};
use ratatui::style::{Color, Modifier, Style};

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub colour: bool,
    pub unicode: bool,
}

impl Theme {
    /// A terminal with all features.
    pub const FULL: Self = Self { colour: true, unicode: true };

    /// Derives the theme from environment variables; `variable` looks one up.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        // Chinese, Japanese and Korean terminals draw these symbols two columns wide.
        let wide = ["zh", "ja", "ko"].iter().any(|language| locale.starts_with(language));
        let plain = set("TERM").is_none_or(|term| term == "dumb");
        Self {
            colour: set("NO_COLOR").is_none() && !plain,
            unicode: (locale.contains("utf-8") || locale.contains("utf8")) && !wide,
        }
    }

    fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    pub(super) fn rule(self) -> &'static str {
        self.pick("─", "-")
    }

    pub(super) fn bar(self) -> &'static str {
        self.pick("│", "|")
    }

    pub(super) fn marker(self) -> &'static str {
        self.pick("▸", ">")
    }

    pub(super) fn dot(self) -> &'static str {
        self.pick(" · ", " - ")
    }

    pub(super) fn versus(self) -> &'static str {
        self.pick("⇄", "<>")
    }

    pub(super) fn arrow(self) -> &'static str {
        self.pick("→", ">")
    }

    pub(super) fn prompt(self) -> &'static str {
        self.pick("›", ">")
    }

    pub(super) fn symbol(self, mood: StatusCategory) -> &'static str {
        match mood {
            StatusCategory::Working => self.pick("●", "*"),
            StatusCategory::Committed => self.pick("◆", "+"),
            StatusCategory::Done => self.pick("✓", "v"),
            StatusCategory::Verified => self.pick("✔", "V"),
            StatusCategory::Blocked => self.pick("▲", "!"),
            StatusCategory::Failed => self.pick("✗", "x"),
            StatusCategory::Idle => self.pick("○", "o"),
        }
    }

    fn paint(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn mood(self, mood: StatusCategory) -> Style {
        match mood {
            StatusCategory::Working => self.paint(Color::Blue),
            StatusCategory::Committed => self.paint(Color::Magenta),
            StatusCategory::Done | StatusCategory::Verified => self.paint(Color::Green),
            StatusCategory::Blocked => self.paint(Color::Yellow).add_modifier(Modifier::BOLD),
            StatusCategory::Failed => self.paint(Color::Red).add_modifier(Modifier::BOLD),
            StatusCategory::Idle => Self::dim(),
        }
    }

    pub(super) fn kind(self, kind: MessageKind) -> Style {
        match kind {
            MessageKind::Status => Self::dim(),
            MessageKind::Artifact => self.paint(Color::Magenta),
            MessageKind::Blocked | MessageKind::Question => self.paint(Color::Yellow),
            MessageKind::Verified => self.paint(Color::Green),
            MessageKind::Feedback => self.paint(Color::Red),
            MessageKind::Answer | MessageKind::Intent => self.paint(Color::Cyan),
            MessageKind::Main | MessageKind::Learning => self.paint(Color::Blue),
        }
    }

    pub(super) fn conflict(self, kind: ConflictKind) -> Style {
        match kind {
            ConflictKind::Clash | ConflictKind::Trespass => self.alarm(),
            ConflictKind::Planned | ConflictKind::Shared => self.paint(Color::Yellow),
            ConflictKind::Additive => Self::dim(),
        }
    }

    pub(super) fn success(self) -> Style {
        self.paint(Color::Green)
    }

    pub(super) fn removed(self) -> Style {
        self.paint(Color::Red)
    }

    pub(super) fn hunk(self) -> Style {
        self.paint(Color::Cyan)
    }

    /// The letter of a changed file.
    pub(super) fn change(self, kind: char) -> Style {
        match kind {
            'A' => self.success(),
            'D' => self.removed(),
            'R' => self.paint(Color::Magenta),
            _ => self.paint(Color::Yellow),
        }
    }

    pub(super) fn need(self, kind: NeedKind) -> (&'static str, Style) {
        match kind {
            NeedKind::Approval => ("!", self.alarm()),
            NeedKind::Answer => ("?", self.attention()),
            NeedKind::Input => (self.pick("›", ">"), self.attention()),
            NeedKind::Prompt | NeedKind::Exited => (self.pick("✗", "x"), self.alarm()),
            NeedKind::RateLimit => (self.pick("…", "."), Self::dim()),
        }
    }

    pub(super) fn alarm(self) -> Style {
        self.paint(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn attention(self) -> Style {
        self.paint(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    pub(super) fn dim() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn title(self, focused: bool) -> Style {
        if focused { self.paint(Color::Cyan).add_modifier(Modifier::BOLD) } else { Self::strong() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(variables: &[(&str, &str)]) -> Theme {
        let find =
            |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        Theme::of_environment(find)
    }

    #[test]
    fn the_environment_decides_colour_and_symbols() {
        let usual = [("TERM", "tmux-256color"), ("LANG", "de_DE.UTF-8")];
        assert_eq!(theme(&usual), Theme::FULL);
        assert!(!theme(&[("TERM", "xterm"), ("NO_COLOR", "1")]).colour);
        assert!(theme(&[("TERM", "xterm"), ("NO_COLOR", "")]).colour);
        assert!(!theme(&[("TERM", "dumb"), ("LANG", "C.UTF-8")]).colour);
        assert!(!theme(&[("TERM", "xterm"), ("LANG", "C")]).unicode);
        assert!(!theme(&[("LANG", "ja_JP.UTF-8")]).unicode);
        assert!(!theme(&[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")]).unicode);
    }
}
