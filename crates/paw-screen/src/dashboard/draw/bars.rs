//! Draws the header, the footer, and the area for writing a text or confirming an action.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};

use paw_view::{NeedKind, StatusCategory};

use super::pen::Pen;
use super::{cursor_at, heading};
use crate::dashboard::event::DashboardHost;
use crate::dashboard::layout::Panel;
use crate::dashboard::prompt_view::PromptContent;
use crate::dashboard::state::{DashboardState, Mode, consequence};
use crate::dashboard::theme::Theme;
use crate::line_input::LineInput;
use crate::text::{Text, wrap};

pub(super) fn header(state: &DashboardState, area: Rect, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let facts = &state.view.session;
    let broker = facts.broker.clone().unwrap_or_default();
    let url = broker.url.unwrap_or_default();
    // A broker adds the start time to the name.
    let name = facts.session.split('@').next().unwrap_or_default();
    let (session, address) = (Text::line(name), Text::line(url.trim_start_matches("http://")));
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
    let waiting = state.needs().len();
    if warning.is_empty() && waiting > 0 {
        warning = format!("{waiting} need{} you ", if waiting == 1 { "s" } else { "" });
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
    let style = if waiting > 0 && state.disconnected.is_none() { theme.attention() } else { theme.alarm() };
    Pen::new(buffer, corner).put(&warning, style);
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
    if let Some((job, line)) = state.jobs.last().filter(|_| state.mode == Mode::Browse) {
        let mut pen = Pen::new(buffer, area);
        pen.skip(1);
        pen.put(&format!("{} is running", job.title()), theme.attention());
        pen.put(&format!("{}{line}", if line.is_empty() { "" } else { ": " }), Theme::dim());
        return None;
    }
    let hints = hints(state);
    // Where the panels are covered, the keys are all that matters.
    let counts = if state.mode.covers_panels() { String::new() } else { counts(state) };
    let browses = state.mode == Mode::Browse;
    let important = hints.iter().rev().take_while(|(key, _)| !browses || !OPTIONAL.contains(key)).count();
    let (counts, hints) = fitting(&counts, &hints, important, usize::from(area.width));
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

/// Keys whose hints give way to the counts.
const OPTIONAL: [&str; 8] = ["/", "Tab", "p", "t", "c", "x", "Enter", "j/k"];

type Hint = (&'static str, &'static str);

fn columns(hints: &[Hint]) -> usize {
    hints.iter().map(|(key, does)| key.len() + does.len() + 3).sum()
}

/// Fits counts and hints into the width. The `important` last hints are kept before the counts, and those before the others;
/// the very last hint is never dropped.
fn fitting<'a>(counts: &str, hints: &'a [Hint], important: usize, width: usize) -> (String, &'a [Hint]) {
    let agents = counts.split_once(": ").map_or(counts, |(agents, _)| agents);
    let least = hints.len().saturating_sub(important);
    for counts in [counts, agents, ""] {
        let fits = |from: &usize| text::width(counts) + columns(&hints[*from..]) + 2 <= width;
        if let Some(from) = (0..=least).find(fits) {
            return (counts.to_owned(), &hints[from..]);
        }
    }
    let fits = |from: &usize| columns(&hints[*from..]) < width;
    let from = (least..hints.len()).find(fits).unwrap_or(hints.len().saturating_sub(1));
    (String::new(), &hints[from..])
}

/// `5 agents: 2 working, 1 done`.
fn counts(state: &DashboardState) -> String {
    let agents: Vec<_> = state.view.listed().filter(|agent| !agent.is_supervisor()).collect();
    let of =
        |moods: &[StatusCategory]| agents.iter().filter(|agent| moods.contains(&agent.status().0)).count();
    let parts = [
        (of(&[StatusCategory::Working]), "working"),
        (of(&[StatusCategory::Done, StatusCategory::Verified]), "done"),
        (of(&[StatusCategory::Blocked]), "waiting"),
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
        Mode::Reply { .. } | Mode::Tell { .. } => return vec![("Esc", "back"), ("Enter", "send")],
        Mode::Confirm { .. } => return vec![("Esc", "no"), ("y", "yes")],
        Mode::Prompt(view) if matches!(view.content, PromptContent::Shown { .. }) => {
            return vec![
                ("j/k", "scroll"),
                ("Enter", "go there"),
                ("Esc", "back"),
                ("d", "deny"),
                ("a", "approve once"),
            ];
        }
        Mode::Prompt(_) => return vec![("R", "read again"), ("Enter", "go there"), ("Esc", "back")],
        Mode::Changes(_) => {
            return vec![
                ("R", "read again"),
                ("n/p", "file"),
                ("Space", "page"),
                ("Tab", "list or patch"),
                ("Esc", "back"),
            ];
        }
        Mode::Help { .. } | Mode::Detail { .. } | Mode::Output { .. } => {
            return vec![("j/k", "scroll"), ("Esc", "back")];
        }
        Mode::Browse | Mode::Hidden | Mode::Search { .. } => {}
    }
    let close = match state.options.host {
        DashboardHost::Session => "hide",
        DashboardHost::Attached => "close",
    };
    let mut hints = vec![("/", "search"), ("Tab", "panel"), ("p", "pane"), ("t", "tell"), ("c", "changes")];
    let needs = state.needs();
    let is = |kind| needs.iter().any(|need| need.kind == kind);
    match state.focus() {
        Panel::Agents | Panel::Preview => hints.push(("Enter", "go there")),
        Panel::Needs => hints.extend([("x", "dismiss"), ("Enter", "open")]),
        Panel::Conflicts | Panel::Messages => hints.push(("Enter", "details")),
    }
    hints.extend(is(NeedKind::Answer).then_some(("r", "answer")));
    hints.extend(is(NeedKind::Approval).then_some(("a/d", "approve, deny")));
    hints.extend((!needs.is_empty()).then_some(("n", "next")));
    hints.extend([("q", close), ("?", "keys")]);
    hints
}

/// Draws a text and the input below it, or a question to confirm. Returns the cursor position.
pub(super) fn reply(state: &DashboardState, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let (title, text, input) = match &state.mode {
        Mode::Reply { question, input } => {
            (format!("{} asks", question.asker), Text::line(&question.text).to_string(), Some(input))
        }
        Mode::Tell { agent, input } => (format!("tell {agent}"), String::new(), Some(input)),
        Mode::Confirm { job } => (format!("{}?", job.title()), consequence(job).to_owned(), None),
        _ => return None,
    };
    let theme = state.options.theme;
    let rows = area.height.saturating_sub(1);
    let above = Rect { height: rows, ..area };
    let line = Rect { y: area.y + rows, height: area.height - rows, ..area };
    let titled = u16::from(above.height >= 1 && (above.height >= 2 || text.is_empty() || input.is_none()));
    if titled > 0 {
        heading(state, &title, "", Rect { height: 1, ..above }, buffer);
    }
    let lines = wrap(&text, usize::from(area.width.saturating_sub(2)));
    let shown = usize::from(above.height - titled);
    for (index, (row, line)) in above.rows().skip(usize::from(titled)).zip(&lines).enumerate() {
        let mut pen = Pen::new(buffer, row);
        pen.skip(2);
        let cut = index + 1 == shown && shown < lines.len();
        pen.put(&if cut { format!("{line} …") } else { line.clone() }, Style::new());
    }
    if let Some(input) = input {
        return typed(theme.prompt(), input, line, state, buffer);
    }
    let mut pen = Pen::new(buffer, line);
    pen.skip(2);
    pen.put("y", theme.attention());
    pen.put(" yes   ", Theme::dim());
    pen.put("Esc", theme.attention());
    pen.put(" no", Theme::dim());
    None
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
