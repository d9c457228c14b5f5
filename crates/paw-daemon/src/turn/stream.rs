//! From the lines of a CLI to the events of a stream.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use paw_agent::headless::{TurnEvent, TurnListener};
use paw_host::clock;
use paw_host::process::RunningCommand;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Status;

use super::running::{Claim, Why};
use crate::proto::{ConversationEvent, conversation_event as told};
use crate::shared::Shared;
use crate::status::Refusal;
use crate::wire;

/// How many events may wait for their client; then the CLI waits too.
const WAITING: usize = 64;
/// How long a client may take to hear that its turn was cut short.
const LAST_WORD: Duration = Duration::from_secs(1);

/// The events of one turn. Dropped before its end, it ends the turn.
#[derive(Debug)]
pub(crate) struct TurnStream {
    events: mpsc::Receiver<Result<ConversationEvent, Status>>,
    _guard: DropGuard,
}

impl Stream for TurnStream {
    type Item = Result<ConversationEvent, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(context)
    }
}

/// Follows a CLI to its end, beside everything else.
pub(super) fn follow(
    shared: &Arc<Shared>,
    claim: Claim,
    running: RunningCommand,
    listener: TurnListener,
) -> TurnStream {
    let (sender, events) = mpsc::channel(WAITING);
    let token = claim.token().clone();
    let guard = token.clone().drop_guard();
    let handle = Handle::current();
    let (stopper, ended) = (running.stopper(), token.clone());
    handle.spawn(async move {
        ended.cancelled().await;
        stopper.stop();
    });
    let mouth = Mouth { sender, token, handle, sequence: 0 };
    shared.jobs.spawn_blocking(move || listen(claim, running, listener, mouth));
    TurnStream { events, _guard: guard }
}

fn listen(claim: Claim, running: RunningCommand, mut listener: TurnListener, mut mouth: Mouth) {
    let followed = running.follow(|stream, line| {
        for event in listener.read_line(stream, line) {
            mouth.say(event)?;
        }
        ControlFlow::Continue(())
    });
    if let Some(session) = listener.session() {
        claim.remember(&session);
    }
    let why = claim.why();
    // Whoever hears the last event may send the next message at once.
    drop(claim);
    match followed {
        Ok(followed) if followed.stopped => mouth.break_off(cut_short(why)),
        Ok(followed) => mouth.finish(listener.finish(followed.exit)),
        Err(error) => mouth.break_off(Refusal::from(error).into()),
    }
}

fn cut_short(why: Why) -> Status {
    match why {
        Why::Abandoned => Status::cancelled("The client went away"),
        Why::Closed => Status::cancelled("The conversation was closed"),
        Why::Removed => Status::cancelled("The worktree was removed"),
        Why::Stopping => Status::unavailable("The daemon is stopping"),
    }
}

/// Tells the client.
struct Mouth {
    sender: mpsc::Sender<Result<ConversationEvent, Status>>,
    token: CancellationToken,
    handle: Handle,
    sequence: u64,
}

impl Mouth {
    /// Waits for a slow client, but not for one that is gone, and not once the turn is to end.
    fn say(&mut self, event: TurnEvent) -> ControlFlow<()> {
        let event = self.numbered(wire::event(event));
        let said = self.handle.block_on(async {
            tokio::select! {
                biased;
                () = self.token.cancelled() => false,
                sent = self.sender.send(Ok(event)) => sent.is_ok(),
            }
        });
        if said { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn finish(mut self, done: paw_agent::headless::TurnOutcome) {
        let event = self.numbered(wire::done(done));
        // The turn is over, so nobody cancels any more; a client that is gone refuses.
        let _ = self.sender.blocking_send(Ok(event));
    }

    fn break_off(self, status: Status) {
        let last_word = tokio::time::timeout(LAST_WORD, self.sender.send(Err(status)));
        let _ = self.handle.block_on(last_word);
    }

    fn numbered(&mut self, event: told::Event) -> ConversationEvent {
        self.sequence += 1;
        ConversationEvent {
            sequence: self.sequence,
            time: Some(wire::timestamp(clock::now())),
            event: Some(event),
        }
    }
}
