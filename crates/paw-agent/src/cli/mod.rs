//! The AI CLIs we know: one descriptor each, and the list of them.
//!
//! A descriptor holds everything git paw knows about one CLI; [`launch`](crate::launch), [`resume`](crate::resume),
//! [`headless`](crate::headless), [`hooks`](crate::hooks), [`screen`](crate::screen) and [`deliver`](crate::deliver) work from
//! it and never ask for a name. A new CLI is a file here with a `const CLI`, and its entry in [`ALL`]. One that is only
//! recognised on PATH is a line in the list.

mod aider;
mod claude;
mod codex;
mod gemini;
mod opencode;

use crate::headless::{self, Headless, PLAIN};
use crate::hooks::Hooks;
use crate::launch::ApprovalFlags;
use crate::resume::ResumeArguments;
use crate::screen::ScreenRules;

/// Everything we know about one CLI. [`Cli::known`] has the values of a CLI of which only the name is known.
#[derive(Debug)]
pub struct Cli {
    /// The program on PATH, and the name in configuration, receipts and `--cli`.
    pub name: &'static str,
    /// What lists call it.
    pub display_name: &'static str,
    /// What a sentence calls it.
    pub short_name: &'static str,
    /// Command-line flags for each approval level.
    pub approval: ApprovalFlags,
    /// How it takes up an earlier conversation, if it can.
    pub resume: Option<ResumeArguments>,
    /// How it takes a turn without a screen, and how what it prints is read.
    pub headless: Headless,
    /// How it reports what it does, if we know.
    pub hooks: Option<&'static Hooks>,
    /// How its screen is read. Without rules, it is read by what most CLIs have in common.
    pub screen: Option<&'static ScreenRules>,
}

/// By name.
pub static ALL: [Cli; 18] = [
    Cli { approval: full_auto("--dangerously-skip-permissions"), ..Cli::known("agy", "Antigravity") },
    aider::CLI,
    Cli {
        approval: full_auto("--dangerously-allow-all"),
        headless: Headless { arguments: |_| headless::words(["-x"]), ..PLAIN },
        ..Cli::known("amp", "Amp")
    },
    claude::CLI,
    Cli::known("cline", "Cline"),
    Cli::known("cn", "Continue"),
    codex::CLI,
    Cli { resume: Some(CONTINUE), ..Cli::known("copilot", "GitHub Copilot") },
    Cli::known("cursor", "Cursor"),
    Cli {
        headless: Headless {
            arguments: |turn| {
                let model = headless::option("--model", turn.model);
                headless::words(["exec"]).into_iter().chain(model).collect()
            },
            ..PLAIN
        },
        ..Cli::known("droid", "Droid")
    },
    gemini::CLI,
    Cli::known("junie", "Junie"),
    Cli::known("kilo", "Kilo Code"),
    Cli::known("kimi", "Kimi"),
    opencode::CLI,
    Cli::known("pi", "Pi"),
    Cli { approval: full_auto("--yolo"), resume: Some(CONTINUE), ..Cli::known("qwen", "Qwen Code") },
    Cli::known("vibe", "Mistral Vibe"),
];

const CONTINUE: ResumeArguments =
    ResumeArguments { latest: &["--continue"], named: Some(&["--resume="]), remembers_first_prompt: true };

const fn full_auto(flag: &'static str) -> ApprovalFlags {
    ApprovalFlags { full_auto: flag, ..ApprovalFlags::NONE }
}

/// Stands for every CLI that is not in the list.
static UNKNOWN: Cli = Cli::known("", "");

impl Cli {
    /// A CLI that is started by its name, answers in plain text, and has a screen like most others.
    pub const fn known(name: &'static str, display_name: &'static str) -> Self {
        Self {
            name,
            display_name,
            short_name: display_name,
            approval: ApprovalFlags::NONE,
            resume: None,
            headless: PLAIN,
            hooks: None,
            screen: None,
        }
    }

    /// Whether a hook can approve what the CLI asks for.
    pub fn is_answerable(&self) -> bool {
        self.hooks.is_some_and(|hooks| hooks.allow.is_some())
    }
}

/// Used where neither the user nor the configuration names a CLI.
pub const DEFAULT: &str = claude::CLI.name;

pub fn find(name: &str) -> Option<&'static Cli> {
    ALL.iter().find(|cli| cli.name == name)
}

/// The descriptor of a CLI by its name; for one that is not in the list, a descriptor without any knowledge.
pub fn descriptor(name: &str) -> &'static Cli {
    find(name).unwrap_or(&UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_cli_is_listed_once_in_order() {
        assert!(ALL.is_sorted_by(|a, b| a.name < b.name));
        for name in ["claude", "codex", "gemini", "aider", "vibe", "qwen", "amp"] {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
