//! Draws open questions and conflicts.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::style::Style;

use paw_view::ConflictView;

use super::pen::Pen;
use super::{mark, title};
use crate::age;
use crate::dashboard::layout::{Panel, PanelArea};
use crate::dashboard::selection::first_row;
use crate::dashboard::state::DashboardState;
use crate::dashboard::theme::Theme;
use crate::text::Text;

pub(super) fn questions(state: &DashboardState, area: PanelArea, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let questions = state.questions();
    let count = questions.len().to_string();
    title(state, Panel::Questions, area.title, &[("questions".to_owned(), true), (count, false)], buffer);
    let names = questions.iter().map(|question| text::width(question.asker.as_str())).max();
    let names = names.unwrap_or(0).min(usize::from(area.rows.width) / 3).min(24);
    let selected = state.selected(Panel::Questions);
    let first = first_row(selected, questions.len(), state.room(area));
    for ((index, question), row) in questions.iter().enumerate().skip(first).zip(area.rows.rows()) {
        let mut pen = Pen::new(buffer, row);
        pen.column("?", 1, theme.attention());
        pen.column(question.asker.as_str(), names, Theme::strong());
        pen.column_right(&age::text(question.at, state.now), 6, Theme::dim());
        if state.drafts.get(&question.seq).is_some_and(|draft| draft.sent) {
            pen.put("sending ", Theme::dim());
        }
        pen.put(Text::line(&question.text).as_str(), Style::new());
        mark(state, Panel::Questions, row, index == selected, buffer);
    }
}

pub(super) fn conflicts(state: &DashboardState, area: PanelArea, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let count = state.view.conflicts.len().to_string();
    title(state, Panel::Conflicts, area.title, &[("conflicts".to_owned(), true), (count, false)], buffer);
    let room = usize::from(area.rows.width);
    let longest =
        |of: &dyn Fn(&ConflictView) -> usize| state.view.conflicts.iter().map(of).max().unwrap_or(0);
    let between =
        |conflict: &ConflictView| format!("{} {} {}", conflict.agents[0], theme.versus(), conflict.agents[1]);
    // Kind and age are short; file and agents share the rest.
    let rest = room.saturating_sub(9 + 7 + 1);
    let whos = longest(&|conflict| text::width(&between(conflict))).min(rest / 2);
    let places = longest(&|conflict| text::width(&place_of(conflict))).min(rest.saturating_sub(whos + 1));
    let selected = state.selected(Panel::Conflicts);
    let first = first_row(selected, state.view.conflicts.len(), state.room(area));
    for ((index, conflict), row) in state.view.conflicts.iter().enumerate().skip(first).zip(area.rows.rows())
    {
        let mut pen = Pen::new(buffer, row);
        pen.column(conflict.kind.word(), 8, theme.conflict(conflict.kind));
        pen.column_right(&age::text(conflict.since, state.now), 6, Theme::dim());
        pen.column(&text::truncate_start(&place_of(conflict), places), places, Theme::strong());
        pen.column(&between(conflict), whos, Style::new());
        mark(state, Panel::Conflicts, row, index == selected, buffer);
    }
}

/// `src/auth.rs:12-40`, or the file alone.
pub(super) fn place_of(conflict: &ConflictView) -> String {
    if conflict.lines.is_empty() {
        Text::line(&conflict.file).to_string()
    } else {
        format!("{}:{}", Text::line(&conflict.file), Text::line(&conflict.lines))
    }
}
