//! Draws the overlays: the list of keys, and the details of one item.

use jiff::Timestamp;
use paw_core::{AgentId, text};
use paw_view::{AgentView, BranchTip, ConflictView};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::heading;
use super::lists::place_of;
use super::pen::Pen;
use crate::dashboard::event::DashboardHost;
use crate::dashboard::state::{DashboardState, DetailSubject, Mode};
use crate::dashboard::theme::Theme;
use crate::dashboard::usage;
use crate::text::{Text, wrap};

/// A dimmed name, and its text.
struct Entry {
    name: String,
    text: String,
}

struct Page {
    title: String,
    entries: Vec<Entry>,
}

/// The number of lines, and how many are visible at once.
pub(in crate::dashboard) fn extent(state: &DashboardState) -> (usize, usize) {
    let body = state.plan().body;
    let room = usize::from(body.height.saturating_sub(1));
    (laid_out(&page(state), usize::from(body.width)).len(), room)
}

pub(super) fn draw(state: &DashboardState, area: Rect, buffer: &mut Buffer) {
    let page = page(state);
    let lines = laid_out(&page, usize::from(area.width));
    let room = usize::from(area.height.saturating_sub(1));
    let scroll = match &state.mode {
        Mode::Help { scroll } | Mode::Detail { scroll, .. } | Mode::Output { scroll, .. } => {
            (*scroll).min(lines.len().saturating_sub(room))
        }
        _ => 0,
    };
    let below = lines.len().saturating_sub(scroll + room);
    let more = if below > 0 { format!("{below} more below") } else { String::new() };
    heading(state, &page.title, &more, Rect { height: area.height.min(1), ..area }, buffer);
    for (row, line) in area.rows().skip(1).zip(lines.iter().skip(scroll)) {
        let mut pen = Pen::new(buffer, row);
        for (text, columns, dim) in line {
            pen.column(text, *columns, if *dim { Theme::dim() } else { Style::new() });
        }
    }
}

/// The cells of a line: text, width, and whether the text is dimmed.
type Line = Vec<(String, usize, bool)>;

fn laid_out(page: &Page, width: usize) -> Vec<Line> {
    let names = page.entries.iter().map(|entry| text::width(&entry.name)).max().unwrap_or(0);
    let names = names.min(width / 3);
    // Names next to their texts, or above them if there is no room.
    let side_by_side = width >= names + 16;
    let room = if side_by_side { width.saturating_sub(names + 3) } else { width.saturating_sub(2) };
    let mut lines = Vec::new();
    for entry in page.entries.iter().filter(|entry| !entry.text.is_empty()) {
        let wrapped = wrap(&entry.text, room);
        if !side_by_side {
            lines.push(vec![(entry.name.clone(), width, true)]);
        }
        for (index, text) in wrapped.into_iter().enumerate() {
            let name = if index == 0 && side_by_side { entry.name.clone() } else { String::new() };
            let margin = if side_by_side { names + 1 } else { 1 };
            lines.push(vec![(name, margin, true), (text, room, false)]);
        }
    }
    lines
}

fn page(state: &DashboardState) -> Page {
    match &state.mode {
        Mode::Detail { subject, .. } => detail(state, subject),
        Mode::Output { title, lines, .. } => {
            let text: Vec<_> = lines.iter().map(|line| Text::new(line).to_string()).collect();
            Page { title: title.clone(), entries: vec![entry("", &text.join("\n"))] }
        }
        _ => keys(state),
    }
}

fn keys(state: &DashboardState) -> Page {
    let close = match state.options.host {
        DashboardHost::Session => "hide the view; the broker keeps running",
        DashboardHost::Attached => "close the view; the broker keeps running",
    };
    let keys = [
        ("n", "select the next agent that needs you"),
        ("Enter", "go to the agent's pane; open what is selected"),
        ("a d", "approve or deny: shows the command first"),
        ("r", "answer the selected or the oldest question"),
        ("t", "tell the agent something"),
        ("c", "show the agent's changes against main"),
        ("v", "verify the agent's branch"),
        ("m", "merge the agent's branch (asks first)"),
        ("X", "remove the agent (asks first)"),
        ("P", "pause the session (asks first)"),
        ("p", "show or hide the agent's pane"),
        ("i", "details"),
        ("Tab", "next panel; Shift-Tab: previous panel"),
        ("j k", "down and up, also arrows, PgDn, PgUp, g, G"),
        ("1-9 0", "show only this message type; again: undo"),
        ("o", "show only messages of this agent; again: undo"),
        ("/", "search messages"),
        ("Esc", "show all messages, and jump to the newest"),
        ("l", "show or hide messages"),
        ("x", "dismiss a question on this screen"),
        ("^L", "redraw"),
        ("q", close),
    ];
    let entries = keys.iter().map(|(name, text)| entry(name, text)).collect();
    Page { title: "keys".to_owned(), entries }
}

fn entry(name: &str, text: &str) -> Entry {
    Entry { name: name.to_owned(), text: text.to_owned() }
}

fn detail(state: &DashboardState, subject: &DetailSubject) -> Page {
    let time =
        |at: Timestamp| at.to_zoned(state.options.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string();
    let line = |raw: &str| Text::line(raw).to_string();
    let found = match subject {
        DetailSubject::Agent(id) => {
            state.view.find(id).filter(|agent| agent.is_listed()).map(|agent| agent_page(state, agent, time))
        }
        DetailSubject::Conflict(key) => {
            state.view.conflict_groups().iter().find(|group| group.key() == key).map(|group| {
                let agents: Vec<_> = group.agents.iter().map(|agent| agent.as_str()).collect();
                let about = |conflict: &&ConflictView| {
                    let place = line(&conflict.file);
                    format!("{place}\n{}", Text::new(&conflict.details))
                };
                let files = if group.files.len() > 1 { group.files.join("\n") } else { place_of(group) };
                let mut details: Vec<_> = group.conflicts.iter().map(about).collect();
                if let [only] = group.conflicts.as_slice() {
                    details = vec![Text::new(&only.details).to_string()];
                }
                let entries = vec![
                    entry("where", Text::new(&files).as_str()),
                    entry("agents", &agents.join("\n")),
                    entry("since", &time(group.since)),
                    entry("details", &details.join("\n")),
                ];
                Page { title: group.kind.word().to_owned(), entries }
            })
        }
        DetailSubject::Message(seq) => {
            state.view.messages.iter().find(|message| message.seq == *seq).map(|message| {
                let mut entries = vec![
                    entry("from", message.from.as_str()),
                    entry("to", message.to.as_ref().map_or("-", AgentId::as_str)),
                    entry("at", &time(message.at)),
                ];
                let fields = message.fields.iter();
                entries.extend(fields.map(|(name, value)| entry(&line(name), Text::new(value).as_str())));
                Page { title: format!("{} {}", message.kind.word(), message.seq), entries }
            })
        }
    };
    found.unwrap_or_else(|| Page {
        title: "not found".to_owned(),
        entries: vec![entry("", "this item no longer exists")],
    })
}

/// The other machine that an agent runs on, and since when it cannot be reached.
fn host(agent: &AgentView, time: impl Fn(Timestamp) -> String) -> String {
    let Some(host) = agent.host() else { return String::new() };
    let Some(since) = host.unreachable_since() else { return host.name.to_string() };
    let problem = host.reach.as_ref().and_then(|reach| reach.problem.as_deref()).unwrap_or_default();
    Text::line(&format!("{}, unreachable since {}: {problem}", host.name, time(since))).to_string()
}

fn agent_page(state: &DashboardState, agent: &AgentView, time: impl Fn(Timestamp) -> String) -> Page {
    let line = |raw: &str| Text::line(raw).to_string();
    let files: Vec<_> = agent.files().iter().map(|file| line(file)).collect();
    let seen = agent.last_seen().map_or_else(|| "not seen yet".to_owned(), &time);
    let branch = agent.branch().map(|branch| line(branch.as_str())).unwrap_or_default();
    let need = state.view.need_of(agent).map(|need| Text::new(&text::reveal(&need.text)).to_string());
    let reason = agent.observed.as_ref().map(|seen| line(&seen.reason)).unwrap_or_default();
    let entries = vec![
        entry("state", &line(agent.status().1)),
        entry("waits for", &need.unwrap_or_default()),
        entry("reason", &reason),
        entry("branch", &branch),
        entry("commits", &agent.tip.as_ref().and_then(BranchTip::distance).unwrap_or_default()),
        entry("cli", &line(agent.cli())),
        entry("host", &host(agent, &time)),
        entry("usage", &agent.usage.as_ref().map(usage::long).unwrap_or_default()),
        entry("last seen", &seen),
        entry("message", &line(&agent.last_message)),
        entry(&format!("files {}", files.len()), &files.join("\n")),
    ];
    Page { title: agent.id.to_string(), entries }
}
