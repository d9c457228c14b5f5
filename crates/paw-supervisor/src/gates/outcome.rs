//! What the ends of single checks mean, and all of them together.

use serde::{Deserialize, Serialize};

use super::plan::{Gate, GateStep};
use super::record::Record;

/// How one check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Passed,
    Failed,
    /// It failed, but the main branch fails in the same way.
    FailedBefore,
    TimedOut,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::FailedBefore => "failed_before",
            Self::TimedOut => "timed_out",
        }
    }
}

/// One check that was run on one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub gate: Gate,
    pub command: String,
    pub status: Status,
    /// How it ended, in words: `exited with code 1`.
    pub end: String,
    pub seconds: u64,
    /// The end of what it printed, and where all of it is.
    pub tail: Vec<String>,
    pub log: String,
}

impl Finding {
    /// What was run.
    pub(super) fn step(&self) -> GateStep {
        GateStep { gate: self.gate, command: self.command.clone() }
    }
}

/// What is proven about a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateProof {
    Verified,
    Failed,
    /// Nothing speaks against it, and nothing for it.
    Unproven,
    /// The branch moved, or files changed, while the checks ran.
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

/// The proof that these findings give, and why where it is not a plain yes. `steps` are all configured checks: one
/// without a finding leaves the commit unproven.
pub(super) fn weigh(steps: &[GateStep], findings: &[Finding]) -> (GateProof, Option<String>) {
    let of = |step: &GateStep| {
        findings.iter().find(|finding| finding.gate == step.gate && finding.command == step.command)
    };
    let failed = |finding: &Finding| matches!(finding.status, Status::Failed | Status::TimedOut);
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
        return (GateProof::Unproven, Some(format!("not run on this commit yet: {}", missing.join(", "))));
    }
    if steps.iter().filter_map(of).any(|finding| finding.status == Status::Passed) {
        (GateProof::Verified, None)
    } else {
        (GateProof::Unproven, Some("every gate fails on the main branch as well".to_owned()))
    }
}

/// What the agent has to mend, each with the tag of its gate. `main` is what is known about the main branch.
pub(super) fn errors(findings: &[Finding], main: Option<&Record>) -> Vec<String> {
    let mut errors = Vec::new();
    for finding in
        findings.iter().filter(|finding| matches!(finding.status, Status::Failed | Status::TimedOut))
    {
        let tail = finding.tail.iter().flat_map(|line| ["\n  ", line.as_str()]).collect::<String>();
        errors.push(format!(
            "{} {}: `{}` {}{tail}",
            finding.gate.tag(),
            finding.gate,
            finding.command,
            finding.end
        ));
        let passes =
            |main: &&Record| main.find(&finding.step()).is_some_and(|main| main.status == Status::Passed);
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

    fn finding(gate: Gate, status: Status) -> Finding {
        let tail = vec!["last line".to_owned()];
        let end = "exited with code 1".to_owned();
        Finding { gate, command: gate.to_string(), status, end, seconds: 1, tail, log: "log".to_owned() }
    }

    #[test]
    fn nothing_configured_proves_nothing() {
        assert_eq!(weigh(&[], &[]).0, GateProof::Unproven);
    }

    #[test]
    fn only_all_configured_checks_together_verify() {
        let steps = [step(Gate::Lint), step(Gate::Test)];
        let lint = finding(Gate::Lint, Status::Passed);
        let (proof, why) = weigh(&steps, std::slice::from_ref(&lint));
        assert_eq!((proof, why.unwrap().as_str()), (GateProof::Unproven, "not run on this commit yet: test"));
        assert_eq!(
            weigh(&steps, &[lint.clone(), finding(Gate::Test, Status::Passed)]).0,
            GateProof::Verified
        );
        for bad in [Status::Failed, Status::TimedOut] {
            assert_eq!(weigh(&steps, &[lint.clone(), finding(Gate::Test, bad)]).0, GateProof::Failed);
        }
        let other = Finding { command: "weaker".to_owned(), ..finding(Gate::Test, Status::Passed) };
        assert_eq!(weigh(&steps, &[lint, other]).0, GateProof::Unproven);
    }

    #[test]
    fn an_old_failure_is_not_the_agents_but_proves_nothing_by_itself() {
        let steps = [step(Gate::Lint), step(Gate::Test)];
        let old = [finding(Gate::Lint, Status::FailedBefore), finding(Gate::Test, Status::Passed)];
        assert_eq!(weigh(&steps, &old).0, GateProof::Verified);
        let all = [Gate::Lint, Gate::Test].map(|gate| finding(gate, Status::FailedBefore));
        assert_eq!(weigh(&steps, &all).0, GateProof::Unproven);
    }

    #[test]
    fn every_failure_is_told_with_the_tag_of_its_gate() {
        let findings = [
            finding(Gate::Test, Status::Failed),
            finding(Gate::Doc, Status::TimedOut),
            finding(Gate::Spec, Status::Failed),
            finding(Gate::Security, Status::Failed),
            finding(Gate::Fmt, Status::FailedBefore),
        ];
        let mut main = Record::new("abc", "main", jiff::Timestamp::UNIX_EPOCH);
        main.add(vec![finding(Gate::Test, Status::Passed), finding(Gate::Doc, Status::Passed)]);
        let errors = errors(&findings, Some(&main));
        let tags: Vec<_> = errors.iter().map(|error| error.split(']').next().unwrap()).collect();
        assert_eq!(tags, ["[testing", "[regression", "[doc audit", "[spec audit", "[security audit"]);
        assert_eq!(errors[0], "[testing] test: `test` exited with code 1\n  last line");
    }
}
