//! Who may use the page: one-time codes, the logins they are exchanged for, and one-time tickets for WebSockets. The clock is an
//! argument; `store` keeps the logins in a file.
//!
//! A page of another port of this host shares cookies with ours, so there are none: a login is a token that the page sends with
//! each request. Only hashes are kept.

mod store;

use std::collections::VecDeque;

use getrandom::fill;
use jiff::{SignedDuration, Timestamp};
use paw_broker::identity::{Token, TokenHash};
use serde::{Deserialize, Serialize};

pub(crate) use store::LoginFile;

/// How long a code is valid.
pub(crate) const CODE_LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// A login ends this long after it was made.
pub(crate) const LOGIN_LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A login that is not used ends earlier.
pub(crate) const IDLE_LIFETIME: SignedDuration = SignedDuration::from_hours(24);
const TICKET_LIFETIME: SignedDuration = SignedDuration::from_secs(30);
/// Wrong codes per minute before every further one is refused.
const MOST_FAILURES: usize = 30;
const FAILURE_WINDOW: SignedDuration = SignedDuration::from_mins(1);
/// The oldest codes, logins and tickets are dropped above these numbers.
const MOST_CODES: usize = 16;
const MOST_LOGINS: usize = 64;
const MOST_TICKETS: usize = 256;
/// Letters and digits that are not mistaken for each other: 5 bits each.
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// 60 bits: not to be guessed in ten minutes at 30 tries a minute.
const CODE_LENGTH: usize = 12;

/// What a login may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Look at everything.
    View,
    /// Also approve, answer, type and merge.
    Act,
}

/// Why there is no login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("this code is not valid; it may have been used already, or be older than ten minutes")]
    WrongCode,
    #[error("too many wrong codes; try again in a minute")]
    TooManyFailures,
    #[error("the system's random number generator failed")]
    NoRandomness,
}

/// A code that is exchanged for a login, once.
#[derive(Debug)]
struct Code {
    hash: TokenHash,
    scope: Scope,
    until: Timestamp,
}

/// A browser that is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Login {
    /// Names the login to other viewers. Not a secret.
    pub(crate) id: u64,
    hash: TokenHash,
    pub(crate) scope: Scope,
    pub(crate) created: Timestamp,
    pub(crate) used: Timestamp,
}

impl Login {
    #[must_use]
    pub(crate) fn without_acting(self) -> Self {
        Self { scope: Scope::View, ..self }
    }
}

#[derive(Debug)]
struct Ticket {
    hash: TokenHash,
    login: u64,
    until: Timestamp,
}

/// All codes, logins and tickets of a server.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    codes: VecDeque<Code>,
    browsers: VecDeque<Login>,
    tickets: VecDeque<Ticket>,
    failures: VecDeque<Timestamp>,
    next_id: u64,
}

impl Logins {
    /// Creates a code, such as `7K2M-Q9XD-4FHT`.
    pub(crate) fn create_code(&mut self, scope: Scope, now: Timestamp) -> Result<String, LoginError> {
        let mut bytes = [0_u8; CODE_LENGTH];
        fill(&mut bytes).map_err(|_| LoginError::NoRandomness)?;
        let letters: Vec<u8> = bytes.iter().map(|byte| ALPHABET[usize::from(byte % 32)]).collect();
        let groups = letters.chunks(4).map(|group| String::from_utf8_lossy(group).into_owned());
        let code = groups.collect::<Vec<_>>().join("-");
        push(&mut self.codes, MOST_CODES, Code { hash: hash_code(&code), scope, until: now + CODE_LIFETIME });
        Ok(code)
    }

    /// Exchanges a code for the token of a new login.
    pub(crate) fn exchange(&mut self, code: &str, now: Timestamp) -> Result<(Token, Login), LoginError> {
        self.failures.retain(|failure| *failure + FAILURE_WINDOW > now);
        if self.failures.len() >= MOST_FAILURES {
            return Err(LoginError::TooManyFailures);
        }
        self.codes.retain(|known| known.until > now);
        let hash = hash_code(code);
        let Some(place) = self.codes.iter().position(|known| known.hash == hash) else {
            self.failures.push_back(now);
            return Err(LoginError::WrongCode);
        };
        let token = Token::mint().map_err(|_| LoginError::NoRandomness)?;
        let scope = self.codes.remove(place).map_or(Scope::View, |code| code.scope);
        self.next_id += 1;
        let login = Login { id: self.next_id, hash: token.hash(), scope, created: now, used: now };
        push(&mut self.browsers, MOST_LOGINS, login);
        Ok((token, login))
    }

    /// The login of a token, if it has not ended.
    pub(crate) fn find(&mut self, token: &Token, now: Timestamp) -> Option<Login> {
        self.drop_ended(now);
        let hash = token.hash();
        let login = self.browsers.iter_mut().find(|login| login.hash == hash)?;
        login.used = login.used.max(now);
        Some(*login)
    }

    /// Creates a ticket, which opens one WebSocket: a browser cannot send a header with it.
    pub(crate) fn create_ticket(&mut self, login: &Login, now: Timestamp) -> Result<Token, LoginError> {
        let ticket = Token::mint().map_err(|_| LoginError::NoRandomness)?;
        let kept = Ticket { hash: ticket.hash(), login: login.id, until: now + TICKET_LIFETIME };
        push(&mut self.tickets, MOST_TICKETS, kept);
        Ok(ticket)
    }

    /// Takes a ticket and returns its login, if neither has ended.
    pub(crate) fn take_ticket(&mut self, ticket: &Token, now: Timestamp) -> Option<Login> {
        self.drop_ended(now);
        self.tickets.retain(|known| known.until > now);
        let hash = ticket.hash();
        let place = self.tickets.iter().position(|known| known.hash == hash)?;
        let login = self.tickets.remove(place)?.login;
        self.browsers.iter().find(|known| known.id == login).copied()
    }

    /// Whether a login still exists. An open stream asks, which counts as a use.
    pub(crate) fn is_valid(&mut self, login: &Login, now: Timestamp) -> bool {
        self.drop_ended(now);
        let known = self.browsers.iter_mut().find(|known| known.hash == login.hash);
        known.is_some_and(|known| {
            known.used = known.used.max(now);
            true
        })
    }

    pub(crate) fn remove(&mut self, login: &Login) {
        self.browsers.retain(|known| known.hash != login.hash);
    }

    /// Ends every login, code and ticket. Returns how many logins there were.
    pub(crate) fn revoke(&mut self) -> usize {
        let ended = self.browsers.len();
        *self = Self { next_id: self.next_id, ..Self::default() };
        ended
    }

    fn drop_ended(&mut self, now: Timestamp) {
        self.browsers
            .retain(|login| login.created + LOGIN_LIFETIME > now && login.used + IDLE_LIFETIME > now);
    }
}

/// A person may type it in small letters, with or without the dashes.
fn hash_code(code: &str) -> TokenHash {
    let letters = code.chars().filter(char::is_ascii_alphanumeric).take(64);
    Token::from_text(&letters.collect::<String>().to_ascii_uppercase()).hash()
}

fn push<T>(queue: &mut VecDeque<T>, most: usize, item: T) {
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    #[test]
    fn code_is_exchanged_once() {
        let mut logins = Logins::default();
        let code = logins.create_code(Scope::Act, at(0)).unwrap();
        assert_eq!(code.len(), 14);
        let typed = code.to_lowercase().replace('-', " ");
        let (token, login) = logins.exchange(&typed, at(5)).unwrap();
        assert_eq!(login.scope, Scope::Act);
        assert_eq!(logins.find(&token, at(6)).map(|login| login.scope), Some(Scope::Act));
        assert_eq!(logins.exchange(&code, at(7)).unwrap_err(), LoginError::WrongCode);
    }

    #[test]
    fn code_expires() {
        let mut logins = Logins::default();
        let code = logins.create_code(Scope::View, at(0)).unwrap();
        assert_eq!(logins.exchange(&code, at(601)).unwrap_err(), LoginError::WrongCode);
    }

    #[test]
    fn wrong_codes_are_limited_per_minute() {
        let mut logins = Logins::default();
        let code = logins.create_code(Scope::View, at(0)).unwrap();
        for _ in 0..MOST_FAILURES {
            assert_eq!(logins.exchange("AAAA-AAAA-AAAA", at(1)).unwrap_err(), LoginError::WrongCode);
        }
        assert_eq!(logins.exchange(&code, at(2)).unwrap_err(), LoginError::TooManyFailures);
        assert!(logins.exchange(&code, at(62)).is_ok());
    }

    #[test]
    fn login_ends_when_unused_or_old_or_revoked() {
        let mut logins = Logins::default();
        let login = |logins: &mut Logins, now| {
            let code = logins.create_code(Scope::View, now).unwrap();
            logins.exchange(&code, now).unwrap().0
        };
        let unused = login(&mut logins, at(0));
        assert!(logins.find(&unused, at(24 * 3600)).is_none());
        let old = login(&mut logins, at(0));
        for hour in 0..7 * 24 {
            assert!(logins.find(&old, at(hour * 3600)).is_some(), "hour {hour}");
        }
        assert!(logins.find(&old, at(7 * 24 * 3600)).is_none());
        let open = login(&mut logins, at(0));
        let stream = logins.find(&open, at(0)).unwrap();
        for hour in 0..30 {
            assert!(logins.is_valid(&stream, at(hour * 3600)), "an open stream is a use");
        }
        logins.remove(&stream);
        let revoked = login(&mut logins, at(0));
        assert_eq!(logins.revoke(), 1);
        assert!(logins.find(&revoked, at(1)).is_none());
    }

    #[test]
    fn ticket_is_taken_once_and_ends_with_its_login() {
        let mut logins = Logins::default();
        let code = logins.create_code(Scope::View, at(0)).unwrap();
        let (_, login) = logins.exchange(&code, at(0)).unwrap();
        let ticket = logins.create_ticket(&login, at(0)).unwrap();
        assert_eq!(logins.take_ticket(&ticket, at(1)).map(|login| login.id), Some(login.id));
        assert!(logins.take_ticket(&ticket, at(2)).is_none());
        let late = logins.create_ticket(&login, at(10)).unwrap();
        assert!(logins.take_ticket(&late, at(41)).is_none());
        let revoked = logins.create_ticket(&login, at(50)).unwrap();
        logins.revoke();
        assert!(logins.take_ticket(&revoked, at(51)).is_none());
    }
}
