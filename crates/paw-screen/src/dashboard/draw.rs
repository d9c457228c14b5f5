//! The state, painted. Every part gets its place from the plan and keeps to it.

mod agents;
mod edges;
mod lists;
mod messages;
pub(super) mod overlay;
mod pen;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use super::layout::{Area, Panel};
use super::look::Look;
use super::state::{Mode, State};
use crate::text::wrap;
use pen::Pen;

/// Said while the view is hidden; the broker lives in the same process and goes on.
const HIDDEN: &str = "view hidden, broker still running; any key shows it again; git paw pause stops it";

/// Paints the whole screen.
pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let screen = frame.area();
    let buffer = frame.buffer_mut();
    if state.mode == Mode::Hidden {
        hidden(screen, buffer);
        return;
    }
    let plan = state.plan();
    edges::header(state, plan.header.intersection(screen), buffer);
    if matches!(state.mode, Mode::Help { .. } | Mode::Detail { .. }) {
        overlay::draw(state, plan.body.intersection(screen), buffer);
    } else {
        for area in &plan.panels {
            let area = Area {
                title: area.title.intersection(screen),
                rows: area.rows.intersection(screen),
                ..*area
            };
            panel(state, area, buffer);
        }
        for y in plan.divide.intersection(screen).rows() {
            Pen::new(buffer, y).put(state.options.look.bar(), Look::dim());
        }
    }
    let reply = edges::reply(state, plan.reply.intersection(screen), buffer);
    let footer = edges::footer(state, plan.footer.intersection(screen), buffer);
    if let Some(cursor) = reply.or(footer).filter(|place| screen.contains(*place)) {
        frame.set_cursor_position(cursor);
    }
}

fn hidden(screen: Rect, buffer: &mut Buffer) {
    let lines = wrap(HIDDEN, usize::from(screen.width.saturating_sub(2)));
    for (row, line) in screen.rows().zip(lines) {
        let mut pen = Pen::new(buffer, row);
        pen.skip(usize::from(screen.width > 2));
        pen.put(&line, Look::dim());
    }
}

fn panel(state: &State, area: Area, buffer: &mut Buffer) {
    match area.panel {
        Panel::Agents => agents::draw(state, area, buffer),
        Panel::Questions => lists::questions(state, area, buffer),
        Panel::Conflicts => lists::conflicts(state, area, buffer),
        Panel::Messages => messages::draw(state, area, buffer),
    }
}

/// A title and a line to the end of the panel.
fn title(state: &State, panel: Panel, area: Rect, words: &[(String, bool)], buffer: &mut Buffer) {
    let look = state.options.look;
    let focused = state.focus() == panel && state.mode == Mode::Browse;
    let mut pen = Pen::new(buffer, area);
    pen.put(if focused { look.marker() } else { look.rule() }, look.title(focused));
    for (text, strong) in words {
        pen.put(" ", Look::dim());
        pen.put(text, if *strong { look.title(focused) } else { Look::dim() });
    }
    pen.put(" ", Look::dim());
    pen.fill(look.rule(), Look::dim());
}

/// The chosen row stands out in the panel that has the keys.
fn mark(state: &State, panel: Panel, row: Rect, chosen: bool, buffer: &mut Buffer) {
    if chosen && state.focus() == panel && state.mode == Mode::Browse {
        buffer.set_style(row, Modifier::REVERSED);
    }
}

/// Where the cursor stands in a line that is being typed.
fn cursor_at(area: Rect, column: usize) -> Option<Position> {
    let x = area.x.checked_add(u16::try_from(column).ok()?)?;
    (x < area.right() && area.height > 0).then_some(Position { x, y: area.y })
}
