//! Running a branch's checks from beginning to end.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use paw_core::{BranchName, PawError};
use paw_host::files;
use paw_host::files::{Access, FileError};
use paw_host::git::{GitError, Repo};
use paw_host::process::ProcessError;
use paw_worktree::copy::CopyError;
use serde::Serialize;

use super::baseline;
use super::governance::Document;
use super::outcome::{self, Finding, Proof};
use super::place::{self, Checkout};
use super::plan::{Gate, Step};
use super::prune;
use super::ready::Ready;
use super::record::{Record, Records};
use super::run::{Ran, Site};
use super::stop::Stop;

/// Checks that could not be run. A check that ran and failed is a [`Finding`].
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("no such branch: {0}\nhint: git branch --list")]
    NoBranch(BranchName),
    #[error("{} is in the way of a checkout for verification\nhint: move it away", .0.display())]
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
    File(FileError),
}

impl From<GateError> for PawError {
    fn from(error: GateError) -> Self {
        match error {
            GateError::NoBranch(_) => Self::BranchError(error.to_string()),
            GateError::Git(error) => error.into(),
            GateError::File(error) => error.into(),
            GateError::Copy(error) => error.into(),
            GateError::Interrupted => Self::UserCancelled,
            GateError::NotReady(_) => Self::WorktreeError(error.to_string()),
            GateError::InTheWay(_) | GateError::Process(_) => Self::SessionError(error.to_string()),
        }
    }
}

/// What is to be verified, and how.
#[derive(Debug, Clone)]
pub struct Order {
    pub repo: Repo,
    pub branch: BranchName,
    /// All configured checks, approved.
    pub steps: Vec<Step>,
    /// Only these of them; all if empty.
    pub only: Vec<Gate>,
    /// How long one check may take.
    pub limit: Duration,
    /// A directory for checkouts that are kept between runs.
    pub keep_in: PathBuf,
    pub ready: Ready,
    /// What the check of the specs is given.
    pub governance: Vec<Document>,
    /// Once it is raised nothing more is begun, and what checks say that were ended counts for nothing.
    pub stop: Stop,
}

impl Order {
    /// A kept checkout of a commit, made ready.
    pub(super) fn checkout(
        &self,
        name: &str,
        commit: &str,
        branch: &BranchName,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Checkout, GateError> {
        let kept = Checkout::keep(&self.repo, &self.keep_in.join(name), commit)?;
        let made = self.ready.make(&self.repo, &kept.dir, branch, on_line);
        if self.stop.is_raised() {
            return Err(GateError::Interrupted);
        }
        made.map(|()| kept)
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub branch: BranchName,
    pub commit: String,
    #[serde(rename = "verdict")]
    pub proof: Proof,
    /// Why, where it is no plain yes or no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The commit of the main branch that failures were held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    #[serde(rename = "gates")]
    pub findings: Vec<Finding>,
    /// What the agent has to mend, with the tags of the gates.
    pub errors: Vec<String>,
    pub record: PathBuf,
    pub governance: Vec<Document>,
}

/// Runs the checks of a branch on its tip, compares failures with the main branch, and writes down what was found.
pub fn verify(order: &Order, now: Timestamp, on_line: &mut dyn FnMut(&str)) -> Result<Report, GateError> {
    let git = order.repo.git();
    let tip = git.find_object(&order.branch.full_ref(), "commit")?;
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
        Some(reason) => (Proof::Void, Some(reason)),
        None => outcome::weigh(&order.steps, &record.findings),
    };
    record.proof = proof;
    if proof != Proof::Void {
        records.save(&record)?;
    }
    let base = main.as_ref().map_or(tip.as_str(), |main| main.commit.as_str());
    prune::prune(&records, &order.keep_in, &[&tip, base], now);
    let errors = match proof {
        Proof::Failed => outcome::errors(&record.findings, main.as_ref()),
        Proof::Verified | Proof::Unproven | Proof::Void => Vec::new(),
    };
    Ok(Report {
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
    order: &Order,
    tip: &str,
    records: &Records,
    on_line: &mut dyn FnMut(&str),
) -> Result<(Vec<Ran>, Option<String>), GateError> {
    let is_wanted = |step: &&Step| order.only.is_empty() || order.only.contains(&step.gate);
    let wanted: Vec<_> = order.steps.iter().filter(is_wanted).cloned().collect();
    if wanted.is_empty() {
        return Ok((Vec::new(), None));
    }
    let checkout = match Checkout::find_own(&order.repo, &order.branch, tip)? {
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
fn variables(order: &Order, records: &Records, tip: &str) -> Result<Vec<(String, String)>, GateError> {
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
fn what_moved(order: &Order, tip: &str, checkout: &Checkout) -> Result<Option<String>, GateError> {
    let now = order.repo.git().find_object(&order.branch.full_ref(), "commit")?;
    if now.as_deref() != Some(tip) {
        return Ok(Some(format!("{} moved while its gates ran", order.branch)));
    }
    let changed = if checkout.shared { place::changes(&checkout.dir)? } else { Vec::new() };
    Ok(changed.first().map(|entry| {
        let path = entry.path.display().to_string();
        format!(
            "{path:?} changed in the worktree while its gates ran; the next run uses a checkout of its own"
        )
    }))
}
