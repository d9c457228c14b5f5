//! Telling everybody in a session what they are there for: a file in each worktree, and first words that name it.

use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError, Receipt, SessionMode};
use paw_host::git::Repo;

use crate::briefing::{self, Assignment, Installed, Member, Role, Team};
use crate::skills::{self, Skill};
use crate::specs::SpecEntry;

/// What briefings are made from, besides the receipt.
#[derive(Clone, Copy)]
pub struct Briefs<'a> {
    pub repo: &'a Repo,
    /// Without what the repository wants to run and nobody has approved.
    pub config: &'a PawConfig,
    /// The user's own directory of git-paw, where skills can be.
    pub config_dir: &'a Path,
    /// What the agent on a branch is to do.
    pub spec: &'a dyn Fn(&BranchName) -> Option<SpecEntry>,
}

impl std::fmt::Debug for Briefs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Briefs").field("repo", &self.repo.root).finish_non_exhaustive()
    }
}

/// A prompt for each agent and one for the supervisor, where there is something to say; and what was odd.
#[derive(Debug, Default)]
pub struct Briefed {
    pub agents: Vec<Option<String>>,
    pub supervisor: Option<String>,
    pub warnings: Vec<String>,
}

impl Briefs<'_> {
    /// Writes every briefing.
    pub fn install(&self, receipt: &Receipt) -> Result<Briefed, PawError> {
        let team = self.team(receipt);
        let mut briefed = Briefed::default();
        let coordination = self.skill(skills::COORDINATION, &mut briefed.warnings)?;
        let places: Vec<_> = team.members.iter().zip(&receipt.worktrees).collect();
        let written = side_by_side(&places, |(member, agent)| {
            // A spec that is gone by now is still in the briefing that was made from it.
            if agent.spec.is_some() && member.spec.is_none() {
                return Ok(None);
            }
            let assignment = Assignment { team: &team, role: Role::Agent(member), skill: &coordination };
            let install = |briefing: &_| briefing::install(self.repo, &agent.worktree_path, briefing);
            write(&assignment, install).map(Some)
        });
        for (one, member) in written.into_iter().zip(&team.members) {
            let (prompt, warnings) = one?.unzip();
            briefed.warnings.extend(warnings.unwrap_or_default());
            // Without a broker and without a spec there is nothing an agent could begin with.
            let awaited = team.broker_url.is_some() || member.spec.is_some();
            briefed.agents.push(prompt.filter(|_| awaited));
        }
        if let Some(supervisor) = receipt.supervisor.as_ref().filter(|_| team.supervised) {
            let skill = self.skill(skills::SUPERVISOR, &mut briefed.warnings)?;
            let role = Role::Supervisor { cli: &supervisor.cli };
            let assignment = Assignment { team: &team, role, skill: &skill };
            let install = |briefing: &_| briefing::install_local(self.repo, &self.repo.root, briefing);
            let (prompt, warnings) = write(&assignment, install)?;
            briefed.warnings.extend(warnings);
            briefed.supervisor = Some(prompt);
        }
        Ok(briefed)
    }

    fn team(&self, receipt: &Receipt) -> Team {
        let members = receipt.worktrees.iter().zip(receipt.agent_ids()).map(|(agent, id)| Member {
            agent: id,
            branch: agent.branch.clone(),
            cli: agent.cli.clone(),
            spec: (self.spec)(&agent.branch),
        });
        Team {
            project: receipt.project_name.clone(),
            members: members.collect(),
            supervised: receipt.mode == SessionMode::Supervisor,
            broker_url: receipt.broker_url(),
            gates: self.config.supervisor.clone().unwrap_or_default(),
            governance: self.config.governance.clone(),
            docs_url: self.config.docs_base_url.clone(),
        }
    }

    fn skill(&self, name: &str, warnings: &mut Vec<String>) -> Result<Skill, PawError> {
        let found = skills::load(name, &self.repo.root, self.config_dir)?;
        warnings.extend(found.warnings);
        Ok(found.skill)
    }
}

fn write(
    assignment: &Assignment<'_>,
    install: impl FnOnce(&briefing::Briefing) -> Result<Installed, briefing::BriefingError>,
) -> Result<(String, Vec<String>), PawError> {
    let briefing = briefing::render(assignment);
    let installed = install(&briefing)?;
    let prompt = briefing::boot_prompt(assignment, &installed);
    Ok((prompt, briefing.warnings.into_iter().chain(installed.warnings).collect()))
}

/// Does the same to each, several at a time, and answers in their order. Each asks git, which takes a while.
fn side_by_side<T: Sync, A: Send>(things: &[T], act: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let workers = thread::available_parallelism().map_or(2, NonZero::get).clamp(2, 8).min(things.len());
    let (next, answers) = (Mutex::new(things.iter().enumerate()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let one = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((at, thing)) = one else { return };
                    let answer = act(thing);
                    answers.lock().unwrap_or_else(PoisonError::into_inner).push((at, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
