//! `git paw trust`

use std::iter;

use clap::Args;
use paw_autopilot::work::ProjectContext;
use paw_core::PawError;
use paw_core::text::plural;
use paw_host::config;
use paw_host::git::Repo;
use paw_host::trust::{TrustStore, TrustSubject};
use paw_session::trust::{self as session_trust, TrustRequest};
use paw_supervisor::approval as rules;
use paw_supervisor::gates::{self, Gate};
use paw_worktree::setup;
use serde_json::json;

use crate::approval::autopilot::TESTS_QUESTION;
use crate::approval::{self, Consent};
use crate::context::Context;

/// Approve the commands that this repository wants to run
///
/// A repository's own commands (setup commands and script, gates) run only after you have approved their exact text. The
/// same holds for its rules about what agents may do without asking. When the text changes, git paw asks again. Commands
/// from your own configuration need no approval. Agents cannot approve.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw trust              (shows the commands and asks)
  git paw trust --yes
  git paw trust --list
  git paw trust --revoke")]
pub(crate) struct TrustArgs {
    /// Approve without asking
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,
    /// List all approvals, of all repositories
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Revoke all approvals of this repository
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
        let revoked = store.revoke(&repo)?;
        return answer(
            context,
            &json!({"revoked": revoked}),
            &format!("revoked {}", plural(revoked, "approval")),
        );
    }
    let requests = requests(&repo, context)?;
    if requests.is_empty() {
        return answer(context, &json!({"status": "nothing"}), "this repository has no commands to approve");
    }
    // Printed even without a prompt, so that the user sees what needs approval.
    if !context.output.wants_json() {
        for (wants, subject) in &requests {
            context.output.say(wants)?;
            for line in subject.details() {
                context.output.say(&format!("  {line}"))?;
            }
        }
    }
    context.approver()?;
    let consent = Consent::of_flag(args.yes);
    for (wants, subject) in &requests {
        if !approval::consents(subject, wants, &repo, consent, context)? {
            return Err(PawError::ConfigError("not approved".to_owned())
                .hint("use 'git paw trust --yes' to approve without asking"));
        }
    }
    answer(context, &json!({"status": "trusted"}), "approved until it changes")
}

/// Everything that needs approval, each with the first line of its question.
fn requests(repo: &Repo, context: &Context) -> Result<Vec<(&'static str, TrustSubject)>, PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    let config = layers.resolve()?;
    let setup = setup::plan(&config, &layers.repo, &repo.root);
    let gates = gates::plan(&config.supervisor.unwrap_or_default(), &layers.repo);
    let setup = (approval::SETUP_QUESTION, setup.subject().cloned());
    let rules =
        ("this repository wants to allow agents, without asking:", rules::find_requested_rules(&layers)?);
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

/// The project's own test command.
fn test_command(repo: &Repo, context: &Context) -> Option<TrustSubject> {
    let site = ProjectContext::find(repo.clone(), &context.cwd, &context.search_path).ok()?;
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
        context.output.say("no approvals")?;
    }
    Ok(())
}

fn answer(context: &Context, document: &serde_json::Value, line: &str) -> Result<(), PawError> {
    if context.output.wants_json() { context.output.document(document) } else { context.output.say(line) }
}
