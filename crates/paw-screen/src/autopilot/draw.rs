//! Draws the navigator: a header, the list, the run, and the keys.

use paw_core::text;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::rows::first_row;
use super::state::NavigatorState;
use super::view::{RunActivity, RunView, StatusLabel, TaskStatusKind, TaskView};
use crate::dashboard::Theme;
use crate::text::{Text, wrap};

/// The most lines of the run's log.
const LOG: usize = 8;

/// Draws the whole screen.
pub fn draw(state: &NavigatorState, frame: &mut Frame<'_>) {
    let screen = frame.area();
    let (width, height) = (usize::from(screen.width), usize::from(screen.height));
    let bottom = bottom(state, width, height);
    let keys = bottom.len().min(height);
    let head = if height >= 9 { head(state) } else { Vec::new() };
    let run = if height >= head.len() + keys + 4 { run(state, height / 3) } else { Vec::new() };
    let room = height.saturating_sub(head.len() + run.len() + keys);
    let mut lines = head;
    let mut list = list(state, width, room);
    list.resize(room, Line::default());
    lines.extend(list);
    lines.extend(run);
    lines.extend(bottom.into_iter().take(keys));
    let buffer = frame.buffer_mut();
    for (row, line) in screen.rows().zip(&lines) {
        let clipped = clipped(line, width);
        buffer.set_line(row.x, row.y, &clipped, row.width);
        if line.style.add_modifier.contains(Modifier::REVERSED) {
            buffer.set_style(Rect { height: 1, ..row }, Modifier::REVERSED);
        }
    }
}

/// Truncates a line to `width` columns, with a mark where text is missing.
fn clipped(line: &Line<'_>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut spans = Vec::new();
    for span in &line.spans {
        let kept = text::truncate(&span.content, left);
        left -= text::width(&kept).min(left);
        spans.push(Span::styled(kept, span.style));
    }
    Line { spans, style: line.style, alignment: None }
}

fn head(state: &NavigatorState) -> Vec<Line<'static>> {
    let Some(view) = &state.view else { return vec![Line::raw(" loading …")] };
    let pair =
        |name: &str, value: String| Line::from(vec![Span::styled(name.to_owned(), dim()), value.into()]);
    let tags = state.tags().len();
    let tag = state
        .shown_tag()
        .map_or_else(|| Text::line(&view.tag).to_string(), |tag| Text::line(&tag.name).to_string());
    let of = if tags > 1 { format!("  ({} of {tags})", state.tag_index() + 1) } else { String::new() };
    vec![
        pair(" Project: ", view.project.to_string()),
        pair(" Branch:  ", view.branch.to_string()),
        pair(" Tag:     ", format!("{tag}{of}")),
        Line::default(),
    ]
}

fn list(state: &NavigatorState, width: usize, room: usize) -> Vec<Line<'static>> {
    let Some(view) = &state.view else { return Vec::new() };
    let rows = state.rows();
    if rows.is_empty() {
        let why = view.problem.as_ref().map_or_else(
            || "no tasks in this tag: git paw tasks add \"…\" creates one".to_owned(),
            ToString::to_string,
        );
        let lines = wrap(&why, width.saturating_sub(2));
        return lines.into_iter().take(room).map(|line| Line::raw(format!(" {line}"))).collect();
    }
    let mut lines = Vec::new();
    let tasks = state.shown_tag().map(|tag| tag.tasks.as_slice()).unwrap_or_default();
    if room > 2 {
        lines.push(title(state, tasks));
    }
    let room = room.saturating_sub(lines.len());
    let selected = state.selected_index(&rows);
    let first = first_row(selected, rows.len(), room);
    for (index, row) in rows.iter().enumerate().skip(first).take(room) {
        let Some(task) = tasks.get(row.task) else { continue };
        let line = match row.key.subtask.and_then(|at| task.subtasks.get(at)) {
            None => task_line(state, task, state.open.contains(&row.key)),
            Some(subtask) => {
                let here = runs_here(state, |run| run.subtask.as_deref() == Some(&subtask.id));
                let label = (&subtask.status, subtask.priority.as_ref());
                item(state, "     ", &subtask.id, label, &subtask.title, here)
            }
        };
        lines.push(if index == selected { line.style(Modifier::REVERSED) } else { line });
    }
    lines
}

fn title(state: &NavigatorState, tasks: &[TaskView]) -> Line<'static> {
    let done = tasks.iter().filter(|task| task.status.category == TaskStatusKind::Done).count();
    let problems = state.shown_tag().map(|tag| tag.problems.as_slice()).unwrap_or_default();
    let mut spans = vec![
        Span::styled(" Tasks", Modifier::BOLD),
        Span::styled(format!("  {done} of {} done", tasks.len()), dim()),
    ];
    if let Some(problem) = problems.first() {
        let more =
            if problems.len() > 1 { format!(" (and {} more)", problems.len() - 1) } else { String::new() };
        spans.push(Span::styled(format!("  {problem}{more}"), paint(state.theme, Color::Yellow)));
    }
    Line::from(spans)
}

fn task_line(state: &NavigatorState, task: &TaskView, open: bool) -> Line<'static> {
    let marker = match (task.subtasks.is_empty(), open) {
        (true, _) => "   ",
        (false, true) => pick(state.theme, " ▾ ", " - "),
        (false, false) => pick(state.theme, " ▸ ", " + "),
    };
    let here = !open && runs_here(state, |run| run.task == task.id);
    item(state, marker, &task.id, (&task.status, task.priority.as_ref()), &task.title, here)
}

fn item(
    state: &NavigatorState,
    marker: &str,
    id: &str,
    (status, priority): (&StatusLabel, Option<&Text>),
    title: &Text,
    here: bool,
) -> Line<'static> {
    let id = Text::line(id);
    let mut spans = vec![
        Span::raw(format!("{marker}{id} ")),
        Span::styled(format!("[{}]", status.text), category(state.theme, status.category)),
    ];
    spans.extend(
        priority.map(|priority| Span::styled(format!(" {priority}"), urgency(state.theme, priority))),
    );
    spans.push(Span::raw(format!(" {title}")));
    if here {
        spans.insert(2, Span::styled(pick(state.theme, " ◀", " <"), paint(state.theme, Color::Cyan)));
    }
    Line::from(spans)
}

/// Whether an unfinished run of the visible tag matches `about`.
fn runs_here(state: &NavigatorState, about: impl Fn(&RunView) -> bool) -> bool {
    let run = state.view.as_ref().and_then(|view| view.run.as_ref());
    let tag = state.shown_tag().map(|tag| tag.name.as_str());
    run.is_some_and(|run| {
        run.activity != RunActivity::Finished && tag == Some(run.tag.as_str()) && about(run)
    })
}

fn run(state: &NavigatorState, most: usize) -> Vec<Line<'static>> {
    let Some(view) = &state.view else { return Vec::new() };
    let Some(run) = &view.run else { return Vec::new() };
    let (word, style) = match &run.activity {
        RunActivity::Working => ("working", paint(state.theme, Color::Blue)),
        RunActivity::Paused { .. } => ("paused", paint(state.theme, Color::Yellow)),
        RunActivity::Finished => (run.phase.as_str(), dim()),
    };
    let task = Text::line(&run.task);
    let mut lines = vec![Line::from(vec![
        Span::styled(format!(" Run of task {task}: "), Modifier::BOLD),
        Span::styled(word.to_owned(), style.add_modifier(Modifier::BOLD)),
        Span::raw(format!(", {} of {} done", run.done, run.of)),
    ])];
    if run.activity != RunActivity::Finished {
        lines.push(Line::raw(format!("   {}", run.phase)));
    }
    if let RunActivity::Paused { why } = &run.activity {
        lines.push(Line::styled(format!("   {why}"), style));
    }
    let room = LOG.min(most.saturating_sub(lines.len()));
    let older = view.log.len().saturating_sub(room);
    lines.extend(view.log.iter().skip(older).map(|line| Line::styled(format!("   {line}"), dim())));
    lines
}

/// The notice, and the keys.
fn bottom(state: &NavigatorState, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(notice) = &state.notice {
        let colour = if notice.alarming { Color::Red } else { Color::Yellow };
        let style = paint(state.theme, colour).add_modifier(Modifier::BOLD);
        let wrapped = wrap(notice.text.as_str(), width.saturating_sub(2));
        lines.extend(wrapped.into_iter().take(4).map(|line| Line::styled(format!(" {line}"), style)));
    }
    let paused = state.view.as_ref().and_then(|view| view.run.as_ref());
    let paused = paused.is_some_and(|run| matches!(run.activity, RunActivity::Paused { .. }));
    let p = if paused { "resume" } else { "pause" };
    let arrows = pick(state.theme, "[↑↓] move  [←→] tag", "[up/down] move  [left/right] tag");
    let short = format!(" [s] start  [p] {p}  [q] quit");
    let more = format!("[Enter] subtasks  {arrows}");
    if text::width(&short) + text::width(&more) + 2 <= width {
        lines.push(Line::styled(format!("{short}  {more}"), dim()));
        return lines;
    }
    lines.push(Line::styled(short, dim()));
    if height >= 16 {
        lines.push(Line::styled(format!(" {more}"), dim()));
    }
    lines
}

fn urgency(theme: Theme, priority: &Text) -> Style {
    match priority.as_str() {
        "critical" => paint(theme, Color::Red),
        "high" => paint(theme, Color::Yellow),
        _ => dim(),
    }
}

fn category(theme: Theme, category: TaskStatusKind) -> Style {
    match category {
        TaskStatusKind::Open => Style::new(),
        TaskStatusKind::Active => paint(theme, Color::Blue),
        TaskStatusKind::Done => paint(theme, Color::Green),
        TaskStatusKind::Stuck => paint(theme, Color::Yellow),
        TaskStatusKind::Dropped => dim(),
    }
}

fn pick(theme: Theme, unicode: &'static str, ascii: &'static str) -> &'static str {
    if theme.unicode { unicode } else { ascii }
}

fn paint(theme: Theme, colour: Color) -> Style {
    if theme.colour { Style::new().fg(colour) } else { Style::new() }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}
