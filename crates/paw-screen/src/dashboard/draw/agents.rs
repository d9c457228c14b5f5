//! The table of agents. Columns that do not fit are left out, the least telling first.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pen::Pen;
use super::{mark, title};
use crate::age;
use crate::dashboard::layout::{Area, Panel};
use crate::dashboard::look::Look;
use crate::dashboard::select::first_row;
use crate::dashboard::state::State;
use crate::dashboard::view::Agent;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Agent,
    State,
    Age,
    Files,
    Cli,
    Branch,
    Message,
}

/// On the screen from left to right.
const ORDER: [Column; 7] =
    [Column::Agent, Column::State, Column::Age, Column::Files, Column::Cli, Column::Branch, Column::Message];
/// Who is given room first. The branch comes last: an agent is named after it.
const WORTH: [Column; 7] =
    [Column::Agent, Column::State, Column::Age, Column::Files, Column::Message, Column::Cli, Column::Branch];

pub(super) fn draw(state: &State, area: Area, buffer: &mut Buffer) {
    let count = state.agents.iter().filter(|agent| !agent.is_supervisor()).count();
    title(
        state,
        Panel::Agents,
        area.title,
        &[("agents".to_owned(), true), (count.to_string(), false)],
        buffer,
    );
    if state.agents.is_empty() {
        let mut pen = Pen::new(buffer, area.rows);
        pen.skip(2);
        pen.put("No agents connected yet", Look::dim());
        return;
    }
    let columns = columns(&state.agents, usize::from(area.rows.width));
    let mut rows = area.rows.rows();
    if state.names_columns(area.rows.height)
        && let Some(row) = rows.next()
    {
        names(&columns, Look::dim(), row, buffer);
    }
    let chosen = state.chosen(Panel::Agents);
    let first = first_row(chosen, state.agents.len(), state.room(area));
    for ((place, agent), row) in state.agents.iter().enumerate().skip(first).zip(rows) {
        line(state, agent, &columns, row, buffer);
        mark(state, Panel::Agents, row, place == chosen, buffer);
    }
}

fn names(columns: &[(Column, usize)], style: ratatui::style::Style, row: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, row);
    for (column, width) in columns {
        match column {
            Column::Agent => pen.column("  agent", *width, style),
            Column::State => pen.column("state", *width, style),
            Column::Age => pen.column_right("age", *width, style),
            Column::Files => pen.column_right("files", *width, style),
            Column::Cli => pen.column("cli", *width, style),
            Column::Branch => pen.column("branch", *width, style),
            Column::Message => pen.column("last message", *width, style),
        }
    }
}

fn line(state: &State, agent: &Agent, columns: &[(Column, usize)], row: Rect, buffer: &mut Buffer) {
    let look = state.options.look;
    let mood = look.mood(agent.mood);
    let mut pen = Pen::new(buffer, row);
    for (column, width) in columns {
        match column {
            Column::Agent => {
                pen.column(look.symbol(agent.mood), 1, mood);
                pen.column(agent.id.as_str(), width.saturating_sub(2), Look::strong());
            }
            Column::State => pen.column(agent.state.as_str(), *width, mood),
            Column::Age => {
                let age = agent.last_seen.map(|seen| age::text(seen, state.now));
                pen.column_right(age.as_deref().unwrap_or("-"), *width, Look::dim());
            }
            Column::Files => {
                let files = agent.files.len();
                let style = if files == 0 { Look::dim() } else { ratatui::style::Style::new() };
                pen.column_right(&files.to_string(), *width, style);
            }
            Column::Cli => pen.column(agent.cli.as_str(), *width, Look::dim()),
            Column::Branch => pen.column(agent.branch.as_str(), *width, Look::dim()),
            Column::Message => pen.column(agent.last_message.as_str(), *width, ratatui::style::Style::new()),
        }
    }
}

/// The least and the most a column is given.
fn range(column: Column, agents: &[Agent]) -> (usize, usize) {
    let longest = |of: &dyn Fn(&Agent) -> usize| agents.iter().map(of).max().unwrap_or(0);
    match column {
        Column::Agent => {
            let longest = longest(&|agent| text::width(agent.id.as_str())) + 2;
            (longest.min(14), longest.min(30))
        }
        Column::State => {
            let longest = longest(&|agent| text::width(agent.state.as_str())).max(5);
            (longest.min(9), longest.min(16))
        }
        Column::Age => (6, 6),
        Column::Files => (5, 5),
        Column::Cli => {
            let longest = longest(&|agent| text::width(agent.cli.as_str()));
            if longest == 0 { (0, 0) } else { (longest.clamp(3, 6), longest.clamp(3, 12)) }
        }
        Column::Branch => {
            let longest = longest(&|agent| text::width(agent.branch.as_str()));
            if longest == 0 { (0, 0) } else { (longest.clamp(6, 12), longest.clamp(6, 30)) }
        }
        Column::Message => (16, usize::MAX),
    }
}

/// The columns that fit, in their order, with their widths.
fn columns(agents: &[Agent], room: usize) -> Vec<(Column, usize)> {
    let mut widths: Vec<(Column, usize)> = Vec::new();
    let mut left = room;
    for column in WORTH {
        let (least, _) = range(column, agents);
        let gap = usize::from(!widths.is_empty());
        if least == 0 {
            continue;
        }
        if least + gap <= left {
            left -= least + gap;
            widths.push((column, least));
        } else if widths.is_empty() {
            left = 0;
            widths.push((column, room));
        }
    }
    // The message takes what nobody else needs, but not before it can be read.
    let reserve = if widths.iter().any(|(column, _)| *column == Column::Message) { left.min(20) } else { 0 };
    let mut spare = left - reserve;
    for (column, width) in &mut widths {
        if *column != Column::Message {
            let more = range(*column, agents).1.saturating_sub(*width).min(spare);
            *width += more;
            spare -= more;
        }
    }
    for (_, width) in widths.iter_mut().filter(|(column, _)| *column == Column::Message) {
        *width += spare + reserve;
    }
    widths.sort_by_key(|(column, _)| ORDER.iter().position(|other| other == column));
    widths
}
