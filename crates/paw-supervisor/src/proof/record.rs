//! What a record says, its bytes, and when it can stand in for another run.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use paw_core::config::SandboxLevel;
use paw_host::signing::{PublicKey, SecretKey};
use paw_host::trust::TrustSubject;
use serde::{Deserialize, Serialize};

use crate::gates::{Gate, GateFinding, GateProof, GateStatus, GateStep};
use crate::governance::AuditFinding;

/// The format this version writes and reads.
const FORMAT: u32 = 1;
/// Signed in front of a record, so that a signature means nothing else.
const PURPOSE: &[u8] = b"git paw proof 1\n";
/// How long a record can stand in for a run.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);
const CAVEAT: &str = "A program of the same user can read the signing key outside of a sandbox.";

/// One gate of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvenGate {
    pub gate: Gate,
    pub command: String,
    pub status: GateStatus,
    /// How it exited.
    pub end: String,
    pub seconds: u64,
    /// A digest of its output.
    pub output: String,
}

impl From<&GateFinding> for ProvenGate {
    fn from(finding: &GateFinding) -> Self {
        Self {
            gate: finding.gate,
            command: finding.command.clone(),
            status: finding.status,
            end: finding.end.clone(),
            seconds: finding.seconds,
            output: finding.digest.clone(),
        }
    }
}

impl From<ProvenGate> for GateFinding {
    fn from(gate: ProvenGate) -> Self {
        Self {
            gate: gate.gate,
            command: gate.command,
            status: gate.status,
            end: gate.end,
            seconds: gate.seconds,
            tail: Vec::new(),
            log: String::new(),
            digest: gate.output,
        }
    }
}

/// Whose build output, in ignored files, a run could use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildOutput {
    /// None, or what runs of the main branch left.
    Main,
    /// Also what earlier runs of the same branch left, which might help it pass.
    Branch,
}

impl BuildOutput {
    pub const ALL: [Self; 2] = [Self::Main, Self::Branch];
}

/// A run of all gates on one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofRecord {
    pub format: u32,
    /// Identifies the repository by the path of its git directory.
    pub repository: String,
    pub commit: String,
    pub tree: String,
    pub branch: String,
    pub result: GateProof,
    /// With the exact text of their commands.
    pub gates: Vec<ProvenGate>,
    /// The exact text of what prepared the checkout.
    pub setup: Vec<String>,
    pub environment: String,
    pub sandbox: SandboxLevel,
    pub build_output: BuildOutput,
    /// What the supervisor or the user decided about governance documents. Not proven by a command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<AuditFinding>,
    pub at: Timestamp,
    pub host: String,
    /// The version of git paw.
    pub version: String,
    pub caveat: String,
}

/// A record as it is stored and exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedProof {
    pub record: ProofRecord,
    /// The public key, in hexadecimal digits.
    pub key: String,
    pub signature: String,
}

/// What a run would use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofConditions {
    /// All configured gates.
    pub steps: Vec<GateStep>,
    pub setup: Vec<String>,
    pub environment: String,
    pub sandbox: SandboxLevel,
}

impl ProofConditions {
    /// `variables` are those that the gates get. Only their digest is kept: paths tell who the user is.
    pub fn new(
        steps: Vec<GateStep>,
        setup: Vec<String>,
        variables: &BTreeMap<String, String>,
        sandbox: SandboxLevel,
    ) -> Self {
        // Gates have no terminal.
        let kept = variables.iter().filter(|(name, _)| name.as_str() != "TERM");
        let subject = TrustSubject::new("environment");
        let subject =
            kept.fold(subject, |subject, (name, value)| subject.with(name.as_str(), value.as_str()));
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        Self {
            steps,
            setup,
            environment: format!("{os} {arch}, variables {}", subject.fingerprint()),
            sandbox,
        }
    }
}

impl ProofRecord {
    /// A record of a run that ended `at` this time.
    pub(super) fn new(
        repository: String,
        (commit, tree, branch): (&str, &str, &str),
        conditions: &ProofConditions,
        (result, findings): (GateProof, &[GateFinding]),
        build_output: BuildOutput,
        (at, host): (Timestamp, String),
    ) -> Self {
        Self {
            format: FORMAT,
            repository,
            commit: commit.to_owned(),
            tree: tree.to_owned(),
            branch: branch.to_owned(),
            result,
            gates: findings.iter().map(ProvenGate::from).collect(),
            setup: conditions.setup.clone(),
            environment: conditions.environment.clone(),
            sandbox: conditions.sandbox,
            build_output,
            audit: Vec::new(),
            at,
            host,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            caveat: CAVEAT.to_owned(),
        }
    }

    /// Whether a run under these conditions would repeat this one, which passed without failures that main has, too.
    pub fn can_stand_in(&self, conditions: &ProofConditions, now: Timestamp) -> bool {
        let age = now.duration_since(self.at);
        self.result == GateProof::Verified
            && self.gates.iter().all(|gate| gate.status == GateStatus::Passed)
            && self.is_of(conditions)
            && (SignedDuration::ZERO..=LIFETIME).contains(&age)
    }

    /// Whether it was a run of exactly these gates, prepared and confined like this.
    pub fn is_of(&self, conditions: &ProofConditions) -> bool {
        let step = |gate: &ProvenGate| GateStep { gate: gate.gate, command: gate.command.clone() };
        self.gates.iter().map(step).eq(conditions.steps.iter().cloned()) && self.is_under(conditions)
    }

    /// Whether the run was prepared and confined like this. The gates may be others.
    pub fn is_under(&self, conditions: &ProofConditions) -> bool {
        self.setup == conditions.setup
            && self.environment == conditions.environment
            && self.sandbox == conditions.sandbox
    }

    /// The bytes that are signed: the fields in their order as compact JSON, behind the purpose of the signature.
    fn bytes(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        [PURPOSE, &json].concat()
    }
}

impl SignedProof {
    pub(super) fn new(record: ProofRecord, key: &SecretKey) -> Self {
        let signature = key.sign(&record.bytes());
        Self { record, key: key.public().to_string(), signature }
    }

    /// The key that signed it, if the signature is right and the format known.
    pub fn signer(&self) -> Option<PublicKey> {
        let key: PublicKey = self.key.parse().ok()?;
        let is_right = self.record.format == FORMAT && key.has_signed(&self.record.bytes(), &self.signature);
        is_right.then_some(key)
    }
}
