//! What a commit is tested with: the project's tests, in a worktree that was made ready like any other.

use std::time::Duration;

use paw_core::PawError;
use paw_host::config;
use paw_host::git::Repo;
use paw_supervisor::gates::record::Records;
use paw_supervisor::gates::{self, Gate, Ready, Step};
use paw_supervisor::merge::{Checkout, Proof};
use paw_worktree::setup::{self, SetupPlan, Trust};

use crate::approval::{self, Consent};
use crate::context::Context;

/// The tests, approved.
#[derive(Debug)]
pub(super) struct Tests<'a> {
    repo: &'a Repo,
    context: &'a Context,
    /// The test command, or nothing.
    steps: Vec<Step>,
    limit: Duration,
    ready: Ready,
}

impl<'a> Tests<'a> {
    /// From the configuration of the main checkout, so that no branch chooses its own tests.
    pub(super) fn gather(
        repo: &'a Repo,
        trust: bool,
        limit: Duration,
        context: &'a Context,
    ) -> Result<Self, PawError> {
        let layers = config::load_layers(Some(&repo.root), None)?;
        let merged = layers.resolve()?;
        let consent = if trust { Consent::Given } else { Consent::Ask };
        let plan = gates::plan(&merged.supervisor.clone().unwrap_or_default(), &layers.repo);
        let steps: Vec<_> = plan.steps.iter().filter(|step| step.gate == Gate::Test).cloned().collect();
        let setup = if repo.bare || steps.is_empty() {
            SetupPlan::default()
        } else {
            approval::decide(setup::plan(&merged, &layers.repo, &repo.root), repo, consent, context)?
        };
        let is_approved = |subject| {
            approval::consents(subject, "this repository wants to run, as gates:", repo, consent, context)
        };
        let gates =
            plan.subject().map(|subject| is_approved(subject).map(|yes| (subject, yes))).transpose()?;
        let refused = match (gates, setup.trust()) {
            (Some((subject, false)), _) | (_, Trust::NeedsApproval(subject)) => Some(subject.summary()),
            (Some((_, true)) | None, Trust::Nothing | Trust::Trusted) => None,
        };
        if let Some(commands) = refused {
            let commands = commands.join("\n  ");
            let hint = "look at it, then approve it with --trust";
            return Err(PawError::ConfigError(format!(
                "not approved, so not merged:\n  {commands}\nhint: {hint}"
            )));
        }
        Ok(Self { repo, context, steps, limit, ready: Ready { copy: merged.worktree.copy, setup } })
    }

    pub(super) fn prove(&self, checkout: &Checkout<'_>) -> Result<Proof, PawError> {
        let output = self.context.output;
        let mut on_line = |line: &str| output.progress(line);
        let Checkout { dir, commit, branch } = *checkout;
        if !self.steps.is_empty() {
            self.ready.make(self.repo, dir, branch, &mut on_line)?;
        }
        let records = Records::of(&self.repo.common_dir);
        let findings = gates::check((dir, commit), &self.steps, self.limit, &records, &mut on_line)?;
        Ok(Proof::of_tests(&findings))
    }
}
