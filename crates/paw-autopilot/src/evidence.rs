//! The rules that decide when a failing test proves RED and passing tests prove GREEN. Pure: they compare a baseline,
//! the changes of a phase and git paw's own test run. Results reported by agents are not used.
//!
//! - [`red`] and [`green`]: the two rules and their proofs
//! - [`changes`]: changes in a worktree
//! - [`file_kind`]: classifies changed files; [`test_code`]: finds test code in a file; `rust_tests`: tests inside
//!   Rust code; `literals`: string literals
//! - [`error_cause`]: whether an error names something that does not exist yet; `error_locations`: where, if the
//!   error has no location
//! - [`runner_files`]: files that a test runner loads by itself; `runner_names`: production code that names a runner
//! - `kept_tests`: existing tests in RED; `test_units`: the functions of a test file
//! - [`weakening`]: deleted, skipped or changed tests; [`test_config`]: settings that decide which tests run;
//!   `test_recipes`: scripts and recipes that a test command runs

pub mod changes;
pub mod error_cause;
mod error_locations;
pub mod file_kind;
mod fixtures;
pub mod green;
mod kept_tests;
mod literals;
pub mod red;
pub mod runner_files;
mod runner_names;
mod rust_tests;
pub mod test_code;
pub mod test_config;
mod test_recipes;
mod test_units;
pub mod weakening;

use std::fmt;
use std::path::{Component, Path, PathBuf};

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
    /// Identifies the new content and mode.
    pub fn digest(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        (&self.after, self.modes.1 == FileMode::Executable, self.modes.1 == FileMode::Link).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether this is a symbolic link that leads out of the repository.
    pub fn leaves_repository(&self) -> bool {
        let (FileMode::Link, Some(target)) = (self.modes.1, &self.after) else { return false };
        let mut depth = self.path.components().count().saturating_sub(1);
        !Path::new(target).components().all(|part| match part {
            Component::ParentDir => depth.checked_sub(1).map(|up| depth = up).is_some(),
            Component::Normal(_) => {
                depth += 1;
                true
            }
            Component::CurDir => true,
            Component::RootDir | Component::Prefix(_) => false,
        })
    }

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
    /// The new tests pass without new code, and the report does not name one of them.
    NothingNew,
    /// GREEN changed no production code.
    NoProductionChanged,
    /// A test that proves the subtask failed and then passed without a change.
    Flaky {
        tests: Vec<String>,
    },
    /// The tests of RED pass on the code before GREEN as well.
    PassesWithoutCode {
        tests: Vec<String>,
    },
    /// The tests of RED pass only together with test code that GREEN changed.
    OnlyWithTestCode {
        tests: Vec<String>,
    },
    /// Production code names the test runner, so it could recognise a test run.
    NamesRunner {
        file: PathBuf,
        name: String,
    },
    /// Dependencies were changed, but the tests ran with those from before the run.
    OldDependencies {
        files: Vec<PathBuf>,
    },
    /// A symbolic link leads out of the repository.
    LinkLeaves {
        files: Vec<PathBuf>,
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
                write!(
                    f,
                    "settings that decide which tests run were changed: {} (only the user can allow this, with --resume --force=protected)",
                    first_paths(files)
                )
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
            Self::NothingNew => f.write_str(
                "the tests pass without new code, and the report names no new test, so nothing is proven",
            ),
            Self::NoProductionChanged => f.write_str("no production code was changed"),
            Self::Flaky { tests } => {
                write!(f, "the new tests fail and pass without a change: {}", names(tests))
            }
            Self::PassesWithoutCode { tests } => {
                write!(f, "these tests now pass without the new code, too: {}", names(tests))
            }
            Self::OnlyWithTestCode { tests } => write!(
                f,
                "these tests pass only because GREEN changed test code, not with the production code alone: {}",
                names(tests)
            ),
            Self::NamesRunner { file, name } => write!(
                f,
                "{} names the test runner ('{name}'), so it could recognise a test run (only the user can allow this, with --resume --force=protected)",
                file.display()
            ),
            Self::OldDependencies { files } => write!(
                f,
                "the tests ran with the dependencies from before the run, but these files changed: {} (the user can install the new ones and resume with --force=protected)",
                first_paths(files)
            ),
            Self::LinkLeaves { files } => {
                write!(f, "these links lead out of the repository: {}", first_paths(files))
            }
            Self::NothingProven { files } => {
                write!(f, "the new tests in {} have not run yet", first_paths(files))
            }
        }
    }
}

/// Files that list installed dependencies, as a note to an attempt that was refused.
pub fn changed_dependencies(changes: &[FileChange]) -> Option<Objection> {
    const LISTS: [&str; 12] = [
        "package.json",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "yarn.lock",
        "bun.lock",
        "bun.lockb",
        "requirements.txt",
        "pyproject.toml",
        "poetry.lock",
        "uv.lock",
        "Pipfile.lock",
    ];
    let is_list = |path: &Path| path.file_name().is_some_and(|name| LISTS.iter().any(|list| name == *list));
    let files: Vec<PathBuf> =
        changes.iter().map(|change| change.path.clone()).filter(|path| is_list(path)).collect();
    (!files.is_empty()).then_some(Objection::OldDependencies { files })
}

fn names(list: &[String]) -> String {
    first_of(list, 5)
}

fn what_failed_in(text: &str) -> String {
    what_failed(text).unwrap_or_else(|| "no output".into())
}
