//! Access to the log while no broker is running.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use paw_core::AgentId;
use paw_core::config::BrokerAuth;
use paw_host::clock::Stopwatch;

use super::{BrokerClient, ClientError, Inbox};
use crate::identity::{Caller, Keyring, may_send};
use crate::log::{self, MessageDraft, MessageLog, PageLimit, SendId, SessionId};
use crate::message::Message;

/// How often the log is polled while a reader waits.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

impl BrokerClient {
    /// Stores a message, unless it is stored already under its id.
    pub(super) fn append_to_log(
        &self,
        message: Message,
        now: Timestamp,
        id: SendId,
    ) -> Result<u64, ClientError> {
        let (log, session, caller) = self.open_log()?;
        may_send(&caller, &message)?;
        let draft = MessageDraft::new(message, now).with_id(Some(id));
        let reply = draft.reply(self.nudge);
        let drafts: Vec<MessageDraft> = [Some(draft), reply].into_iter().flatten().collect();
        let appended = log.append(&session, &drafts)?;
        Ok(appended.numbers(1).next().map_or(appended.first, |(seq, _)| seq))
    }

    pub(super) fn load_inbox(
        &self,
        agent: &AgentId,
        since: u64,
        wait: Duration,
    ) -> Result<Inbox, ClientError> {
        let (log, session, caller) = self.open_log()?;
        let watch = Stopwatch::start();
        loop {
            let page = log.inbox(&session, agent, since, PageLimit::DEFAULT)?;
            let left = watch.remaining(wait);
            if page.is_empty() && !left.is_zero() {
                thread::sleep(POLL_INTERVAL.min(left));
                continue;
            }
            let last_seq = page.last().map_or(since, |entry| entry.seq.max(since));
            if !page.is_empty() && caller == Caller::Known(agent.clone()) {
                log.note_read(&session, agent, last_seq)?;
            }
            let one = PageLimit { messages: 1, bytes: 0 };
            let more = !page.is_empty() && !log.inbox(&session, agent, last_seq, one)?.is_empty();
            let messages = page.iter().filter_map(|entry| entry.parse(&session)).collect();
            return Ok(Inbox { messages, last_seq, more });
        }
    }

    pub(super) fn open_log(&self) -> Result<(Arc<dyn MessageLog>, SessionId, Caller), ClientError> {
        if !self.dir.log().exists() {
            return Err(ClientError::NoSession);
        }
        let log = log::open_with(&self.dir.log(), self.config.synchronous)?;
        let session = match &self.session {
            Some(session) => session.clone(),
            None => log.current_session()?.ok_or(ClientError::NoSession)?,
        };
        let caller = self.authenticate(&log, &session)?;
        Ok((log, session, caller))
    }

    /// Fails unless the client is the supervisor or the operator and proves it with its token. A repository that never had a
    /// broker has no tokens; there the operator needs none.
    pub fn require_privilege(&self, action: &'static str) -> Result<(), ClientError> {
        let refused = || ClientError::NotPrivileged { agent: self.agent.clone(), action };
        if !Caller::Known(self.agent.clone()).is_privileged() {
            return Err(refused());
        }
        if !self.dir.log().exists() {
            return if self.agent.as_str() == AgentId::OPERATOR { Ok(()) } else { Err(refused()) };
        }
        let log = log::open_with(&self.dir.log(), self.config.synchronous)?;
        if self.agent.as_str() == AgentId::OPERATOR && self.token.is_none() {
            return Ok(Keyring::new(&log, self.dir.path()).operator().map(drop)?);
        }
        // The operator's token is valid in every session.
        let session = match &self.session {
            Some(session) => session.clone(),
            None => log.current_session()?.unwrap_or_else(|| SessionId::new("")),
        };
        match self.authenticate(&log, &session)? {
            Caller::Known(owner) if owner != self.agent => Err(refused()),
            _ => Ok(()),
        }
    }

    fn authenticate(&self, log: &Arc<dyn MessageLog>, session: &SessionId) -> Result<Caller, ClientError> {
        if self.config.auth == BrokerAuth::None {
            return Ok(Caller::Unauthenticated);
        }
        let token = self.token.as_ref().ok_or_else(|| self.identity_error())?;
        let keys = Keyring::new(log, self.dir.path()).load(session)?;
        keys.owner(token).cloned().map(Caller::Known).ok_or_else(|| self.identity_error())
    }
}
