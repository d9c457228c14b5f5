//! Draws the prompt of an agent: the command, the verdict and its reason.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::heading;
use super::pen::Pen;
use crate::dashboard::prompt_view::{PromptContent, PromptView};
use crate::dashboard::state::DashboardState;
use crate::dashboard::theme::Theme;
use crate::text::{Text, wrap};

/// The length of the command, and how many of its lines are visible at once.
pub(in crate::dashboard) fn extent(state: &DashboardState, view: &PromptView) -> (usize, usize) {
    let body = state.plan().body;
    let verdict = verdict(state, view, usize::from(body.width)).len();
    (view.lines(width(body)).len(), room(body, verdict))
}

/// The command is indented by two columns.
fn width(body: Rect) -> usize {
    usize::from(body.width.saturating_sub(3)).max(1)
}

/// Everything but the title, the verdict and the empty lines around the command.
fn room(body: Rect, verdict: usize) -> usize {
    usize::from(body.height).saturating_sub(3 + verdict).max(1)
}

pub(super) fn draw(state: &DashboardState, view: &PromptView, area: Rect, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let verdict = verdict(state, view, usize::from(area.width));
    let lines = view.lines(width(area));
    let room = room(area, verdict.len());
    let scroll = view.scroll.min(lines.len().saturating_sub(room));
    let below = lines.len().saturating_sub(scroll + room);
    let more = if below > 0 { format!("{} more below", text::plural(below, "line")) } else { String::new() };
    let wants = match view.prompt() {
        Some(prompt) => format!("{} ({}) wants", view.agent, Text::line(&prompt.cli)),
        None => format!("prompt of {}", view.agent),
    };
    heading(state, &wants, &more, Rect { height: area.height.min(1), ..area }, buffer);
    let mut rows = area.rows().skip(2);
    for line in lines.iter().skip(scroll).take(room) {
        let Some(row) = rows.next() else { return };
        let mut pen = Pen::new(buffer, row);
        pen.skip(2);
        pen.put(line, Theme::strong());
    }
    if !lines.is_empty() {
        rows.next();
    }
    for (line, style) in verdict {
        let Some(row) = rows.next() else { return };
        let mut pen = Pen::new(buffer, row);
        pen.skip(1);
        pen.put(&line, style.unwrap_or_else(|| theme.alarm()));
    }
}

/// The lines below the command; those without a style are alarming.
fn verdict(state: &DashboardState, view: &PromptView, width: usize) -> Vec<(String, Option<Style>)> {
    let theme = state.options.theme;
    let wrapped = |text: &str, style: Option<Style>| -> Vec<_> {
        wrap(text, width.saturating_sub(2)).into_iter().map(|line| (line, style)).collect()
    };
    let prompt = match &view.content {
        PromptContent::Reading => return wrapped("reading its pane", Some(Theme::dim())),
        PromptContent::Failed(reason) => return wrapped(Text::line(reason).as_str(), None),
        PromptContent::Shown { prompt, .. } | PromptContent::Replying(prompt) => prompt,
    };
    let (words, style) = if prompt.allowed {
        ("allowed by your rules", theme.success())
    } else {
        ("not allowed automatically", theme.attention())
    };
    let reason = Text::line(&text::reveal(&prompt.reason));
    let mut lines = wrapped(&format!("{words}: {reason}"), Some(style));
    if let Some(why) = &prompt.refusal {
        lines.extend(wrapped(&format!("cannot be approved here: {}", Text::line(why)), None));
    }
    if matches!(view.content, PromptContent::Replying(_)) {
        lines.extend(wrapped("answering", Some(Theme::dim())));
    }
    lines
}
