//! The WebSocket of a terminal. Text frames carry JSON, binary frames what the pane printed; a page sends keys as binary frames.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use paw_core::AgentId;
use paw_host::clock;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

use super::{PaneConnection, PanePlace, TerminalEvent};
use crate::app::App;
use crate::login::{Login, Scope};

/// The largest frame that a page sends: a paste.
const LARGEST_FRAME: usize = 64 << 10;
const CLOSED: &str = "the pane was closed";

/// Where a page's terminal leads.
#[derive(Debug)]
pub(crate) struct TerminalTarget {
    pub(crate) agent: AgentId,
    pub(crate) place: PanePlace,
}

/// Serves a terminal until the page closes it, the pane ends or the login is revoked.
pub(crate) async fn serve(app: Arc<App>, upgraded: Upgraded, target: TerminalTarget, login: Login) {
    let config =
        WebSocketConfig::default().max_message_size(Some(LARGEST_FRAME)).max_frame_size(Some(LARGEST_FRAME));
    let mut socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let TerminalTarget { agent, place } = target;
    let id = agent.clone();
    let opened = tokio::task::spawn_blocking(move || PaneConnection::open(id, place)).await;
    let mut connection = match opened {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return close(&mut socket, &error.to_string()).await,
        Err(error) => return close(&mut socket, &error.to_string()).await,
    };
    let (mut revoked, mut taken) = (app.revoked(), app.taken_panes());
    loop {
        let is_mine = taken.borrow_and_update().get(&agent) == Some(&login.id);
        if connection.show_taken(is_mine).is_err() {
            break close(&mut socket, CLOSED).await;
        }
        tokio::select! {
            event = connection.events.recv() => {
                let event = match event {
                    Some(TerminalEvent::Ended(Some(reason))) => break lose(&mut socket, &reason).await,
                    Some(TerminalEvent::Ended(None)) | None => break close(&mut socket, CLOSED).await,
                    Some(event) => event,
                };
                if send(&mut socket, event).await.is_err() {
                    break;
                }
            }
            frame = socket.next() => {
                let keys = match frame {
                    Some(Ok(Message::Binary(keys))) => keys,
                    Some(Ok(Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                };
                if login.scope != Scope::Act || !app.may_type(&agent, &login, clock::now()) {
                    continue;
                }
                // Everyone sees it before something is typed.
                if connection.show_taken(true).and_then(|()| connection.type_keys(&keys)).is_err() {
                    break close(&mut socket, CLOSED).await;
                }
            }
            _ = taken.changed() => {}
            _ = revoked.changed() => {
                if !app.is_valid(&login) {
                    break close(&mut socket, "the login has ended").await;
                }
            }
        }
    }
    app.release(&agent, &login);
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

async fn send(
    socket: &mut Socket,
    event: TerminalEvent,
) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    match event {
        TerminalEvent::Screen { columns, rows, bytes } => {
            let size = json!({"columns": columns, "rows": rows}).to_string();
            socket.send(Message::Text(Utf8Bytes::from(size))).await?;
            socket.send(Message::Binary(Bytes::from(bytes))).await
        }
        TerminalEvent::Output(bytes) => socket.send(Message::Binary(Bytes::from(bytes))).await,
        TerminalEvent::Ended(_) => Ok(()),
    }
}

/// Says why, and closes.
async fn close(socket: &mut Socket, reason: &str) {
    end(socket, &json!({"closed": reason})).await;
}

/// Like [`close`], for a failure that the page may overcome by connecting again.
async fn lose(socket: &mut Socket, reason: &str) {
    end(socket, &json!({"lost": reason})).await;
}

async fn end(socket: &mut Socket, told: &Value) {
    let _ = socket.send(Message::Text(Utf8Bytes::from(told.to_string()))).await;
    let _ = socket.close(None).await;
}
