//! The approval rules of a repository: the user's, and those of the repository once the user has approved them.

use std::path::Path;

use paw_broker::endpoint::Endpoint;
use paw_core::PawError;
use paw_core::config::{ApprovalLevel, AutoApproveConfig, SupervisorConfig};
use paw_core::paths::PawDir;
use paw_host::config::{self, Layers};
use paw_host::files::Dirs;
use paw_host::git::{Git, GitError, Repo};
use paw_host::trust::{TrustStore, TrustSubject};

use super::{ApprovalRules, CommandContext};

/// The rules in effect, and what the repository adds once it is approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRules {
    pub rules: ApprovalRules,
    pub unapproved: Option<TrustSubject>,
}

/// Reads the rules and context for a shell in `dir`. Outside of a repository only the user's rules apply.
pub fn load_rules(dir: &Path, dirs: &Dirs) -> Result<(RepositoryRules, CommandContext), PawError> {
    match Repo::discover(dir) {
        Ok(repo) => load_rules_in(&repo, dir, dirs),
        Err(GitError::NotARepository(_)) => {
            let config = config::load_layers(None, None)?.resolve()?;
            let rules = ApprovalRules::from_config(&config.supervisor.unwrap_or_default());
            let (home, broker_port) = (std::env::home_dir(), Some(config.broker.port));
            Ok((
                RepositoryRules { rules, unapproved: None },
                CommandContext { home, broker_port, ..CommandContext::at(dir) },
            ))
        }
        Err(error) => Err(error.into()),
    }
}

/// Like [`load_rules`], for a known repository.
pub fn load_rules_in(
    repo: &Repo,
    dir: &Path,
    dirs: &Dirs,
) -> Result<(RepositoryRules, CommandContext), PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    let configured = resolve_rules(&layers, repo, &TrustStore::open(dirs))?;
    let root = repo.worktree.clone().unwrap_or_else(|| dir.to_path_buf());
    let endpoint = Endpoint::load(&PawDir::of(&repo.common_dir)).ok().flatten();
    let port = endpoint.and_then(|endpoint| endpoint.address()).map(|address| address.port());
    let config = layers.resolve()?;
    let place = CommandContext {
        cwd: dir.to_path_buf(),
        home: std::env::home_dir(),
        branch: Git::at(&root).find_current_branch()?.map(String::from),
        broker_port: Some(port.unwrap_or(config.broker.port)),
        settings: config.clis.values().filter_map(|cli| cli.settings_path.clone()).collect(),
        ..CommandContext::at(root)
    };
    Ok((configured, place))
}

/// The rules for agents in `repo`. A repository that is not trusted can only make them stricter.
pub fn resolve_rules(layers: &Layers, repo: &Repo, store: &TrustStore) -> Result<RepositoryRules, PawError> {
    let merged = layers.resolve()?.supervisor.unwrap_or_default();
    let subject = find_requested_rules(layers)?;
    match subject {
        Some(subject) if !store.is_approved(repo, &subject)? => {
            let user = layers.of_user_alone().resolve()?.supervisor.unwrap_or_default();
            let rules = ApprovalRules::from_config(&stricter(&user, merged));
            Ok(RepositoryRules { rules, unapproved: Some(subject) })
        }
        _ => Ok(RepositoryRules { rules: ApprovalRules::from_config(&merged), unapproved: None }),
    }
}

/// What the repository's configuration allows beyond the user's, as a request for approval.
pub fn find_requested_rules(layers: &Layers) -> Result<Option<TrustSubject>, PawError> {
    let merged = layers.resolve()?.supervisor.unwrap_or_default();
    let user = layers.of_user_alone().resolve()?.supervisor.unwrap_or_default();
    let rule = |key: &str| {
        matches!(key, "supervisor.auto_approve.safe_commands" | "supervisor.common_dev_allowlist.extra")
    };
    let rules = layers.repo.needs_trust().into_iter().filter(|item| rule(&item.key));
    let subject =
        rules.fold(TrustSubject::new("approvals"), |subject, item| subject.with(item.key, item.value));
    let subject =
        loosened(&user, &merged).into_iter().fold(subject, |subject, (key, value)| subject.with(key, value));
    Ok((!subject.is_empty()).then_some(subject))
}

fn approve(config: &SupervisorConfig) -> AutoApproveConfig {
    config.auto_approve.clone().unwrap_or_default()
}

fn rank(level: ApprovalLevel) -> u8 {
    match level {
        ApprovalLevel::Off => 0,
        ApprovalLevel::Conservative => 1,
        ApprovalLevel::Safe => 2,
    }
}

/// Settings that the repository loosens.
fn loosened(user: &SupervisorConfig, merged: &SupervisorConfig) -> Vec<(&'static str, String)> {
    let (own, requested) = (approve(user), approve(merged));
    let mut found = Vec::new();
    if rank(requested.approval_level) > rank(own.approval_level) {
        found.push(("supervisor.auto_approve.approval_level", requested.approval_level.to_string()));
    }
    for (key, own, requested) in [
        ("supervisor.auto_approve.enabled", own.enabled, requested.enabled),
        (
            "supervisor.auto_approve.approve_worktree_writes",
            own.approve_worktree_writes,
            requested.approve_worktree_writes,
        ),
        (
            "supervisor.common_dev_allowlist.enabled",
            user.common_dev_allowlist.enabled,
            merged.common_dev_allowlist.enabled,
        ),
    ] {
        if requested && !own {
            found.push((key, requested.to_string()));
        }
    }
    found
}

/// The user's rules, made stricter where the repository is.
fn stricter(user: &SupervisorConfig, mut merged: SupervisorConfig) -> SupervisorConfig {
    let (own, requested) = (approve(user), approve(&merged));
    let level = if rank(requested.approval_level) < rank(own.approval_level) {
        requested.approval_level
    } else {
        own.approval_level
    };
    merged.auto_approve = Some(AutoApproveConfig {
        enabled: own.enabled && requested.enabled,
        safe_commands: own.safe_commands,
        approval_level: level,
        approve_worktree_writes: own.approve_worktree_writes && requested.approve_worktree_writes,
        ..requested
    });
    merged.common_dev_allowlist.enabled &= user.common_dev_allowlist.enabled;
    merged.common_dev_allowlist.extra.clone_from(&user.common_dev_allowlist.extra);
    merged
}
