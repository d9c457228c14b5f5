//! The rules that decide when a failing test proves RED and passing tests prove GREEN. Pure: they compare a baseline,
//! the changes of a phase and git paw's own test run. Results reported by agents are not used.
//!
//! - [`red`] and [`green`]: the two rules and their proofs
//! - [`changes`]: changes in a worktree
//! - [`file_kind`]: classifies changed files; [`test_code`]: finds test code in a file; `rust_tests`: tests inside
//!   Rust code; `literals`: string literals
//! - [`error_cause`]: whether an error names something that does not exist yet; `error_locations`: where, if the
//!   error has no location
//! - [`weakening`]: deleted, skipped or changed tests; [`test_config`]: settings that decide which tests run;
//!   `test_recipes`: scripts and recipes that a test command runs

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

use crate::runners::failure_text::what_failed;

pub use file_kind::{FileRules, SourceKind};
pub use green::{GreenProof, judge_green};
pub use red::{RedJudgement, RedProof, judge_red};

/// A file before and after. `None` means that it did not exist.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileChange {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    /// The file mode before and after.
    #[serde(default)]
    pub modes: (FileMode, FileMode),
}

impl FileChange {
    /// Whether content or mode differ.
    pub fn is_change(&self) -> bool {
        self.before != self.after || (self.after.is_some() && self.modes.0 != self.modes.1)
    }
}

/// Why an attempt proves nothing, in words an executor can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Objection {
    /// Production code changed in RED.
    ProductionChanged {
        files: Vec<PathBuf>,
    },
    NoTestsChanged,
    /// tasks.json changed; only git paw may change it.
    TaskFileChanged,
    /// Settings that decide which tests run have changed.
    HarnessChanged {
        files: Vec<PathBuf>,
    },
    NoTestsRan,
    TimedOut,
    /// A file changed while the tests ran.
    ChangedWhileTested {
        file: PathBuf,
    },
    Crashed {
        #[serde(rename = "said")]
        output: String,
    },
    /// Only tests fail that failed before.
    OnlyOldFailures {
        tests: Vec<String>,
    },
    /// The tests do not build, for another reason than missing code.
    BrokenHarness {
        message: String,
    },
    /// Tests that passed before no longer exist or do not run.
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
    /// Changed lines that no test covers.
    Uncovered {
        covered: u64,
        total: u64,
        /// The threshold in percent.
        wanted: String,
        /// `file:3-5,9`
        places: Vec<String>,
    },
    /// RED was proven by files that did not build, and none of their tests has run yet.
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
                    "only test code may change in RED, but these files changed, too: {}",
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
            Self::TimedOut => f.write_str("the tests timed out"),
            Self::ChangedWhileTested { file } => {
                write!(f, "{} was changed while the tests ran, twice in a row", file.display())
            }
            Self::Crashed { output } => {
                write!(f, "the test runner failed without a failing test: {}", what_failed_in(output))
            }
            Self::OnlyOldFailures { tests } => {
                write!(f, "only tests fail that failed before: {}", names(tests))
            }
            Self::BrokenHarness { message } => {
                write!(
                    f,
                    "the tests do not build, and missing code is not the reason: {}",
                    what_failed_in(message)
                )
            }
            Self::TestsGone { tests } => write!(f, "tests that passed before did not run: {}", names(tests)),
            Self::StillFailing { tests } => write!(f, "still failing: {}", names(tests)),
            Self::NewFailures { tests } => write!(f, "newly failing: {}", names(tests)),
            Self::Weakened { file, how } => write!(f, "tests in {} were weakened: {how}", file.display()),
            Self::Uncovered { covered, total, wanted, places } => {
                let (run, of) = (*covered, *total);
                write!(f, "the tests cover {run} of {of} changed lines, {wanted} % required; not covered: ")?;
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

fn what_failed_in(text: &str) -> String {
    what_failed(text).unwrap_or_else(|| "no output".into())
}
