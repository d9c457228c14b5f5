//! All messages of a session as they are stored: from the broker's events, or from the log while no broker is running.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use super::connection::{BrokerConnection, ConnectionError};
use super::events::BrokerEvent;
use super::{BrokerClient, ClientError};
use crate::endpoint;
use crate::log::{MessageLog, PageLimit, SessionId, StoredMessage};

/// How often the log is polled while no broker is running.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// What a listener gets.
#[derive(Debug)]
pub enum ListenEvent<'a> {
    Message(&'a StoredMessage),
    /// No new message. Sent from time to time, so that the listener can stop.
    Idle,
}

/// Why a source of messages ended.
enum StreamEnd {
    Stopped,
    /// The broker shut down, or cannot be reached.
    Gone,
    /// The broker refused the token.
    Refused,
}

/// A listener and its position.
struct ListenState<F> {
    session: SessionId,
    since: u64,
    each: F,
}

impl<F: FnMut(ListenEvent<'_>) -> ControlFlow<()>> ListenState<F> {
    fn on_message(&mut self, stored: &StoredMessage) -> ControlFlow<()> {
        self.since = self.since.max(stored.seq);
        if stored.session == self.session {
            (self.each)(ListenEvent::Message(stored))
        } else {
            ControlFlow::Continue(())
        }
    }

    fn on_idle(&mut self) -> ControlFlow<()> {
        (self.each)(ListenEvent::Idle)
    }
}

impl BrokerClient {
    /// Calls `each` with all messages after `since`, for any audience, with or without a broker, until it breaks. Unlike
    /// an inbox, which [`BrokerClient::follow`] reads, this includes status messages.
    pub fn listen(
        &self,
        since: u64,
        each: impl FnMut(ListenEvent<'_>) -> ControlFlow<()>,
    ) -> Result<(), ClientError> {
        let (log, session, _) = self.open_log()?;
        let mut listener = ListenState { session, since, each };
        loop {
            let address = self.find_broker()?.and_then(|url| endpoint::parse_address(&url));
            // A broker that cannot be reached is starting, or has just ended.
            let end = match address {
                Some(address) => self.stream(address, &mut listener),
                None => StreamEnd::Gone,
            };
            let end = match end {
                StreamEnd::Gone => read_log(&*log, &mut listener)?,
                end => end,
            };
            match end {
                StreamEnd::Stopped => return Ok(()),
                StreamEnd::Refused => return Err(self.identity_error()),
                StreamEnd::Gone if listener.on_idle().is_break() => return Ok(()),
                StreamEnd::Gone => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Reads events until the broker shuts down.
    fn stream<F>(&self, address: SocketAddr, listener: &mut ListenState<F>) -> StreamEnd
    where
        F: FnMut(ListenEvent<'_>) -> ControlFlow<()>,
    {
        let connection = BrokerConnection { address, token: self.token.as_ref() };
        let events = match connection.events(listener.since) {
            Err(ConnectionError::Refused(401)) => return StreamEnd::Refused,
            Err(_) => return StreamEnd::Gone,
            Ok(events) => events,
        };
        for event in events.map_while(Result::ok) {
            let heard = match event {
                BrokerEvent::Message(stored) => listener.on_message(&stored),
                BrokerEvent::Heartbeat => listener.on_idle(),
            };
            if heard.is_break() {
                return StreamEnd::Stopped;
            }
        }
        StreamEnd::Gone
    }
}

fn read_log<F>(log: &dyn MessageLog, listener: &mut ListenState<F>) -> Result<StreamEnd, ClientError>
where
    F: FnMut(ListenEvent<'_>) -> ControlFlow<()>,
{
    loop {
        let page = log.history(&listener.session, listener.since, PageLimit::DEFAULT)?;
        let Some(last) = page.last() else { return Ok(StreamEnd::Gone) };
        let last = last.seq;
        let session = listener.session.clone();
        for stored in page.iter().filter_map(|entry| entry.parse(&session)) {
            if listener.on_message(&stored).is_break() {
                return Ok(StreamEnd::Stopped);
            }
        }
        listener.since = listener.since.max(last);
    }
}
