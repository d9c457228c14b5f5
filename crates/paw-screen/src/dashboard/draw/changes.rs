//! Draws the work of an agent: the changed files, and the patch of the selected one.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::heading;
use super::pen::Pen;
use crate::dashboard::changes::{ChangedFile, ChangesContent, ChangesView, WorkChanges};
use crate::dashboard::selection::first_row;
use crate::dashboard::state::DashboardState;
use crate::dashboard::theme::Theme;
use crate::text::{Text, wrap};

/// From this width on, the list is beside the patch.
const SIDE_BY_SIDE: u16 = 110;

/// The areas of the title, the list and the patch, with the patch's title line.
fn areas(body: Rect, view: &ChangesView) -> (Rect, Rect, Rect) {
    let title = Rect { height: body.height.min(1), ..body };
    let rest = Rect { y: body.y + title.height, height: body.height - title.height, ..body };
    if rest.width >= SIDE_BY_SIDE {
        let list = Rect { width: (rest.width / 3).min(60), ..rest };
        let patch = Rect { x: list.right() + 1, width: rest.width - list.width - 1, ..rest };
        return (title, list, patch);
    }
    // The patch needs the room more than the list.
    let files = u16::try_from(view.files().len().max(1)).unwrap_or(u16::MAX);
    let most = if view.in_patch { 1 } else { (rest.height / 3).max(1) };
    let list = Rect { height: files.min(most).min(rest.height), ..rest };
    let patch = Rect { y: list.bottom(), height: rest.height - list.height, ..rest };
    (title, list, patch)
}

/// The visible rows of the list and of the patch.
pub(in crate::dashboard) fn extent(state: &DashboardState, view: &ChangesView) -> (usize, usize) {
    let (_, list, patch) = areas(state.plan().body, view);
    (usize::from(list.height), usize::from(patch.height.saturating_sub(1)))
}

pub(super) fn draw(state: &DashboardState, view: &ChangesView, area: Rect, buffer: &mut Buffer) {
    let (title, list, patch) = areas(area, view);
    let more = match &view.content {
        ChangesContent::Read(changes) => summary(changes),
        ChangesContent::Reading | ChangesContent::Failed(_) => String::new(),
    };
    heading(state, &format!("changes of {}", view.agent), &more, title, buffer);
    let problem = match &view.content {
        ChangesContent::Reading => ("reading its worktree".to_owned(), Theme::dim()),
        ChangesContent::Failed(reason) => (Text::line(reason).to_string(), state.options.theme.alarm()),
        ChangesContent::Read(changes) if changes.files.is_empty() => {
            ("no changes yet".to_owned(), Theme::dim())
        }
        ChangesContent::Read(_) => {
            files(state, view, list, buffer);
            lines(state, view, patch, buffer);
            return;
        }
    };
    for (line, row) in
        wrap(&problem.0, usize::from(area.width.saturating_sub(3))).iter().zip(area.rows().skip(1))
    {
        let mut pen = Pen::new(buffer, row);
        pen.skip(2);
        pen.put(line, problem.1);
    }
}

/// `3 files, +40 -2 since 1a2b3c4, partly uncommitted`
fn summary(changes: &WorkChanges) -> String {
    let sum = |of: fn(&ChangedFile) -> Option<u64>| changes.files.iter().filter_map(of).sum::<u64>();
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    let state = if changes.committed { "all committed" } else { "partly uncommitted" };
    let files = text::plural(changes.files.len(), "file");
    format!("{files}, +{added} -{removed} since {}, {state}", text::short_commit(&changes.base))
}

fn files(state: &DashboardState, view: &ChangesView, area: Rect, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let count = |number: Option<u64>, sign: char| match number {
        Some(0) => String::new(),
        Some(number) => format!("{sign}{number}"),
        None => "bin".to_owned(),
    };
    let first = first_row(view.file, view.files().len(), usize::from(area.height));
    for ((index, file), row) in view.files().iter().enumerate().skip(first).zip(area.rows()) {
        let mut pen = Pen::new(buffer, row);
        pen.column(&file.kind.to_string(), 1, theme.change(file.kind));
        let name = Text::line(&text::reveal(&file.name()));
        let room = pen.room().saturating_sub(14);
        pen.column(&text::truncate_start(name.as_str(), room), room, Style::new());
        pen.column_right(&count(file.added, '+'), 6, theme.success());
        pen.column_right(&count(file.removed, '-'), 6, theme.removed());
        if index == view.file {
            let mark = if view.in_patch { Modifier::BOLD } else { Modifier::REVERSED };
            buffer.set_style(row, mark);
        }
    }
}

fn lines(state: &DashboardState, view: &ChangesView, area: Rect, buffer: &mut Buffer) {
    let theme = state.options.theme;
    let mut rows = area.rows();
    let Some(first) = rows.next() else { return };
    let room = usize::from(area.height.saturating_sub(1));
    let patch = view.patch.as_deref().unwrap_or_default();
    let scroll = view.scroll.min(patch.len().saturating_sub(room));
    let mut pen = Pen::new(buffer, first);
    pen.put(if view.in_patch { theme.marker() } else { theme.rule() }, theme.title(view.in_patch));
    let name = view.files().get(view.file).map(ChangedFile::name).unwrap_or_default();
    pen.put(&format!(" {} ", Text::line(&text::reveal(&name))), theme.title(view.in_patch));
    let below = patch.len().saturating_sub(scroll + room);
    if view.patch.is_none() {
        pen.put("reading ", Theme::dim());
    } else if below > 0 {
        pen.put(&format!("{} more below ", text::plural(below, "line")), Theme::dim());
    }
    pen.fill(theme.rule(), Theme::dim());
    // Only the visible lines are sanitized, so that a long patch costs nothing.
    for (line, row) in patch.iter().skip(scroll).zip(rows) {
        let style = match line.as_bytes().first() {
            Some(b'+') => theme.success(),
            Some(b'-') => theme.removed(),
            Some(b'@') => theme.hunk(),
            Some(b' ') | None => Style::new(),
            _ => Theme::dim(),
        };
        Pen::new(buffer, row).put(&text::reveal(&line.replace('\t', "    ")), style);
    }
}
