//! What becomes of a branch, and why.

use std::fmt;

use paw_core::AgentId;
use paw_core::text::short_commit;
use serde::{Deserialize, Serialize};

use crate::gates::{Finding, Status};

/// What a commit was found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestResult {
    Passed,
    /// What is wrong, for whoever has to mend it.
    Failed {
        errors: Vec<String>,
    },
    /// Nothing was run that could have failed.
    Unproven {
        why: String,
    },
}

impl TestResult {
    /// What the project's tests have found. Without tests nothing is proven.
    pub fn of_tests(findings: &[Finding]) -> Self {
        let failed: Vec<_> = findings.iter().filter(|finding| finding.status != Status::Passed).collect();
        if findings.is_empty() {
            return Self::Unproven { why: "no [supervisor] test_command is configured".to_owned() };
        }
        if failed.is_empty() {
            return Self::Passed;
        }
        let told = |finding: &&Finding| {
            let first = format!("`{}` {}", finding.command, finding.end);
            [first].into_iter().chain(finding.tail.clone())
        };
        Self::Failed { errors: failed.iter().flat_map(told).collect() }
    }
}

/// What main was moved on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    Tested,
    /// Nothing is configured that could test it, but somebody in charge has checked exactly this commit.
    Verified,
}

/// Why a branch was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "skip", rename_all = "snake_case")]
pub enum Skip {
    /// Main has commits that the branch does not have.
    Diverged,
    /// It could not be put on top of main.
    Conflicts {
        said: String,
    },
    /// It needs a rebase, and its worktree is not ready for one.
    Unsettled {
        why: String,
    },
    /// A branch it depends on was not merged.
    Waits {
        on: AgentId,
    },
    Unproven {
        why: String,
    },
    /// Main cannot be moved without touching what is somebody's own.
    Refused {
        why: String,
    },
    /// Others moved main again and again meanwhile.
    Restless,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diverged => f.write_str("diverged: it needs a rebase"),
            Self::Conflicts { said } => write!(f, "cannot be rebased: {said}"),
            Self::Unsettled { why } => write!(f, "not rebased: {why}"),
            Self::Waits { on } => write!(f, "depends on {on}, which was not merged"),
            Self::Unproven { why } => write!(f, "unproven: {why}"),
            Self::Refused { why } => write!(f, "refused: {why}"),
            Self::Restless => f.write_str("the branch merged into kept moving meanwhile"),
        }
    }
}

/// What became of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Merged {
        /// Where main was before.
        from: String,
        /// Where main is now.
        commit: String,
        ground: Ground,
        /// Where the branch was, when it was put on top of main first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rebased_from: Option<String>,
    },
    /// Main has it already.
    UpToDate,
    Skipped {
        why: Skip,
    },
    /// Its tests fail on top of main, so main was not moved.
    Regression {
        commit: String,
        errors: Vec<String>,
        rescue: String,
        /// Main fails as well, so it may not be the branch's fault.
        main_fails: bool,
    },
    /// It waits for others that wait for it.
    Cycle {
        with: Vec<AgentId>,
    },
}

impl Outcome {
    /// Whether main has the branch's work.
    pub fn is_in(&self) -> bool {
        matches!(self, Self::Merged { .. } | Self::UpToDate)
    }

    /// The word for it: as in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Merged { .. } => "merged",
            Self::UpToDate => "up_to_date",
            Self::Skipped { .. } => "skipped",
            Self::Regression { .. } => "regression",
            Self::Cycle { .. } => "cycle",
        }
    }
}

/// What is behind the word, for people.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Merged { commit, ground, rebased_from, .. } => {
                let how = if rebased_from.is_some() { "rebased, " } else { "" };
                let ground = match ground {
                    Ground::Tested => "tested",
                    Ground::Verified => "not tested: nothing is configured; verified",
                };
                write!(f, "{how}{ground}, now at {}", short_commit(commit))
            }
            Self::UpToDate => f.write_str("nothing to merge"),
            Self::Skipped { why } => why.fmt(f),
            Self::Regression { errors, rescue, main_fails, .. } => {
                let first = errors.first().map_or("tests fail", String::as_str);
                let too = if *main_fails { " (main fails as well)" } else { "" };
                write!(f, "{first}{too}; kept as {rescue}")
            }
            Self::Cycle { with } => {
                let with: Vec<_> = with.iter().map(AgentId::as_str).collect();
                write!(f, "waits in a circle: {}", with.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::Gate;

    fn finding(status: Status) -> Finding {
        let (command, end) = ("make test".to_owned(), "exited with code 2".to_owned());
        let tail = vec!["last".to_owned(), "words".to_owned()];
        Finding { gate: Gate::Test, command, status, end, seconds: 1, tail, log: String::new() }
    }

    #[test]
    fn only_tests_that_ran_and_passed_prove_something() {
        assert!(matches!(TestResult::of_tests(&[]), TestResult::Unproven { .. }));
        assert_eq!(TestResult::of_tests(&[finding(Status::Passed)]), TestResult::Passed);
        for status in [Status::Failed, Status::TimedOut, Status::FailedBefore] {
            assert!(
                matches!(TestResult::of_tests(&[finding(status)]), TestResult::Failed { .. }),
                "{status:?}"
            );
        }
    }

    #[test]
    fn a_failure_is_told_with_its_command_and_the_end_of_what_it_printed() {
        let TestResult::Failed { errors } = TestResult::of_tests(&[finding(Status::Failed)]) else {
            panic!("it failed")
        };
        assert_eq!(errors, ["`make test` exited with code 2", "last", "words"]);
    }
}
