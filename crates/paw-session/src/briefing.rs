//! What an agent is told when it starts, and where it finds it.
//!
//! - [`render`]: assignment, spec, file ownership, who else is there, skill, rules and boot instructions, as one text
//! - [`install`], [`install_local`], [`remove`]: that text in a marked region of a file that is never committed
//! - [`boot_prompt`]: the first words to the CLI, which name the file
//!
//! Inside: `region` marks our part of a file and leaves every other byte alone, `place` decides which file, and
//! `exclude` keeps it out of git.

pub(crate) mod exclude;
mod install;
mod place;
mod prompt;
mod region;
mod render;

use paw_core::config::{GovernanceConfig, SupervisorConfig};
use paw_core::{AgentId, BranchName};

pub(crate) use install::is_tracked;
pub use install::{BriefingError, Installed, Removed, install, install_local, remove};
pub use place::AGENTS_FILE;
pub use prompt::boot_prompt;
pub use region::{END, START};
pub use render::render;

use crate::skills::Skill;
use crate::specs::SpecEntry;

/// Everybody in a session, and what holds for all of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Team {
    pub project: String,
    pub members: Vec<Member>,
    /// Whether a supervisor watches.
    pub supervised: bool,
    /// Where messages go; nothing when this session has no broker, and then nobody is told to send any.
    pub broker_url: Option<String>,
    /// The commands that prove work. Whoever makes the team leaves out what was not approved.
    pub gates: SupervisorConfig,
    pub governance: GovernanceConfig,
    /// Where git-paw's own guide is on the web.
    pub docs_url: Option<String>,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub agent: AgentId,
    pub branch: BranchName,
    pub cli: String,
    pub spec: Option<SpecEntry>,
}

/// Who is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role<'a> {
    Agent(&'a Member),
    Supervisor { cli: &'a str },
}

/// Everything that one briefing is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assignment<'a> {
    pub team: &'a Team,
    pub role: Role<'a>,
    pub skill: &'a Skill,
}

/// A text for one agent, and what was odd while it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Briefing {
    pub text: String,
    pub warnings: Vec<String>,
}

impl Role<'_> {
    pub fn agent(&self) -> AgentId {
        match self {
            Self::Agent(member) => member.agent.clone(),
            Self::Supervisor { .. } => AgentId::supervisor(),
        }
    }
}
