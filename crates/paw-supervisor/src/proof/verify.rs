//! Verifies a branch and signs the result, or finds a signed result that a run would only repeat.

use std::collections::BTreeMap;

use jiff::Timestamp;
use paw_core::config::SandboxLevel;
use paw_host::process::is_harmless_variable;
use paw_worktree::run_sandbox::level_in_force;
use paw_worktree::{Preparation, RunSandboxError};
use serde::Serialize;

use super::{BuildOutput, ProofConditions, SignedProof};
use crate::gates::record::GateRecords;
use crate::gates::{self, GateError, GateFinding, GateProof, GateReport, GateRequest, GateStep};

/// A report with its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvenReport {
    #[serde(flatten)]
    pub report: GateReport,
    /// Whether no gate had to run, because an equal run was signed before.
    pub reused: bool,
    /// The time of the signed run; none for a part of the gates, or if the result is void.
    pub signed_at: Option<Timestamp>,
}

/// Whether a run may be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// If an equal run was signed.
    Signed,
    Never,
}

/// Verifies a branch. A signed proof of the same tree, gates, setup, environment and sandbox is reused; otherwise the gates
/// run. The result of all of them is signed; that of a part is not, because results of other runs are not proven.
pub fn verify(
    request: &GateRequest,
    reuse: Reuse,
    now: Timestamp,
    on_line: &mut dyn FnMut(&str),
) -> Result<ProvenReport, GateError> {
    let store = &request.proofs;
    let conditions = conditions(&request.steps, &request.preparation, request.sandbox)?;
    if reuse == Reuse::Signed
        && request.only.is_empty()
        && let Some(tip) = request.repo.git().find_tip(&request.branch)?
        && let audit = store.audit(&tip)?
        && audit.errors().is_empty()
        && let Some(proof) = store.find_reusable(&tip, &conditions, &BuildOutput::ALL, now)?
    {
        let proof = store.with_audit(proof, (&tip, request.branch.as_str()), audit)?;
        on_line(&format!("already proven at {}: no gate has to run", proof.record.at));
        let signed_at = Some(proof.record.at);
        return Ok(ProvenReport { report: report(request, tip, proof), reused: true, signed_at });
    }
    let report = gates::verify(request, now, on_line)?;
    let is_whole = request.only.is_empty() && !request.steps.is_empty() && report.proof != GateProof::Void;
    if !is_whole {
        return Ok(ProvenReport { report, reused: false, signed_at: None });
    }
    let subject = (report.commit.as_str(), report.branch.as_str());
    let output = if report.fresh { BuildOutput::Main } else { BuildOutput::Branch };
    let signed = store.record(subject, &conditions, (report.proof, &report.findings), output, now)?;
    Ok(ProvenReport { report, reused: false, signed_at: Some(signed.record.at) })
}

/// What a run with these gates, this preparation and the configured sandbox uses.
pub(crate) fn conditions(
    steps: &[GateStep],
    preparation: &Preparation,
    sandbox: Option<SandboxLevel>,
) -> Result<ProofConditions, RunSandboxError> {
    let copied = preparation.copy.iter().map(|pattern| format!("copy {pattern}"));
    let setup = copied.chain(preparation.setup.texts()).collect();
    Ok(ProofConditions::new(steps.to_vec(), setup, &variables(), level_in_force(sandbox)?))
}

fn variables() -> BTreeMap<String, String> {
    let harmless = std::env::vars_os().filter(|(name, _)| is_harmless_variable(name));
    harmless.map(|(name, value)| (name.to_string_lossy().into(), value.to_string_lossy().into())).collect()
}

/// The report of a signed run.
fn report(request: &GateRequest, commit: String, proof: SignedProof) -> GateReport {
    let record = proof.record;
    GateReport {
        branch: request.branch.clone(),
        record: GateRecords::of(&request.repo.common_dir).file(&record.commit),
        commit,
        proof: record.result,
        reason: None,
        baseline: None,
        findings: record.gates.into_iter().map(GateFinding::from).collect(),
        errors: Vec::new(),
        governance: request.governance.clone(),
        audit: record.audit,
        fresh: record.build_output == BuildOutput::Main,
    }
}
