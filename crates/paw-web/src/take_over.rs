//! Who may type into a terminal. One login at a time takes a pane over, everyone sees who it is, and it is released when nothing
//! was typed for a while.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use serde::Serialize;

use crate::login::Login;

/// The longest time that a terminal stays taken over without input, in seconds: an hour.
const LONGEST: u64 = 3600;

/// A terminal that someone has taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Holder {
    pub(crate) login: u64,
    pub(crate) until: Timestamp,
}

#[derive(Debug)]
pub(crate) struct TakeOvers {
    held: BTreeMap<AgentId, Holder>,
    /// How long a terminal stays taken over without input.
    timeout: SignedDuration,
}

impl TakeOvers {
    /// A terminal is released after this many seconds without input.
    pub(crate) fn new(timeout_seconds: u64) -> Self {
        let timeout = Duration::from_secs(timeout_seconds.clamp(1, LONGEST));
        Self {
            held: BTreeMap::new(),
            timeout: SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX),
        }
    }

    /// Takes a terminal over, unless someone else has it. Returns who has it now.
    pub(crate) fn take(&mut self, agent: &AgentId, login: &Login, now: Timestamp) -> Holder {
        self.drop_ended(now);
        let mine = Holder { login: login.id, until: now + self.timeout };
        let holder = self.held.entry(agent.clone()).or_insert(mine);
        if holder.login == login.id {
            *holder = mine;
        }
        *holder
    }

    /// Whether this login may type now. Typing keeps the terminal.
    pub(crate) fn may_type(&mut self, agent: &AgentId, login: &Login, now: Timestamp) -> bool {
        self.drop_ended(now);
        let until = now + self.timeout;
        match self.held.get_mut(agent) {
            Some(holder) if holder.login == login.id => {
                holder.until = until;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn release(&mut self, agent: &AgentId, login: &Login) {
        if self.held.get(agent).is_some_and(|holder| holder.login == login.id) {
            self.held.remove(agent);
        }
    }

    /// Everything that is taken over.
    pub(crate) fn all(&mut self, now: Timestamp) -> &BTreeMap<AgentId, Holder> {
        self.drop_ended(now);
        &self.held
    }

    pub(crate) fn clear(&mut self) {
        self.held.clear();
    }

    fn drop_ended(&mut self, now: Timestamp) {
        self.held.retain(|_, holder| holder.until > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::{Logins, Scope};

    #[test]
    fn one_login_types_until_it_is_silent() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let mut logins = Logins::default();
        let mut login = || {
            let code = logins.create_code(Scope::Act, at(0)).unwrap();
            logins.exchange(&code, at(0)).unwrap().1
        };
        let (ann, ben) = (login(), login());
        let agent = AgentId::operator();
        let mut taken = TakeOvers::new(60);
        assert!(!taken.may_type(&agent, &ann, at(0)), "looking is not typing");
        assert_eq!(taken.take(&agent, &ann, at(0)).login, ann.id);
        assert_eq!(taken.take(&agent, &ben, at(1)).login, ann.id, "taken");
        assert!(!taken.may_type(&agent, &ben, at(1)));
        assert!(taken.may_type(&agent, &ann, at(50)));
        assert!(taken.may_type(&agent, &ann, at(109)));
        assert!(!taken.may_type(&agent, &ann, at(170)), "released");
        assert_eq!(taken.take(&agent, &ben, at(171)).login, ben.id);
        taken.release(&agent, &ann);
        assert_eq!(taken.all(at(172)).len(), 1, "only the holder releases");
    }
}
