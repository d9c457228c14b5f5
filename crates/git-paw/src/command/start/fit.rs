//! Chooses the layout of a new session by the size of the terminal.

use std::io::{self, IsTerminal as _};

use paw_core::config::LayoutMode;
use paw_core::text::plural;
use paw_host::tmux::Tmux;
use paw_session::layout::{Layout, TopRow};
use paw_session::plan::SessionPlan;

use crate::context::Context;

/// Gives each agent its own window if the panes of a grid could not be read in the user's terminal.
pub(super) fn fit_layout(plan: &mut SessionPlan, context: &Context) {
    let top = TopRow::of(plan.mode(), plan.broker.is_some());
    let agents = plan.agents.len();
    let Some((columns, lines)) = find_terminal_size(&Tmux::on_socket(plan.tmux_socket.clone())) else {
        return;
    };
    // One line is tmux's status line.
    let is_readable = Layout::is_grid_readable(top, agents, (columns, lines.saturating_sub(1)));
    if plan.layout == LayoutMode::Windows || is_readable {
        return;
    }
    plan.layout = LayoutMode::Windows;
    context.output.note(&format!(
        "{} in a grid would be too small in {columns}x{lines}: each agent gets its own window (use --layout grid for panes)",
        plural(agents, "pane")
    ));
}

/// The size of the terminal that the session will be shown on, if there is one.
fn find_terminal_size(tmux: &Tmux) -> Option<(u16, u16)> {
    let on_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    on_terminal.then(|| tmux.find_client_size().or_else(|| crossterm::terminal::size().ok()))?
}
