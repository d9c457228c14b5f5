//! Requests that stay open: event streams and long polls. They take at most half of the connections, so that messages can
//! always be sent, and a part of that is reserved for the operator, who watches the session.

use std::sync::Arc;

use paw_core::AgentId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::identity::Caller;

/// The share of the operator.
const RESERVED: usize = 8;

#[derive(Debug)]
pub struct WaitingRequests {
    everyone: Arc<Semaphore>,
    reserved: Arc<Semaphore>,
}

impl WaitingRequests {
    /// For a server with this many connections.
    pub fn new(connections: usize) -> Self {
        let share = connections / 2;
        let reserved = share / RESERVED;
        Self {
            everyone: Arc::new(Semaphore::new(share.saturating_sub(reserved).max(1))),
            reserved: Arc::new(Semaphore::new(reserved.max(1))),
        }
    }

    /// Admits a request until the permit is dropped. `None` if there are too many.
    pub(super) fn admit(&self, caller: &Caller) -> Option<OwnedSemaphorePermit> {
        let everyone = Arc::clone(&self.everyone).try_acquire_owned().ok();
        let is_operator = matches!(caller, Caller::Known(owner) if owner.as_str() == AgentId::OPERATOR);
        let reserved = || Arc::clone(&self.reserved).try_acquire_owned().ok().filter(|_| is_operator);
        everyone.or_else(reserved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operator_is_admitted_when_agents_have_taken_their_share() {
        let waiting = WaitingRequests::new(64);
        let agent = Caller::Known(AgentId::new("feat-a").unwrap());
        let admitted: Vec<_> = std::iter::from_fn(|| waiting.admit(&agent)).collect();
        assert_eq!(admitted.len(), 28);
        assert!(waiting.admit(&Caller::Unauthenticated).is_none());
        let operator = Caller::Known(AgentId::operator());
        let reserved: Vec<_> = std::iter::from_fn(|| waiting.admit(&operator)).collect();
        assert_eq!(reserved.len(), 4);
        drop(admitted);
        assert!(waiting.admit(&agent).is_some());
    }
}
