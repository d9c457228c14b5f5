//! The project's gates at the end of a run. The pull request relies on their signed result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paw_host::clock::{self, Stopwatch};
use paw_host::files::Dirs;
use paw_host::process::end_time_limited;
use paw_supervisor::gates::{GateChecks, GateError, GateProof, GateReport};
use paw_supervisor::proof::{self, Reuse, SignedProof};

use super::{ActiveRun, WorkError};

/// How often a pause and the time limit are checked while gates run.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// The project's approved gates.
#[derive(Debug, Clone)]
pub enum FinalGates {
    Run(Box<GateChecks>),
    /// Why they do not run here, so that nothing is signed.
    Skip(String),
}

impl FinalGates {
    pub fn new(checks: GateChecks) -> Self {
        if checks.steps.is_empty() { Self::default() } else { Self::Run(Box::new(checks)) }
    }
}

impl Default for FinalGates {
    fn default() -> Self {
        Self::Skip("no gates are configured (test_command and others under [supervisor])".to_owned())
    }
}

impl ActiveRun {
    /// Runs the gates on the run's branch, or finds their signed result. Returns why the branch is not verified otherwise.
    pub(super) fn prove_branch(&self, checks: &GateChecks) -> Result<Result<SignedProof, String>, WorkError> {
        let Some(branch) = self.run.branch.clone() else { return Ok(Err("the run has no branch".into())) };
        let limit = self.tester.limit();
        let request = checks.clone().request(&self.context.repo, branch, limit, &Dirs::from_env()?)?;
        let (is_over, watch) = (AtomicBool::new(false), Stopwatch::start());
        let proven = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    if self.pause.is_raised() || watch.remaining(limit).is_zero() {
                        request.stop.raise();
                        end_time_limited();
                    }
                    thread::sleep(POLL_INTERVAL);
                }
            });
            let proven = proof::verify(&request, Reuse::Signed, clock::now(), &mut |_| ());
            is_over.store(true, Ordering::SeqCst);
            proven
        });
        let report = match proven {
            Ok(proven) => proven.report,
            Err(GateError::Interrupted) => return Ok(Err("the gates did not end in time".to_owned())),
            Err(error) => return Err(error.into()),
        };
        if report.proof != GateProof::Verified {
            return Ok(Err(describe(&report)));
        }
        let signed = request.proofs.find(&report.commit).map_err(GateError::from)?;
        Ok(signed.ok_or_else(|| "the result of the gates was not signed".to_owned()))
    }
}

fn describe(report: &GateReport) -> String {
    let found = report.errors.iter().chain(&report.reason).cloned().collect::<Vec<_>>().join("; ");
    format!("the gates did not pass: {found}")
}
