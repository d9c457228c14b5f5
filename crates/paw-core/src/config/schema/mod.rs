//! Every key of the configuration, with its type, its default and its help. A new key is one line here.
//!
//! `root` has the top of the file and the small sections, the others have the sections they are named after.

mod autopilot;
mod broker;
mod clis;
mod root;
mod session;
mod supervisor;

pub use autopilot::{AutopilotConfig, ExecutorConfig};
pub use broker::{BrokerAuth, BrokerConfig, Synchronous, WatcherConfig};
pub use clis::{Approval, CliConfig, Preset};
pub use root::{BranchPrefix, McpConfig, OpsxConfig, PawConfig, RoleGating, TmuxConfig, WorktreePlacement};
pub use session::{
    BrokerLogConfig, DashboardConfig, GovernanceConfig, LayoutConfig, LoggingConfig, SpecType, SpecsConfig,
    WorktreeConfig,
};
pub use supervisor::{
    ApprovalLevel, AutoApproveConfig, ConflictConfig, DevAllowlistConfig, LearningsConfig, LearningsPublish,
    Stack, SupervisorConfig, TellConfig, TellMode,
};

#[cfg(test)]
mod tests;
