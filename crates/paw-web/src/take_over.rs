//! Who may type into a terminal. One login at a time takes a pane over, everyone sees who it is, and it is released when nothing
//! was typed for a while.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use serde::Serialize;

use crate::login::Login;

/// How long a terminal stays taken over without input.
pub(crate) const RELEASE_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// A terminal that someone has taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Holder {
    pub(crate) login: u64,
    pub(crate) until: Timestamp,
}

#[derive(Debug, Default)]
pub(crate) struct TakeOvers(BTreeMap<AgentId, Holder>);

impl TakeOvers {
    /// Takes a terminal over, unless someone else has it. Returns who has it now.
    pub(crate) fn take(&mut self, agent: &AgentId, login: &Login, now: Timestamp) -> Holder {
        self.drop_ended(now);
        let mine = Holder { login: login.id, until: now + RELEASE_AFTER };
        let holder = self.0.entry(agent.clone()).or_insert(mine);
        if holder.login == login.id {
            *holder = mine;
        }
        *holder
    }

    /// Whether this login may type now. Typing keeps the terminal.
    pub(crate) fn may_type(&mut self, agent: &AgentId, login: &Login, now: Timestamp) -> bool {
        self.drop_ended(now);
        match self.0.get_mut(agent) {
            Some(holder) if holder.login == login.id => {
                holder.until = now + RELEASE_AFTER;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn release(&mut self, agent: &AgentId, login: &Login) {
        if self.0.get(agent).is_some_and(|holder| holder.login == login.id) {
            self.0.remove(agent);
        }
    }

    /// Everything that is taken over.
    pub(crate) fn all(&mut self, now: Timestamp) -> &BTreeMap<AgentId, Holder> {
        self.drop_ended(now);
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn drop_ended(&mut self, now: Timestamp) {
        self.0.retain(|_, holder| holder.until > now);
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
        let mut taken = TakeOvers::default();
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
