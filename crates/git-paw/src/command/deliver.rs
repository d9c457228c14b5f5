//! The hidden command that tells agents what they are to do, as soon as each of them listens.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use paw_agent::deliver::Patience;
use paw_core::{PawError, SessionName};
use paw_host::tmux::Tmux;
use paw_session::{Receipts, delivery};

use crate::context::Context;

/// Hand over what the agents of a session are still to be told
#[derive(Debug, Args)]
pub(crate) struct DeliverArgs {
    session: SessionName,
    /// Where receipts are
    #[arg(long)]
    receipts: PathBuf,
    /// The tmux socket of the session
    #[arg(long)]
    socket: Option<String>,
}

pub(crate) fn run(args: &DeliverArgs, context: &Context) -> Result<(), PawError> {
    let config = context.load_config()?.resolve()?;
    let tmux = Tmux::on_socket(args.socket.clone());
    delivery::deliver_all(&tmux, &Receipts::at(&args.receipts), &args.session, &config.clis, patience())
}

/// How long an agent may take to become ready, for machines on which that is long.
fn patience() -> Patience {
    let wish = std::env::var("GIT_PAW_READINESS_TIMEOUT_MS").ok().and_then(|wish| wish.parse().ok());
    let usual = Patience::default();
    Patience { ready: wish.map_or(usual.ready, Duration::from_millis), ..usual }
}
