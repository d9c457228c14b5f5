//! The AI coding CLIs we know by name.

/// A CLI that is recognised when its program is on PATH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownCli {
    pub binary: &'static str,
    pub display_name: &'static str,
}

pub const KNOWN_CLIS: [KnownCli; 18] = [
    known("agy", "Antigravity"),
    known("aider", "Aider"),
    known("amp", "Amp"),
    known("claude", "Claude Code"),
    known("cline", "Cline"),
    known("cn", "Continue"),
    known("codex", "Codex"),
    known("copilot", "GitHub Copilot"),
    known("cursor", "Cursor"),
    known("droid", "Droid"),
    known("gemini", "Gemini"),
    known("junie", "Junie"),
    known("kilo", "Kilo Code"),
    known("kimi", "Kimi"),
    known("opencode", "OpenCode"),
    known("pi", "Pi"),
    known("qwen", "Qwen Code"),
    known("vibe", "Mistral Vibe"),
];

const fn known(binary: &'static str, display_name: &'static str) -> KnownCli {
    KnownCli { binary, display_name }
}

pub fn find_known(binary: &str) -> Option<&'static KnownCli> {
    KNOWN_CLIS.iter().find(|known| known.binary == binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_cli_is_listed_once_in_order() {
        assert!(KNOWN_CLIS.is_sorted_by(|a, b| a.binary < b.binary));
        for binary in ["claude", "codex", "gemini", "aider", "vibe", "qwen", "amp"] {
            assert!(find_known(binary).is_some(), "{binary}");
        }
    }
}
