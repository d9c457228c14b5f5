//! What is done for the agents of a session that nobody watches: their work is checked, they are told, it is merged.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use paw_agent::deliver::{Patience, deliver};
use paw_broker::{Message, SessionId, Stored};
use paw_core::text::short_commit;
use paw_core::{AgentId, BranchName, PawError};
use paw_host::clock;
use paw_session::lifecycle::Session;
use paw_supervisor::gates::{self, GateError, Order, Report};
use paw_supervisor::merge::{self, Member, Testimony};
use paw_supervisor::sweep;
use paw_supervisor::unattended::order::mergeable;
use paw_supervisor::unattended::{Judgement, Watch, words};

use super::signs::{Sign, Signs};
use super::spoken::{judgement, plain, spoken};
use crate::approval::Checks;
use crate::command::{merge as merging, verify};
use crate::context::Context;
use crate::output::Style;

pub(super) struct Crew<'a> {
    pub(super) members: Vec<Member>,
    session: &'a Session,
    context: &'a Context,
    checks: Checks,
    /// How often each may mend what fails.
    chances: u32,
    /// Where each branch was when it was last looked at.
    tips: BTreeMap<AgentId, Option<String>>,
}

/// How long a gate may take, if the time is not over before.
const GATE_LIMIT: Duration = Duration::from_mins(30);

impl<'a> Crew<'a> {
    pub(super) fn new(
        session: &'a Session,
        checks: Checks,
        chances: u32,
        context: &'a Context,
    ) -> Result<Self, PawError> {
        let mut members = merge::members_of(&session.receipt);
        let main = session.repo.git().find_default_branch()?;
        members.retain(|member| Some(&member.branch) != main.as_ref());
        let mut crew = Self { members, session, context, checks, chances, tips: BTreeMap::new() };
        for member in crew.members.clone() {
            let tip = crew.tip(&member.branch)?;
            crew.tips.insert(member.agent, tip);
        }
        Ok(crew)
    }

    fn tip(&self, branch: &BranchName) -> Result<Option<String>, PawError> {
        Ok(self.session.repo.git().find_object(&branch.full_ref(), "commit")?)
    }

    /// Takes in what was said. A branch that has moved with it is noticed, whether or not it says so.
    pub(super) fn hear(&mut self, stored: &Stored, watch: &mut Watch) -> Result<(), PawError> {
        self.tell_of(stored);
        watch.hear(stored);
        let of = |member: &&Member| member.agent == *stored.message.subject();
        match self.members.iter().find(of).cloned() {
            Some(member) if matches!(stored.message, Message::Status(_) | Message::Artifact(_)) => {
                self.look_at(&member, watch)
            }
            _ => Ok(()),
        }
    }

    /// Looks at every branch. A commit that was made by hand, or past our hook, is told by nobody.
    pub(super) fn look_at_all(&mut self, watch: &mut Watch) -> Result<(), PawError> {
        self.members.clone().iter().try_for_each(|member| self.look_at(member, watch))
    }

    fn look_at(&mut self, member: &Member, watch: &mut Watch) -> Result<(), PawError> {
        let tip = self.tip(&member.branch)?;
        let before = self.tips.insert(member.agent.clone(), tip.clone());
        if let Some(tip) = tip.filter(|tip| before.flatten().as_ref() != Some(tip)) {
            watch.moved(&member.agent, &tip);
        }
        Ok(())
    }

    fn branch_of<'n>(&'n self, agent: &'n AgentId) -> &'n str {
        let member = self.members.iter().find(|member| member.agent == *agent);
        member.map_or(agent.as_str(), |member| member.branch.as_str())
    }

    /// One line about an agent, for whoever looks on.
    fn note(&self, agent: &AgentId, style: Style, word: &str, more: &str) {
        let output = self.context.output;
        let word = output.paint_note(style, word);
        let more = if more.is_empty() { String::new() } else { format!(": {more}") };
        output.note(&format!("{}: {word}{more}", self.branch_of(agent)));
    }

    /// What is worth a line of what was said.
    fn tell_of(&self, stored: &Stored) {
        match &stored.message {
            Message::Artifact(artifact) => {
                let commit = artifact.extra.payload.get("commit").and_then(|commit| commit.as_str());
                self.note(
                    &artifact.agent_id,
                    Style::Dim,
                    &artifact.status,
                    short_commit(commit.unwrap_or_default()),
                );
            }
            Message::Question(asked) => {
                self.note(&asked.agent_id, Style::Doubtful, "asks", &plain(&asked.question));
            }
            Message::Blocked(blocked) => {
                let needs = format!("{} from {}", plain(&blocked.needs), blocked.from);
                self.note(&blocked.agent_id, Style::Doubtful, "waits for", &needs);
            }
            Message::Status(status)
                if status.phase.is_some() && status.extra.payload.contains_key("source") =>
            {
                self.note(&status.agent_id, Style::Dim, &status.phase.clone().unwrap_or_default(), "");
            }
            _ => {}
        }
    }

    /// Whether the session still runs.
    pub(super) fn is_session_there(&self) -> Result<bool, PawError> {
        Ok(self.session.look()?.is_some())
    }

    /// Has the gates run on a branch, aside.
    pub(super) fn verify(&self, agent: AgentId, branch: BranchName, signs: &Signs) -> Result<(), PawError> {
        let output = self.context.output;
        let has_work = self.has_work(&branch)?;
        if has_work {
            self.note(&agent, Style::Bold, "checking", "");
        }
        let limit = GATE_LIMIT.min(signs.remaining());
        let order = verify::order(&self.session.repo, branch, self.checks.clone(), limit, self.context)?;
        let order = Order { stop: signs.stop().clone(), ..order };
        let sender = signs.sender();
        thread::spawn(move || {
            let report = has_work
                .then(|| gates::verify(&order, clock::now(), &mut |line| output.progress(line)))
                .transpose();
            let _ = sender.send(Sign::Checked { agent, outcome: Box::new(report) });
        });
        Ok(())
    }

    /// Whether a branch has a commit that main does not have.
    fn has_work(&self, branch: &BranchName) -> Result<bool, PawError> {
        let git = self.session.repo.git();
        let Some(main) = git.find_default_branch()? else { return Ok(true) };
        let range = format!("{}..{}", main.full_ref(), branch.full_ref());
        let first = git.find(["rev-list", "--max-count=1", &range, "--"])?;
        Ok(first.is_some_and(|first| !first.is_empty()))
    }

    /// Takes in what the gates have found, tells the session, and the agent if it can mend it.
    pub(super) fn judge(
        &mut self,
        watch: &mut Watch,
        agent: &AgentId,
        outcome: &Result<Option<Report>, GateError>,
        signs: &Signs,
    ) -> Result<(), PawError> {
        // They were ended: what they have found is nothing.
        if signs.stop().is_raised() {
            return Ok(());
        }
        let judgement = match outcome {
            Ok(Some(report)) => judgement(report),
            Ok(None) => Judgement::Nothing,
            Err(error) => Judgement::NotRun { why: format!("its gates could not be run: {error}") },
        };
        let (style, word, why) = spoken(&judgement);
        self.note(agent, style, word, &why);
        if let Ok(Some(report)) = outcome {
            verify::publish(report, self.context)?;
        }
        let mend = match &judgement {
            Judgement::Failed { commit, errors } => Some((commit.clone(), errors.clone())),
            _ => None,
        };
        let another = watch.judged(agent, judgement, clock::now());
        if let Some((commit, errors)) = mend.filter(|_| another) {
            let left = self.chances.saturating_sub(watch.chances_of(agent));
            self.have_mended(agent, &words::mend(&commit, &errors, left))?;
        }
        Ok(())
    }

    /// Types what is to be mended into the agent's pane. One that is not there finds it in its inbox.
    fn have_mended(&self, agent: &AgentId, text: &str) -> Result<(), PawError> {
        let swept = sweep::sweep(self.session, clock::now())?;
        let found = swept.into_iter().find(|swept| swept.id == *agent);
        let Some((pane, cli)) = found.and_then(|swept| Some((swept.seen?.pane, swept.cli))) else {
            return Ok(());
        };
        let patience = Patience::default().with_config(self.checks.config.clis.get(&cli));
        let (tmux, text, output) = (self.session.tmux.clone(), text.to_owned(), self.context.output);
        let who = self.branch_of(agent).to_owned();
        // It waits until the CLI listens.
        thread::spawn(move || {
            if let Err(error) = deliver(&tmux, &pane, &cli, &text, patience) {
                let first = PawError::from(error).to_string();
                output.warn(&format!(
                    "{who} is not told what to mend: {}",
                    first.lines().next().unwrap_or_default()
                ));
            }
        });
        Ok(())
    }

    /// Whether a branch is not where it was verified: somebody moved it without a word.
    pub(super) fn find_moved(&self, watch: &mut Watch) -> Result<bool, PawError> {
        let mut moved = Vec::new();
        for (agent, branch, commit) in watch.verified() {
            let tip = self.tip(branch)?;
            if let Some(tip) = tip.filter(|tip| !tip.starts_with(commit)) {
                moved.push((agent.clone(), tip));
            }
        }
        for (agent, tip) in &moved {
            watch.moved(agent, tip);
        }
        Ok(!moved.is_empty())
    }

    /// Merges what is verified and waits for nothing that is not. Nothing if there is nothing, or it was interrupted.
    pub(super) fn merge(&self, watch: &Watch, signs: &Signs) -> Result<Option<merge::Report>, PawError> {
        let verified: Vec<_> = watch.verified().map(|(agent, _, _)| agent.clone()).collect();
        let repo = &self.session.repo;
        let id = SessionId::new(&self.session.receipt.session_id());
        let edges = Testimony::load(&repo.common_dir, Some(&id))?.edges;
        let everybody: Vec<_> = self.members.iter().map(|member| member.agent.clone()).collect();
        let (able, waiting) = mergeable(&verified, &everybody, &edges);
        for (agent, on) in &waiting {
            self.note(
                agent,
                Style::Doubtful,
                "not merged",
                &format!("it depends on {on}, which is not verified"),
            );
        }
        if able.is_empty() {
            return Ok(None);
        }
        let names: Vec<_> = able.iter().map(|agent| self.branch_of(agent).to_owned()).collect();
        self.context.output.note(&format!("merging {}", names.join(", ")));
        let merge = merging::open(&names, repo, self.context)?;
        let limit = GATE_LIMIT.min(signs.remaining());
        let tests = merging::Tests::gather(repo, false, limit, self.context)?;
        let client = self.context.broker_client()?;
        match merging::carry_out(merge, true, &tests, &client, signs.stop(), self.context) {
            Err(_) if signs.stop().is_raised() => Ok(None),
            report => report.map(Some),
        }
    }
}
