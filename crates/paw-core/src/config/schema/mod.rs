//! Every configuration key with its type, default and help. Adding a key takes one line here.
//!
//! `root` has the top-level keys and the small sections; each other module has the section it is named after.

mod autopilot;
mod broker;
mod clis;
mod root;
mod session;
mod supervisor;
mod web;

pub use autopilot::{AutopilotConfig, ExecutorConfig};
pub use broker::{BrokerAuth, BrokerConfig, Synchronous, WatcherConfig};
pub use clis::{Approval, CliConfig, ClusterConfig, HostConfig, Preset};
pub use root::{
    BranchPrefix, McpConfig, OpsxConfig, PawConfig, RoleGating, SandboxConfig, SandboxLevel, TmuxConfig,
    WorktreePlacement,
};
pub use session::{
    BrokerLogConfig, DashboardConfig, GovernanceConfig, LayoutConfig, LayoutMode, LoggingConfig,
    NotifyConfig, SpecType, SpecsConfig, WorktreeConfig,
};
pub use supervisor::{
    ApprovalLevel, AutoApproveConfig, ConflictConfig, DevAllowlistConfig, LearningsConfig, LearningsPublish,
    Stack, SupervisorConfig, TellConfig, TellMode,
};
pub use web::WebConfig;

#[cfg(test)]
mod tests;
