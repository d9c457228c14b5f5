//! `git paw trust`

use clap::Args;
use paw_core::PawError;
use paw_host::config;
use paw_host::trust::{Approver, TrustStore};
use paw_worktree::setup::{self, Trust};
use serde_json::json;

use crate::approval::{self, Consent};
use crate::context::Context;
use crate::output::count;

/// Approve what this repository wants to run on your machine
///
/// Commands that come from a repository (its setup commands and its setup script) run only after you have approved
/// exactly their text; when it changes, you are asked again. Commands from your own configuration need no approval.
/// Agents cannot approve.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw trust              (look at it, then say yes or no)
  git paw trust --yes
  git paw trust --list
  git paw trust --revoke")]
pub(crate) struct TrustArgs {
    /// Approve without being asked
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,
    /// List everything you have approved, in all repositories
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Take back every approval of this repository
    #[arg(long)]
    revoke: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &TrustArgs, context: &Context) -> Result<(), PawError> {
    let store = TrustStore::open(&context.dirs);
    if args.list {
        return list(&store, context);
    }
    let repo = context.require_repo()?;
    if args.revoke {
        let taken_back = store.revoke(&repo)?;
        return answer(
            context,
            &json!({"revoked": taken_back}),
            &format!("took back {}", count(taken_back as u64, "approval")),
        );
    }
    let layers = config::load_layers(Some(&repo.root), None)?;
    let plan = setup::plan(&layers.resolve()?, &layers.repo, &repo.root);
    let Some(subject) = plan.subject().cloned() else {
        return answer(context, &json!({"status": "nothing"}), "this repository wants to run nothing");
    };
    // Said even where nobody is asked: what is approved, and what would be.
    if !context.output.wants_json() {
        for line in subject.details() {
            context.output.say(&line)?;
        }
    }
    Approver::from_env()?;
    let consent = if args.yes { Consent::Given } else { Consent::Ask };
    match approval::decide(plan, &repo, consent, context)?.trust() {
        Trust::NeedsApproval(_) => Err(PawError::ConfigError(
            "not approved: nobody said yes\nhint: git paw trust --yes approves without asking".to_owned(),
        )),
        Trust::Nothing | Trust::Trusted => {
            answer(context, &json!({"status": "trusted"}), "approved, until it changes")
        }
    }
}

fn list(store: &TrustStore, context: &Context) -> Result<(), PawError> {
    let approvals = store.list()?;
    if context.output.wants_json() {
        return context.output.document(&json!({"approvals": approvals}));
    }
    for approval in &approvals {
        context.output.say(&format!("{} ({})", approval.repository, approval.approved_at))?;
        for line in &approval.what {
            context.output.say(&format!("  {line}"))?;
        }
    }
    if approvals.is_empty() {
        context.output.say("nothing is approved")?;
    }
    Ok(())
}

fn answer(context: &Context, document: &serde_json::Value, line: &str) -> Result<(), PawError> {
    if context.output.wants_json() { context.output.document(document) } else { context.output.say(line) }
}
