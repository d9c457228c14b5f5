//! The approval rules of a repository: the user's, and those of the repository once the user has approved them.

use std::collections::BTreeSet;
use std::path::Path;

use paw_broker::endpoint::Endpoint;
use paw_core::config::{AutoApproveConfig, Layer, SupervisorConfig};
use paw_core::paths::PawDir;
use paw_core::{PawError, Receipt};
use paw_host::config::{self, Layers};
use paw_host::files::{Dirs, Lock};
use paw_host::git::{Git, GitError, Repo};
use paw_host::trust::{TrustStore, TrustSubject};

use super::rules::rank;
use super::{ApprovalRules, CommandContext};
use crate::gates;

/// The rules in effect, and what the repository adds once it is approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRules {
    pub rules: ApprovalRules,
    pub unapproved: Option<TrustSubject>,
    /// Whether the user lets the supervisor merge without asking.
    pub supervisor_merges: bool,
}

impl RepositoryRules {
    /// The rules for the agents of a session. If the hub looks after them, its rules apply, as far as this machine's go.
    #[must_use]
    pub fn in_session(self, receipt: &Receipt) -> Self {
        let Some(hub) = receipt.hub_supervision() else { return self };
        let gates = gates::plan(&hub.config, &Layer::default()).steps;
        let rules = ApprovalRules::from_config(&hub.config)
            .with_gates(gates.into_iter().map(|step| step.command))
            .within(&self.rules);
        Self { rules, ..self }
    }
}

/// Reads the rules and context for a shell in `dir`. Outside of a repository only the user's rules apply.
pub fn load_rules(dir: &Path, dirs: &Dirs) -> Result<(RepositoryRules, CommandContext), PawError> {
    match Repo::discover(dir) {
        Ok(repo) => load_rules_in(&repo, dir, dirs),
        Err(GitError::NotARepository(_)) => {
            let config = config::load_layers(None, None)?.resolve()?;
            let config = config.supervisor.unwrap_or_default();
            let (rules, supervisor_merges) = (ApprovalRules::from_config(&config), config.merge);
            let place = CommandContext { home: std::env::home_dir(), ..CommandContext::at(dir) };
            Ok((RepositoryRules { rules, unapproved: None, supervisor_merges }, place))
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
    let config = layers.resolve()?;
    let git = Git::at(&root);
    let branch = git.find_current_branch()?.map(String::from);
    let trunk = repo.git().find_default_branch()?.map(String::from);
    let settings =
        git.find(["config", "--get-regexp", r"^(push|remote|branch|submodule)\."])?.unwrap_or_default();
    let place = CommandContext {
        cwd: dir.to_path_buf(),
        home: std::env::home_dir(),
        pushes_own_branch: branch.as_deref().is_some_and(|branch| pushes_own_branch(&settings, branch)),
        has_secret_remote: has_secret_remote(&settings),
        packages: trunk.as_deref().map(|trunk| load_packages(&git, &root, trunk)).unwrap_or_default(),
        branch,
        trunk,
        broker_port: find_broker_port(&PawDir::of(&repo.common_dir)),
        settings: config.clis.values().filter_map(|cli| cli.settings_path.clone()).collect(),
        ..CommandContext::at(root)
    };
    Ok((configured, place))
}

/// The port of the session's own broker. Neither the configured port nor one that a stopped broker left counts.
fn find_broker_port(dir: &PawDir) -> Option<u16> {
    let address = Endpoint::load(dir).ok().flatten()?.address()?;
    // A running broker holds its lock.
    let runs = matches!(Lock::try_take(&dir.broker_lock()), Ok(None));
    (runs && address.ip().is_loopback()).then(|| address.port())
}

/// Whether `git push` without a target pushes this branch, and nothing else, to its own name on `origin`.
fn pushes_own_branch(settings: &str, branch: &str) -> bool {
    settings.lines().all(|line| {
        let (key, value) = line.split_once(' ').unwrap_or((line, "true"));
        let (key, value) = (key.to_lowercase(), value.trim());
        let own = |name: &str| key == format!("branch.{}.{name}", branch.to_lowercase());
        match key.as_str() {
            "push.default" => matches!(value, "simple" | "current" | "nothing"),
            "push.followtags" | "submodule.recurse" => value == "false",
            "push.recursesubmodules" => matches!(value, "no" | "check" | "false"),
            "remote.pushdefault" => value == "origin",
            _ if own("pushremote") || own("remote") => value == "origin",
            _ => {
                let last = key.rsplit('.').next().unwrap_or_default();
                !(key.starts_with("remote.") && matches!(last, "push" | "mirror"))
            }
        }
    })
}

/// Whether an address has a password, or a token in place of the user: `https://user:password@host`. `git@` is neither.
fn has_secret_remote(settings: &str) -> bool {
    settings.lines().filter_map(|line| line.split_once(' ')).any(|(key, value)| {
        let user = value.split_once("://").and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'));
        let is_secret = |user: &str| user.contains(':') || !matches!(user, "git" | "ssh" | "hg");
        key.starts_with("remote.")
            && value.starts_with("http")
            && user.is_some_and(|(user, _)| is_secret(user))
    })
}

/// The names of the packages in the lockfile of the default branch, which an agent cannot change.
fn load_packages(git: &Git, root: &Path, trunk: &str) -> BTreeSet<String> {
    let Some(lockfile) = ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"]
        .into_iter()
        .find(|name| root.join(name).is_file())
    else {
        return BTreeSet::new();
    };
    match git.find(["show", &format!("refs/heads/{trunk}:{lockfile}")]) {
        Ok(Some(text)) => packages_in(&text),
        _ => BTreeSet::new(),
    }
}

/// The package names in a lockfile. Each line that names a package starts with its key.
fn packages_in(lockfile: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let key = line.trim().trim_start_matches(['"', '\'', '/']);
        let key = key.strip_prefix("node_modules/").unwrap_or(key);
        let end = key
            .char_indices()
            .skip(1)
            .find(|(_, c)| matches!(c, '@' | '"' | '\'' | ':' | '('))
            .map(|(at, _)| at)?;
        let name = &key[..end];
        let plain = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
        (!name.is_empty() && name.chars().all(plain)).then(|| name.to_owned())
    };
    lockfile.lines().filter_map(name).collect()
}

/// The rules for agents in `repo`. A repository that is not trusted can only make them stricter.
pub fn resolve_rules(layers: &Layers, repo: &Repo, store: &TrustStore) -> Result<RepositoryRules, PawError> {
    let merged = layers.resolve()?.supervisor.unwrap_or_default();
    let subject = find_requested_rules(layers)?;
    let gates = approved_gates(layers, &merged, repo, store)?;
    let user = layers.of_user_alone().resolve()?.supervisor.unwrap_or_default();
    let supervisor_merges = user.merge;
    let (rules, unapproved) = match subject {
        Some(subject) if !store.is_approved(repo, &subject)? => {
            (ApprovalRules::from_config(&stricter(&user, merged)), Some(subject))
        }
        _ => (ApprovalRules::from_config(&merged), None),
    };
    Ok(RepositoryRules { rules: rules.with_gates(gates), unapproved, supervisor_merges })
}

/// A configuration for agents on another machine, which cannot ask whether the user has approved this repository's rules: without
/// those that are not approved.
pub(super) fn limit_to_approved(
    config: SupervisorConfig,
    layers: &Layers,
    repo: &Repo,
    store: &TrustStore,
) -> Result<SupervisorConfig, PawError> {
    match find_requested_rules(layers)? {
        Some(subject) if !store.is_approved(repo, &subject)? => {
            let user = layers.of_user_alone().resolve()?.supervisor.unwrap_or_default();
            Ok(stricter(&user, config))
        }
        _ => Ok(config),
    }
}

/// The commands of the gates that the user configured or approved. Agents may run them, too.
fn approved_gates(
    layers: &Layers,
    config: &SupervisorConfig,
    repo: &Repo,
    store: &TrustStore,
) -> Result<Vec<String>, PawError> {
    let plan = gates::plan(config, &layers.repo);
    if let Some(request) = plan.request()
        && !store.is_approved(repo, &request.subject)?
    {
        return Ok(Vec::new());
    }
    Ok(plan.steps.into_iter().map(|step| step.command).collect())
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use paw_core::config::ApprovalLevel;
    use paw_core::receipt::{ClusterReceipt, HubSupervision};
    use paw_core::{HostName, SessionName};

    use super::*;
    use crate::approval::judge;

    #[test]
    fn passwords_and_tokens_in_addresses_are_recognized() {
        for address in ["https://me:pw@example.com/x", "https://token@example.com/x", "http://a:b@[::1]:80/x"]
        {
            assert!(has_secret_remote(&format!("remote.origin.url {address}")), "{address}");
        }
        for address in [
            "https://example.com/x@y",
            "git@example.com:x",
            "ssh://me@example.com/x",
            "../x",
            "https://git@example.com/x",
        ] {
            assert!(!has_secret_remote(&format!("remote.origin.url {address}")), "{address}");
        }
    }

    #[test]
    fn rules_of_the_hub_apply_on_its_machines_as_far_as_their_own_rules_go() {
        let config = |level, safe: &[&str]| {
            let safe_commands = safe.iter().map(|command| (*command).to_owned()).collect();
            let auto =
                AutoApproveConfig { approval_level: level, safe_commands, ..AutoApproveConfig::default() };
            SupervisorConfig { auto_approve: Some(auto), ..SupervisorConfig::default() }
        };
        let receipt = |hub: &str| {
            let mut receipt =
                Receipt::new(SessionName::new("paw-x").unwrap(), "/x".into(), "x", Timestamp::UNIX_EPOCH);
            let mut config = config(ApprovalLevel::Conservative, &["make report"]);
            config.test_command = Some("make check".to_owned());
            receipt.cluster = Some(ClusterReceipt {
                stream: String::new(),
                host: HostName::new("big").unwrap(),
                hub: HostName::new(hub).unwrap(),
                version: 1,
                hosts: BTreeMap::new(),
                agents: Vec::new(),
                supervision: Some(HubSupervision { config, unattended: false }),
            });
            receipt
        };
        let own = |level| RepositoryRules {
            rules: ApprovalRules::from_config(&config(level, &["make own"])),
            unapproved: None,
            supervisor_merges: false,
        };
        let place = CommandContext::at("/x");
        let allows = |rules: &RepositoryRules, command: &str| judge(command, &rules.rules, &place).is_allow();
        let there = own(ApprovalLevel::Safe).in_session(&receipt("hub"));
        assert!(allows(&there, "make report") && allows(&there, "make check"));
        assert!(!allows(&there, "make own"), "the rules of the hub replace those of the machine");
        assert_eq!(there.rules.level, ApprovalLevel::Conservative);
        let off = own(ApprovalLevel::Off).in_session(&receipt("hub"));
        assert!(!allows(&off, "make report"), "the machine's user switched approvals off");
        let hub = own(ApprovalLevel::Safe).in_session(&receipt("big"));
        assert!(allows(&hub, "make own") && !allows(&hub, "make report"), "the hub follows its own rules");
    }

    #[test]
    fn package_names_are_found_in_every_kind_of_lockfile() {
        let npm =
            "{\n \"packages\": {\n  \"node_modules/@biomejs/biome\": {\n  },\n  \"node_modules/jest\": {";
        let pnpm = "packages:\n  '@biomejs/biome@1.9.0':\n    resolution: x\n  jest@29.0.0(x@1):\n";
        let yarn = "\"@biomejs/biome@^1.0.0\":\n  version \"1\"\njest@^29.0.0:\n  version \"29\"\n";
        for text in [npm, pnpm, yarn] {
            let found = packages_in(text);
            assert!(found.contains("jest") && found.contains("@biomejs/biome"), "{text}: {found:?}");
            assert!(!found.contains("eslint"));
        }
    }
}
