//! Receives updates and sends answers: through the bus of this process, or a broker in another process.

pub mod remote;

use std::sync::Arc;

use paw_broker::bus::Bus;
use paw_broker::log::{LogError, PageLimit};
use paw_broker::message::{self, Message};
use paw_core::AgentId;
use paw_host::clock;
use paw_view::{LOOK_BACK, ViewEvent};
use tokio::sync::mpsc;

use crate::dashboard::{DashboardUpdate, OperatorAnswer};

/// Messages per page, so that a long history does not fill the memory.
const PAGE: PageLimit = PageLimit { messages: 256, bytes: 1 << 20 };

/// Sends updates from the bus of this process until the bus or the view is closed.
pub async fn follow_bus(bus: Arc<Bus>, updates: mpsc::Sender<DashboardUpdate>) -> Result<(), LogError> {
    let head = bus.head();
    let records = ViewEvent::Records { records: bus.records(), seq: head };
    if updates.send(DashboardUpdate::View(records)).await.is_err() {
        return Ok(());
    }
    let mut stream = bus.subscribe_after(head.saturating_sub(LOOK_BACK)).with_limit(PAGE);
    while let Some(page) = stream.next().await? {
        for stored in page.iter().filter_map(|kept| kept.parse(bus.session())) {
            if updates.send(DashboardUpdate::View(ViewEvent::Message(stored))).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Publishes answers on the bus of this process.
pub async fn answer_on_bus(
    bus: Arc<Bus>,
    mut answers: mpsc::Receiver<OperatorAnswer>,
    updates: mpsc::Sender<DashboardUpdate>,
) {
    while let Some(answer) = answers.recv().await {
        let question = answer.question;
        let sent = match answer_message(answer) {
            Ok(message) => bus.publish(message, clock::now()).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = sent {
            let _ = updates
                .send(DashboardUpdate::AnswerFailed { question, reason: reason.as_str().into() })
                .await;
        }
    }
}

/// The message for an answer. The user of the dashboard is the operator.
fn answer_message(answer: OperatorAnswer) -> Result<Message, message::MessageError> {
    let mut message = message::AnswerMessage::new(answer.asker, AgentId::operator(), answer.text);
    message.re = Some(answer.quoted);
    // Reject what the broker would reject, while the user can still change it.
    Message::from_json(Message::from(message).to_json())
}
