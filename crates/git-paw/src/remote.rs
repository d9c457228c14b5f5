//! Agents on other machines, for commands.

mod removal;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use jiff::Timestamp;
use paw_cluster::credentials;
use paw_cluster::host::HostError;
use paw_cluster::hub::{self, Hub, HubError, KnownRead, RemoteAgentRequest};
use paw_cluster::link;
use paw_cluster::nats;
use paw_cluster::remote::RemoteHost;
use paw_cluster::request::{ClusterAction, ClusterRequest};
use paw_cluster::server;
use paw_cluster::snapshot;
use paw_core::paths::PawDir;
use paw_core::receipt::{HubSupervision, RemoteAgentReceipt, SpecReceipt};
use paw_core::{BranchName, HostName, PawError, Receipt};
use paw_host::files;
use paw_host::process::{Exit, own_program};
use paw_host::ssh::{SSH_FAILED, SshTarget};
use paw_session::lifecycle::Session;
use paw_session::plan::AgentRequest;
use paw_session::specs::{self, SpecEntry};
use paw_supervisor::approval::load_hub_supervision;
use paw_view::HostReach;
use paw_worktree::diff::WorkDiff;
use paw_worktree::rescue::RefusedRescue;
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;

/// The last known work of an agent whose machine cannot be reached.
pub(crate) struct LastWork {
    pub(crate) work: WorkDiff,
    pub(crate) source: SnapshotSource,
}

/// Where the last known work comes from.
#[derive(Debug, Serialize)]
pub(crate) struct SnapshotSource {
    host: HostName,
    /// When it was fetched.
    at: Timestamp,
    /// Missing if an agent asked: agents never use ssh.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreachable_since: Option<Timestamp>,
}

/// A machine could offer any number of rescues.
const MOST_REPORTED: usize = 20;

fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

impl Context {
    /// Fails if a hub runs this command here while another one is connected.
    pub(crate) fn require_hub(&self, hub: Option<&str>) -> Result<(), PawError> {
        let Some(hub) = hub else { return Ok(()) };
        match self.find_repo()? {
            Some(repo) => link::require_one_hub(&PawDir::of(&repo.common_dir), hub),
            None => Ok(()),
        }
    }

    pub(crate) fn ssh_target(&self, host: &HostName) -> Result<SshTarget, PawError> {
        let hosts = self.load_config()?.of_user_alone().resolve()?.hosts;
        let configured = hosts.get(host.as_str()).ok_or_else(|| HostError::Unknown(host.clone()))?;
        Ok(configured.ssh.parse()?)
    }

    /// Checks what agents on other machines need, before anything starts.
    pub(crate) fn require_cluster(&self, wanted: &[AgentRequest]) -> Result<(), PawError> {
        let mut hosts: Vec<_> = wanted.iter().filter_map(|agent| agent.host.as_ref()).collect();
        hosts.sort();
        hosts.dedup();
        if hosts.is_empty() {
            return Ok(());
        }
        self.require_user("start agents on other machines")?;
        self.require_server()?;
        hosts.into_iter().try_for_each(|host| self.ssh_target(host).map(drop))
    }

    /// Checks that there is a NATS server, or that one can be started.
    pub(crate) fn require_server(&self) -> Result<(), PawError> {
        nats::require_client()?;
        let cluster = self.load_config()?.of_user_alone().resolve()?.cluster;
        if !cluster.servers.is_empty() {
            return Ok(credentials::load_access(&cluster).map(drop)?);
        }
        if cluster.credentials.is_some() {
            self.output.warn("[cluster] credentials has no effect without servers");
        }
        server::require_program(&self.search_path)?;
        Ok(())
    }

    /// Starts agents on other machines. The session is running.
    pub(crate) fn add_remote(&self, wanted: &[AgentRequest], trust: bool) -> Result<(), PawError> {
        for agent in wanted {
            let Some(host) = agent.host.clone() else { continue };
            // The agent before it changed the receipt.
            let session = self.require_session()?;
            let request = RemoteAgentRequest {
                target: self.ssh_target(&host)?,
                host,
                branch: agent.branch.clone(),
                cli: agent.cli.clone(),
                task: agent.task.clone(),
                spec: match &agent.spec {
                    Some(spec) => Some(spec.to_receipt()),
                    // A killed command may have begun with one.
                    None => self.find_spec(&session, &agent.branch)?,
                },
                is_moved: false,
                read: KnownRead::Nowhere,
                trust,
                supervision: self.supervision(&session)?,
            };
            self.output.progress(&format!("starting {} on {}", request.branch, request.host));
            let added =
                Hub { session: &session, dirs: &self.dirs }.add(&request, &|| self.apply_receipt())?;
            self.output.say(&format!("added {} → {} on {}", added.branch, added.cli, added.host))?;
        }
        if wanted.iter().any(|agent| agent.host.is_some()) {
            self.follow_remote();
        }
        Ok(())
    }

    /// The spec of an agent on any machine, for a start on another one. A spec that was deleted here is not known any longer.
    pub(crate) fn find_spec(
        &self,
        session: &Session,
        branch: &BranchName,
    ) -> Result<Option<SpecReceipt>, PawError> {
        let receipt = &session.receipt;
        let here = receipt.find_agent(branch);
        if let Some(sent) = here.and_then(|agent| agent.sent_spec.clone()) {
            return Ok(Some(sent));
        }
        let elsewhere = receipt.cluster.as_ref().and_then(|cluster| cluster.find_agent(branch));
        let id = here.and_then(|agent| agent.spec.as_deref());
        let id = id.or_else(|| elsewhere.and_then(|agent| agent.spec.as_deref()));
        let Some(id) = id else { return Ok(None) };
        let config = self.load_config()?.resolve()?;
        let found = specs::find_all(&[id], &session.repo.root, &config);
        if found.is_empty() {
            self.output
                .warn(&format!("{branch} continues without its spec '{id}', which no longer exists here"));
        }
        Ok(found.first().map(SpecEntry::to_receipt))
    }

    /// How this session looks after its agents on other machines, by the configuration of now.
    pub(crate) fn supervision(&self, session: &Session) -> Result<Option<HubSupervision>, PawError> {
        load_hub_supervision(&session.receipt, &session.repo, &self.dirs)
    }

    /// Opens windows for agents on other machines. Problems are only warnings: `git paw attach` shows them, too.
    pub(crate) fn follow_remote(&self) {
        let followed = self.require_session().and_then(|session| {
            let program = own_program()?;
            Ok(session.follow_remote_agents(&program)?)
        });
        if let Err(error) = followed {
            self.output.warn(&format!("no window shows the agents on other machines: {error}"));
        }
    }

    /// The agent on another machine that a person means, unless one on this machine has the name.
    pub(crate) fn find_remote(&self, name: &str) -> Result<Option<(Session, RemoteAgentReceipt)>, PawError> {
        let Some(session) = self.find_session()? else { return Ok(None) };
        if session.receipt.find_id(name).is_ok() {
            return Ok(None);
        }
        let agent = session.receipt.find_elsewhere(name).cloned();
        Ok(agent.map(|agent| (session, agent)))
    }

    /// The last snapshot of an agent, if its machine cannot be reached or an agent asks. Says how old it is.
    pub(crate) fn find_last_work(
        &self,
        session: &Session,
        agent: &RemoteAgentReceipt,
    ) -> Result<Option<LastWork>, PawError> {
        let unreachable_since = session.unreachable_since(&agent.host);
        let is_user = self.caller()?.is_user();
        if unreachable_since.is_none() && is_user {
            return Ok(None);
        }
        let host = agent.host.clone();
        let Some(last) = snapshot::load(&session.repo, &host).remove(&agent.agent_id) else {
            if is_user {
                return Ok(None);
            }
            let problem = format!("there is no snapshot of the work of {} on {host} yet", agent.branch);
            return Err(PawError::SessionError(problem).hint("look again after its next change"));
        };
        let (at, reason) =
            (last.at, unreachable_since.map(|since| format!("{host} is unreachable since {}", time(since))));
        let reason = reason.unwrap_or_else(|| format!("{} works on {host}", agent.branch));
        self.output.warn(&format!("{reason}; this is the snapshot of {}", time(at)));
        let work = WorkDiff::of_snapshot(&session.repo, &last.commit)?;
        Ok(Some(LastWork { work, source: SnapshotSource { host, at, unreachable_since } }))
    }

    /// Fails at once if the machine is known to be unreachable: ssh would wait.
    pub(crate) fn require_reachable(session: &Session, host: &HostName) -> Result<(), PawError> {
        match session.unreachable_since(host) {
            Some(since) => {
                Err(PawError::SessionError(format!("{host} is unreachable since {}", time(since))))
            }
            None => Ok(()),
        }
    }

    /// Runs git-paw on the machine of an agent, with this terminal or without, and ends like it.
    pub(crate) fn forward(
        &self,
        receipt: &Receipt,
        host: &HostName,
        args: &[&str],
    ) -> Result<ExitCode, PawError> {
        self.require_user("use another machine")?;
        let host = hub::require_host(&self.require_repo()?, receipt.cluster.as_ref(), host)?;
        let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        self.output.progress(&format!("connecting to {}", host.name));
        let exit = host.command(args, is_terminal).inherit()?;
        Ok(match exit {
            // ssh has printed why.
            Exit::Code(SSH_FAILED) => return Err(self.unreachable(&host.name)),
            Exit::Code(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
            Exit::Signal(_) | Exit::TimedOut { .. } => ExitCode::FAILURE,
        })
    }

    fn unreachable(&self, host: &HostName) -> PawError {
        let since = self.find_session().ok().flatten().and_then(|session| session.unreachable_since(host));
        let since = since.map(|since| format!("; unreachable since {}", time(since))).unwrap_or_default();
        PawError::SessionError(format!("cannot reach {host}{since}"))
            .hint("agents there continue; 'git paw cluster status' shows all machines")
    }

    /// Like [`Self::forward`], for commands without an exit code of their own.
    pub(crate) fn forward_checked(
        &self,
        receipt: &Receipt,
        host: &HostName,
        args: &[&str],
    ) -> Result<(), PawError> {
        let exit = self.forward(receipt, host, args)?;
        if exit == ExitCode::SUCCESS {
            return Ok(());
        }
        Err(PawError::SessionError(format!("git paw {} failed on {host}", args.first().unwrap_or(&""))))
    }

    /// Runs git-paw on the machine of an agent and returns the document that it prints.
    pub(crate) fn ask_remote(
        &self,
        receipt: &Receipt,
        host: &HostName,
        args: &[&str],
    ) -> Result<Value, PawError> {
        self.require_user("use another machine")?;
        let host = hub::require_host(&self.require_repo()?, receipt.cluster.as_ref(), host)?;
        Ok(host.ask(args, &Value::Null)?)
    }

    /// Brings the branches of all agents on other machines up to date. Problems are only warnings: the commits that are here
    /// are used.
    pub(crate) fn fetch_remote(&self, session: &Session) {
        for agent in session.receipt.remote_agents() {
            if let Err(error) = self.fetch_from_host(session, agent) {
                let report = error.report();
                self.output.warn(&report.message);
                report.hints.iter().for_each(|hint| self.output.note(hint));
            }
        }
    }

    /// Brings one branch up to date, if its agent is on another machine. Fails if it cannot move here, because the command is
    /// about its newest commits.
    pub(crate) fn fetch_remote_branch(&self, session: &Session, branch: &BranchName) -> Result<(), PawError> {
        let agent = session.receipt.remote_agents().iter().find(|agent| agent.branch == *branch);
        agent.map_or(Ok(()), |agent| self.fetch_from_host(session, agent))
    }

    /// A machine that cannot be reached is only a warning.
    fn fetch_from_host(&self, session: &Session, agent: &RemoteAgentReceipt) -> Result<(), PawError> {
        let host = hub::require_host(&session.repo, session.receipt.cluster.as_ref(), &agent.host);
        match host.and_then(|host| hub::fetch_branch(&session.repo, &host, &agent.branch)) {
            Err(error @ HubError::InUse { .. }) => Err(error.into()),
            Err(error) => {
                self.output.warn(&format!("cannot fetch {} from {}: {error}", agent.branch, agent.host));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Runs a command on every machine of a session. A machine that cannot be reached is only a warning.
    pub(crate) fn on_all_hosts(&self, receipt: &Receipt, args: &[&str]) -> Result<(), PawError> {
        self.on_hosts(self.remote_hosts(receipt)?.into_iter(), args);
        Ok(())
    }

    fn on_hosts(&self, hosts: impl Iterator<Item = RemoteHost>, args: &[&str]) {
        for host in hosts {
            if let Err(error) = host.run(args, Vec::new()) {
                self.output.warn(&format!("{}: {error}", host.name));
            }
        }
    }

    /// Brings back the sessions of the other machines, and completes agents that a killed command did not finish. A machine may
    /// have been restarted while the session here is active, but then nothing waits for those that cannot be reached.
    pub(crate) fn resume_remote(
        &self,
        receipt: &Receipt,
        is_active: bool,
        trust: bool,
    ) -> Result<(), PawError> {
        let reaches = if is_active { self.load_reaches()? } else { BTreeMap::new() };
        let is_gone = |host: &HostName| reaches.get(host).is_some_and(|reach| !reach.is_reachable);
        let is_there = |host: &RemoteHost| {
            receipt.remote_agents().iter().any(|agent| agent.host == host.name && !agent.unfinished)
        };
        let mut hosts = self.remote_hosts(receipt)?;
        hosts.retain(|host| is_there(host) && !is_gone(&host.name));
        if !hosts.is_empty() {
            let supervision = self.supervision(&self.require_session()?)?;
            for host in &hosts {
                if let Err(error) = hub::supervise(host, supervision.as_ref()) {
                    self.output.warn(&format!("{}: {error}", host.name));
                }
            }
        }
        self.on_hosts(hosts.into_iter(), &["start"]);
        for agent in receipt.remote_agents().iter().filter(|agent| agent.unfinished) {
            self.resume_unfinished(receipt, agent, is_gone(&agent.host), trust);
        }
        if !receipt.remote_agents().is_empty() {
            self.follow_remote();
        }
        Ok(())
    }

    /// Completes an agent that a killed command did not finish. Failures are only warnings.
    fn resume_unfinished(&self, receipt: &Receipt, agent: &RemoteAgentReceipt, is_gone: bool, trust: bool) {
        let RemoteAgentReceipt { branch, host, .. } = agent;
        if receipt.find_agent(branch).is_some() {
            let again = format!("'git paw move {branch} --to {host}' completes it");
            return self.output.warn(&format!("the move of {branch} to {host} was interrupted; {again}"));
        }
        let completed = if is_gone {
            Err(PawError::SessionError(format!("{host} cannot be reached")))
        } else {
            self.require_session().and_then(|session| self.complete_remote(&session, agent, trust))
        };
        if let Err(error) = completed {
            self.output.warn(&format!("the agent of {branch} on {host} is not complete: {}", error.report()));
            self.output.note(&format!(
                "'git paw add {branch}@{host}' completes it, and 'git paw remove {branch}' removes it"
            ));
        }
    }

    /// Completes an agent that a killed command did not finish.
    pub(crate) fn complete_remote(
        &self,
        session: &Session,
        agent: &RemoteAgentReceipt,
        trust: bool,
    ) -> Result<(), PawError> {
        let request = RemoteAgentRequest {
            target: self.ssh_target(&agent.host)?,
            host: agent.host.clone(),
            branch: agent.branch.clone(),
            cli: agent.cli.clone(),
            task: agent.task.clone(),
            spec: self.find_spec(session, &agent.branch)?,
            is_moved: false,
            read: KnownRead::Nowhere,
            trust,
            supervision: self.supervision(session)?,
        };
        self.output.progress(&format!("starting {} on {}", request.branch, request.host));
        let added = Hub { session, dirs: &self.dirs }.add(&request, &|| self.apply_receipt())?;
        self.output.say(&format!("completed {} → {} on {}", added.branch, added.cli, added.host))
    }

    /// Which machines the session's process reaches.
    fn load_reaches(&self) -> Result<BTreeMap<HostName, HostReach>, PawError> {
        let text = files::load_text(&PawDir::of(&self.require_repo()?.common_dir).hosts())?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// What was removed on another machine can be restored on this one.
    pub(crate) fn fetch_rescues(&self, session: &Session, host: &HostName) {
        let cluster = session.receipt.cluster.as_ref();
        let found = hub::require_host(&session.repo, cluster, host);
        match found.and_then(|found| hub::fetch_rescues(&session.repo, &found, cluster)) {
            Ok(refused) => {
                let more = refused.len().saturating_sub(MOST_REPORTED);
                for RefusedRescue { id, reason } in refused.into_iter().take(MOST_REPORTED) {
                    self.output.warn(&format!("rescue '{id}' of {host} was left there: {reason}"));
                }
                if more > 0 {
                    self.output.warn(&format!("{more} more rescues of {host} were left there"));
                }
            }
            Err(error) => self.output.warn(&format!("removed work is only kept there: {error}")),
        }
    }

    /// Tells the session's process that the receipt has changed, and waits until other machines can know it.
    pub(crate) fn apply_receipt(&self) -> Result<(), PawError> {
        self.repeat_request(&ClusterRequest { cluster: ClusterAction::Apply }).map(drop)
    }

    /// Like [`Self::apply_receipt`]. A failure is only a warning, because the process also reads the receipt when it starts.
    pub(crate) fn announce_receipt(&self) {
        if let Err(error) = self.apply_receipt() {
            self.output.warn(&error.to_string());
        }
    }

    /// The machines of a session that have agents.
    fn remote_hosts(&self, receipt: &Receipt) -> Result<Vec<RemoteHost>, PawError> {
        let mut names: Vec<_> = receipt.remote_agents().iter().map(|agent| &agent.host).collect();
        names.sort();
        names.dedup();
        let repo = self.require_repo()?;
        let host = |name: &HostName| Ok(hub::require_host(&repo, receipt.cluster.as_ref(), name)?);
        names.into_iter().map(host).collect()
    }
}
