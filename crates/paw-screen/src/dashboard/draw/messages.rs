//! Draws the messages, newest at the bottom.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use paw_view::{MessageKind, MessageView};

use super::pen::Pen;
use super::{mark, title};
use crate::dashboard::filter::{key_of_kind, short_word};
use crate::dashboard::layout::{Panel, PanelArea};
use crate::dashboard::selection::first_row;
use crate::dashboard::state::DashboardState;
use crate::dashboard::theme::Theme;
use crate::text::Text;

pub(super) fn draw(state: &DashboardState, area: PanelArea, buffer: &mut Buffer) {
    let shown = state.shown();
    let selected = state.selected(Panel::Messages);
    title(state, Panel::Messages, area.title, &heading(state, shown.len(), selected), buffer);
    let mut rows = area.rows.rows();
    if DashboardState::names_kinds(area.rows.height)
        && let Some(row) = rows.next()
    {
        chips(state, row, buffer);
    }
    if shown.is_empty() {
        if let Some(row) = rows.next() {
            let mut pen = Pen::new(buffer, row);
            pen.skip(2);
            let nothing = state.view.messages.is_empty();
            pen.put(
                if nothing { "No messages yet" } else { "No messages match; Esc shows all" },
                Theme::dim(),
            );
        }
        return;
    }
    let first = first_row(selected, shown.len(), state.room(area));
    let window = &shown[first..(first + state.room(area)).min(shown.len())];
    let widths = Widths::of(state, window, usize::from(area.rows.width));
    for ((index, message), row) in window.iter().enumerate().zip(rows) {
        line(state, message, &widths, row, buffer);
        mark(state, Panel::Messages, row, first + index == selected, buffer);
    }
}

fn heading(state: &DashboardState, shown: usize, selected: usize) -> Vec<(String, bool)> {
    let all = state.view.messages.len();
    let mut words = vec![("messages".to_owned(), true)];
    if state.filter.is_open() {
        words.push((all.to_string(), false));
    } else {
        let mut only: Vec<String> = state.filter.kinds().iter().map(|kind| kind.word().to_owned()).collect();
        only.extend(state.filter.agent().map(|agent| format!("of {agent}")));
        if !state.filter.search().is_empty() {
            only.push(format!("\"{}\"", state.filter.search()));
        }
        words.push((format!("{shown} of {all}:"), false));
        words.push((only.join(", "), true));
    }
    let below = shown.saturating_sub(selected + 1);
    if below > 0 {
        words.push((format!("{}{below} below", state.options.theme.dot().trim_start()), false));
    }
    words
}

/// Draws the message types with their keys, and highlights the selected ones.
fn chips(state: &DashboardState, row: Rect, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let full: usize = MessageKind::ALL.iter().map(|kind| kind.word().len() + 3).sum();
    let wide = full <= usize::from(row.width);
    let mut pen = Pen::new(buffer, row);
    for kind in MessageKind::ALL {
        let selected = state.filter.selected(kind);
        let style = match (selected, state.filter.kinds().is_empty()) {
            (true, _) => theme.kind(kind).remove_modifier(Modifier::DIM).add_modifier(Modifier::REVERSED),
            (false, true) => theme.kind(kind),
            (false, false) => Theme::dim(),
        };
        let word = if wide {
            format!("{} {}", key_of_kind(kind), kind.word())
        } else {
            format!("{}{}", key_of_kind(kind), short_word(kind))
        };
        // A truncated type would be misleading.
        if word.len() > pen.room() {
            return;
        }
        pen.put(&word, style);
        pen.skip(1);
    }
}

struct Widths {
    time: usize,
    who: usize,
    kind: usize,
    /// Show the receiver next to the sender.
    both: bool,
}

impl Widths {
    fn of(state: &DashboardState, window: &[&MessageView], room: usize) -> Self {
        let both = room >= 80;
        let longest = window.iter().map(|message| text::width(&who(state, message, both))).max().unwrap_or(0);
        Self {
            time: match room {
                0..44 => 0,
                44..72 => 5,
                _ => 8,
            },
            who: longest.min(room / 3).min(if both { 32 } else { 18 }),
            kind: if room >= 52 { 8 } else { 4 },
            both,
        }
    }
}

fn who(state: &DashboardState, message: &MessageView, both: bool) -> String {
    match message.to.as_ref().filter(|to| both && **to != message.from) {
        Some(to) => format!("{} {} {to}", message.from, state.options.theme.arrow()),
        None => message.from.to_string(),
    }
}

fn line(state: &DashboardState, message: &MessageView, widths: &Widths, row: Rect, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let mut pen = Pen::new(buffer, row);
    if widths.time > 0 {
        let time = message.at.to_zoned(state.options.zone.clone()).strftime("%H:%M:%S").to_string();
        pen.column(&time[..widths.time.min(time.len())], widths.time, Theme::dim());
    }
    pen.column(&who(state, message, widths.both), widths.who, Theme::strong());
    let word = if widths.kind == 8 { message.kind.word() } else { short_word(message.kind) };
    pen.column(word, widths.kind, theme.kind(message.kind));
    let quiet = message.kind == MessageKind::Status;
    pen.put(Text::line(&message.text).as_str(), if quiet { Theme::dim() } else { Style::new() });
}
