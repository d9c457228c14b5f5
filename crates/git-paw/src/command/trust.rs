//! `git paw trust`

use std::iter;

use clap::Args;
use paw_autopilot::work::Site;
use paw_core::PawError;
use paw_core::text::plural;
use paw_host::config;
use paw_host::git::Repo;
use paw_host::trust::{Approver, TrustSubject, TrustStore};
use paw_session::trust::{self as session_trust, TrustRequest};
use paw_supervisor::approval as rules;
use paw_supervisor::gates::{self, Gate};
use paw_worktree::setup;
use serde_json::json;

use crate::approval::autopilot::TESTS_QUESTION;
use crate::approval::{self, Consent};
use crate::context::Context;

/// Approve what this repository wants to run on your machine
///
/// Commands that come from a repository (its setup commands and its setup script, its gates) run only after you have
/// approved exactly their text, and so it is with rules for what agents may do unasked; when it changes, you are asked
/// again. Commands from your own configuration need no approval. Agents cannot approve.
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
            &format!("took back {}", plural(taken_back, "approval")),
        );
    }
    let requests = requests(&repo, context)?;
    if requests.is_empty() {
        return answer(context, &json!({"status": "nothing"}), "this repository wants to run nothing");
    }
    // Said even where nobody is asked: what is approved, and what would be.
    if !context.output.wants_json() {
        for (wants, subject) in &requests {
            context.output.say(wants)?;
            for line in subject.details() {
                context.output.say(&format!("  {line}"))?;
            }
        }
    }
    Approver::from_env()?;
    let consent = Consent::of_flag(args.yes);
    for (wants, subject) in &requests {
        if !approval::consents(subject, wants, &repo, consent, context)? {
            return Err(PawError::ConfigError("not approved".to_owned())
                .hint("git paw trust --yes approves without asking"));
        }
    }
    answer(context, &json!({"status": "trusted"}), "approved, until it changes")
}

/// Everything the repository wants to run or to allow, each with the first line of the question about it.
fn requests(repo: &Repo, context: &Context) -> Result<Vec<(&'static str, TrustSubject)>, PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    let config = layers.resolve()?;
    let setup = setup::plan(&config, &layers.repo, &repo.root);
    let gates = gates::plan(&config.supervisor.unwrap_or_default(), &layers.repo);
    let setup = (approval::SETUP_QUESTION, setup.subject().cloned());
    let rules = ("this repository wants agents to be allowed, unasked:", rules::wanted(&layers)?);
    let agents = session_trust::find_agent_request(&layers, Gate::is_command)?;
    let of_session = agents.into_iter().chain(gates.request().cloned());
    let split = |request: TrustRequest| (request.question, Some(request.subject));
    let requests = iter::once(setup)
        .chain(of_session.map(split))
        .chain([rules])
        .chain(paw_autopilot::trust::request(&layers).map(split))
        .chain([(TESTS_QUESTION, test_command(repo, context))]);
    Ok(requests.filter_map(|(wants, subject)| Some((wants, subject?))).collect())
}

/// The command by which a project wants its tests to be run.
fn test_command(repo: &Repo, context: &Context) -> Option<TrustSubject> {
    let site = Site::find(repo.clone(), &context.cwd, &context.search_path).ok()?;
    site.settings.runner.as_ref()?;
    site.detect(None).ok()?.1
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
