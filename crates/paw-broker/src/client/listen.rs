//! Everything that is said in a session, as it is said: the broker's stream of events, or the log while none runs.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use super::connection::{Connection, ConnectionError};
use super::events::Event;
use super::{Client, ClientError};
use crate::endpoint;
use crate::log::{MessageLog, PageLimit, SessionId, Stored};

/// How often a broker that is not there is looked for.
const GLANCE: Duration = Duration::from_millis(250);

/// What whoever listens is told.
#[derive(Debug)]
pub enum Heard<'a> {
    Said(&'a Stored),
    /// Nothing new. Told now and then, so that whoever listens can end.
    Nothing,
}

/// How it came that nothing more is heard.
enum End {
    Enough,
    /// The broker has ended, or cannot be reached.
    Gone,
    /// It says nothing to us.
    Refused,
}

/// Whoever listens, and how far it has heard.
struct Ear<F> {
    session: SessionId,
    since: u64,
    each: F,
}

impl<F: FnMut(Heard<'_>) -> ControlFlow<()>> Ear<F> {
    fn hear(&mut self, stored: &Stored) -> ControlFlow<()> {
        self.since = self.since.max(stored.seq);
        if stored.session == self.session {
            (self.each)(Heard::Said(stored))
        } else {
            ControlFlow::Continue(())
        }
    }

    fn hear_nothing(&mut self) -> ControlFlow<()> {
        (self.each)(Heard::Nothing)
    }
}

impl Client {
    /// Everything after `since`, whoever it is for, states of agents among it, with or without a broker, until `each` has
    /// had enough. An inbox, which [`Client::follow`] reads, holds no states.
    pub fn listen(
        &self,
        since: u64,
        each: impl FnMut(Heard<'_>) -> ControlFlow<()>,
    ) -> Result<(), ClientError> {
        let (log, session, _) = self.open_log()?;
        let mut ear = Ear { session, since, each };
        loop {
            let address = self.find_broker()?.and_then(|url| endpoint::address(&url));
            // One that cannot be reached is about to listen, or has just ended.
            let end = match address {
                Some(address) => self.stream(address, &mut ear),
                None => End::Gone,
            };
            let end = match end {
                End::Gone => read_log(&*log, &mut ear)?,
                end => end,
            };
            match end {
                End::Enough => return Ok(()),
                End::Refused => return Err(self.stranger()),
                End::Gone if ear.hear_nothing().is_break() => return Ok(()),
                End::Gone => thread::sleep(GLANCE),
            }
        }
    }

    /// Until the broker ends.
    fn stream<F>(&self, address: SocketAddr, ear: &mut Ear<F>) -> End
    where
        F: FnMut(Heard<'_>) -> ControlFlow<()>,
    {
        let connection = Connection { address, token: self.token.as_ref() };
        let events = match connection.events(ear.since) {
            Err(ConnectionError::Refused(401)) => return End::Refused,
            Err(_) => return End::Gone,
            Ok(events) => events,
        };
        for event in events.map_while(Result::ok) {
            let heard = match event {
                Event::Message(stored) => ear.hear(&stored),
                Event::Alive => ear.hear_nothing(),
            };
            if heard.is_break() {
                return End::Enough;
            }
        }
        End::Gone
    }
}

fn read_log<F>(log: &dyn MessageLog, ear: &mut Ear<F>) -> Result<End, ClientError>
where
    F: FnMut(Heard<'_>) -> ControlFlow<()>,
{
    loop {
        let page = log.history(&ear.session, ear.since, PageLimit::DEFAULT)?;
        let Some(last) = page.last() else { return Ok(End::Gone) };
        let last = last.seq;
        let session = ear.session.clone();
        for stored in page.iter().filter_map(|entry| entry.stored(&session)) {
            if ear.hear(&stored).is_break() {
                return Ok(End::Enough);
            }
        }
        ear.since = ear.since.max(last);
    }
}
