//! The remedy for a stalled agent: it continues after a rate limit.

use std::thread;

use paw_agent::cli;
use paw_agent::deliver::{DeliveryOptions, deliver};
use paw_host::tmux::Tmux;

const RESUME_PROMPT: &str = "Your rate limit should have reset. Continue where you left off.";

/// Tells the agent in this pane to continue, as soon as it is idle with an empty input.
pub(super) fn resume(tmux: &Tmux, pane: &str, cli: &str) {
    let (tmux, pane, cli) = (tmux.clone(), pane.to_owned(), cli::descriptor(cli));
    let delivery = thread::Builder::new().name("paw-resume".to_owned()).spawn(move || {
        let patience = DeliveryOptions { ignore_rate_limit: true, ..DeliveryOptions::default() };
        if let Err(error) = deliver(&tmux, &pane, cli, RESUME_PROMPT, patience) {
            tracing::info!(target: "paw::monitor", "cannot resume the agent: {error}");
        }
    });
    drop(delivery);
}
