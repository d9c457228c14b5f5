//! The known AI CLIs: one descriptor each, and the list of them.
//!
//! A descriptor holds everything git paw knows about one CLI; [`launch`](crate::launch), [`resume`](crate::resume),
//! [`headless`](crate::headless), [`hooks`](crate::hooks), [`screen`](crate::screen) and [`deliver`](crate::deliver) use it
//! and never compare names. To add a CLI, add a file here with a `const CLI`, and an entry in [`ALL`]. A CLI that git paw
//! only finds on PATH is one line in the list.

mod aider;
mod claude;
mod codex;
pub mod demo;
mod gemini;
mod opencode;

use crate::headless::{self, Headless, PLAIN};
use crate::hooks::Hooks;
use crate::hooks::transcript::FoundTranscript;
use crate::launch::ApprovalFlags;
use crate::resume::ResumeArguments;
use crate::screen::ScreenRules;

/// Everything git paw knows about one CLI. [`Cli::known`] has the defaults.
#[derive(Debug)]
pub struct Cli {
    /// The program on PATH, and the name in configuration, receipts and `--cli`.
    pub name: &'static str,
    /// Its name in lists.
    pub display_name: &'static str,
    /// Its name in sentences.
    pub short_name: &'static str,
    /// Command-line flags of every start, as shell text.
    pub start: &'static str,
    /// Command-line flags for each approval level.
    pub approval: ApprovalFlags,
    /// Command-line flags of a supervisor below full-auto, instead of those for its approval level.
    pub supervisor: Option<&'static str>,
    /// How it resumes a conversation, if it can.
    pub resume: Option<ResumeArguments>,
    /// How it runs a turn without a screen, and how its output is read.
    pub headless: Headless,
    /// How it reports what it does, if git paw knows.
    pub hooks: Option<&'static Hooks>,
    /// How its transcripts are found without hooks, and what they say about tokens.
    pub transcript: Option<FoundTranscript>,
    /// How its screen is read. Without rules, generic patterns apply.
    pub screen: Option<&'static ScreenRules>,
    /// Names of its settings in a repository, which decide what it may do. `*` matches any text.
    pub settings: &'static [&'static str],
}

/// Sorted by name.
pub static ALL: [Cli; 18] = [
    Cli {
        approval: full_auto("--dangerously-skip-permissions"),
        settings: &[".agent", ".agents", ".agy", ".antigravity"],
        ..Cli::known("agy", "Antigravity")
    },
    aider::CLI,
    Cli {
        approval: full_auto("--dangerously-allow-all"),
        headless: Headless { arguments: |_| headless::words(["-x"]), ..PLAIN },
        settings: &[".amp", ".ampcode"],
        ..Cli::known("amp", "Amp")
    },
    claude::CLI,
    Cli { settings: &[".cline", ".clinerules"], ..Cli::known("cline", "Cline") },
    Cli { settings: &[".continue", ".continuerc.json"], ..Cli::known("cn", "Continue") },
    codex::CLI,
    Cli { resume: Some(CONTINUE), settings: &[".copilot"], ..Cli::known("copilot", "GitHub Copilot") },
    Cli { settings: &[".cursor", ".cursorrules"], ..Cli::known("cursor", "Cursor") },
    Cli {
        headless: Headless {
            arguments: |turn| {
                let model = headless::option("--model", turn.model);
                headless::words(["exec"]).into_iter().chain(model).collect()
            },
            ..PLAIN
        },
        settings: &[".droid", ".factory"],
        ..Cli::known("droid", "Droid")
    },
    gemini::CLI,
    Cli { settings: &[".junie"], ..Cli::known("junie", "Junie") },
    Cli { settings: &[".kilo", ".kilocode*"], ..Cli::known("kilo", "Kilo Code") },
    Cli { settings: &[".kimi"], ..Cli::known("kimi", "Kimi") },
    opencode::CLI,
    Cli { settings: &[".pi"], ..Cli::known("pi", "Pi") },
    Cli {
        approval: full_auto("--yolo"),
        resume: Some(CONTINUE),
        settings: &[".qwen"],
        ..Cli::known("qwen", "Qwen Code")
    },
    Cli { settings: &[".vibe"], ..Cli::known("vibe", "Mistral Vibe") },
];

const CONTINUE: ResumeArguments =
    ResumeArguments { latest: &["--continue"], named: Some(&["--resume="]), remembers_first_prompt: true };

const fn full_auto(flag: &'static str) -> ApprovalFlags {
    ApprovalFlags { full_auto: flag, ..ApprovalFlags::NONE }
}

/// The scripted agent of the demo, which is not looked for on PATH.
pub static DEMO: Cli = demo::CLI;

/// The descriptor of every CLI that is not in the list.
static UNKNOWN: Cli = Cli::known("", "");

impl Cli {
    /// A CLI that is started by its name, answers in plain text, and has no hooks or screen rules.
    pub const fn known(name: &'static str, display_name: &'static str) -> Self {
        Self {
            name,
            display_name,
            short_name: display_name,
            start: "",
            approval: ApprovalFlags::NONE,
            supervisor: None,
            resume: None,
            headless: PLAIN,
            hooks: None,
            transcript: None,
            screen: None,
            settings: &[],
        }
    }

    /// Whether a hook can approve what the CLI asks for.
    pub fn is_answerable(&self) -> bool {
        self.hooks.is_some_and(|hooks| hooks.allow.is_some())
    }
}

/// Used if neither the user nor the configuration names a CLI.
pub const DEFAULT: &str = claude::CLI.name;

pub fn find(name: &str) -> Option<&'static Cli> {
    ALL.iter().find(|cli| cli.name == name)
}

/// The descriptor of a CLI by its name, or the default descriptor for an unknown one.
pub fn descriptor(name: &str) -> &'static Cli {
    find(name).or_else(|| (name == DEMO.name).then_some(&DEMO)).unwrap_or(&UNKNOWN)
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
