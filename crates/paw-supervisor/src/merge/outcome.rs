//! The result of a branch in a merge.

use std::fmt;

use paw_core::AgentId;
use paw_core::text::short_commit;
use serde::{Deserialize, Serialize};

use crate::gates::{GateFinding, GateStatus};

/// The result of a commit's gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitTestResult {
    Passed,
    /// What failed, for the agent that has to fix it.
    Failed {
        errors: Vec<String>,
    },
    /// No gate was run.
    Unproven {
        why: String,
    },
}

impl CommitTestResult {
    /// The result of the project's gates; `tampered` is what they did to the repository. Without gates nothing is proven.
    pub fn of_gates(findings: &[GateFinding], tampered: &[String]) -> Self {
        if findings.is_empty() {
            return Self::Unproven {
                why: "no gate is configured ([supervisor] test_command and others)".to_owned(),
            };
        }
        let lines = |finding: &GateFinding| {
            let first = format!("`{}` {}", finding.command, finding.end);
            [first].into_iter().chain(finding.tail.clone()).collect::<Vec<_>>()
        };
        let failed = findings.iter().filter(|finding| finding.status != GateStatus::Passed);
        let errors: Vec<_> = tampered
            .iter()
            .map(|change| format!("while the gates ran, {change}"))
            .chain(failed.flat_map(lines))
            .collect();
        if errors.is_empty() { Self::Passed } else { Self::Failed { errors } }
    }
}

/// Why main was moved to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeEvidence {
    Tested,
    /// No gate is configured, but the supervisor or the user verified exactly this commit.
    Verified,
}

/// Why a branch was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "skip", rename_all = "snake_case")]
pub enum MergeSkip {
    /// Main has commits that the branch does not have.
    Diverged,
    /// It could not be rebased onto main.
    Conflicts {
        #[serde(rename = "said")]
        reason: String,
    },
    /// It needs a rebase, and its worktree is not ready for one.
    #[serde(rename = "unsettled")]
    NotReady {
        why: String,
    },
    /// It needs a rebase, and the machine of its worktree does not answer.
    Unreachable {
        why: String,
    },
    /// A branch it depends on was not merged.
    Waits {
        on: AgentId,
    },
    Unproven {
        why: String,
    },
    /// Moving main would overwrite files in a checkout.
    Refused {
        why: String,
    },
    /// Main kept moving during the merge.
    #[serde(rename = "restless")]
    BaseKeptMoving,
}

impl fmt::Display for MergeSkip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diverged => f.write_str("diverged: needs a rebase"),
            Self::Conflicts { reason } => write!(f, "cannot be rebased: {reason}"),
            Self::NotReady { why } | Self::Unreachable { why } => write!(f, "not rebased: {why}"),
            Self::Waits { on } => write!(f, "depends on {on}, which was not merged"),
            Self::Unproven { why } => write!(f, "unproven: {why}"),
            Self::Refused { why } => write!(f, "refused: {why}"),
            Self::BaseKeptMoving => f.write_str("the target branch kept moving"),
        }
    }
}

/// The result of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum MergeOutcome {
    Merged {
        /// The commit of main before.
        from: String,
        /// The commit of main after.
        commit: String,
        #[serde(rename = "ground")]
        evidence: MergeEvidence,
        /// The old tip of the branch, if it was rebased onto main.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rebased_from: Option<String>,
    },
    /// Main contains it already.
    UpToDate,
    Skipped {
        why: MergeSkip,
    },
    /// A gate fails on top of main, so main did not move.
    Regression {
        commit: String,
        errors: Vec<String>,
        rescue: String,
        /// Main fails too, so the branch may not be the cause.
        main_fails: bool,
    },
    /// It is part of a dependency cycle.
    Cycle {
        with: Vec<AgentId>,
    },
}

impl MergeOutcome {
    /// Whether main contains the branch.
    pub fn is_in(&self) -> bool {
        matches!(self, Self::Merged { .. } | Self::UpToDate)
    }

    /// The name of the result, as in JSON.
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

/// The details of the result.
impl fmt::Display for MergeOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Merged { commit, evidence, rebased_from, .. } => {
                let how = if rebased_from.is_some() { "rebased, " } else { "" };
                let evidence = match evidence {
                    MergeEvidence::Tested => "tested",
                    MergeEvidence::Verified => "not tested (no gates), verified",
                };
                write!(f, "{how}{evidence}, now at {}", short_commit(commit))
            }
            Self::UpToDate => f.write_str("nothing to merge"),
            Self::Skipped { why } => why.fmt(f),
            Self::Regression { errors, rescue, main_fails, .. } => {
                let first = errors.first().map_or("tests fail", String::as_str);
                let too = if *main_fails { " (main fails too)" } else { "" };
                write!(f, "{first}{too}; kept as {rescue}")
            }
            Self::Cycle { with } => {
                let with: Vec<_> = with.iter().map(AgentId::as_str).collect();
                write!(f, "dependency cycle: {}", with.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::Gate;

    fn finding(status: GateStatus) -> GateFinding {
        let (command, end) = ("make test".to_owned(), "exited with code 2".to_owned());
        let tail = vec!["last".to_owned(), "words".to_owned()];
        let (log, digest) = (String::new(), String::new());
        GateFinding { gate: Gate::Test, command, status, end, seconds: 1, tail, log, digest }
    }

    #[test]
    fn gates_that_changed_the_repository_prove_nothing() {
        let tampered = ["hooks/pre-commit in the git directory was created".to_owned()];
        let result = CommitTestResult::of_gates(&[finding(GateStatus::Passed)], &tampered);
        let CommitTestResult::Failed { errors } = result else { panic!("{result:?}") };
        assert_eq!(errors, [format!("while the gates ran, {}", tampered[0])]);
    }

    #[test]
    fn only_passing_gates_prove_a_commit() {
        assert!(matches!(CommitTestResult::of_gates(&[], &[]), CommitTestResult::Unproven { .. }));
        assert_eq!(CommitTestResult::of_gates(&[finding(GateStatus::Passed)], &[]), CommitTestResult::Passed);
        for status in [GateStatus::Failed, GateStatus::TimedOut, GateStatus::FailedBefore] {
            assert!(
                matches!(
                    CommitTestResult::of_gates(&[finding(status)], &[]),
                    CommitTestResult::Failed { .. }
                ),
                "{status:?}"
            );
        }
    }

    #[test]
    fn a_test_failure_names_its_command_and_the_end_of_its_output() {
        let CommitTestResult::Failed { errors } =
            CommitTestResult::of_gates(&[finding(GateStatus::Failed)], &[])
        else {
            panic!("it failed")
        };
        assert_eq!(errors, ["`make test` exited with code 2", "last", "words"]);
    }
}
