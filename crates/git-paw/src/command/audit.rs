//! `git paw audit`

use clap::Args;
use paw_broker::client::ClientError;
use paw_broker::message::FeedbackMessage;
use paw_core::paths::PawDir;
use paw_core::text::{plural, short_commit};
use paw_core::{BranchName, ErrorCode, PawError, text};
use paw_host::clock;
use paw_host::config;
use paw_host::git::Repo;
use paw_supervisor::gates::GateError;
use paw_supervisor::governance::{
    self, Audit, AuditCheck, AuditItem, AuditRecord, AuditResult, GovernanceChange, GovernanceDocuments,
    errors,
};
use paw_supervisor::merge::{agent_of, members_of};
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::output::{Style, to_json};

/// Check a branch against the project's governance documents, item by item
///
/// Lists what the documents under [governance] ask for: definition of done, decision records, security checklist, test
/// strategy and constitution, with facts about the commit such as new dependencies. A command cannot decide these items. The
/// supervisor or the user decides them with --pass and --fail; failed items are sent to the agent as feedback, and the commit
/// is not verified until they pass. All decisions are part of the commit's signed proof. The documents are read from the main
/// checkout, so an agent cannot change its own.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw audit feat/auth
  git paw audit feat/auth --commit 1a2b3c4 --pass dod-1,dod-2 --pass adr-1
  git paw audit feat/auth --commit 1a2b3c4 --fail 'security-2=src/login.rs logs the password'")]
pub(crate) struct AuditArgs {
    /// The agent, by its branch, id or a unique prefix; or any other branch
    pub(crate) branch: String,
    /// Items that the commit fulfils, separated by commas; repeatable
    #[arg(long, value_name = "ITEM", value_delimiter = ',', requires = "commit")]
    pub(crate) pass: Vec<String>,
    /// An item that the commit does not fulfil, and why; repeatable
    #[arg(long, value_name = "ITEM=REASON", requires = "commit")]
    pub(crate) fail: Vec<String>,
    /// The commit you looked at; decisions about another one are refused
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Serialize)]
struct AuditAnswer<'a> {
    branch: &'a BranchName,
    #[serde(flatten)]
    audit: &'a Audit,
    missing: &'a [governance::MissingDocument],
    decided: usize,
    items: usize,
    published: bool,
}

/// A branch's tip, and what has to be decided about it.
struct BranchAudit {
    repo: Repo,
    branch: BranchName,
    documents: GovernanceDocuments,
    audit: Audit,
    record: AuditRecord,
}

pub(crate) fn run(args: &AuditArgs, context: &Context) -> Result<(), PawError> {
    let mut found = find(args, context)?;
    let published =
        if args.pass.is_empty() && args.fail.is_empty() { false } else { decide(&mut found, args, context)? };
    if context.output.wants_json() {
        context.output.document(&found.answer(published)?)
    } else {
        show(&found, context)
    }
}

/// The answer for programs, which can only read.
pub(crate) fn answer(args: &AuditArgs, context: &Context) -> Result<Value, PawError> {
    find(args, context)?.answer(false)
}

impl BranchAudit {
    fn answer(&self, published: bool) -> Result<Value, PawError> {
        let (decided, items) = self.audit.progress();
        let (branch, audit, missing) = (&self.branch, &self.audit, self.documents.missing.as_slice());
        to_json(&AuditAnswer { branch, audit, missing, decided, items, published })
    }
}

fn find(args: &AuditArgs, context: &Context) -> Result<BranchAudit, PawError> {
    let repo = context.require_repo()?;
    let branch = context.find_meant_branch(&args.branch)?;
    if let Some(session) = context.find_session()? {
        context.fetch_remote_branch(&session, &branch)?;
    }
    let git = repo.git();
    let tip = git.find_tip(&branch)?.ok_or_else(|| GateError::NoBranch(branch.clone()))?;
    if let Some(wanted) = &args.commit
        && git.find_object(wanted, "commit")?.as_ref() != Some(&tip)
    {
        let moved = format!("{branch} is at {}, not at {}", short_commit(&tip), text::line(wanted));
        return Err(PawError::new(ErrorCode::FailedPrecondition, moved).hint("look at the new commit first"));
    }
    let config = config::load_layers(Some(&repo.root), None)?.resolve()?;
    let documents = governance::load(&config.governance, &repo.root);
    let record = AuditRecord::load(&PawDir::of(&repo.common_dir), &tip)?;
    let audit = Audit::new(&documents.found, GovernanceChange::find(&repo, &tip)?, &record);
    Ok(BranchAudit { repo, branch, documents, audit, record })
}

/// Keeps the decisions and sends failed items to the agent. Returns whether a message was sent.
fn decide(found: &mut BranchAudit, args: &AuditArgs, context: &Context) -> Result<bool, PawError> {
    let client = context.privileged_client("decide an audit")?;
    let now = clock::now();
    let findings = found.audit.decide(&args.pass, &args.fail, (client.agent(), now))?;
    let errors = errors(&findings);
    found.record.add(findings);
    found.record.save(&PawDir::of(&found.repo.common_dir))?;
    let change = found.audit.change.clone();
    found.audit = Audit::new(&found.documents.found, change, &found.record);
    if errors.is_empty() {
        return Ok(false);
    }
    let members = context.find_session()?.map(|session| members_of(&session.receipt)).unwrap_or_default();
    let agent = agent_of(&members, &found.branch);
    let mut message = FeedbackMessage::new(agent, client.agent().clone(), errors);
    message.extra.payload.insert("commit".to_owned(), found.audit.commit.clone().into());
    match client.publish(&message.into(), now) {
        Ok(_) => Ok(true),
        Err(ClientError::NoSession) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn show(found: &BranchAudit, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    for missing in &found.documents.missing {
        output.warn(&missing.to_string());
    }
    if found.documents.found.is_empty() {
        return output.say("no governance documents are configured ([governance] dod, adr, security, …)");
    }
    let change = &found.audit.change;
    for new in &change.new_dependencies {
        output.say(&text::line(&format!("new dependency: {} ({})", new.name, new.manifest.display())))?;
    }
    for check in &found.audit.checks {
        show_check(check, context)?;
    }
    let (decided, items) = found.audit.progress();
    let commit = short_commit(&found.audit.commit);
    let failed = found.record.errors().len();
    let failures = if failed == 0 { String::new() } else { format!(", {failed} failed") };
    output.say(&format!(
        "{} at {commit}: {decided} of {} decided{failures}",
        found.branch,
        plural(items, "item")
    ))
}

fn show_check(check: &AuditCheck, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let path = text::path(&check.path);
    output.say(&output.paint(Style::Bold, &format!("{} ({path})", check.title)))?;
    for record in &check.records {
        output.say(&output.paint(Style::Dim, &format!("  {record}")))?;
    }
    let row = |item: &AuditItem| {
        let result = item.finding.as_ref().map(|finding| finding.result);
        let (word, style) = match result {
            None => ("open", Style::Dim),
            Some(AuditResult::Passed) => ("passed", Style::Success),
            Some(AuditResult::Failed) => ("failed", Style::Error),
        };
        let reason = item.finding.as_ref().and_then(|finding| finding.reason.as_ref());
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let word = output.paint(style, &format!("{word:6}"));
        format!("  {word}  {:16} {}{reason}", item.id, item.text)
    };
    check.items.iter().try_for_each(|item| output.say(&row(item)))
}
