//! Draws the dashboard. Every part draws only inside its area of the layout.

mod agents;
mod bars;
pub(super) mod changes;
mod lists;
mod messages;
pub(super) mod overlay;
mod pen;
mod preview;
pub(super) mod prompt;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use super::layout::{Panel, PanelArea, ScreenLayout};
use super::state::{DashboardState, Mode};
use super::theme::Theme;
use crate::text::wrap;
use pen::Pen;

/// Shown while the view is hidden. The broker keeps running in the same process.
const HIDDEN: &str = "view hidden, broker still running; any key shows it again; git paw pause stops it";

/// Draws the whole screen.
pub fn draw(state: &DashboardState, frame: &mut Frame<'_>) {
    let screen = frame.area();
    let buffer = frame.buffer_mut();
    if state.mode == Mode::Hidden {
        hidden(screen, buffer);
        return;
    }
    let plan = state.plan();
    bars::header(state, plan.header.intersection(screen), buffer);
    let body = plan.body.intersection(screen);
    match &state.mode {
        Mode::Prompt(view) => prompt::draw(state, view, body, buffer),
        Mode::Changes(view) => changes::draw(state, view, body, buffer),
        mode if mode.covers_panels() => overlay::draw(state, body, buffer),
        _ => panels(state, &plan, screen, buffer),
    }
    let reply = bars::reply(state, plan.reply.intersection(screen), buffer);
    let footer = bars::footer(state, plan.footer.intersection(screen), buffer);
    if !state.options.theme.unicode {
        make_ascii(buffer);
    }
    if let Some(cursor) = reply.or(footer).filter(|index| screen.contains(*index)) {
        frame.set_cursor_position(cursor);
    }
}

/// Replaces what a terminal without Unicode cannot show: the mark of shortened text, and what agents wrote.
fn make_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        match cell.symbol() {
            "…" => _ = cell.set_symbol("~"),
            symbol if !symbol.is_ascii() => _ = cell.set_symbol("?"),
            _ => {}
        }
    }
}

fn panels(state: &DashboardState, plan: &ScreenLayout, screen: Rect, buffer: &mut Buffer) {
    for area in &plan.panels {
        let area = PanelArea {
            title: area.title.intersection(screen),
            rows: area.rows.intersection(screen),
            ..*area
        };
        panel(state, area, buffer);
    }
    for y in plan.divide.intersection(screen).rows() {
        Pen::new(buffer, y).put(state.options.theme.bar(), Theme::dim());
    }
}

fn hidden(screen: Rect, buffer: &mut Buffer) {
    let lines = wrap(HIDDEN, usize::from(screen.width.saturating_sub(2)));
    for (row, line) in screen.rows().zip(lines) {
        let mut pen = Pen::new(buffer, row);
        pen.skip(usize::from(screen.width > 2));
        pen.put(&line, Theme::dim());
    }
}

fn panel(state: &DashboardState, area: PanelArea, buffer: &mut Buffer) {
    match area.panel {
        Panel::Agents => agents::draw(state, area, buffer),
        Panel::Needs => lists::needs(state, area, buffer),
        Panel::Conflicts => lists::conflicts(state, area, buffer),
        Panel::Messages => messages::draw(state, area, buffer),
        Panel::Preview => preview::draw(state, area, buffer),
    }
}

/// Draws a title and a line to the end of the panel.
fn title(state: &DashboardState, panel: Panel, area: Rect, words: &[(String, bool)], buffer: &mut Buffer) {
    let theme = state.options.theme;
    let focused = state.focus() == panel && state.mode == Mode::Browse;
    let mut pen = Pen::new(buffer, area);
    pen.put(if focused { theme.marker() } else { theme.rule() }, theme.title(focused));
    for (text, strong) in words {
        pen.put(" ", Theme::dim());
        pen.put(text, if *strong { theme.title(focused) } else { Theme::dim() });
    }
    pen.put(" ", Theme::dim());
    pen.fill(theme.rule(), Theme::dim());
}

/// A title line that fills its area.
fn heading(state: &DashboardState, text: &str, more: &str, area: Rect, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let mut pen = Pen::new(buffer, area);
    pen.put(theme.marker(), theme.title(true));
    pen.put(&format!(" {text} "), theme.title(true));
    if !more.is_empty() {
        pen.put(&format!("{more} "), Theme::dim());
    }
    pen.fill(theme.rule(), Theme::dim());
}

/// Highlights the selected row in the focused panel.
fn mark(state: &DashboardState, panel: Panel, row: Rect, selected: bool, buffer: &mut Buffer) {
    if selected && state.focus() == panel && state.mode == Mode::Browse {
        buffer.set_style(row, Modifier::REVERSED);
    }
}

/// The position of the cursor in an input line.
fn cursor_at(area: Rect, column: usize) -> Option<Position> {
    let x = area.x.checked_add(u16::try_from(column).ok()?)?;
    (x < area.right() && area.height > 0).then_some(Position { x, y: area.y })
}
