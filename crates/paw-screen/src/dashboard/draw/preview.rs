//! Draws the end of an agent's pane.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::pen::Pen;
use super::title;
use crate::dashboard::layout::{Panel, PanelArea};
use crate::dashboard::state::DashboardState;
use crate::dashboard::theme::Theme;

pub(super) fn draw(state: &DashboardState, area: PanelArea, buffer: &mut Buffer) {
    let Some((agent, rows)) = &state.preview else {
        title(state, Panel::Preview, area.title, &[("pane".to_owned(), true)], buffer);
        return;
    };
    let words = [("pane of".to_owned(), false), (agent.to_string(), true)];
    title(state, Panel::Preview, area.title, &words, buffer);
    let room = usize::from(area.rows.height);
    let used = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |last| last + 1);
    if used == 0 {
        let mut pen = Pen::new(buffer, area.rows);
        pen.skip(2);
        pen.put("(empty)", Theme::dim());
    }
    for (line, row) in rows[used.saturating_sub(room)..used].iter().zip(area.rows.rows()) {
        Pen::new(buffer, row).put(line, Style::new());
    }
}
