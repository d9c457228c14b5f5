//! Verifies a branch: runs its gates, compares failures and records the result.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport, PawError};
use paw_host::files;
use paw_host::files::{Access, FileError};
use paw_host::git::{GitError, Repo};
use paw_host::process::ProcessError;
use paw_worktree::Preparation;
use paw_worktree::copy::CopyError;

use super::baseline;
use super::checkout::{self, GateCheckout};
use super::governance::GovernanceDocument;
use super::outcome::{self, GateProof};
use super::plan::{Gate, GateStep};
use super::prune;
use super::record::{GateRecord, GateRecords};
use super::report::GateReport;
use super::run::{GateRun, GateRunner};
use super::stop::StopRequest;

/// Why the gates could not be run. A gate that ran and failed is a [`super::GateFinding`].
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("branch '{0}' does not exist")]
    NoBranch(BranchName),
    #[error("cannot create a checkout at {}: the directory is not empty", .0.display())]
    InTheWay(PathBuf),
    #[error("cannot prepare the checkout, so no gate was run: {0}")]
    NotReady(String),
    #[error("interrupted: the gates have no result")]
    Interrupted,
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for GateError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::NoBranch(_) => {
                report(ErrorCode::InvalidArgument).hint("git branch --list shows the branches")
            }
            Self::InTheWay(_) => report(ErrorCode::FailedPrecondition).hint("move it away"),
            Self::NotReady(_) => report(ErrorCode::Internal),
            Self::Interrupted => PawError::UserCancelled.report(),
            Self::Copy(error) => error.report(),
            Self::Git(error) => error.report(),
            Self::Process(error) => error.report(),
            Self::File(error) => error.report(),
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
    /// A directory for checkouts that are kept between runs.
    pub keep_in: PathBuf,
    /// What a kept checkout needs besides the files of its commit, approved.
    pub preparation: Preparation,
    /// The governance documents passed to the gates.
    pub governance: Vec<GovernanceDocument>,
    /// Once raised, no gate is started and the results of killed gates do not count.
    pub stop: StopRequest,
}

impl GateRequest {
    /// A kept checkout of a commit, prepared.
    pub(super) fn checkout(
        &self,
        name: &str,
        commit: &str,
        branch: &BranchName,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<GateCheckout, GateError> {
        let kept = GateCheckout::keep(&self.repo, &self.keep_in.join(name), commit)?;
        let made = checkout::prepare(&self.preparation, &self.repo, &kept.dir, branch, on_line);
        if self.stop.is_raised() {
            return Err(GateError::Interrupted);
        }
        made.map(|()| kept)
    }
}

/// Runs the gates of a branch on its tip, compares failures with the main branch, and records the result.
pub fn verify(
    request: &GateRequest,
    now: Timestamp,
    on_line: &mut dyn FnMut(&str),
) -> Result<GateReport, GateError> {
    let git = request.repo.git();
    let tip = git.find_tip(&request.branch)?;
    let tip = tip.ok_or_else(|| GateError::NoBranch(request.branch.clone()))?;
    let records = GateRecords::of(&request.repo.common_dir);
    let (mut ran, moved) = run_on_tip(request, &tip, &records, on_line)?;
    let main = if moved.is_none() {
        baseline::compare(request, &tip, &records, &mut ran, now, on_line)?
    } else {
        None
    };
    let mut record = match records.load(&tip)? {
        Some(record) => GateRecord { at: now, branch: request.branch.to_string(), ..record },
        None => GateRecord::new(&tip, request.branch.as_str(), now),
    };
    record.add(ran.into_iter().map(|ran| ran.finding).collect());
    let (proof, reason) = match moved {
        Some(reason) => (GateProof::Void, Some(reason)),
        None => outcome::prove(&request.steps, &record.findings),
    };
    record.proof = proof;
    if proof != GateProof::Void {
        records.save(&record)?;
    }
    let base = main.as_ref().map_or(tip.as_str(), |main| main.commit.as_str());
    prune::prune(&records, &request.keep_in, &[&tip, base], now);
    let errors = match proof {
        GateProof::Failed => outcome::errors(&record.findings, main.as_ref()),
        GateProof::Verified | GateProof::Unproven | GateProof::Void => Vec::new(),
    };
    Ok(GateReport {
        branch: request.branch.clone(),
        record: records.file(&tip),
        commit: tip,
        proof,
        reason,
        baseline: main.map(|main| main.commit),
        findings: record.findings,
        errors,
        governance: request.governance.clone(),
    })
}

/// Runs the requested gates on a clean checkout of the tip. The second value says why the result is void, if it is.
fn run_on_tip(
    request: &GateRequest,
    tip: &str,
    records: &GateRecords,
    on_line: &mut dyn FnMut(&str),
) -> Result<(Vec<GateRun>, Option<String>), GateError> {
    let is_wanted = |step: &&GateStep| request.only.is_empty() || request.only.contains(&step.gate);
    let wanted: Vec<_> = request.steps.iter().filter(is_wanted).cloned().collect();
    if wanted.is_empty() {
        return Ok((Vec::new(), None));
    }
    let checkout = match GateCheckout::find_own(&request.repo, &request.branch, tip)? {
        Some(own) => own,
        None => request.checkout("branch", tip, &request.branch, on_line)?,
    };
    let variables = variables(request, records, tip)?;
    let runner = GateRunner {
        dir: &checkout.dir,
        commit: tip,
        records,
        limit: request.limit,
        variables: &variables,
        stop: &request.stop,
    };
    let ran = runner.run(&wanted, on_line)?;
    Ok((ran, find_change(request, tip, &checkout)?))
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
        variables.push(("GIT_PAW_GOVERNANCE".to_owned(), file.display().to_string()));
    }
    Ok(variables)
}

/// Why the result is void, if it is: the branch or its worktree changed.
fn find_change(
    request: &GateRequest,
    tip: &str,
    checkout: &GateCheckout,
) -> Result<Option<String>, GateError> {
    let now = request.repo.git().find_tip(&request.branch)?;
    if now.as_deref() != Some(tip) {
        return Ok(Some(format!("{} moved while its gates ran", request.branch)));
    }
    let changed = if checkout.shared { checkout::changes(&checkout.dir)? } else { Vec::new() };
    Ok(changed.first().map(|entry| {
        let path = entry.path.display().to_string();
        format!("{path:?} changed in the worktree while its gates ran; the next run uses a separate checkout")
    }))
}
