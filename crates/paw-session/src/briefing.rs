//! The instructions an agent gets when it starts, and the file that contains them.
//!
//! - [`render`]: assignment, spec, file ownership, who else is there, skill, rules and boot instructions, as one text
//! - [`install`], [`install_local`], [`remove`]: that text in a marked region of a file that is never committed
//! - [`boot_prompt`]: the first words to the CLI, which name the file
//!
//! Inside: `region` marks our part of a file and leaves every other byte alone, `target_file` decides which file, and
//! `exclude` keeps it out of git.

pub(crate) mod exclude;
mod install;
mod prompt;
mod region;
mod render;
mod target_file;

use paw_core::config::{GovernanceConfig, SupervisorConfig};
use paw_core::{AgentId, BranchName};

pub(crate) use install::is_tracked;
pub use install::{BriefingError, InstalledBriefing, RemovedBriefing, install, install_local, remove};
pub use prompt::boot_prompt;
pub use region::{END, START};
pub use render::render;
pub use target_file::AGENTS_FILE;

use crate::skills::Skill;
use crate::specs::SpecEntry;

/// The agents of a session, and what they share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Team {
    pub project: String,
    pub members: Vec<BriefedAgent>,
    /// Whether the session has a supervisor.
    pub supervised: bool,
    /// The broker's URL. Without one, briefings do not mention messages.
    pub broker_url: Option<String>,
    /// The gate commands, without unapproved ones.
    pub gates: SupervisorConfig,
    pub governance: GovernanceConfig,
    /// What earlier sessions noticed and still applies.
    pub learnings: Vec<String>,
    /// The URL of git-paw's guide.
    pub docs_url: Option<String>,
}

/// An agent as its briefing and the other briefings describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BriefedAgent {
    pub agent: AgentId,
    pub branch: BranchName,
    pub cli: String,
    pub spec: Option<SpecEntry>,
    /// What the user asked for at the start.
    pub task: Option<String>,
}

/// The reader of a briefing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BriefingRole<'a> {
    Agent(&'a BriefedAgent),
    Supervisor { cli: &'a str },
}

/// Everything that a briefing is rendered from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BriefingInput<'a> {
    pub team: &'a Team,
    pub role: BriefingRole<'a>,
    pub skill: &'a Skill,
}

/// The rendered briefing of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Briefing {
    pub text: String,
    pub warnings: Vec<String>,
}

impl BriefingRole<'_> {
    pub fn agent(&self) -> AgentId {
        match self {
            Self::Agent(member) => member.agent.clone(),
            Self::Supervisor { .. } => AgentId::supervisor(),
        }
    }
}
