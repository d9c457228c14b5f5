//! The briefings of a session: a file in each worktree, and a boot prompt that names it.

use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use paw_broker::learnings;
use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError, Receipt};
use paw_host::git::Repo;

use crate::briefing::{self, BriefedAgent, BriefingInput, BriefingRole, InstalledBriefing, Team};
use crate::skills::{self, Skill};
use crate::specs::SpecEntry;
use crate::untrusted_text;

/// What briefings are rendered from, in addition to the receipt.
#[derive(Clone, Copy)]
pub struct BriefingContext<'a> {
    pub repo: &'a Repo,
    /// Without the repository's unapproved commands.
    pub config: &'a PawConfig,
    /// The user's git-paw configuration directory, which can contain skills.
    pub config_dir: &'a Path,
    /// The spec of the agent on a branch.
    pub spec: &'a dyn Fn(&BranchName) -> Option<SpecEntry>,
}

impl std::fmt::Debug for BriefingContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BriefingContext").field("repo", &self.repo.root).finish_non_exhaustive()
    }
}

/// The boot prompt of each agent and of the supervisor, if it has one.
#[derive(Debug, Default)]
pub struct InstalledBriefings {
    pub agents: Vec<Option<String>>,
    pub supervisor: Option<String>,
    pub warnings: Vec<String>,
}

impl BriefingContext<'_> {
    /// Writes every briefing.
    pub fn install(&self, receipt: &Receipt) -> Result<InstalledBriefings, PawError> {
        let mut briefed = InstalledBriefings::default();
        let team = Team { learnings: self.learnings(&mut briefed.warnings), ..self.team(receipt) };
        let coordination = self.skill(skills::COORDINATION, &mut briefed.warnings)?;
        let places: Vec<_> = team.members.iter().zip(&receipt.worktrees).collect();
        let written = map_in_parallel(&places, |(member, agent)| {
            // The spec was deleted; the existing briefing still contains it.
            if agent.spec.is_some() && member.spec.is_none() {
                return Ok(None);
            }
            let assignment =
                BriefingInput { team: &team, role: BriefingRole::Agent(member), skill: &coordination };
            let install = |briefing: &_| briefing::install(self.repo, &agent.worktree_path, briefing);
            write(&assignment, install).map(Some)
        });
        for (one, member) in written.into_iter().zip(&team.members) {
            let (prompt, warnings) = one?.unzip();
            briefed.warnings.extend(warnings.unwrap_or_default());
            // Without a broker, a spec and a task the agent has nothing to start with.
            let has_work = team.broker_url.is_some() || member.spec.is_some() || member.task.is_some();
            briefed.agents.push(prompt.filter(|_| has_work));
        }
        if let Some(supervisor) = receipt.supervisor.as_ref().filter(|_| team.supervised) {
            let skill = self.skill(skills::SUPERVISOR, &mut briefed.warnings)?;
            let role = BriefingRole::Supervisor { cli: &supervisor.cli };
            let assignment = BriefingInput { team: &team, role, skill: &skill };
            let install = |briefing: &_| briefing::install_local(self.repo, &self.repo.root, briefing);
            let (prompt, warnings) = write(&assignment, install)?;
            briefed.warnings.extend(warnings);
            briefed.supervisor = Some(prompt);
        }
        Ok(briefed)
    }

    fn team(&self, receipt: &Receipt) -> Team {
        let members = receipt.worktrees.iter().zip(receipt.agent_ids()).map(|(agent, id)| BriefedAgent {
            agent: id,
            branch: agent.branch.clone(),
            cli: agent.cli.clone(),
            spec: (self.spec)(&agent.branch),
            task: agent.task.clone(),
        });
        Team {
            project: receipt.project_name.clone(),
            members: members.collect(),
            supervised: receipt.has_supervisor(),
            broker_url: receipt.broker_url(),
            gates: self.config.supervisor.clone().unwrap_or_default(),
            governance: self.config.governance.clone(),
            docs_url: self.config.docs_base_url.clone(),
            learnings: Vec::new(),
        }
    }

    /// What earlier sessions noticed and still applies, if learnings are on.
    fn learnings(&self, warnings: &mut Vec<String>) -> Vec<String> {
        if !self.config.supervisor.as_ref().is_some_and(|supervisor| supervisor.learnings.enabled) {
            return Vec::new();
        }
        let root = self.repo.root.canonicalize().unwrap_or_else(|_| self.repo.root.clone());
        match untrusted_text::read(&learnings::file::path(&root), Some(&root)) {
            Ok(found) => {
                let text = found.map(|found| found.text).unwrap_or_default();
                learnings::applicable(&text, |path| root.join(path).exists())
            }
            Err(problem) => {
                warnings.push(format!("learnings of earlier sessions were not read: {problem}"));
                Vec::new()
            }
        }
    }

    fn skill(&self, name: &str, warnings: &mut Vec<String>) -> Result<Skill, PawError> {
        let found = skills::load(name, &self.repo.root, self.config_dir)?;
        warnings.extend(found.warnings);
        Ok(found.skill)
    }
}

fn write(
    assignment: &BriefingInput<'_>,
    install: impl FnOnce(&briefing::Briefing) -> Result<InstalledBriefing, briefing::BriefingError>,
) -> Result<(String, Vec<String>), PawError> {
    let briefing = briefing::render(assignment);
    let installed = install(&briefing)?;
    let prompt = briefing::boot_prompt(assignment, &installed);
    Ok((prompt, briefing.warnings.into_iter().chain(installed.warnings).collect()))
}

/// Maps the items on up to 8 threads, because each one waits for git. Keeps the order.
fn map_in_parallel<T: Sync, A: Send>(things: &[T], act: impl Fn(&T) -> A + Sync) -> Vec<A> {
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
