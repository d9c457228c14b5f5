//! Draws the header, the footer, and the area for writing an answer.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};

use paw_view::StatusCategory;

use super::cursor_at;
use super::pen::Pen;
use crate::dashboard::input::LineInput;
use crate::dashboard::layout::Panel;
use crate::dashboard::state::{DashboardHost, DashboardState, Mode};
use crate::dashboard::theme::Theme;
use crate::text::{Text, wrap};

pub(super) fn header(state: &DashboardState, area: Rect, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let facts = &state.view.session;
    let broker = facts.broker.clone().unwrap_or_default();
    let url = broker.url.unwrap_or_default();
    let (session, address) = (Text::line(&facts.session), Text::line(url.trim_start_matches("http://")));
    let repository = Text::line(&facts.repository.to_string_lossy());
    let mut warning = String::new();
    if let Some(reason) = &state.disconnected {
        warning = format!("broker lost: {reason}");
    } else if broker.open_to_all == Some(true) {
        let long = "auth none: senders are not checked";
        let known = text::width(session.as_str()) + text::width(address.as_str()) + 16;
        let fits = known + long.len() <= usize::from(area.width);
        (if fits { long } else { "auth none" }).clone_into(&mut warning);
    }
    let width = usize::from(area.width);
    let warned = text::width(&warning).min(width * 2 / 3);
    let mut pen = Pen::new(buffer, Rect { width: area.width - u16::try_from(warned).unwrap_or(0), ..area });
    pen.put(" git paw ", Theme::strong().add_modifier(Modifier::REVERSED));
    pen.skip(1);
    pen.put(session.as_str(), Theme::strong());
    let address_width = text::width(address.as_str()) + 3;
    // The repository is the longest and least needed part, so it is truncated first.
    let room = pen.room().saturating_sub(address_width + 3 + 1);
    if !repository.is_empty() && room >= 8 {
        pen.put(theme.dot(), Theme::dim());
        pen.put(&text::truncate_start(repository.as_str(), room), Style::new());
    }
    if !address.is_empty() && pen.room() > address_width {
        pen.put(theme.dot(), Theme::dim());
        pen.put(address.as_str(), Theme::dim());
    }
    let warned = u16::try_from(warned).unwrap_or(0);
    let corner = Rect { x: area.right() - warned, width: warned, ..area };
    Pen::new(buffer, corner).put(&warning, theme.alarm());
}

/// Draws the footer. Returns the cursor position if the footer contains an input.
pub(super) fn footer(state: &DashboardState, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let theme = state.options.theme;
    if let Mode::Search { input, .. } = &state.mode {
        return typed("/", input, area, state, buffer);
    }
    if let Some(notice) = &state.notice {
        let mut pen = Pen::new(buffer, area);
        pen.skip(1);
        pen.put(&notice.text, if notice.alarming { theme.alarm() } else { theme.attention() });
        return None;
    }
    let hints = hints(state);
    let (counts, hints) = fitting(&counts(state), &hints, usize::from(area.width));
    let mut pen = Pen::new(buffer, area);
    pen.skip(1);
    pen.put(&counts, Style::new());
    pen.skip(pen.room().saturating_sub(columns(hints)));
    for (key, does) in hints {
        pen.put(key, Theme::strong());
        pen.put(&format!(" {does}  "), Theme::dim());
    }
    None
}

type Hint = (&'static str, &'static str);

fn columns(hints: &[Hint]) -> usize {
    hints.iter().map(|(key, does)| key.len() + does.len() + 3).sum()
}

/// Fits counts and hints into the width: drops hints first, least important first, then the number of agents, but never the
/// last hint.
fn fitting<'a>(counts: &str, hints: &'a [Hint], width: usize) -> (String, &'a [Hint]) {
    let states = counts.split_once(": ").map_or(counts, |(_, states)| states);
    for counts in [counts, states] {
        let fits = |from: &usize| text::width(counts) + columns(&hints[*from..]) + 2 <= width;
        if let Some(from) = (0..hints.len()).find(fits) {
            return (counts.to_owned(), &hints[from..]);
        }
    }
    let last = &hints[hints.len().saturating_sub(1)..];
    (text::truncate(states, width.saturating_sub(columns(last) + 2)), last)
}

/// `5 agents: 2 working, 1 done`.
fn counts(state: &DashboardState) -> String {
    let agents: Vec<_> = state.view.listed().filter(|agent| !agent.is_supervisor()).collect();
    let of =
        |moods: &[StatusCategory]| agents.iter().filter(|agent| moods.contains(&agent.status().0)).count();
    let parts = [
        (of(&[StatusCategory::Working]), "working"),
        (of(&[StatusCategory::Done, StatusCategory::Verified]), "done"),
        (of(&[StatusCategory::Blocked]), "blocked"),
        (of(&[StatusCategory::Committed]), "committed"),
        (of(&[StatusCategory::Failed]), "failed"),
    ];
    let parts: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let colon = if parts.is_empty() { "" } else { ": " };
    format!("{}{colon}{}", text::plural(agents.len(), "agent"), parts.join(", "))
}

/// The keys that are useful in the current mode, least important first.
fn hints(state: &DashboardState) -> Vec<(&'static str, &'static str)> {
    match &state.mode {
        Mode::Reply { .. } => return vec![("Esc", "back"), ("Enter", "send")],
        Mode::Help { .. } | Mode::Detail { .. } => return vec![("j/k", "scroll"), ("Esc", "back")],
        Mode::Browse | Mode::Hidden | Mode::Search { .. } => {}
    }
    let close = match state.options.host {
        DashboardHost::Session => "hide",
        DashboardHost::Attached => "close",
    };
    let mut hints = vec![("Tab", "panel"), ("/", "search")];
    match state.focus() {
        Panel::Agents => hints.extend([("o", "only its messages"), ("Enter", "detail")]),
        Panel::Questions => hints.extend([("d", "dismiss"), ("Enter", "answer")]),
        Panel::Conflicts => hints.push(("Enter", "detail")),
        Panel::Messages => hints.extend([("a", "all"), ("Enter", "detail")]),
    }
    if !state.questions().is_empty() && state.focus() != Panel::Questions {
        hints.push(("r", "answer"));
    }
    hints.extend([("q", close), ("?", "keys")]);
    hints
}

/// Draws the question and the input for its answer. Returns the cursor position.
pub(super) fn reply(state: &DashboardState, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let Mode::Reply { question, input } = &state.mode else { return None };
    let theme = state.options.theme;
    let (above, line) = {
        let rows = area.height.saturating_sub(1);
        (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
    };
    let mut rows = above.rows();
    if above.height >= 2
        && let Some(row) = rows.next()
    {
        let mut pen = Pen::new(buffer, row);
        pen.put(theme.marker(), theme.title(true));
        pen.put(&format!(" {} asks ", question.asker), theme.title(true));
        pen.fill(theme.rule(), Theme::dim());
    }
    let text = wrap(Text::line(&question.text).as_str(), usize::from(area.width.saturating_sub(2)));
    let titled = u16::from(above.height >= 2);
    let shown = usize::from(above.height - titled);
    for (index, (row, line)) in rows.zip(&text).enumerate() {
        let mut pen = Pen::new(buffer, row);
        pen.skip(2);
        let cut = index + 1 == shown && shown < text.len();
        pen.put(&if cut { format!("{line} …") } else { line.clone() }, Style::new());
    }
    typed(theme.prompt(), input, line, state, buffer)
}

fn typed(
    prompt: &str,
    input: &LineInput,
    area: Rect,
    state: &DashboardState,
    buffer: &mut Buffer,
) -> Option<Position> {
    let theme = state.options.theme;
    let mut pen = Pen::new(buffer, area);
    pen.column(prompt, 1, theme.title(true));
    let (seen, column) = input.window(pen.room());
    pen.put(&seen, Style::new());
    cursor_at(area, column + 2)
}
