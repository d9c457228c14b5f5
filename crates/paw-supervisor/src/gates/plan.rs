//! The gates of a project, in the order in which they run.

use std::fmt;

use paw_core::config::{Layer, SupervisorConfig, TrustItem};
use paw_session::trust::TrustRequest;
use serde::{Deserialize, Serialize};

/// One gate. Cheap ones come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    Fmt,
    Lint,
    Build,
    Test,
    Doc,
    DocTool,
    Spec,
    Security,
}

impl Gate {
    pub const ALL: [Self; 8] = [
        Self::Fmt,
        Self::Lint,
        Self::Build,
        Self::Test,
        Self::Doc,
        Self::DocTool,
        Self::Spec,
        Self::Security,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Lint => "lint",
            Self::Build => "build",
            Self::Test => "test",
            Self::Doc => "doc",
            Self::DocTool => "doc-tool",
            Self::Spec => "spec",
            Self::Security => "security",
        }
    }

    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.as_str() == name)
    }

    /// The tag at the start of a finding of this gate.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Fmt | Self::Lint | Self::Build | Self::Test => "[testing]",
            Self::Doc | Self::DocTool => "[doc audit]",
            Self::Spec => "[spec audit]",
            Self::Security => "[security audit]",
        }
    }

    /// The key of its command in the configuration.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Fmt => "supervisor.fmt_check_command",
            Self::Lint => "supervisor.lint_command",
            Self::Build => "supervisor.build_command",
            Self::Test => "supervisor.test_command",
            Self::Doc => "supervisor.doc_build_command",
            Self::DocTool => "supervisor.doc_tool_command",
            Self::Spec => "supervisor.spec_validate_command",
            Self::Security => "supervisor.security_audit_command",
        }
    }

    /// Whether a key of a configuration file is the command of a gate.
    pub fn is_command(item: &TrustItem) -> bool {
        Self::ALL.iter().any(|gate| gate.key() == item.key)
    }

    fn command(self, config: &SupervisorConfig) -> Option<&str> {
        let command = match self {
            Self::Fmt => &config.fmt_check_command,
            Self::Lint => &config.lint_command,
            Self::Build => &config.build_command,
            Self::Test => &config.test_command,
            Self::Doc => &config.doc_build_command,
            Self::DocTool => &config.doc_tool_command,
            Self::Spec => &config.spec_validate_command,
            Self::Security => &config.security_audit_command,
        };
        command.as_deref().filter(|command| !command.trim().is_empty())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A gate with its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateStep {
    pub gate: Gate,
    /// A command line for `sh`.
    pub command: String,
}

/// All configured gates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GatePlan {
    pub steps: Vec<GateStep>,
    request: Option<TrustRequest>,
}

impl GatePlan {
    /// The commands from the repository's configuration, which the user has to approve.
    pub fn request(&self) -> Option<&TrustRequest> {
        self.request.as_ref()
    }
}

/// The gates of a configuration. `repository` is the layer from the repository's configuration file.
pub fn plan(config: &SupervisorConfig, repository: &Layer) -> GatePlan {
    let step =
        |gate: Gate| gate.command(config).map(|command| GateStep { gate, command: command.to_owned() });
    let steps: Vec<_> = Gate::ALL.into_iter().filter_map(step).collect();
    let keys: Vec<_> = repository.needs_trust().into_iter().map(|item| item.key).collect();
    let own = steps.iter().filter(|step| keys.iter().any(|key| key == step.gate.key()));
    let items = own.map(|step| (step.gate.key().to_owned(), step.command.clone()));
    let request = TrustRequest::new("this repository wants to run, as gates:", "gates", items);
    GatePlan { steps, request }
}

#[cfg(test)]
mod tests {
    use paw_core::config;

    use super::*;

    fn layer(text: &str) -> Layer {
        config::parse(text, "config.toml").unwrap()
    }

    #[test]
    fn configured_gates_run_in_order_of_cost() {
        let config = SupervisorConfig {
            test_command: Some("cargo test".to_owned()),
            fmt_check_command: Some("cargo fmt --check".to_owned()),
            lint_command: Some("  ".to_owned()),
            ..SupervisorConfig::default()
        };
        let plan = plan(&config, &Layer::default());
        let gates: Vec<_> = plan.steps.iter().map(|step| step.gate.as_str()).collect();
        assert_eq!(gates, ["fmt", "test"]);
        assert_eq!(plan.request(), None);
    }

    #[test]
    fn gates_from_the_repository_need_approval() {
        let repository = layer("[supervisor]\ntest_command = \"make test\"\n");
        let config = SupervisorConfig {
            test_command: Some("make test".to_owned()),
            lint_command: Some("mine".to_owned()),
            ..SupervisorConfig::default()
        };
        let plan = plan(&config, &repository);
        assert_eq!(plan.request().unwrap().subject.summary(), ["supervisor.test_command: make test"]);
    }

    #[test]
    fn every_gate_is_found_by_its_name() {
        assert!(Gate::ALL.into_iter().all(|gate| Gate::find(gate.as_str()) == Some(gate)));
        assert_eq!(Gate::find("nothing"), None);
    }
}
