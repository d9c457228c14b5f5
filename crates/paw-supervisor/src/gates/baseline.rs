//! Failures held against the main branch, at the commit where the branch left it.

use jiff::Timestamp;
use paw_core::BranchName;
use paw_host::files;

use super::compare;
use super::outcome::{Finding, Status};
use super::plan::GateStep;
use super::record::{Record, Records};
use super::run::{Ran, Site};
use super::verify::{GateError, GateRequest};

/// Marks failures that the main branch has as well, and returns what is known about its commit, where it was asked.
/// A check that was run there before is not run again.
pub(super) fn compare(
    order: &GateRequest,
    tip: &str,
    records: &Records,
    ran: &mut [Ran],
    now: Timestamp,
    on_line: &mut dyn FnMut(&str),
) -> Result<Option<Record>, GateError> {
    let failed: Vec<_> = ran.iter_mut().filter(|ran| ran.finding.status == Status::Failed).collect();
    let Some((main, base)) = find_base(order, tip)?.filter(|_| !failed.is_empty()) else { return Ok(None) };
    if base == tip {
        // It has no commit of its own, so nothing here is its doing.
        for ran in failed {
            ran.finding.status = Status::FailedBefore;
        }
        return Ok(None);
    }
    let mut record = records.load(&base)?.unwrap_or_else(|| Record::new(&base, main.as_str(), now));
    let missing: Vec<GateStep> =
        failed.iter().map(|ran| ran.finding.step()).filter(|step| record.find(step).is_none()).collect();
    if !missing.is_empty() {
        on_line(&format!("the same on {main}, where {} left it:", order.branch));
        let checkout = order.checkout("main", &base, &main, on_line)?;
        let site = Site {
            dir: &checkout.dir,
            commit: &base,
            records,
            limit: order.limit,
            variables: &[],
            stop: &order.stop,
        };
        record.add(site.run(&missing, on_line)?.into_iter().map(|ran| ran.finding).collect());
        records.save(&record)?;
    }
    for ran in failed {
        let step = ran.finding.step();
        let is_failure = |before: &&Finding| matches!(before.status, Status::Failed | Status::FailedBefore);
        let Some(before) = record.find(&step).filter(is_failure) else { continue };
        let printed = files::load_text(&records.log(&base, step.gate))?.unwrap_or_default();
        if before.end == ran.finding.end && compare::is_old(&printed, &ran.output) {
            ran.finding.status = Status::FailedBefore;
        }
    }
    Ok(Some(record))
}

/// The main branch and the commit at which the branch left it. The main branch itself is compared with nothing.
fn find_base(order: &GateRequest, tip: &str) -> Result<Option<(BranchName, String)>, GateError> {
    let git = order.repo.git();
    let Some(main) = git.find_default_branch()?.filter(|main| *main != order.branch) else { return Ok(None) };
    let base = git.find(["merge-base", &main.full_ref(), tip])?;
    Ok(base.map(|base| (main, base)))
}
