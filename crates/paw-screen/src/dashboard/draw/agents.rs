//! Draws the table of agents. Columns that do not fit are omitted, least important first.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use paw_view::{AgentView, BranchTip};

use super::pen::Pen;
use super::{mark, title};
use crate::age;
use crate::dashboard::layout::{Panel, PanelArea};
use crate::dashboard::selection::first_row;
use crate::dashboard::state::DashboardState;
use crate::dashboard::theme::Theme;
use crate::dashboard::usage;
use crate::text::Text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Agent,
    State,
    Age,
    Files,
    Commits,
    Usage,
    Cli,
    Branch,
    Message,
}

/// The columns from left to right.
const ORDER: [Column; 9] = [
    Column::Agent,
    Column::State,
    Column::Age,
    Column::Files,
    Column::Commits,
    Column::Usage,
    Column::Cli,
    Column::Branch,
    Column::Message,
];
/// The columns by importance. The branch comes last, because agents are named after their branch.
const WORTH: [Column; 9] = [
    Column::Agent,
    Column::State,
    Column::Age,
    Column::Message,
    Column::Files,
    Column::Cli,
    Column::Usage,
    Column::Commits,
    Column::Branch,
];

pub(super) fn draw(state: &DashboardState, area: PanelArea, buffer: &mut Buffer) {
    let agents = state.agents();
    let count = agents.iter().filter(|agent| !agent.is_supervisor()).count();
    title(
        state,
        Panel::Agents,
        area.title,
        &[("agents".to_owned(), true), (count.to_string(), false)],
        buffer,
    );
    if agents.is_empty() {
        let mut pen = Pen::new(buffer, area.rows);
        pen.skip(2);
        pen.put("No agents connected yet", Theme::dim());
        return;
    }
    let columns = columns(&widths(&agents), usize::from(area.rows.width));
    let mut rows = area.rows.rows();
    if state.names_columns(area.rows.height)
        && let Some(row) = rows.next()
    {
        names(&columns, Theme::dim(), row, buffer);
    }
    let selected = state.selected(Panel::Agents);
    let first = first_row(selected, agents.len(), state.room(area));
    for ((index, agent), row) in agents.iter().enumerate().skip(first).zip(rows) {
        line(state, agent, &columns, row, buffer);
        mark(state, Panel::Agents, row, index == selected, buffer);
    }
}

fn names(columns: &[(Column, usize)], style: Style, row: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, row);
    for (column, width) in columns {
        match column {
            Column::Agent => pen.column("  agent", *width, style),
            Column::State => pen.column("state", *width, style),
            Column::Age => pen.column_right("age", *width, style),
            Column::Files => pen.column_right("files", *width, style),
            Column::Commits => pen.column_right("commits", *width, style),
            Column::Usage => pen.column_right("tokens", *width, style),
            Column::Cli => pen.column("cli", *width, style),
            Column::Branch => pen.column("branch", *width, style),
            Column::Message => pen.column("needs, or last message", *width, style),
        }
    }
}

fn line(
    state: &DashboardState,
    agent: &AgentView,
    columns: &[(Column, usize)],
    row: Rect,
    buffer: &mut Buffer,
) {
    let theme = state.options.theme;
    let (mood, status) = agent.status();
    let symbol = theme.symbol(mood);
    let mood = theme.mood(mood);
    let mut pen = Pen::new(buffer, row);
    for (column, width) in columns {
        match column {
            Column::Agent => {
                pen.column(symbol, 1, mood);
                pen.column(agent.id.as_str(), width.saturating_sub(2), Theme::strong());
            }
            Column::State => pen.column(Text::line(status).as_str(), *width, mood),
            Column::Age => {
                let age = agent.since().map(|since| age::text(since, state.now));
                pen.column_right(age.as_deref().unwrap_or("-"), *width, Theme::dim());
            }
            Column::Files => {
                let files = agent.files().len();
                let style = if files == 0 { Theme::dim() } else { Style::new() };
                pen.column_right(&files.to_string(), *width, style);
            }
            Column::Commits => pen.column_right(&distance(agent), *width, Theme::dim()),
            Column::Usage => {
                let usage = agent.usage.as_ref().map(usage::short).unwrap_or_default();
                pen.column_right(&usage, *width, Theme::dim());
            }
            Column::Cli => pen.column(Text::line(&agent.cli_and_host()).as_str(), *width, Theme::dim()),
            Column::Branch => pen.column(branch(agent).as_str(), *width, Theme::dim()),
            Column::Message => {
                let need = state.view.need_of(agent);
                let style = if need.is_some() { Theme::strong() } else { Style::new() };
                let text = need.map_or_else(|| agent.last_message.clone(), |need| text::reveal(&need.text));
                pen.column(Text::line(&text).as_str(), *width, style);
            }
        }
    }
}

/// How far its branch is ahead of and behind the main branch.
fn distance(agent: &AgentView) -> String {
    agent.tip.as_ref().and_then(BranchTip::distance).unwrap_or_default()
}

fn branch(agent: &AgentView) -> Text {
    agent.branch().map(|branch| Text::line(branch.as_str())).unwrap_or_default()
}

/// The longest text of each column with a variable width.
struct Longest {
    agent: usize,
    state: usize,
    commits: usize,
    usage: usize,
    cli: usize,
    branch: usize,
}

fn widths(agents: &[&AgentView]) -> Longest {
    let longest = |of: &dyn Fn(&AgentView) -> usize| agents.iter().map(|agent| of(agent)).max().unwrap_or(0);
    let width = |raw: &str| text::width(Text::line(raw).as_str());
    Longest {
        agent: longest(&|agent| text::width(agent.id.as_str())),
        state: longest(&|agent| width(agent.status().1)),
        commits: longest(&|agent| distance(agent).len()),
        usage: longest(&|agent| agent.usage.as_ref().map_or(0, |usage| usage::short(usage).len())),
        cli: longest(&|agent| width(&agent.cli_and_host())),
        branch: longest(&|agent| text::width(branch(agent).as_str())),
    }
}

/// The minimum and maximum width of a column.
fn range(column: Column, longest: &Longest) -> (usize, usize) {
    match column {
        Column::Agent => ((longest.agent + 2).min(14), (longest.agent + 2).min(30)),
        Column::State => (longest.state.clamp(5, 14), longest.state.clamp(5, 16)),
        Column::Files => (5, 5),
        Column::Commits if longest.commits == 0 => (0, 0),
        Column::Commits => (longest.commits.clamp(7, 11), longest.commits.clamp(7, 11)),
        Column::Usage if longest.usage == 0 => (0, 0),
        Column::Age => (6, 6),
        Column::Usage => (longest.usage.clamp(6, 14), longest.usage.clamp(6, 14)),
        Column::Cli if longest.cli == 0 => (0, 0),
        Column::Cli => (longest.cli.clamp(3, 6), longest.cli.clamp(3, 20)),
        Column::Branch if longest.branch == 0 => (0, 0),
        Column::Branch => (longest.branch.clamp(6, 12), longest.branch.clamp(6, 30)),
        Column::Message => (16, usize::MAX),
    }
}

/// The columns that fit, in their order, with their widths.
fn columns(longest: &Longest, room: usize) -> Vec<(Column, usize)> {
    let mut widths: Vec<(Column, usize)> = Vec::new();
    let mut left = room;
    for column in WORTH {
        let (least, _) = range(column, longest);
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
    // The message takes what no other column needs, but not before it can be read.
    let reserve = if widths.iter().any(|(column, _)| *column == Column::Message) { left.min(20) } else { 0 };
    let mut spare = left - reserve;
    for (column, width) in &mut widths {
        if *column != Column::Message {
            let more = range(*column, longest).1.saturating_sub(*width).min(spare);
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
