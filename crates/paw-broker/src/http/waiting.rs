//! Requests that stay open: event streams, long polls, and bodies that arrive slowly.
//!
//! Streams and long polls take at most half of the connections, so that messages can always be sent, and a part of that is
//! reserved for the operator, who watches the session. One token gets only a part of everything, so that it cannot use up
//! what the others need.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use paw_core::AgentId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::identity::Caller;

/// The share of the operator.
const RESERVED: usize = 8;
/// The shares of one token: streams and long polls, and bodies.
const WAITING_PER_TOKEN: usize = 16;
const BODIES_PER_TOKEN: usize = 8;
/// The smallest share of one token.
const LEAST: usize = 4;

#[derive(Debug)]
pub struct WaitingRequests {
    connections: usize,
    everyone: Arc<Semaphore>,
    reserved: Arc<Semaphore>,
    tokens: Mutex<HashMap<AgentId, TokenShare>>,
}

/// What one token may have open at once.
#[derive(Debug, Clone)]
struct TokenShare {
    waiting: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
}

/// Held while a request is open. The share of a token is missing if the configuration requires no tokens.
#[derive(Debug)]
pub(super) struct WaitPermit {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_token: Option<OwnedSemaphorePermit>,
}

impl WaitingRequests {
    /// For a server with this many connections.
    pub fn new(connections: usize) -> Self {
        let share = connections / 2;
        let reserved = share / RESERVED;
        Self {
            connections,
            tokens: Mutex::default(),
            everyone: Arc::new(Semaphore::new(share.saturating_sub(reserved).max(1))),
            reserved: Arc::new(Semaphore::new(reserved.max(1))),
        }
    }

    /// Admits a stream or a long poll until the permit is dropped. `None` if there are too many.
    pub(super) fn admit(&self, caller: &Caller) -> Option<WaitPermit> {
        let of_token = match self.share(caller) {
            Some(share) => Some(share.waiting.try_acquire_owned().ok()?),
            None => None,
        };
        Some(WaitPermit { _of_all: Some(self.admit_of_all(caller)?), _of_token: of_token })
    }

    /// Admits a body until the permit is dropped. `None` if the caller sends too many at once.
    pub(super) fn admit_body(&self, caller: &Caller) -> Option<WaitPermit> {
        let of_token = match self.share(caller) {
            Some(share) => Some(share.bodies.try_acquire_owned().ok()?),
            None => None,
        };
        Some(WaitPermit { _of_all: None, _of_token: of_token })
    }

    fn share(&self, caller: &Caller) -> Option<TokenShare> {
        let Caller::Known(owner) = caller else { return None };
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = tokens.get(owner) {
            return Some(share.clone());
        }
        let part = |divisor: usize| Arc::new(Semaphore::new((self.connections / divisor).max(LEAST)));
        let share = TokenShare { waiting: part(WAITING_PER_TOKEN), bodies: part(BODIES_PER_TOKEN) };
        tokens.insert(owner.clone(), share.clone());
        Some(share)
    }

    fn admit_of_all(&self, caller: &Caller) -> Option<OwnedSemaphorePermit> {
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
        let others = (0..20).map(|number| Caller::Known(AgentId::new(format!("feat-{number}")).unwrap()));
        let all: Vec<_> = others.chain([agent.clone()]).collect();
        let admitted: Vec<_> =
            all.iter().flat_map(|agent| std::iter::from_fn(|| waiting.admit(agent))).collect();
        assert_eq!(admitted.len(), 28);
        assert!(waiting.admit(&Caller::Unauthenticated).is_none());
        let operator = Caller::Known(AgentId::operator());
        let reserved: Vec<_> = std::iter::from_fn(|| waiting.admit(&operator)).collect();
        assert_eq!(reserved.len(), 4);
        drop(admitted);
        assert!(waiting.admit(&agent).is_some());
    }

    #[test]
    fn one_token_gets_only_its_share() {
        let waiting = WaitingRequests::new(1024);
        let [one, other] = ["a", "b"].map(|name| Caller::Known(AgentId::new(name).unwrap()));
        let polls: Vec<_> = std::iter::from_fn(|| waiting.admit(&one)).collect();
        let bodies: Vec<_> = std::iter::from_fn(|| waiting.admit_body(&one)).collect();
        assert_eq!((polls.len(), bodies.len()), (64, 128));
        assert!(waiting.admit(&other).is_some() && waiting.admit_body(&other).is_some());
        drop((polls, bodies));
        assert!(waiting.admit(&one).is_some() && waiting.admit_body(&one).is_some());
    }
}
