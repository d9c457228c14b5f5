//! Which tips of the agents' branches are proven. git is asked on a thread of its own and not for every message, so a flood
//! of messages costs no process each.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use std::{io, thread};

use paw_broker::Message;
use paw_core::{AgentId, BranchName};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_screen::dashboard::DashboardUpdate;
use paw_session::lifecycle::Session;
use paw_supervisor::proof;
use paw_view::{SessionView, ViewEvent};
use tokio::sync::mpsc;

use crate::context::Context;

/// The shortest time between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// Looks at the tips when a message says that one has moved or was checked.
pub(super) struct TipWatch {
    /// Holds one request: a second one while the first waits would find the same.
    news: SyncSender<()>,
}

struct TipReader {
    /// The agents of a broker without a session.
    members: Vec<(AgentId, BranchName)>,
    session: Option<Session>,
    repo: Repo,
    dirs: Dirs,
    updates: mpsc::Sender<DashboardUpdate>,
}

impl TipWatch {
    pub(super) fn start(
        view: &SessionView,
        repo: &Repo,
        session: Option<&Session>,
        context: &Context,
        updates: mpsc::Sender<DashboardUpdate>,
    ) -> io::Result<Self> {
        let members =
            view.agents.iter().filter_map(|agent| Some((agent.id.clone(), agent.branch()?.clone())));
        let reader = TipReader {
            members: members.collect(),
            session: session.cloned(),
            repo: repo.clone(),
            dirs: context.dirs.clone(),
            updates,
        };
        let (news, waiting) = sync_channel(1);
        thread::Builder::new().name("paw-tips".into()).spawn(move || reader.run(&waiting))?;
        Ok(Self { news })
    }

    pub(super) fn on_message(&self, message: &Message) {
        if proof::is_about_tips(message) {
            let _ = self.news.try_send(());
        }
    }
}

impl TipReader {
    fn run(&self, news: &Receiver<()>) {
        // What the branches are compared with.
        let base = self.repo.git().find_default_branch().ok().flatten();
        while news.recv().is_ok() {
            let Ok(tips) = proof::load_tips(&self.members(), &self.repo, &self.dirs, base.as_ref()) else {
                continue;
            };
            if self.updates.blocking_send(DashboardUpdate::View(ViewEvent::Tips(tips))).is_err() {
                return;
            }
            thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Agents are added and removed while the dashboard runs.
    fn members(&self) -> Vec<(AgentId, BranchName)> {
        let now = self.session.as_ref().and_then(|session| session.reload().ok().flatten());
        let Some(session) = now else { return self.members.clone() };
        let agents = session.receipt.worktrees.iter();
        session.receipt.agent_ids().into_iter().zip(agents.map(|agent| agent.branch.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use paw_broker::message::ArtifactMessage;

    use super::*;

    #[test]
    fn flood_of_messages_asks_for_one_look_at_a_time() {
        let (news, waiting) = sync_channel(1);
        let watch = TipWatch { news };
        let message = ArtifactMessage::new(AgentId::new("feat-a").unwrap(), "done").into();
        for _ in 0..1000 {
            watch.on_message(&message);
        }
        assert_eq!(waiting.try_iter().count(), 1);
        // What arrives during a look is looked at afterwards.
        watch.on_message(&message);
        assert_eq!(waiting.try_iter().count(), 1);
    }
}
