//! What is typed, until nobody can type any more.

use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::thread;

use crossterm::event::{Event, EventStream};
use paw_host::terminal::{is_hung_up, wait_for_hangup};
use tokio::sync::watch;
use tokio_stream::Stream;

/// Keys, pastes and sizes from the user's terminal. It ends with the terminal: crossterm would read that end again and
/// again, and never come back.
pub(crate) struct TerminalInput {
    events: EventStream,
    gone: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl TerminalInput {
    pub(crate) fn new() -> Self {
        Self { events: EventStream::new(), gone: Box::pin(hung_up()) }
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
        if self.gone.as_mut().poll(cx).is_ready() || is_hung_up(io::stdin()) {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.events).poll_next(cx)
    }
}

/// One thread waits for it, however often somebody asks.
async fn hung_up() {
    static GONE: OnceLock<watch::Receiver<bool>> = OnceLock::new();
    let gone = GONE.get_or_init(|| {
        let (tell, gone) = watch::channel(false);
        thread::spawn(move || {
            wait_for_hangup(io::stdin());
            tell.send_replace(true);
        });
        gone
    });
    let _ = gone.clone().wait_for(|gone| *gone).await;
}
