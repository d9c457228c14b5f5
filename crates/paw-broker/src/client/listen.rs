//! Everything that is said in a session, as it is said: the broker's stream of events, or the log while none runs.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use super::connection::{BrokerConnection, ConnectionError};
use super::events::BrokerEvent;
use super::{BrokerClient, ClientError};
use crate::endpoint;
use crate::log::{MessageLog, PageLimit, SessionId, StoredMessage};

/// How often a broker that is not there is looked for.
const GLANCE: Duration = Duration::from_millis(250);

/// What whoever listens is told.
#[derive(Debug)]
pub enum ListenEvent<'a> {
    Message(&'a StoredMessage),
    /// Nothing new. Told now and then, so that whoever listens can end.
    Idle,
}

/// How it came that nothing more is heard.
enum StreamEnd {
    Enough,
    /// The broker has ended, or cannot be reached.
    Gone,
    /// It says nothing to us.
    Refused,
}

/// Whoever listens, and how far it has heard.
struct ListenState<F> {
    session: SessionId,
    since: u64,
    each: F,
}

impl<F: FnMut(ListenEvent<'_>) -> ControlFlow<()>> ListenState<F> {
    fn hear(&mut self, stored: &StoredMessage) -> ControlFlow<()> {
        self.since = self.since.max(stored.seq);
        if stored.session == self.session {
            (self.each)(ListenEvent::Message(stored))
        } else {
            ControlFlow::Continue(())
        }
    }

    fn hear_nothing(&mut self) -> ControlFlow<()> {
        (self.each)(ListenEvent::Idle)
    }
}

impl BrokerClient {
    /// Everything after `since`, whoever it is for, states of agents among it, with or without a broker, until `each` has
    /// had enough. An inbox, which [`BrokerClient::follow`] reads, holds no states.
    pub fn listen(
        &self,
        since: u64,
        each: impl FnMut(ListenEvent<'_>) -> ControlFlow<()>,
    ) -> Result<(), ClientError> {
        let (log, session, _) = self.open_log()?;
        let mut ear = ListenState { session, since, each };
        loop {
            let address = self.find_broker()?.and_then(|url| endpoint::parse_address(&url));
            // One that cannot be reached is about to listen, or has just ended.
            let end = match address {
                Some(address) => self.stream(address, &mut ear),
                None => StreamEnd::Gone,
            };
            let end = match end {
                StreamEnd::Gone => read_log(&*log, &mut ear)?,
                end => end,
            };
            match end {
                StreamEnd::Enough => return Ok(()),
                StreamEnd::Refused => return Err(self.stranger()),
                StreamEnd::Gone if ear.hear_nothing().is_break() => return Ok(()),
                StreamEnd::Gone => thread::sleep(GLANCE),
            }
        }
    }

    /// Until the broker ends.
    fn stream<F>(&self, address: SocketAddr, ear: &mut ListenState<F>) -> StreamEnd
    where
        F: FnMut(ListenEvent<'_>) -> ControlFlow<()>,
    {
        let connection = BrokerConnection { address, token: self.token.as_ref() };
        let events = match connection.events(ear.since) {
            Err(ConnectionError::Refused(401)) => return StreamEnd::Refused,
            Err(_) => return StreamEnd::Gone,
            Ok(events) => events,
        };
        for event in events.map_while(Result::ok) {
            let heard = match event {
                BrokerEvent::Message(stored) => ear.hear(&stored),
                BrokerEvent::Alive => ear.hear_nothing(),
            };
            if heard.is_break() {
                return StreamEnd::Enough;
            }
        }
        StreamEnd::Gone
    }
}

fn read_log<F>(log: &dyn MessageLog, ear: &mut ListenState<F>) -> Result<StreamEnd, ClientError>
where
    F: FnMut(ListenEvent<'_>) -> ControlFlow<()>,
{
    loop {
        let page = log.history(&ear.session, ear.since, PageLimit::DEFAULT)?;
        let Some(last) = page.last() else { return Ok(StreamEnd::Gone) };
        let last = last.seq;
        let session = ear.session.clone();
        for stored in page.iter().filter_map(|entry| entry.parse(&session)) {
            if ear.hear(&stored).is_break() {
                return Ok(StreamEnd::Enough);
            }
        }
        ear.since = ear.since.max(last);
    }
}
