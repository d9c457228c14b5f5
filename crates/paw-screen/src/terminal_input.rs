//! Input events from the user's terminal, until the terminal is closed.

use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::thread;

use crossterm::event::{Event, EventStream};
use paw_host::terminal::{is_hung_up, unblock_stdin, wait_for_hangup};
use tokio::sync::watch;
use tokio_stream::Stream;

/// A stream of keys, pastes and resizes. It ends when the terminal is closed; crossterm alone would read the end of file
/// in an endless loop.
pub(crate) struct TerminalInput {
    events: EventStream,
    closed: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl TerminalInput {
    pub(crate) fn new() -> Self {
        Self { events: EventStream::new(), closed: Box::pin(wait_for_close()) }
    }
}

impl std::fmt::Debug for TerminalInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalInput").finish_non_exhaustive()
    }
}

impl Stream for TerminalInput {
    type Item = io::Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.closed.as_mut().poll(cx).is_ready() || is_hung_up(io::stdin()) {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.events).poll_next(cx)
    }
}

/// Waits until the terminal is closed. All callers share one waiting thread.
async fn wait_for_close() {
    static CLOSED: OnceLock<watch::Receiver<bool>> = OnceLock::new();
    let closed = CLOSED.get_or_init(|| {
        let (sender, closed) = watch::channel(false);
        thread::spawn(move || {
            wait_for_hangup(io::stdin());
            sender.send_replace(true);
            // If the terminal was closed after the check above, crossterm is in its endless loop now.
            let _ = unblock_stdin();
        });
        closed
    });
    let _ = closed.clone().wait_for(|closed| *closed).await;
}
