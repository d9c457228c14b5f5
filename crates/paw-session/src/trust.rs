//! Decides which keys of a repository's configuration need the user's approval, which are always ignored, and what the
//! resulting configuration is.
//!
//! The caller asks for approvals and stores them.

use paw_core::PawError;
use paw_core::config::{PawConfig, TrustItem};
use paw_host::config::Layers;
use paw_host::trust::TrustSubject;

/// Keys of a repository's file that take effect only once the user has approved all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRequest {
    /// The first line of the prompt.
    pub question: &'static str,
    pub subject: TrustSubject,
    keys: Vec<String>,
}

impl TrustRequest {
    /// `None` if there is nothing to approve.
    pub fn new(
        question: &'static str,
        kind: &str,
        items: impl IntoIterator<Item = (String, String)>,
    ) -> Option<Self> {
        let (mut subject, mut keys) = (TrustSubject::new(kind), Vec::new());
        for (key, value) in items {
            subject = subject.with(key.as_str(), value);
            keys.push(key);
        }
        (!keys.is_empty()).then_some(Self { question, subject, keys })
    }

    /// The names of the CLIs in it.
    pub fn clis(&self) -> Vec<String> {
        let name = |key: &String| Some(key.strip_prefix("clis.")?.rsplit_once('.')?.0.to_owned());
        let mut names: Vec<_> = self.keys.iter().filter_map(name).collect();
        names.sort();
        names.dedup();
        names
    }

    fn covers(&self, item: &TrustItem) -> bool {
        self.keys.contains(&item.key)
    }
}

/// The configuration without unapproved and forbidden keys of the repository.
#[derive(Debug, Clone)]
pub struct TrustedConfig {
    pub config: PawConfig,
    /// Keys of requests that were not approved.
    pub unapproved: Vec<String>,
    /// Keys that only the user's configuration may set.
    pub forbidden: Vec<String>,
}

/// Resolves the configuration. Keys of a request take effect only if `is_approved` returns true for it.
pub fn resolve_trusted(
    layers: &Layers,
    requests: impl IntoIterator<Item = TrustRequest>,
    mut is_approved: impl FnMut(&TrustRequest) -> Result<bool, PawError>,
) -> Result<TrustedConfig, PawError> {
    let (mut kept, mut unapproved) = (layers.clone(), Vec::new());
    for request in requests {
        if !is_approved(&request)? {
            kept = kept.without(|item| request.covers(item));
            unapproved.extend(request.keys);
        }
    }
    let forbidden = kept.repo.needs_trust().into_iter().filter(is_user_only).map(|item| item.key).collect();
    Ok(TrustedConfig { config: kept.without(is_user_only).resolve()?, unapproved, forbidden })
}

/// Whether only the user's configuration may set this key, because it opens the broker or the page to others, names other
/// machines or servers, moves the logs, or runs a command whenever something happens.
pub fn is_user_only(item: &TrustItem) -> bool {
    ["broker.", "cluster.", "hosts.", "web."].iter().any(|section| item.key.starts_with(section))
        || ["logging.log_dir", "notify.command"].contains(&item.key.as_str())
}

/// The repository's settings for starting agents that need approval: CLI commands, and approval levels above the user's.
/// Gate commands have their own request.
pub fn find_agent_request(
    layers: &Layers,
    is_gate: impl Fn(&TrustItem) -> bool,
) -> Result<Option<TrustRequest>, PawError> {
    let own = layers.of_user_alone().resolve()?.supervisor.unwrap_or_default();
    let starts_agents = |item: &TrustItem| match item.approval() {
        Some(level) if item.key.ends_with(".approval") => level > own.approval(),
        Some(level) => level > own.agent_approval,
        None => item.key.starts_with("clis.") || (is_command(item) && !is_gate(item)),
    };
    let items = layers.repo.needs_trust().into_iter().filter(starts_agents);
    let question = "this repository wants to start agents with:";
    Ok(TrustRequest::new(question, "agents", items.map(|item| (item.key, item.value))))
}

fn is_command(item: &TrustItem) -> bool {
    item.key.starts_with("supervisor.") && item.key.ends_with("_command")
}

#[cfg(test)]
mod tests {
    use paw_host::files::{Access, write_atomic};

    use super::*;

    fn layers(user: &str, repo: &str) -> Layers {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("user.toml");
        write_atomic(&own, user.as_bytes(), Access::Usual).unwrap();
        write_atomic(&dir.path().join(".git-paw/config.toml"), repo.as_bytes(), Access::Usual).unwrap();
        paw_host::config::load_layers(Some(dir.path()), Some(&own)).unwrap()
    }

    fn keys(layers: &Layers) -> Vec<String> {
        find_agent_request(layers, |item| item.key == "supervisor.test_command")
            .unwrap()
            .map(|request| request.keys)
            .unwrap_or_default()
    }

    #[test]
    fn repository_needs_approval_for_clis_and_for_levels_above_the_users() {
        let repo = "[supervisor]\nagent_approval = \"full-auto\"\ntest_command = \"make\"\n[clis.x]\ncommand = \"/x\"\n";
        assert_eq!(keys(&layers("", repo)), ["clis.x.command", "supervisor.agent_approval"]);
        let user = "[supervisor]\nagent_approval = \"full-auto\"\n";
        assert_eq!(keys(&layers(user, repo)), ["clis.x.command"]);
        assert_eq!(keys(&layers("", "[supervisor]\ntest_command = \"make\"\n")), Vec::<String>::new());
    }

    #[test]
    fn unapproved_requests_are_dropped_and_broker_keys_always_ignored() {
        let layers = layers(
            "",
            "default_cli = \"x\"\n[broker]\nbind = \"0.0.0.0\"\n[clis.x]\ncommand = \"/x\"\n\
             [notify]\nbell = false\ncommand = \"rm -rf /\"\n[hosts.big]\nssh = \"elsewhere\"\n",
        );
        let request = || find_agent_request(&layers, |_| false).unwrap();
        let followed = resolve_trusted(&layers, request(), |_| Ok(false)).unwrap();
        assert_eq!(
            (followed.unapproved, followed.forbidden),
            (
                vec!["clis.x.command".to_owned()],
                ["broker.bind", "hosts.big.ssh", "notify.command"].map(str::to_owned).to_vec()
            )
        );
        assert!(followed.config.clis.is_empty() && followed.config.hosts.is_empty());
        assert_eq!((followed.config.notify.command, followed.config.notify.bell), (None, false));
        assert_eq!(followed.config.default_cli.as_deref(), Some("x"));
        let approved = resolve_trusted(&layers, request(), |_| Ok(true)).unwrap();
        assert_eq!(approved.unapproved, Vec::<String>::new());
        assert!(approved.config.clis.contains_key("x"));
        assert_ne!(approved.config.broker.bind, "0.0.0.0");
    }
}
