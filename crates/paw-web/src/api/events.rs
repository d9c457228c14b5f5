//! The state of the session and its changes, as lines of JSON.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::http::request::Parts;
use paw_host::clock;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::app::App;
use crate::login::Login;
use crate::response::{Response, WebRefusal, stream};

/// An empty line tells the page that the connection works.
const HEARTBEAT: Duration = Duration::from_secs(10);

pub(crate) fn follow(app: &Arc<App>, head: &Parts) -> Result<Response, WebRefusal> {
    let login = app.require_login(head)?;
    let permit = Arc::clone(&app.streams).try_acquire_owned().map_err(|_| WebRefusal::TooMany)?;
    let (sender, response) = stream();
    tokio::spawn(send(Arc::clone(app), login, sender, permit));
    Ok(response)
}

async fn send(app: Arc<App>, login: Login, sender: mpsc::Sender<Bytes>, _open: OwnedSemaphorePermit) {
    let mut revoked = app.revoked();
    let mut reader = app.feed.subscribe(clock::now());
    loop {
        let line = tokio::select! {
            line = reader.next(&app.feed, clock::now) => line,
            () = tokio::time::sleep(HEARTBEAT) => Some("\n".into()),
            _ = revoked.changed() => Some("\n".into()),
            () = sender.closed() => None,
        };
        let Some(line) = line else { return };
        if !app.is_valid(&login) || sender.send(Bytes::from(line.as_bytes().to_vec())).await.is_err() {
            return;
        }
    }
}
