//! The hidden command that sends agents their first prompt as soon as each CLI is ready.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use paw_agent::deliver::DeliveryOptions;
use paw_core::{PawError, SessionName};
use paw_host::tmux::Tmux;
use paw_session::{Receipts, delivery};

use crate::context::Context;

/// Deliver the pending prompts of a session
#[derive(Debug, Args)]
pub(crate) struct DeliverArgs {
    session: SessionName,
    /// The directory of the receipts
    #[arg(long)]
    receipts: PathBuf,
    /// The tmux socket of the session
    #[arg(long)]
    socket: Option<String>,
}

pub(crate) fn run(args: &DeliverArgs, context: &Context) -> Result<(), PawError> {
    let config = context.load_config()?.resolve()?;
    let tmux = Tmux::on_socket(args.socket.clone());
    delivery::deliver_all(
        &tmux,
        &Receipts::at(&args.receipts),
        &args.session,
        &config.clis,
        delivery_options(),
    )
}

/// Delivery timeouts. Slow machines raise the first one with GIT_PAW_READINESS_TIMEOUT_MS.
fn delivery_options() -> DeliveryOptions {
    let configured = std::env::var("GIT_PAW_READINESS_TIMEOUT_MS").ok().and_then(|value| value.parse().ok());
    let default = DeliveryOptions::default();
    DeliveryOptions {
        ready_timeout: configured.map_or(default.ready_timeout, Duration::from_millis),
        ..default
    }
}
