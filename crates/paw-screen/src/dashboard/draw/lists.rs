//! Draws what waits for the user, and conflicts.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::style::Style;

use paw_view::ConflictGroup;

use super::pen::Pen;
use super::{mark, title};
use crate::age;
use crate::dashboard::layout::{Panel, PanelArea};
use crate::dashboard::selection::first_row;
use crate::dashboard::state::DashboardState;
use crate::dashboard::theme::Theme;
use crate::text::Text;

pub(super) fn needs(state: &DashboardState, area: PanelArea, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let needs = state.needs();
    let count = needs.len().to_string();
    title(state, Panel::Needs, area.title, &[("needs you".to_owned(), true), (count, false)], buffer);
    let names = needs.iter().map(|need| text::width(need.agent.as_str())).max();
    let names = names.unwrap_or(0).min(usize::from(area.rows.width) / 3).min(24);
    let selected = state.selected(Panel::Needs);
    let first = first_row(selected, needs.len(), state.room(area));
    for ((index, need), row) in needs.iter().enumerate().skip(first).zip(area.rows.rows()) {
        let mut pen = Pen::new(buffer, row);
        let (symbol, style) = theme.need(need.kind);
        pen.column(symbol, 1, style);
        pen.column(need.agent.as_str(), names, Theme::strong());
        let age = need.since.map(|since| age::text(since, state.now));
        pen.column_right(age.as_deref().unwrap_or("-"), 6, Theme::dim());
        let is_sending = |seq: &u64| state.drafts.get(seq).is_some_and(|draft| draft.sent);
        let sending = need.question.as_ref().is_some_and(|question| is_sending(&question.seq));
        pen.column(if sending { "sending" } else { need.verb() }, 7, style);
        pen.put(Text::line(&text::reveal(&need.text)).as_str(), Style::new());
        mark(state, Panel::Needs, row, index == selected, buffer);
    }
}

pub(super) fn conflicts(state: &DashboardState, area: PanelArea, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let groups = state.view.conflict_groups();
    let count = groups.len().to_string();
    title(state, Panel::Conflicts, area.title, &[("conflicts".to_owned(), true), (count, false)], buffer);
    let room = usize::from(area.rows.width);
    let longest = |of: &dyn Fn(&ConflictGroup<'_>) -> usize| groups.iter().map(of).max().unwrap_or(0);
    let between = |group: &ConflictGroup<'_>| match group.agents.as_slice() {
        [one, other] => format!("{one} {} {other}", theme.versus()),
        agents => text::plural(agents.len(), "agent"),
    };
    // Kind and age are short; file and agents share the rest.
    let rest = room.saturating_sub(9 + 7 + 1);
    let whos = longest(&|group| text::width(&between(group))).min(rest / 2);
    let places = longest(&|group| text::width(&place_of(group))).min(rest.saturating_sub(whos + 1));
    let selected = state.selected(Panel::Conflicts);
    let first = first_row(selected, groups.len(), state.room(area));
    for ((index, group), row) in groups.iter().enumerate().skip(first).zip(area.rows.rows()) {
        let mut pen = Pen::new(buffer, row);
        let style = if group.generated { Theme::dim() } else { theme.conflict(group.kind) };
        pen.column(group.kind.word(), 8, style);
        pen.column_right(&age::text(group.since, state.now), 6, Theme::dim());
        let place = place_of(group);
        let place = if group.generated {
            text::truncate(&place, places)
        } else {
            text::truncate_start(&place, places)
        };
        pen.column(&place, places, if group.generated { Theme::dim() } else { Theme::strong() });
        pen.column(&between(group), whos, Style::new());
        mark(state, Panel::Conflicts, row, index == selected, buffer);
    }
}

/// `src/auth.rs:12-40`, the file alone, or `36 generated files: __pycache__/a.pyc, …`.
pub(super) fn place_of(group: &ConflictGroup<'_>) -> String {
    let name = |file: &str| Text::line(file).to_string();
    match (group.files.as_slice(), group.conflicts.as_slice()) {
        (files, _) if group.generated => {
            let files: Vec<_> = files.iter().map(|file| name(file)).collect();
            format!("{}: {}", text::plural(files.len(), "generated file"), files.join(", "))
        }
        ([file], [only]) if !only.lines.is_empty() => format!("{}:{}", name(file), Text::line(&only.lines)),
        (files, _) => files.iter().map(|file| name(file)).collect::<Vec<_>>().join(", "),
    }
}
