//! What the results of the gates mean, one by one and together.

use paw_core::text::plural;
use serde::{Deserialize, Serialize};

use super::plan::{Gate, GateStep};
use super::record::GateRecord;
use crate::governance::AuditRecord;

/// The result of one gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    Passed,
    Failed,
    /// It failed, and the main branch fails in the same way.
    FailedBefore,
    TimedOut,
}

impl GateStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::FailedBefore => "failed_before",
            Self::TimedOut => "timed_out",
        }
    }
}

/// One gate that was run on one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateFinding {
    pub gate: Gate,
    pub command: String,
    pub status: GateStatus,
    /// How it exited: `exited with code 1`.
    pub end: String,
    pub seconds: u64,
    /// The end of its output; `log` is the path of all of it.
    pub tail: Vec<String>,
    pub log: String,
    /// Of all of its output. A log on disk can be changed by any program.
    #[serde(skip)]
    pub digest: String,
}

impl GateFinding {
    /// The gate and command that were run.
    pub(super) fn step(&self) -> GateStep {
        GateStep { gate: self.gate, command: self.command.clone() }
    }
}

/// What the gates prove about a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateProof {
    Verified,
    Failed,
    /// No gate failed, and none proves it.
    Unproven,
    /// The branch moved, or files changed, while the gates ran.
    Void,
}

impl GateProof {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Failed => "failed",
            Self::Unproven => "unproven",
            Self::Void => "void",
        }
    }
}

/// What these findings prove, and why if they do not verify the commit. `steps` are all configured gates; one without a
/// finding leaves the commit unproven.
pub(super) fn prove(steps: &[GateStep], findings: &[GateFinding]) -> (GateProof, Option<String>) {
    let of = |step: &GateStep| {
        findings.iter().find(|finding| finding.gate == step.gate && finding.command == step.command)
    };
    let failed = |finding: &GateFinding| matches!(finding.status, GateStatus::Failed | GateStatus::TimedOut);
    if steps.iter().filter_map(of).any(failed) {
        return (GateProof::Failed, None);
    }
    if steps.is_empty() {
        return (
            GateProof::Unproven,
            Some("no gate is configured ([supervisor] test_command and others)".to_owned()),
        );
    }
    let missing: Vec<_> =
        steps.iter().filter(|step| of(step).is_none()).map(|step| step.gate.as_str()).collect();
    if !missing.is_empty() {
        return (GateProof::Unproven, Some(format!("not all gates ran; missing: {}", missing.join(", "))));
    }
    if steps.iter().filter_map(of).any(|finding| finding.status == GateStatus::Passed) {
        (GateProof::Verified, None)
    } else {
        (GateProof::Unproven, Some("every gate also fails on the main branch".to_owned()))
    }
}

/// A commit with failed items in its audit is not verified.
pub(super) fn with_audit(
    (proof, reason): (GateProof, Option<String>),
    audit: &AuditRecord,
) -> (GateProof, Option<String>) {
    let failed = audit.errors().len();
    if proof != GateProof::Verified || failed == 0 {
        return (proof, reason);
    }
    let items = plural(failed, "item");
    (GateProof::Failed, Some(format!("{items} of its audit failed (git paw audit)")))
}

/// What the agent has to fix, with the tag of each gate. `main` is the record of the main branch.
pub(super) fn errors(findings: &[GateFinding], main: Option<&GateRecord>) -> Vec<String> {
    let mut errors = Vec::new();
    for finding in
        findings.iter().filter(|finding| matches!(finding.status, GateStatus::Failed | GateStatus::TimedOut))
    {
        let tail = finding.tail.iter().flat_map(|line| ["\n  ", line.as_str()]).collect::<String>();
        errors.push(format!(
            "{} {}: `{}` {}{tail}",
            finding.gate.tag(),
            finding.gate,
            finding.command,
            finding.end
        ));
        let passes = |main: &&GateRecord| {
            main.find(&finding.step()).is_some_and(|main| main.status == GateStatus::Passed)
        };
        if let Some(main) = main.filter(passes).filter(|_| finding.gate == Gate::Test) {
            errors.push(format!(
                "[regression] `{}` passes on {} ({})",
                finding.command, main.branch, main.commit
            ));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(gate: Gate) -> GateStep {
        GateStep { gate, command: gate.to_string() }
    }

    fn finding(gate: Gate, status: GateStatus) -> GateFinding {
        let tail = vec!["last line".to_owned()];
        let end = "exited with code 1".to_owned();
        let (command, log, digest) = (gate.to_string(), "log".to_owned(), String::new());
        GateFinding { gate, command, status, end, seconds: 1, tail, log, digest }
    }

    #[test]
    fn a_commit_is_unproven_without_configured_gates() {
        assert_eq!(prove(&[], &[]).0, GateProof::Unproven);
    }

    #[test]
    fn a_commit_is_verified_only_if_all_gates_pass() {
        let steps = [step(Gate::Lint), step(Gate::Test)];
        let lint = finding(Gate::Lint, GateStatus::Passed);
        let (proof, why) = prove(&steps, std::slice::from_ref(&lint));
        assert_eq!((proof, why.unwrap().as_str()), (GateProof::Unproven, "not all gates ran; missing: test"));
        assert_eq!(
            prove(&steps, &[lint.clone(), finding(Gate::Test, GateStatus::Passed)]).0,
            GateProof::Verified
        );
        for bad in [GateStatus::Failed, GateStatus::TimedOut] {
            assert_eq!(prove(&steps, &[lint.clone(), finding(Gate::Test, bad)]).0, GateProof::Failed);
        }
        let other = GateFinding { command: "weaker".to_owned(), ..finding(Gate::Test, GateStatus::Passed) };
        assert_eq!(prove(&steps, &[lint, other]).0, GateProof::Unproven);
    }

    #[test]
    fn failures_of_the_main_branch_neither_fail_nor_verify_a_commit() {
        let steps = [step(Gate::Lint), step(Gate::Test)];
        let old = [finding(Gate::Lint, GateStatus::FailedBefore), finding(Gate::Test, GateStatus::Passed)];
        assert_eq!(prove(&steps, &old).0, GateProof::Verified);
        let all = [Gate::Lint, Gate::Test].map(|gate| finding(gate, GateStatus::FailedBefore));
        assert_eq!(prove(&steps, &all).0, GateProof::Unproven);
    }

    #[test]
    fn every_failure_has_the_tag_of_its_gate() {
        let findings = [
            finding(Gate::Test, GateStatus::Failed),
            finding(Gate::Doc, GateStatus::TimedOut),
            finding(Gate::Spec, GateStatus::Failed),
            finding(Gate::Security, GateStatus::Failed),
            finding(Gate::Fmt, GateStatus::FailedBefore),
        ];
        let mut main = GateRecord::new("abc", "main", jiff::Timestamp::UNIX_EPOCH);
        main.add(vec![finding(Gate::Test, GateStatus::Passed), finding(Gate::Doc, GateStatus::Passed)]);
        let errors = errors(&findings, Some(&main));
        let tags: Vec<_> = errors.iter().map(|error| error.split(']').next().unwrap()).collect();
        assert_eq!(tags, ["[testing", "[regression", "[doc audit", "[spec audit", "[security audit"]);
        assert_eq!(errors[0], "[testing] test: `test` exited with code 1\n  last line");
    }
}
