//! `git paw proof`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use paw_core::text::short_commit;
use paw_host::files::{self, Access};
use paw_host::git::Repo;
use paw_host::signing::PublicKey;
use paw_supervisor::proof::{self, ProofCheck, ProofError, ProofStore, SignedProof};
use serde_json::json;

use crate::context::Context;

/// Show, check or export the signed proof of a commit
///
/// 'git paw verify' and 'git paw merge' sign the result of a run of all gates: commit, tree, the exact text of gates and setup,
/// environment, sandbox, result, time and host. Nothing here runs a gate or needs a network. A program of the same user can
/// read the signing key outside of a sandbox.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw proof show HEAD
  git paw proof export feat/auth --output feat-auth.proof.json
  git paw proof check feat-auth.proof.json")]
pub(crate) struct ProofArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(ShowArgs),
    Check(CheckArgs),
    Export(ExportArgs),
}

/// Show the signed proof of a commit
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw proof show HEAD\n  git paw proof show feat/auth --json")]
struct ShowArgs {
    /// A commit, or a branch for its tip
    #[arg(value_name = "COMMIT")]
    commit: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Check a proof: signature, key, commit and tree
///
/// Takes a commit, or a file from 'git paw proof export', also in another clone. The exit code is 0 only if the signature is
/// right, the key is yours or given by --key, the commit exists here with the same tree, and its gates passed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw proof check feat/auth
  git paw proof check feat-auth.proof.json --key \"$(cat their-public-key)\"")]
struct CheckArgs {
    /// A commit, or an exported file
    #[arg(value_name = "COMMIT|FILE")]
    what: String,
    /// Also accept this public key, as 'git paw proof show' prints it
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Write the signed proof of a commit, with its public key, for another clone
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw proof export HEAD >head.proof.json
  git paw proof export feat/auth --output feat-auth.proof.json")]
struct ExportArgs {
    /// A commit, or a branch for its tip
    #[arg(value_name = "COMMIT")]
    commit: String,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ProofArgs {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.action {
            Action::Show(args) => args.json,
            Action::Check(args) => args.json,
            Action::Export(args) => args.output.is_none(),
        }
    }
}

pub(crate) fn run(args: &ProofArgs, context: &Context) -> Result<ExitCode, PawError> {
    let repo = context.require_repo()?;
    let store = ProofStore::open(&repo, &context.dirs);
    match &args.action {
        Action::Show(args) => show(&require(&args.commit, &repo, &store)?, context)?,
        Action::Check(args) => return check(args, &repo, &store, context),
        Action::Export(args) => export(args, &require(&args.commit, &repo, &store)?, context)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn require(name: &str, repo: &Repo, store: &ProofStore) -> Result<SignedProof, PawError> {
    let commit = repo.git().find_object(name, "commit")?;
    let commit = commit.ok_or_else(|| ProofError::Unknown(name.to_owned()))?;
    Ok(store.find(&commit)?.ok_or(ProofError::None(name.to_owned()))?)
}

fn show(proof: &SignedProof, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(proof);
    }
    let record = &proof.record;
    let say = |name: &str, value: &str| context.output.say(&format!("{name:12} {value}"));
    say("commit", &record.commit)?;
    say("tree", &record.tree)?;
    say("branch", &record.branch)?;
    say("result", record.result.as_str())?;
    for gate in &record.gates {
        say(
            "gate",
            &format!("{} {} ({}s): {}", gate.gate, gate.status.as_str(), gate.seconds, gate.command),
        )?;
    }
    for finding in &record.audit {
        let reason = finding.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let (check, by) = (finding.check.title(), &finding.by);
        say("audit", &format!("{} by {by}: {check}: {}{reason}", finding.result.as_str(), finding.item))?;
    }
    for step in &record.setup {
        say("setup", step)?;
    }
    say("environment", &record.environment)?;
    say("sandbox", record.sandbox.as_str())?;
    say("time", &format!("{} on {}", record.at, record.host))?;
    say("key", &proof.key)?;
    say("note", &record.caveat)
}

fn check(args: &CheckArgs, repo: &Repo, store: &ProofStore, context: &Context) -> Result<ExitCode, PawError> {
    let known: Option<PublicKey> = args.key.as_deref().map(str::parse).transpose()?;
    let file = context.cwd.join(&args.what);
    let proof = if file.is_file() { load(&file)? } else { require(&args.what, repo, store)? };
    let found = proof::check(&proof, repo, store, known)?;
    if context.output.wants_json() {
        context.output.document(&json!({"ok": found.is_good(), "check": found, "proof": proof}))?;
    } else {
        print(&found, &proof, context)?;
    }
    Ok(if found.is_good() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILURE) })
}

fn print(found: &ProofCheck, proof: &SignedProof, context: &Context) -> Result<(), PawError> {
    let record = &proof.record;
    for problem in &found.problems {
        context.output.note(problem);
    }
    let word = if found.is_good() { "proven" } else { "not proven" };
    let sandbox = record.sandbox;
    context.output.say(&format!(
        "{word}: {} {} at {} on {}, sandbox {sandbox}",
        short_commit(&record.commit),
        record.result.as_str(),
        record.at,
        record.host
    ))
}

fn load(file: &Path) -> Result<SignedProof, PawError> {
    let text = files::load_text(file)?.unwrap_or_default();
    let reason = |error: serde_json::Error| ProofError::NotAProof {
        path: file.to_path_buf(),
        reason: error.to_string(),
    };
    Ok(serde_json::from_str(&text).map_err(reason)?)
}

fn export(args: &ExportArgs, proof: &SignedProof, context: &Context) -> Result<(), PawError> {
    let Some(path) = &args.output else { return context.output.document(proof) };
    let text = serde_json::to_string_pretty(proof).unwrap_or_default();
    files::write_atomic(&context.cwd.join(path), format!("{text}\n").as_bytes(), Access::Usual)?;
    context.output.say(&format!("wrote {}", path.display()))
}
