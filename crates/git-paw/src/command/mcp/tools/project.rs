//! What is known about the project: documents, files, history, learnings, skills and specs. Reads only.

use std::path::{Path, PathBuf};

use paw_broker::learnings;
use paw_core::PawError;
use paw_host::config;
use paw_session::untrusted_text;
use paw_session::{skills, specs};
use paw_supervisor::governance::{self, GovernanceCheck, GovernanceDocument};
use paw_supervisor::project::{ProjectCommit, ProjectDiff, ProjectFiles};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet::Project;
use super::NoArguments;
use crate::command::audit::{self, AuditArgs};
use crate::context::Context;
use crate::output::to_json;

const DEFAULT_COMMITS: usize = 20;

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, description, call: fn(NoArguments, &Context) -> Result<Value, PawError>| {
        Tool::new(Project, name, Effect::Reads, description, call)
    };
    vec![
        tool(
            "governance",
            "Return the project's governance documents (definition of done, security checklist, test strategy, constitution, \
             …) with their text and checklists.",
            |_, context| governance(context),
        ),
        Tool::new(
            Project,
            "decision_records",
            Effect::Reads,
            "List the architecture decision records, or return the text of one.",
            decision_records,
        ),
        Tool::new(
            Project,
            "audit",
            Effect::Reads,
            "List what the governance documents ask for, item by item, for a branch, with facts about its change.",
            |args: OneBranch, context| {
                let branch = args.branch;
                audit::answer(
                    &AuditArgs { branch, pass: Vec::new(), fail: Vec::new(), commit: None, json: true },
                    context,
                )
            },
        ),
        tool("docs", "List the documentation files, and return the README.", |_, context| docs(context)),
        Tool::new(
            Project,
            "files",
            Effect::Reads,
            "List the committed files, or those below a directory.",
            |args: Below, context| {
                to_json(&open(args.revision.as_deref(), context)?.list(args.path.as_deref())?)
            },
        ),
        Tool::new(
            Project,
            "file_read",
            Effect::Reads,
            "Return lines of a committed text file.",
            |args: ReadFile, context| {
                let files = open(args.revision.as_deref(), context)?;
                to_json(&files.read(&args.path, args.first_line.unwrap_or(1), args.lines)?)
            },
        ),
        Tool::new(
            Project,
            "file_search",
            Effect::Reads,
            "Find lines of committed files that contain a text, in any case.",
            |args: Search, context| {
                let files = open(args.revision.as_deref(), context)?;
                to_json(&files.search(&args.text, args.path.as_deref())?)
            },
        ),
        Tool::new(
            Project,
            "commits",
            Effect::Reads,
            "List the newest commits of a branch.",
            |args: Commits, context| {
                let limit = args.limit.unwrap_or(DEFAULT_COMMITS);
                let commits = ProjectCommit::newest(&context.cwd, args.branch.as_deref(), limit)?;
                Ok(json!({"commits": to_json(&commits)?}))
            },
        ),
        Tool::new(
            Project,
            "diff",
            Effect::Reads,
            "Return the committed changes of a branch since it left the default branch, or since `base`.",
            |args: Diff, context| {
                to_json(&ProjectDiff::find(&context.cwd, &args.branch, args.base.as_deref())?)
            },
        ),
        tool(
            "learnings",
            "Return what earlier sessions noticed, and which of it still applies.",
            |_, context| learned(context),
        ),
        Tool::new(
            Project,
            "skill",
            Effect::Reads,
            "Return the instructions of a skill: coordination for agents, supervisor for the supervisor.",
            |args: OneSkill, context| skill(&args.name, context),
        ),
        tool(
            "spec_graph",
            "Return the pending specs and which of them refer to others with [[id]].",
            |_, context| spec_graph(context),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneBranch {
    /// The branch
    branch: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneRecord {
    /// The file name from the list (default: list all)
    name: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneSkill {
    /// The name, such as coordination
    name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Below {
    /// A directory or file in the project (default: all files)
    path: Option<String>,
    /// A branch or commit (default: the one that is checked out)
    revision: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// The path in the project
    path: String,
    /// The first line (default 1)
    first_line: Option<usize>,
    /// How many lines (default and at most 1000)
    lines: Option<usize>,
    /// A branch or commit (default: the one that is checked out)
    revision: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// The text to find
    text: String,
    /// A directory or file in the project (default: all files)
    path: Option<String>,
    /// A branch or commit (default: the one that is checked out)
    revision: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Commits {
    /// The branch or commit (default: the one that is checked out)
    branch: Option<String>,
    /// How many (default 20, at most 200)
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Diff {
    /// The branch or commit
    branch: String,
    /// Compare with where it left this branch (default: the default branch)
    base: Option<String>,
}

fn open(revision: Option<&str>, context: &Context) -> Result<ProjectFiles, PawError> {
    Ok(ProjectFiles::open(&context.cwd, revision)?)
}

/// The main checkout and its documents.
fn documents(context: &Context) -> Result<(PathBuf, governance::GovernanceDocuments), PawError> {
    let repo = context.require_repo()?;
    let config = config::load_layers(Some(&repo.root), None)?.resolve()?;
    let root = repo.root.canonicalize().unwrap_or(repo.root);
    let documents = governance::load(&config.governance, &root);
    Ok((root, documents))
}

fn text_of(path: &Path, root: &Path) -> Option<String> {
    Some(untrusted_text::read(&root.join(path), Some(root)).ok().flatten()?.text)
}

fn governance(context: &Context) -> Result<Value, PawError> {
    let (root, documents) = documents(context)?;
    let whole = |document: &GovernanceDocument| -> Result<Value, PawError> {
        let mut whole = to_json(document)?;
        whole["title"] = document.name.title().into();
        whole["content"] = text_of(&document.path, &root).into();
        Ok(whole)
    };
    let found: Vec<Value> = documents.found.iter().map(whole).collect::<Result<_, _>>()?;
    Ok(json!({"documents": found, "missing": to_json(&documents.missing)?}))
}

fn decision_records(args: OneRecord, context: &Context) -> Result<Value, PawError> {
    let (root, documents) = documents(context)?;
    let records = documents.found.iter().filter(|document| document.name == GovernanceCheck::Adr);
    let mut listed = Vec::new();
    for document in records {
        for line in &document.records {
            let (name, title) = line.split_once(": ").unwrap_or((line, ""));
            if args.name.as_deref() == Some(name) {
                let path = document.path.join(name);
                let record = text_of(&path, &root);
                return Ok(json!({"name": name, "title": title, "path": path, "content": record}));
            }
            listed.push(json!({"name": name, "title": title}));
        }
    }
    match args.name {
        Some(name) => {
            Err(PawError::new(paw_core::ErrorCode::NotFound, format!("no decision record '{name}'"))
                .hint("call decision_records without a name to list them"))
        }
        None => Ok(json!({"records": listed})),
    }
}

fn docs(context: &Context) -> Result<Value, PawError> {
    let files = open(None, context)?;
    let list = files.list(None)?;
    let ends = [".md", ".rst", ".adoc", ".txt"];
    let is_doc = |path: &&String| {
        let lower = path.to_lowercase();
        ends.iter().any(|end| lower.ends_with(end)) && (lower.starts_with("doc") || !lower.contains('/'))
    };
    let docs: Vec<&String> = list.files.iter().filter(is_doc).collect();
    let readme = docs.iter().find(|path| path.to_lowercase().starts_with("readme."));
    let readme = readme.and_then(|path| files.read(path, 1, None).ok());
    Ok(json!({"docs": docs, "readme": to_json(&readme)?, "truncated": list.truncated}))
}

fn learned(context: &Context) -> Result<Value, PawError> {
    let repo = context.require_repo()?;
    let root = repo.root.canonicalize().unwrap_or(repo.root);
    let text = text_of(&learnings::file::path(&root), &root).unwrap_or_default();
    let applicable = learnings::applicable(&text, |path| root.join(path).exists());
    Ok(json!({"applicable": applicable, "content": text}))
}

fn skill(name: &str, context: &Context) -> Result<Value, PawError> {
    let repo = context.require_repo()?;
    let found = skills::load(name, &repo.root, context.dirs.config_dir())?;
    let source = match &found.skill.origin {
        skills::SkillOrigin::Repository(_) => "repository",
        skills::SkillOrigin::User(_) => "user",
        skills::SkillOrigin::BuiltIn => "built in",
    };
    Ok(json!({"name": found.skill.name, "description": found.skill.description, "content": found.skill.body,
        "source": source, "warnings": found.warnings}))
}

fn spec_graph(context: &Context) -> Result<Value, PawError> {
    let repo = context.require_repo()?;
    let config = context.load_config()?.resolve()?;
    let scan = specs::scan(&repo.root, config.specs.as_ref(), None, &config.branch_prefix())?;
    let nodes: Vec<Value> = scan
        .entries
        .iter()
        .map(|entry| json!({"id": entry.id, "unit": entry.unit, "branch": entry.branch}))
        .collect();
    let edges: Vec<Value> = specs::references(&scan.entries)
        .into_iter()
        .map(|(from, to)| json!({"from": from, "to": to}))
        .collect();
    Ok(json!({"nodes": nodes, "edges": edges}))
}
