//! The dashboard with a sample session: `cargo run -p paw-screen --example demo`.
#![allow(clippy::unwrap_used, reason = "this is a demo")]

use paw_screen::dashboard::run::{DashboardChannels, run_on_terminal};
use paw_screen::dashboard::{DashboardHost, DashboardOptions, DashboardRequest};
use tokio::sync::mpsc;

#[path = "../tests/it/sample.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod sample;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (update, updates) = mpsc::channel(1_024);
    let (requests, mut requested) = mpsc::channel::<DashboardRequest>(8);
    let echo = tokio::spawn(async move {
        let mut seq = 1_000;
        while let Some(request) = requested.recv().await {
            let DashboardRequest::Answer(answer) = request else { continue };
            seq += 1;
            let now = paw_host::clock::now();
            let answered = sample::answer(seq, now, answer.asker.as_str(), &answer.text, None);
            let _ = update.send(answered).await;
        }
    });
    let host = if std::env::args().any(|word| word == "attached") {
        DashboardHost::Attached
    } else {
        DashboardHost::Session
    };
    if std::env::args().any(|word| word == "panic") {
        tokio::spawn(async {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            std::thread::spawn(|| std::env::var("NO_SUCH_VARIABLE").ok().unwrap());
        });
    }
    let options = DashboardOptions { host, ..sample::options() };
    let view = sample::session(paw_host::clock::now());
    run_on_terminal(options, view, DashboardChannels { updates, requests }, std::future::pending()).await?;
    echo.abort();
    Ok(())
}
