//! Running a branch's checks from beginning to end.

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
use super::governance::Document;
use super::outcome::{self, GateProof};
use super::plan::{Gate, GateStep};
use super::prune;
use super::record::{Record, Records};
use super::report::GateReport;
use super::run::{Ran, Site};
use super::stop::Stop;

/// Checks that could not be run. A check that ran and failed is a [`super::Finding`].
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("no such branch: {0}")]
    NoBranch(BranchName),
    #[error("{} is in the way of a checkout for verification", .0.display())]
    InTheWay(PathBuf),
    #[error("nothing was checked, because the checkout could not be made ready: {0}")]
    NotReady(String),
    #[error("interrupted: nothing was proven")]
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
            Self::NoBranch(_) => report(ErrorCode::InvalidArgument).hint("git branch --list"),
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

/// What is to be verified, and how.
#[derive(Debug, Clone)]
pub struct GateRequest {
    pub repo: Repo,
    pub branch: BranchName,
    /// All configured checks, approved.
    pub steps: Vec<GateStep>,
    /// Only these of them; all if empty.
    pub only: Vec<Gate>,
    /// How long one check may take.
    pub limit: Duration,
    /// A directory for checkouts that are kept between runs.
    pub keep_in: PathBuf,
    /// What a kept checkout needs besides the files of its commit, approved.
    pub preparation: Preparation,
    /// What the check of the specs is given.
    pub governance: Vec<Document>,
    /// Once it is raised nothing more is begun, and what checks say that were ended counts for nothing.
    pub stop: Stop,
}

impl GateRequest {
    /// A kept checkout of a commit, made ready.
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

/// Runs the checks of a branch on its tip, compares failures with the main branch, and writes down what was found.
pub fn verify(
    order: &GateRequest,
    now: Timestamp,
    on_line: &mut dyn FnMut(&str),
) -> Result<GateReport, GateError> {
    let git = order.repo.git();
    let tip = git.find_tip(&order.branch)?;
    let tip = tip.ok_or_else(|| GateError::NoBranch(order.branch.clone()))?;
    let records = Records::of(&order.repo.common_dir);
    let (mut ran, moved) = run_on_tip(order, &tip, &records, on_line)?;
    let main = if moved.is_none() {
        baseline::compare(order, &tip, &records, &mut ran, now, on_line)?
    } else {
        None
    };
    let mut record = match records.load(&tip)? {
        Some(record) => Record { at: now, branch: order.branch.to_string(), ..record },
        None => Record::new(&tip, order.branch.as_str(), now),
    };
    record.add(ran.into_iter().map(|ran| ran.finding).collect());
    let (proof, reason) = match moved {
        Some(reason) => (GateProof::Void, Some(reason)),
        None => outcome::weigh(&order.steps, &record.findings),
    };
    record.proof = proof;
    if proof != GateProof::Void {
        records.save(&record)?;
    }
    let base = main.as_ref().map_or(tip.as_str(), |main| main.commit.as_str());
    prune::prune(&records, &order.keep_in, &[&tip, base], now);
    let errors = match proof {
        GateProof::Failed => outcome::errors(&record.findings, main.as_ref()),
        GateProof::Verified | GateProof::Unproven | GateProof::Void => Vec::new(),
    };
    Ok(GateReport {
        branch: order.branch.clone(),
        record: records.file(&tip),
        commit: tip,
        proof,
        reason,
        baseline: main.map(|main| main.commit),
        findings: record.findings,
        errors,
        governance: order.governance.clone(),
    })
}

/// The wanted checks on a clean checkout of the tip, and why they are about nothing that still is, if so.
fn run_on_tip(
    order: &GateRequest,
    tip: &str,
    records: &Records,
    on_line: &mut dyn FnMut(&str),
) -> Result<(Vec<Ran>, Option<String>), GateError> {
    let is_wanted = |step: &&GateStep| order.only.is_empty() || order.only.contains(&step.gate);
    let wanted: Vec<_> = order.steps.iter().filter(is_wanted).cloned().collect();
    if wanted.is_empty() {
        return Ok((Vec::new(), None));
    }
    let checkout = match GateCheckout::find_own(&order.repo, &order.branch, tip)? {
        Some(own) => own,
        None => order.checkout("branch", tip, &order.branch, on_line)?,
    };
    let variables = variables(order, records, tip)?;
    let site = Site {
        dir: &checkout.dir,
        commit: tip,
        records,
        limit: order.limit,
        variables: &variables,
        stop: &order.stop,
    };
    let ran = site.run(&wanted, on_line)?;
    Ok((ran, what_moved(order, tip, &checkout)?))
}

/// What a check finds in its environment beside the harmless variables.
fn variables(order: &GateRequest, records: &Records, tip: &str) -> Result<Vec<(String, String)>, GateError> {
    let mut variables = vec![
        ("GIT_PAW_BRANCH".to_owned(), order.branch.to_string()),
        ("GIT_PAW_COMMIT".to_owned(), tip.to_owned()),
    ];
    if !order.governance.is_empty() {
        let file = records.files().gate_governance(tip);
        let text = serde_json::to_string_pretty(&order.governance).unwrap_or_default();
        files::write_atomic(&file, text.as_bytes(), Access::Private)?;
        variables.push(("GIT_PAW_GOVERNANCE".to_owned(), file.display().to_string()));
    }
    Ok(variables)
}

/// Why the findings are about nothing that still is, if so.
fn what_moved(order: &GateRequest, tip: &str, checkout: &GateCheckout) -> Result<Option<String>, GateError> {
    let now = order.repo.git().find_tip(&order.branch)?;
    if now.as_deref() != Some(tip) {
        return Ok(Some(format!("{} moved while its gates ran", order.branch)));
    }
    let changed = if checkout.shared { checkout::changes(&checkout.dir)? } else { Vec::new() };
    Ok(changed.first().map(|entry| {
        let path = entry.path.display().to_string();
        format!(
            "{path:?} changed in the worktree while its gates ran; the next run uses a checkout of its own"
        )
    }))
}
