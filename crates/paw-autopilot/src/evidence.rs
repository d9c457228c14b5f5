//! When a failing test is a proof, and when passing ones are. Pure rules over a baseline, the changes of a phase and our
//! own test run; what anybody reports about tests is not asked for.
//!
//! - [`red`] and [`green`]: the two rules, and the proofs they give
//! - [`changes`]: what changed in a worktree
//! - [`file_kind`]: what a changed file is; [`test_code`]: which part of it is test code; `rust_tests`: tests within Rust code;
//!   `literals`: texts within code
//! - [`error_cause`]: whether an error names something that does not exist yet; `blame`: where, if it does not say
//! - [`weakening`]: tests that were deleted, skipped or changed; [`test_config`]: settings that decide which tests run;
//!   `reach`: what a command line for tests leads to

pub mod changes;
pub mod error_cause;
mod error_locations;
pub mod file_kind;
pub mod green;
mod literals;
pub mod red;
mod rust_tests;
pub mod test_code;
pub mod test_config;
mod test_recipes;
pub mod weakening;

use std::fmt;
use std::path::PathBuf;

use paw_core::text::{first_of, first_paths};
use paw_host::git::FileMode;
use serde::{Deserialize, Serialize};

pub use file_kind::{FileRules, SourceKind};
pub use green::{GreenProof, judge_green};
pub use red::{RedJudgement, RedProof, judge_red};

/// A file before and after. Nothing means that it was not there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileChange {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    /// What kind of file it was, and is.
    #[serde(default)]
    pub modes: (FileMode, FileMode),
}

impl FileChange {
    /// Its bytes, or that it may be executed, or that it is a link.
    pub fn is_change(&self) -> bool {
        self.before != self.after || (self.after.is_some() && self.modes.0 != self.modes.1)
    }
}

/// Why something is no proof, in words an executor can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Objection {
    /// In RED only test code may change.
    ProductionChanged {
        files: Vec<PathBuf>,
    },
    NoTestsChanged,
    /// The list of tasks is ours to change.
    TaskFileChanged,
    /// Settings that decide which tests run.
    HarnessChanged {
        files: Vec<PathBuf>,
    },
    NoTestsRan,
    TimedOut,
    /// What the tests have seen is not what is there now.
    ChangedWhileTested {
        file: PathBuf,
    },
    Crashed {
        said: String,
    },
    /// Failures there were before prove nothing about this subtask.
    OnlyOldFailures {
        tests: Vec<String>,
    },
    /// It does not build, and not because something is missing that is yet to be written.
    BrokenHarness {
        message: String,
    },
    /// Tests that passed before and are not there any more, or do not run.
    TestsGone {
        tests: Vec<String>,
    },
    StillFailing {
        tests: Vec<String>,
    },
    NewFailures {
        tests: Vec<String>,
    },
    Weakened {
        file: PathBuf,
        how: String,
    },
    /// Lines that the subtask has written and no test runs.
    Uncovered {
        covered: u64,
        total: u64,
        /// In percent.
        wanted: String,
        /// `file:3-5,9`
        places: Vec<String>,
    },
    /// RED rested on files that did not build; none of their tests has run.
    NothingProven {
        files: Vec<PathBuf>,
    },
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProductionChanged { files } => {
                write!(
                    f,
                    "only test code may change while tests are written, but this changed too: {}",
                    first_paths(files)
                )
            }
            Self::NoTestsChanged => f.write_str("no test was written or changed"),
            Self::TaskFileChanged => {
                f.write_str("tasks.json was changed; only git-paw may change it during a run")
            }
            Self::HarnessChanged { files } => {
                write!(f, "settings that decide which tests run were changed: {}", first_paths(files))
            }
            Self::NoTestsRan => f.write_str("no test ran"),
            Self::TimedOut => f.write_str("the tests took longer than they may"),
            Self::ChangedWhileTested { file } => {
                write!(f, "{} was changed while the tests ran, twice in a row", file.display())
            }
            Self::Crashed { said } => {
                write!(f, "the test runner failed without a failing test: {}", first_line(said))
            }
            Self::OnlyOldFailures { tests } => {
                write!(f, "only tests that failed before fail: {}", names(tests))
            }
            Self::BrokenHarness { message } => {
                write!(
                    f,
                    "the tests do not build, and not for want of the implementation: {}",
                    first_line(message)
                )
            }
            Self::TestsGone { tests } => write!(f, "tests that passed before did not run: {}", names(tests)),
            Self::StillFailing { tests } => write!(f, "still failing: {}", names(tests)),
            Self::NewFailures { tests } => write!(f, "failing now and not before: {}", names(tests)),
            Self::Weakened { file, how } => write!(f, "tests in {} were weakened: {how}", file.display()),
            Self::Uncovered { covered, total, wanted, places } => {
                let (run, of) = (*covered, *total);
                write!(f, "the tests run {run} of {of} changed lines, and {wanted} % are wanted; not run: ")?;
                f.write_str(&names(places))
            }
            Self::NothingProven { files } => {
                write!(f, "the new tests in {} have not run yet", first_paths(files))
            }
        }
    }
}

fn names(list: &[String]) -> String {
    first_of(list, 5)
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said")
}
