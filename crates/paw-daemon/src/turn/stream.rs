//! Converts the output of a CLI to a stream of events.

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

use super::registry::{TurnEndReason, TurnGuard};
use crate::proto::{ConversationEvent, conversation_event as proto_event};
use crate::shared::Shared;
use crate::status::CallError;
use crate::wire;

/// How many events may be pending; then reading from the CLI pauses.
const MAX_PENDING: usize = 64;
/// How long to try to send the reason of an aborted turn.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The events of one turn. Dropping it early ends the turn.
#[derive(Debug)]
pub(crate) struct TurnStream {
    events: mpsc::Receiver<Result<ConversationEvent, Status>>,
    _cancel_on_drop: DropGuard,
}

impl Stream for TurnStream {
    type Item = Result<ConversationEvent, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(context)
    }
}

/// Follows a CLI in a background job.
pub(super) fn follow(
    shared: &Arc<Shared>,
    guard: TurnGuard,
    running: RunningCommand,
    listener: TurnListener,
) -> TurnStream {
    let (sender, events) = mpsc::channel(MAX_PENDING);
    let token = guard.token().clone();
    let cancel_on_drop = token.clone().drop_guard();
    let handle = Handle::current();
    let (stopper, ended) = (running.stopper(), token.clone());
    handle.spawn(async move {
        ended.cancelled().await;
        stopper.stop();
    });
    let sink = EventSender { sender, token, handle, sequence: 0 };
    shared.jobs.spawn_blocking(move || forward(guard, running, listener, sink));
    TurnStream { events, _cancel_on_drop: cancel_on_drop }
}

fn forward(guard: TurnGuard, running: RunningCommand, mut listener: TurnListener, mut sink: EventSender) {
    let followed = running.follow(|stream, line| {
        for event in listener.read_line(stream, line) {
            sink.send(event)?;
        }
        ControlFlow::Continue(())
    });
    if let Some(session) = listener.session() {
        guard.remember(&session);
    }
    let reason = guard.reason();
    // The client may send the next message as soon as it receives the last event.
    drop(guard);
    match followed {
        Ok(followed) if followed.stopped => sink.abort(cut_short(reason)),
        Ok(followed) => sink.finish(listener.finish(followed.exit)),
        Err(error) => sink.abort(CallError::from(error).into()),
    }
}

fn cut_short(reason: TurnEndReason) -> Status {
    match reason {
        TurnEndReason::Abandoned => Status::cancelled("The client disconnected"),
        TurnEndReason::Closed => Status::cancelled("The conversation was closed"),
        TurnEndReason::Removed => Status::cancelled("The worktree was removed"),
        TurnEndReason::Stopping => Status::unavailable("The daemon is stopping"),
    }
}

/// Sends events to the client.
struct EventSender {
    sender: mpsc::Sender<Result<ConversationEvent, Status>>,
    token: CancellationToken,
    handle: Handle,
    sequence: u64,
}

impl EventSender {
    /// Waits for a slow client, unless it disconnects or the turn has to end.
    fn send(&mut self, event: TurnEvent) -> ControlFlow<()> {
        let event = self.numbered(wire::event(event));
        let sent = self.handle.block_on(async {
            tokio::select! {
                biased;
                () = self.token.cancelled() => false,
                sent = self.sender.send(Ok(event)) => sent.is_ok(),
            }
        });
        if sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn finish(mut self, done: paw_agent::headless::TurnOutcome) {
        let event = self.numbered(wire::done(done));
        // The turn has finished, so this can fail only if the client has disconnected.
        let _ = self.sender.blocking_send(Ok(event));
    }

    fn abort(self, status: Status) {
        let sent = tokio::time::timeout(ABORT_TIMEOUT, self.sender.send(Err(status)));
        let _ = self.handle.block_on(sent);
    }

    fn numbered(&mut self, event: proto_event::Event) -> ConversationEvent {
        self.sequence += 1;
        ConversationEvent {
            sequence: self.sequence,
            time: Some(wire::timestamp(clock::now())),
            event: Some(event),
        }
    }
}
