//! Removes agents and sessions on other machines.

use paw_broker::log::StreamId;
use paw_cluster::hub::{Hub, HubError, StrayWork};
use paw_cluster::nats::{self, NatsSettings};
use paw_cluster::{credentials, snapshot};
use paw_core::receipt::{ClusterReceipt, RemoteAgentReceipt};
use paw_core::{PawError, Receipt};
use paw_session::lifecycle::Session;
use paw_worktree::rescue;

use crate::context::Context;
use crate::rescue::print_rescue;

impl Context {
    /// Removes an agent on another machine. The branch is fetched first and kept.
    pub(crate) fn remove_remote(
        &self,
        session: &Session,
        agent: &RemoteAgentReceipt,
        (keep_worktree, force): (bool, bool),
    ) -> Result<(), PawError> {
        let hub = Hub { session, dirs: &self.dirs };
        let is_last =
            session.receipt.remote_agents().iter().filter(|other| other.host == agent.host).count() == 1;
        if is_last && keep_worktree {
            let problem =
                format!("{} is the last agent on {}; its worktree cannot be kept", agent.branch, agent.host);
            return Err(PawError::SessionError(problem).hint("omit --keep-worktree; the branch is kept"));
        }
        match hub.remove(agent, (keep_worktree, force)) {
            Ok(stray) => self.print_stray(&stray),
            Err(error @ HubError::InUse { .. }) => return Err(error.into()),
            Err(error) if error.is_refusal() && !force || error.is_other_hub() => return Err(error.into()),
            Err(error) if force => return self.remove_lost(session, agent, &error),
            Err(error) => {
                return Err(PawError::from(error).hint(format!(
                    "--force removes it now, and what is there when {0} answers as before; 'git paw move {1} --to local \
                     --from-snapshot' continues it from its last snapshot",
                    agent.host, agent.agent_id
                )));
            }
        }
        self.fetch_rescues(session, &agent.host);
        self.announce_receipt();
        let kept = if keep_worktree { " and the worktree" } else { "" };
        self.output
            .say(&format!("removed the agent of {} on {}; kept the branch{kept}", agent.branch, agent.host))
    }

    fn print_stray(&self, stray: &[StrayWork]) {
        for StrayWork { host, branch, saved } in stray {
            self.output
                .warn(&format!("{host} has no branch '{branch}'; the work of its agent is saved as it is"));
            match saved {
                Ok(rescue) => print_rescue(rescue, self),
                Err(error) => self.output.warn(&format!("its work is only kept there: {error}")),
            }
        }
    }

    /// Removes an agent whose machine cannot be used. What is there is removed when the machine answers as before.
    fn remove_lost(
        &self,
        session: &Session,
        agent: &RemoteAgentReceipt,
        error: &HubError,
    ) -> Result<(), PawError> {
        let RemoteAgentReceipt { agent_id, branch, host, .. } = agent;
        self.output.warn(&error.to_string());
        self.keep_last_snapshot(session, agent, "when the agent was removed");
        Hub { session, dirs: &self.dirs }.forget_lost(agent)?;
        self.announce_receipt();
        self.output.note(&format!(
            "when {host} answers as before, the work of {agent_id} there is saved there and removed"
        ));
        self.output.say(&format!("removed the agent of {branch} on {host}; kept the branch"))
    }

    /// Removes the sessions of the other machines. With `force`, a machine that cannot be used is left as it is. Returns
    /// whether this is the hub: a copy of it has nothing on other machines.
    pub(crate) fn purge_remote(&self, session: &Session, force: bool) -> Result<bool, PawError> {
        let hub = Hub { session, dirs: &self.dirs };
        let mut is_hub = session.receipt.cluster.as_ref().is_some_and(ClusterReceipt::is_hub);
        for host in self.remote_hosts(&session.receipt)? {
            match hub.purge_host(&host.name, force) {
                Ok(stray) => {
                    self.print_stray(&stray);
                    self.fetch_rescues(session, &host.name);
                    self.output.note(&format!("removed the session's worktrees on {}", host.name));
                }
                Err(error) if force => {
                    self.output.warn(&format!("left as it is on {}: {error}", host.name));
                    is_hub &= !error.is_other_hub();
                    for agent in
                        session.receipt.remote_agents().iter().filter(|agent| agent.host == host.name)
                    {
                        self.keep_last_snapshot(session, agent, "when the session was purged");
                    }
                }
                Err(error) => {
                    return Err(PawError::from(error)
                        .hint("nothing was removed on this machine; --force leaves what cannot be reached"));
                }
            }
        }
        if session.receipt.cluster.as_ref().is_some_and(ClusterReceipt::is_hub) {
            snapshot::delete_all(&session.repo)?;
        }
        Ok(is_hub)
    }

    /// Saves the last work of an agent on a machine that cannot be used, for `git paw undo`.
    fn keep_last_snapshot(&self, session: &Session, agent: &RemoteAgentReceipt, when: &str) {
        let RemoteAgentReceipt { agent_id, branch, host, .. } = agent;
        let Some(last) = snapshot::load(&session.repo, host).remove(agent_id) else { return };
        let reason = format!("{host} could not be used {when}");
        match rescue::store_commit(&session.repo, branch, &last.commit, &reason) {
            Ok(rescue) => print_rescue(&rescue, self),
            Err(error) => self.output.warn(&format!("the last snapshot of {branch} is lost: {error}")),
        }
    }

    /// Deletes the stream of a purged session on the user's own servers. A server of the session is deleted with it.
    pub(crate) fn purge_stream(&self, receipt: &Receipt) {
        let Some(cluster) = receipt.cluster.as_ref().filter(|cluster| cluster.is_hub()) else { return };
        let deleted = self.load_config().and_then(|layers| {
            let config = layers.of_user_alone().resolve()?.cluster;
            let Some(stream) = StreamId::parse(&cluster.stream) else { return Ok(()) };
            if config.servers.is_empty() {
                return Ok(());
            }
            let (servers, login) = credentials::load_access(&config)?;
            let (host, is_hub, replicas) = (cluster.host.clone(), true, 1);
            Ok(nats::delete_stream(NatsSettings { servers, login, stream, host, is_hub, replicas })?)
        });
        if let Err(error) = deleted {
            let name = format!("PAW_{}", cluster.stream);
            self.output.warn(&format!("the stream {name} is still on your NATS servers: {error}"));
        }
    }
}
