//! Acts for the agents of an unattended session: checks their work, publishes the results, merges.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use paw_agent::cli;
use paw_agent::deliver::{DeliveryOptions, deliver};
use paw_broker::client::BrokerClient;
use paw_broker::{Message, SessionId, StoredMessage};
use paw_core::text::short_commit;
use paw_core::{AgentId, BranchName, Diagnostic as _, PawError};
use paw_host::clock::{self, Stopwatch};
use paw_host::files::Dirs;
use paw_session::lifecycle::Session;

use super::events::{EventQueue, UnattendedEvent};
use super::mergeable::mergeable;
use super::notice::{NoticeTone, NotifyFn, ProgressNotice, describe, judgement, plain};
use super::{WorkJudgement, Workers, fix_prompt};
use crate::gates::{GateChecks, GateError, GateReport, GateRequest};
use crate::merge::project_tests::{self, ProjectTests};
use crate::merge::{self, MergeLock, MergeMember, RemoteWorktrees, Verifications};
use crate::proof::{self, Reuse};
use crate::sweep;

/// What it takes to follow a session.
pub struct UnattendedContext<'a> {
    pub session: &'a Session,
    pub checks: GateChecks,
    pub client: BrokerClient,
    pub dirs: &'a Dirs,
    pub notify: NotifyFn,
    /// The agents on other machines, in a session that has some.
    pub remote: Option<&'a dyn RemoteWorktrees>,
}

impl std::fmt::Debug for UnattendedContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnattendedContext")
            .field("session", &self.session.receipt.session_name)
            .finish_non_exhaustive()
    }
}

pub(super) struct UnattendedSession<'a> {
    pub(super) members: Vec<MergeMember>,
    context: UnattendedContext<'a>,
    /// Fix attempts per agent.
    chances: u32,
    /// The last known tip of each branch.
    tips: BTreeMap<AgentId, Option<String>>,
    /// When the branches on other machines were fetched last.
    fetched: Stopwatch,
    /// Branches whose machine did not answer, and that were reported.
    lost: BTreeSet<BranchName>,
}

/// Commits on other machines are announced by messages. They are also looked for, but only so often.
const BETWEEN_FETCHES: Duration = Duration::from_secs(30);
/// The time limit of one gate.
const GATE_LIMIT: Duration = Duration::from_mins(30);

impl<'a> UnattendedSession<'a> {
    pub(super) fn new(context: UnattendedContext<'a>, chances: u32) -> Result<Self, PawError> {
        let mut members = merge::members_of(&context.session.receipt);
        let main = context.session.repo.git().find_default_branch()?;
        members.retain(|member| Some(&member.branch) != main.as_ref());
        let (tips, lost) = (BTreeMap::new(), BTreeSet::new());
        let mut attended = Self { members, context, chances, tips, fetched: Stopwatch::start(), lost };
        for member in attended.members.clone() {
            attended.fetch(&member.branch);
            let tip = attended.tip(&member.branch)?;
            attended.tips.insert(member.agent, tip);
        }
        Ok(attended)
    }

    fn tip(&self, branch: &BranchName) -> Result<Option<String>, PawError> {
        Ok(self.context.session.repo.git().find_object(&branch.full_ref(), "commit")?)
    }

    /// Brings the commits of a branch here, if it is on another machine. Says once that this is not possible.
    fn fetch(&mut self, branch: &BranchName) {
        let Some(remote) = self.context.remote.filter(|remote| remote.has(branch)) else { return };
        match remote.fetch(branch) {
            Ok(()) => {
                self.lost.remove(branch);
            }
            Err(why) if self.lost.insert(branch.clone()) => {
                (self.context.notify)(ProgressNotice::Warning(&format!("cannot fetch {branch}: {why}")));
            }
            Err(_) => {}
        }
    }

    /// Applies a message, and checks whether its agent's branch moved.
    pub(super) fn record(&mut self, stored: &StoredMessage, workers: &mut Workers) -> Result<(), PawError> {
        self.tell_of(stored);
        workers.record(stored);
        let of = |member: &&MergeMember| member.agent == *stored.message.subject();
        match self.members.iter().find(of).cloned() {
            Some(member) if matches!(stored.message, Message::Status(_) | Message::Artifact(_)) => {
                if matches!(stored.message, Message::Artifact(_)) {
                    self.fetch(&member.branch);
                }
                self.look_at(&member, workers)
            }
            _ => Ok(()),
        }
    }

    /// Checks every branch, because not every commit is reported by a message.
    pub(super) fn look_at_all(&mut self, workers: &mut Workers) -> Result<(), PawError> {
        if self.fetched.elapsed() >= BETWEEN_FETCHES {
            self.members.clone().iter().for_each(|member| self.fetch(&member.branch));
            self.fetched = Stopwatch::start();
        }
        self.members.clone().iter().try_for_each(|member| self.look_at(member, workers))
    }

    fn look_at(&mut self, member: &MergeMember, workers: &mut Workers) -> Result<(), PawError> {
        let tip = self.tip(&member.branch)?;
        let before = self.tips.insert(member.agent.clone(), tip.clone());
        if let Some(tip) = tip.filter(|tip| before.flatten().as_ref() != Some(tip)) {
            workers.moved(&member.agent, &tip);
        }
        Ok(())
    }

    fn branch_of<'n>(&'n self, agent: &'n AgentId) -> &'n str {
        let member = self.members.iter().find(|member| member.agent == *agent);
        member.map_or(agent.as_str(), |member| member.branch.as_str())
    }

    /// Shows one line about an agent.
    fn note(&self, agent: &AgentId, tone: NoticeTone, word: &str, detail: &str) {
        (self.context.notify)(ProgressNotice::Agent { branch: self.branch_of(agent), tone, word, detail });
    }

    /// Shows one line about an important message.
    fn tell_of(&self, stored: &StoredMessage) {
        match &stored.message {
            Message::Artifact(artifact) => {
                let commit = artifact.extra.payload.get("commit").and_then(|commit| commit.as_str());
                self.note(
                    &artifact.agent_id,
                    NoticeTone::Routine,
                    &artifact.status,
                    short_commit(commit.unwrap_or_default()),
                );
            }
            Message::Question(asked) => {
                self.note(&asked.agent_id, NoticeTone::Doubtful, "asks", &plain(&asked.question));
            }
            Message::Blocked(blocked) => {
                let needs = format!("{} from {}", plain(&blocked.needs), blocked.from);
                self.note(&blocked.agent_id, NoticeTone::Doubtful, "waiting for", &needs);
            }
            Message::Status(status) if status.phase.is_some() && status.source().is_some() => {
                self.note(
                    &status.agent_id,
                    NoticeTone::Routine,
                    &status.phase.clone().unwrap_or_default(),
                    "",
                );
            }
            _ => {}
        }
    }

    /// Whether the session is still running.
    pub(super) fn is_session_there(&self) -> Result<bool, PawError> {
        Ok(self.context.session.find_window()?.is_some())
    }

    /// Runs the gates on a branch in a new thread.
    pub(super) fn verify(
        &mut self,
        agent: AgentId,
        branch: BranchName,
        events: &EventQueue,
    ) -> Result<(), PawError> {
        self.fetch(&branch);
        let has_work = self.has_work(&branch)?;
        if has_work {
            self.note(&agent, NoticeTone::Started, "checking", "");
        }
        let limit = GATE_LIMIT.min(events.remaining());
        let (checks, repo) = (self.context.checks.clone(), &self.context.session.repo);
        let request = checks.request(repo, branch, limit, self.context.dirs)?;
        let request = GateRequest { stop: events.stop().clone(), ..request };
        let (sender, notify) = (events.sender(), self.context.notify.clone());
        thread::spawn(move || {
            let report = has_work
                .then(|| {
                    let mut show = |line: &str| notify(ProgressNotice::Progress(line));
                    proof::verify(&request, Reuse::Signed, clock::now(), &mut show)
                        .map(|proven| proven.report)
                })
                .transpose();
            let _ = sender.send(UnattendedEvent::Checked { agent, outcome: Box::new(report) });
        });
        Ok(())
    }

    /// Whether a branch has commits that main lacks.
    fn has_work(&self, branch: &BranchName) -> Result<bool, PawError> {
        let git = self.context.session.repo.git();
        let Some(main) = git.find_default_branch()? else { return Ok(true) };
        let range = format!("{}..{}", main.full_ref(), branch.full_ref());
        let first = git.find(["rev-list", "--max-count=1", &range, "--"])?;
        Ok(first.is_some_and(|first| !first.is_empty()))
    }

    /// Applies a gate result, publishes it, and sends it to the agent if it has attempts left.
    pub(super) fn judge(
        &mut self,
        workers: &mut Workers,
        agent: &AgentId,
        outcome: &Result<Option<GateReport>, GateError>,
        events: &EventQueue,
    ) -> Result<(), PawError> {
        // The gates were killed, so their result does not count.
        if events.stop().is_raised() {
            return Ok(());
        }
        let judgement = match outcome {
            Ok(Some(report)) => judgement(report),
            Ok(None) => WorkJudgement::Nothing,
            Err(error) => WorkJudgement::NotRun { why: format!("cannot run its gates: {error}") },
        };
        let (tone, word, why) = describe(&judgement);
        self.note(agent, tone, word, &why);
        if let Ok(Some(report)) = outcome {
            self.publish(report);
        }
        let failed = match &judgement {
            WorkJudgement::Failed { commit, errors } => Some((commit.clone(), errors.clone())),
            _ => None,
        };
        let another = workers.judged(agent, judgement, clock::now());
        if let Some((commit, errors)) = failed.filter(|_| another) {
            let left = self.chances.saturating_sub(workers.chances_of(agent));
            self.ask_to_fix(agent, &fix_prompt::fix_prompt(&commit, &errors, left))?;
        }
        Ok(())
    }

    /// Publishes a gate report.
    fn publish(&self, report: &GateReport) {
        let agent = merge::agent_of(&self.members, &report.branch);
        if let Err(error) = report.publish(agent, None, &self.context.client) {
            (self.context.notify)(ProgressNotice::Warning(&format!("not published: {error}")));
        }
    }

    /// Types the fix prompt into the agent's pane, or has its machine do that. Without a pane, the agent finds the report in its inbox.
    fn ask_to_fix(&self, agent: &AgentId, text: &str) -> Result<(), PawError> {
        let session = self.context.session;
        let member = self.members.iter().find(|member| member.agent == *agent);
        let branch = member.map(|member| &member.branch);
        if let Some((remote, branch)) = self.context.remote.zip(branch).filter(|(remote, it)| remote.has(it))
        {
            if let Err(why) = remote.tell(branch, text) {
                let warning = format!("cannot send the fix prompt to {branch}: {why}");
                (self.context.notify)(ProgressNotice::Warning(&warning));
            }
            return Ok(());
        }
        let swept = sweep::sweep(session, clock::now())?;
        let found = swept.into_iter().find(|swept| swept.id == *agent);
        let Some((pane, cli)) = found.and_then(|swept| Some((swept.pane?.id, swept.cli))) else {
            return Ok(());
        };
        let patience = DeliveryOptions::default().with_config(self.context.checks.config.clis.get(&cli));
        let (tmux, text, notify) = (session.tmux.clone(), text.to_owned(), self.context.notify.clone());
        let who = self.branch_of(agent).to_owned();
        // `deliver` waits until the CLI is idle.
        thread::spawn(move || {
            if let Err(error) = deliver(&tmux, &pane, cli::descriptor(&cli), &text, patience) {
                let message = error.report().message;
                let first = message.lines().next().unwrap_or_default();
                notify(ProgressNotice::Warning(&format!("cannot send the fix prompt to {who}: {first}")));
            }
        });
        Ok(())
    }

    /// Whether a verified branch has moved without a message.
    pub(super) fn find_moved(&mut self, workers: &mut Workers) -> Result<bool, PawError> {
        let verified: Vec<_> = workers.verified().map(|(_, branch, _)| branch.clone()).collect();
        for branch in &verified {
            self.fetch(branch);
        }
        let mut moved = Vec::new();
        for (agent, branch, commit) in workers.verified() {
            let tip = self.tip(branch)?;
            if let Some(tip) = tip.filter(|tip| !tip.starts_with(commit)) {
                moved.push((agent.clone(), tip));
            }
        }
        for (agent, tip) in &moved {
            workers.moved(agent, tip);
        }
        Ok(!moved.is_empty())
    }

    /// Merges the verified branches whose dependencies are verified. `None` if there are none, or it was interrupted.
    pub(super) fn merge(
        &self,
        workers: &Workers,
        events: &EventQueue,
    ) -> Result<Option<merge::MergeReport>, PawError> {
        let verified: Vec<_> = workers.verified().map(|(agent, _, _)| agent.clone()).collect();
        let (session, client) = (self.context.session, &self.context.client);
        let repo = &session.repo;
        let id = SessionId::new(&session.receipt.session_id());
        let edges = Verifications::load(&repo.common_dir, Some(&id))?.edges;
        let all: Vec<_> = self.members.iter().map(|member| member.agent.clone()).collect();
        let (able, waiting) = mergeable(&verified, &all, &edges);
        for (agent, on) in &waiting {
            self.note(
                agent,
                NoticeTone::Doubtful,
                "not merged",
                &format!("it depends on {on}, which is not verified"),
            );
        }
        if able.is_empty() {
            return Ok(None);
        }
        let names: Vec<_> = able.iter().map(|agent| self.branch_of(agent).to_owned()).collect();
        (self.context.notify)(ProgressNotice::Note(&format!("merging {}", names.join(", "))));
        let lock = MergeLock::take(repo)?;
        let merge = project_tests::open(&names, repo, Some(session))?;
        let limit = GATE_LIMIT.min(events.remaining());
        let tests = ProjectTests::new(repo, self.context.checks.clone(), limit, self.context.dirs)
            .with_remote(self.context.remote);
        let on_line = |line: &str| (self.context.notify)(ProgressNotice::Progress(line));
        match merge.run_with_tests(lock, true, &tests, client, events.stop(), &on_line) {
            Err(_) if events.stop().is_raised() => Ok(None),
            report => report.map(Some),
        }
    }
}
