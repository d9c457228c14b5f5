//! Where news come from and answers go to: the bus of this process, or a broker somewhere on this machine.

pub mod remote;

use std::sync::Arc;

use paw_broker::bus::Bus;
use paw_broker::log::{LogError, PageLimit};
use paw_broker::message::{self, Message};
use paw_core::AgentId;
use paw_host::clock;
use tokio::sync::mpsc;

use crate::dashboard::{Answer, Feed};
use crate::news::{Member, News};

/// How far back a view looks for open questions and conflicts.
const LOOK_BACK: u64 = 10_000;
/// Messages read at once, so that a long history is no burden.
const PAGE: PageLimit = PageLimit { messages: 256, bytes: 1 << 20 };

/// Feeds a view from the bus of this process until either is gone.
pub async fn follow_bus(
    bus: Arc<Bus>,
    members: Vec<Member>,
    feeds: mpsc::Sender<Feed>,
) -> Result<(), LogError> {
    let head = bus.head();
    let mut news = News::new(members, bus.records(), head);
    for feed in news.agents() {
        if feeds.send(feed).await.is_err() {
            return Ok(());
        }
    }
    let mut stream = bus.subscribe_after(head.saturating_sub(LOOK_BACK)).with_limit(PAGE);
    while let Some(page) = stream.next().await? {
        for stored in page.iter().filter_map(|kept| kept.stored(bus.session())) {
            for feed in news.on_message(&stored) {
                if feeds.send(feed).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Publishes answers on the bus of this process.
pub async fn answer_on_bus(bus: Arc<Bus>, mut answers: mpsc::Receiver<Answer>, feeds: mpsc::Sender<Feed>) {
    while let Some(answer) = answers.recv().await {
        let question = answer.question;
        let sent = match answer_message(answer) {
            Ok(message) => bus.publish(message, clock::now()).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = sent {
            let _ = feeds.send(Feed::AnswerFailed { question, reason: reason.as_str().into() }).await;
        }
    }
}

/// The person in front of the screen is the operator, whichever way the answer goes.
fn answer_message(answer: Answer) -> Result<Message, message::MessageError> {
    let mut said = message::Answer::new(answer.asker, AgentId::operator(), answer.text);
    said.re = Some(answer.quoted);
    // Words that would not pass on their way in are refused here, where they can still be mended.
    Message::from_json(Message::from(said).to_json())
}
