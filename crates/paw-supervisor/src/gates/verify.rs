//! Verifies a branch: runs its gates, compares failures and records the result.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use paw_core::config::SandboxLevel;
use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport, PawError};
use paw_host::files;
use paw_host::files::{Access, FileError};
use paw_host::git::{CleanCheckoutError, GitError, Repo};
use paw_host::process::ProcessError;
use paw_worktree::copy::CopyError;
use paw_worktree::{Preparation, RunSandboxError};

use super::baseline;
use super::checkout::GateCheckouts;
use super::outcome::{self, GateProof};
use super::plan::{Gate, GateStep};
use super::prune;
use super::record::{GateRecord, GateRecords};
use super::report::GateReport;
use super::run::{FinishedRun, GOVERNANCE, GateRun, GateRunner, TestedCommit};
use super::stop::StopRequest;
use crate::governance::{AuditRecord, GovernanceDocument};
use crate::proof::{ProofError, ProofStore};

/// Why the gates could not be run. A gate that ran and failed is a [`super::GateFinding`].
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("branch '{0}' does not exist")]
    NoBranch(BranchName),
    #[error("cannot prepare the checkout, so no gate was run: {0}")]
    NotReady(String),
    #[error("interrupted: the gates have no result")]
    Interrupted,
    #[error(transparent)]
    Checkout(#[from] CleanCheckoutError),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Sandbox(#[from] RunSandboxError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Proof(#[from] ProofError),
}

impl Diagnostic for GateError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::NoBranch(_) => {
                report(ErrorCode::InvalidArgument).hint("git branch --list shows the branches")
            }
            Self::NotReady(_) => report(ErrorCode::Internal),
            Self::Interrupted => PawError::UserCancelled.report(),
            Self::Checkout(error) => error.report(),
            Self::Copy(error) => error.report(),
            Self::Sandbox(error) => error.report(),
            Self::Git(error) => error.report(),
            Self::Process(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Proof(error) => error.report(),
        }
    }
}

/// What to verify, and how.
#[derive(Debug, Clone)]
pub struct GateRequest {
    pub repo: Repo,
    pub branch: BranchName,
    /// All configured gates, approved.
    pub steps: Vec<GateStep>,
    /// Run only these gates; all if empty.
    pub only: Vec<Gate>,
    /// The time limit of one gate.
    pub limit: Duration,
    /// The directory of the repository's checkouts.
    pub keep_in: PathBuf,
    /// The signed results.
    pub proofs: ProofStore,
    /// What a checkout needs besides the files of its commit, approved.
    pub preparation: Preparation,
    /// The configured sandbox.
    pub sandbox: Option<SandboxLevel>,
    /// The governance documents passed to the gates.
    pub governance: Vec<GovernanceDocument>,
    /// Once raised, no gate is started and the results of killed gates do not count.
    pub stop: StopRequest,
}

impl GateRequest {
    pub(super) fn checkouts(&self) -> GateCheckouts {
        GateCheckouts::new(&self.repo, &self.keep_in, &self.stop)
    }

    pub(super) fn runner<'a>(
        &'a self,
        records: &'a GateRecords,
        variables: &'a [(String, String)],
    ) -> GateRunner<'a> {
        GateRunner {
            repo: &self.repo,
            preparation: &self.preparation,
            records,
            limit: self.limit,
            variables,
            sandbox: self.sandbox,
            stop: &self.stop,
        }
    }
}

/// How often the gates run if the branch keeps moving.
const TRIES: usize = 3;

/// One run of a branch's gates on its tip.
struct TipRun {
    tip: String,
    ran: Vec<GateRun>,
    /// What the gates did to the repository.
    tampered: Vec<String>,
    /// Why the results say nothing about the branch.
    void: Option<String>,
    fresh: bool,
}

/// Runs the gates of a branch on its tip, compares failures with the main branch, and records the result. If the branch moves
/// meanwhile, they run again on its new tip.
pub fn verify(
    request: &GateRequest,
    now: Timestamp,
    on_line: &mut dyn FnMut(&str),
) -> Result<GateReport, GateError> {
    let records = GateRecords::of(&request.repo.common_dir);
    let mut attempt = 1;
    let mut run = loop {
        let run = run_on_tip(request, &records, on_line)?;
        match &run.void {
            Some(why) if attempt < TRIES && run.tampered.is_empty() => {
                attempt += 1;
                on_line(&format!("{why}: running the gates again ({attempt} of {TRIES})"));
            }
            _ => break run,
        }
    };
    let is_valid = run.void.is_none() && run.tampered.is_empty();
    let main = if is_valid {
        baseline::compare(request, &run.tip, &records, (&mut run.ran, now), on_line)?
    } else {
        None
    };
    let mut record = GateRecord::new(&run.tip, request.branch.as_str(), now);
    record.add(run.ran.into_iter().map(|ran| ran.finding).collect());
    let (proof, reason) = match (run.tampered.first(), run.void) {
        (Some(change), _) => (GateProof::Failed, Some(format!("while the gates ran, {change}"))),
        (None, Some(why)) => (GateProof::Void, Some(why)),
        (None, None) => outcome::prove(&request.steps, &record.findings),
    };
    let audit = AuditRecord::load(records.files(), &run.tip)?;
    let (proof, reason) = outcome::with_audit((proof, reason), &audit);
    record.proof = proof;
    if is_valid {
        records.save(&record)?;
    }
    let base = main.as_ref().map_or(run.tip.as_str(), |main| main.commit.as_str());
    prune::prune(&records, &request.checkouts(), &[&run.tip, base], now);
    let mut errors: Vec<_> =
        run.tampered.iter().map(|change| format!("[security audit] while the gates ran, {change}")).collect();
    if proof == GateProof::Failed {
        errors.extend(outcome::errors(&record.findings, main.as_ref()));
        errors.extend(audit.errors());
    }
    Ok(GateReport {
        branch: request.branch.clone(),
        record: records.file(&run.tip),
        commit: run.tip,
        proof,
        reason,
        baseline: main.map(|main| main.commit),
        findings: record.findings,
        errors,
        governance: request.governance.clone(),
        audit: audit.findings,
        fresh: run.fresh,
    })
}

/// Runs the requested gates on a clean checkout of the tip.
fn run_on_tip(
    request: &GateRequest,
    records: &GateRecords,
    on_line: &mut dyn FnMut(&str),
) -> Result<TipRun, GateError> {
    let find_tip = || request.repo.git().find_tip(&request.branch);
    let tip = find_tip()?.ok_or_else(|| GateError::NoBranch(request.branch.clone()))?;
    let is_wanted = |step: &&GateStep| request.only.is_empty() || request.only.contains(&step.gate);
    let wanted: Vec<_> = request.steps.iter().filter(is_wanted).cloned().collect();
    if wanted.is_empty() {
        return Ok(TipRun { tip, ran: Vec::new(), tampered: Vec::new(), void: None, fresh: false });
    }
    let checkout = request.checkouts().open(&request.branch, on_line)?;
    checkout.check_out(&tip)?;
    let variables = variables(request, records, &tip)?;
    let runner = request.runner(records, &variables);
    let target = TestedCommit { files: checkout.files(), commit: &tip, branch: &request.branch };
    let FinishedRun { ran, changes } = runner.run(&target, &wanted, on_line)?;
    let void = match find_tip()? {
        Some(now) if now == tip => changes.unclear.into_iter().next(),
        Some(_) => Some(format!("{} moved while its gates ran", request.branch)),
        None => Some(format!("{} was deleted while its gates ran", request.branch)),
    };
    Ok(TipRun { tip, ran, tampered: changes.tampered, void, fresh: checkout.is_new() })
}

/// The environment variables of a gate, besides the harmless ones.
fn variables(
    request: &GateRequest,
    records: &GateRecords,
    tip: &str,
) -> Result<Vec<(String, String)>, GateError> {
    let mut variables = vec![
        ("GIT_PAW_BRANCH".to_owned(), request.branch.to_string()),
        ("GIT_PAW_COMMIT".to_owned(), tip.to_owned()),
    ];
    if !request.governance.is_empty() {
        let file = records.files().gate_governance(tip);
        let text = serde_json::to_string_pretty(&request.governance).unwrap_or_default();
        files::write_atomic(&file, text.as_bytes(), Access::Private)?;
        variables.push((GOVERNANCE.to_owned(), file.display().to_string()));
    }
    Ok(variables)
}
