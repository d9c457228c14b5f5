//! A response body whose chunks come from a channel. `http_body_util`'s own loses the last chunk if it is sent, and the sender
//! dropped, between two steps of a poll.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc;

/// Ends behind the last chunk, when the sender is dropped.
#[derive(Debug)]
pub(super) struct StreamBody(mpsc::Receiver<Bytes>);

impl StreamBody {
    /// A sender waits until the chunk before was taken. It fails when the client is gone.
    pub(super) fn new() -> (mpsc::Sender<Bytes>, Self) {
        let (sender, receiver) = mpsc::channel(1);
        (sender, Self(receiver))
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_body_ends_behind_its_last_chunk() {
        for round in 0..20_000 {
            let (sender, body) = StreamBody::new();
            tokio::spawn(async move {
                for part in ["answer ", "exit"] {
                    sender.send(Bytes::from_static(part.as_bytes())).await.unwrap();
                }
            });
            let read = tokio::spawn(async move { body.collect().await.unwrap().to_bytes() }).await.unwrap();
            assert_eq!(read.as_ref(), b"answer exit", "round {round}");
        }
    }
}
