//! Chooses machines for agents named `BRANCH@auto`.

use std::collections::BTreeSet;
use std::time::Duration;

use paw_cluster::placement::{AUTO, HostSlots, candidates};
use paw_core::{HostName, PawError, Receipt};
use paw_session::plan::AgentRequest;

use crate::context::Context;

/// How long a machine may take to answer.
const REACH_LIMIT: Duration = Duration::from_secs(15);

impl Context {
    /// Replaces `auto` by machines with free slots that can be reached. Agents for which there is none run on this machine.
    pub(crate) fn place_agents(
        &self,
        wanted: &mut [AgentRequest],
        receipt: Option<&Receipt>,
    ) -> Result<(), PawError> {
        let is_auto = |agent: &AgentRequest| agent.host.as_ref().is_some_and(|host| host.as_str() == AUTO);
        let config = self.load_config()?.of_user_alone().resolve()?;
        if !wanted.iter().any(is_auto) || config.hosts.contains_key(AUTO) {
            return Ok(());
        }
        let mut hosts = Vec::new();
        for (name, host) in &config.hosts {
            let name = HostName::new(name)?;
            let running = receipt.into_iter().flat_map(Receipt::remote_agents);
            let running = running.filter(|agent| agent.host == name).count();
            let named = wanted.iter().filter(|agent| agent.host.as_ref() == Some(&name)).count();
            let slots = usize::try_from(host.slots.unwrap_or(0)).unwrap_or(usize::MAX);
            hosts.push(HostSlots { name, slots, used: running + named });
        }
        let mut lost = BTreeSet::new();
        for agent in wanted.iter_mut().filter(|agent| is_auto(agent)) {
            let chosen = self.choose_host(&hosts, &mut lost);
            if let Some(host) = hosts.iter_mut().find(|host| Some(&host.name) == chosen.as_ref()) {
                host.used += 1;
            }
            let place = chosen.as_ref().map_or("this machine", HostName::as_str);
            self.output.note(&format!("{} runs on {place}", agent.branch));
            agent.host = chosen;
        }
        Ok(())
    }

    /// The first machine with a free slot that answers.
    fn choose_host(&self, hosts: &[HostSlots], lost: &mut BTreeSet<HostName>) -> Option<HostName> {
        for host in candidates(hosts) {
            if lost.contains(&host.name) {
                continue;
            }
            let answered = self
                .ssh_target(&host.name)
                .and_then(|target| Ok(target.run("true", Vec::new(), REACH_LIMIT)?));
            match answered {
                Ok(_) => return Some(host.name.clone()),
                Err(error) => {
                    self.output.warn(&format!("{}: {error}", host.name));
                    lost.insert(host.name.clone());
                }
            }
        }
        None
    }
}
