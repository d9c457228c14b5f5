//! What tmux shows about the whole session: a segment for the status line, and the names of the agents' windows.

use std::collections::BTreeMap;

use paw_core::Receipt;
use paw_core::config::LayoutMode;
use paw_host::tmux::{Batch, Tmux, TmuxCommand, TmuxSession};
use paw_session::panes::MARK;
use paw_session::recover::RunningSessions;
use paw_view::{AgentState, SessionView};

use super::notice::Notice;

/// The session option with the segment. Users place `#{@paw_status}` where they like.
const STATUS: &str = "@paw_status";
/// Set once the segment is in the session's own status line.
const PLACED: &str = "@paw_status_line";
/// The session option with what the user has in the right part of the status line.
const RIGHT: &str = "@paw_status_right";
/// In a narrower terminal, the segment is shortened and replaces what the user has there, so that the list of windows keeps its
/// room. With a window for each agent, nothing else is ever shown there.
const NARROW: u16 = 120;
const NARROW_SEGMENT: u16 = 37;
/// The most agents that the segment names.
const NAMED: usize = 2;

/// What was last shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenAttention {
    segment: Option<String>,
    marks: BTreeMap<String, &'static str>,
    placed: bool,
}

impl ScreenAttention {
    /// Updates what changed. A session that is not running is left out until it is.
    pub(super) fn show(
        &mut self,
        tmux: &Tmux,
        receipt: &Receipt,
        view: &SessionView,
        needs: &[Notice],
        status_line: bool,
    ) {
        let segment = segment(view, needs);
        let marks = if receipt.layout == LayoutMode::Windows { marks(view, needs) } else { BTreeMap::new() };
        if self.segment.as_ref() == Some(&segment) && self.marks == marks && self.placed {
            return;
        }
        let running = RunningSessions::load(tmux).unwrap_or_default();
        let Some(target) = running.find(receipt).map(TmuxSession::target) else { return };
        let mut batch = Batch::default();
        batch.push(TmuxCommand::new("set-option").args(["-t", &target, STATUS, &segment]));
        place(&target, receipt.layout, status_line, &mut batch);
        rename_windows(tmux, &target, &marks, &mut batch);
        if tmux.run_batch(&batch).is_ok() {
            (self.segment, self.marks, self.placed) = (Some(segment), marks, true);
        }
    }

    /// Removes the segment, because it is no longer updated.
    pub(super) fn clear(&self, receipt: Option<&Receipt>) {
        let Some(receipt) = receipt.filter(|_| self.segment.is_some()) else { return };
        let tmux = Tmux::on_socket(receipt.tmux_socket.clone());
        let running = RunningSessions::load(&tmux).unwrap_or_default();
        if let Some(target) = running.find(receipt).map(TmuxSession::target) {
            let _ = tmux.run(&TmuxCommand::new("set-option").args(["-u", "-t", &target, STATUS]));
        }
    }
}

/// Puts the segment into the session's own status line, in front of what the user has there, or removes it. A user who has
/// placed it is left alone.
fn place(target: &str, layout: LayoutMode, wanted: bool, batch: &mut Batch) {
    let is_placed = format!("#{{||:#{{{PLACED}}},#{{m:*{STATUS}*,#{{status-right}}}}}}");
    let short = format!("#{{=/{NARROW_SEGMENT}/...:{STATUS}}}");
    let short = match layout {
        LayoutMode::Grid => format!("#{{?{STATUS},{short},#{{T:{RIGHT}}}}}"),
        LayoutMode::Windows => short,
    };
    let right = format!(
        "#{{?#{{e|<:#{{client_width}},{NARROW}}},{short},#{{?{STATUS},#{{{STATUS}}} ,}}#{{T:{RIGHT}}}}}"
    );
    let set = format!(
        "set-option -F -t '{target}' {RIGHT} '#{{status-right}}' ; \
         set-option -t '{target}' status-right '{right}' ; \
         set-option -F -t '{target}' status-right-length '#{{e|+:#{{status-right-length}},60}}' ; \
         set-option -t '{target}' {PLACED} on"
    );
    let unset = format!(
        "set-option -u -t '{target}' status-right ; set-option -u -t '{target}' status-right-length ; \
         set-option -u -t '{target}' {RIGHT} ; set-option -u -t '{target}' {PLACED}"
    );
    let (condition, yes, no) =
        if wanted { (is_placed, "", set) } else { (format!("#{{{PLACED}}}"), unset.as_str(), String::new()) };
    batch.push(TmuxCommand::new("if-shell").args(["-F", "-t", target, &condition, yes, &no]));
}

/// Puts the mark in front of the agent's name, in windows whose name is still the agent's.
fn rename_windows(tmux: &Tmux, target: &str, marks: &BTreeMap<String, &'static str>, batch: &mut Batch) {
    if marks.is_empty() {
        return;
    }
    let format = format!("#{{{MARK}}}\t#{{window_id}}\t#{{window_name}}");
    let list = TmuxCommand::new("list-panes").args(["-s", "-t", target, "-F", &format]);
    for line in tmux.run(&list).unwrap_or_default().lines() {
        let [agent, window, name] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else { continue };
        let is_ours = name == agent || name.split_once(' ').is_some_and(|(_, rest)| rest == agent);
        if let Some(mark) = marks.get(agent).filter(|_| is_ours) {
            let name = if mark.is_empty() { agent.to_owned() } else { format!("{mark} {agent}") };
            batch.push(TmuxCommand::new("rename-window").args(["-t", window, &name]));
        }
    }
}

/// `2 need you: feat-a feat-b, 3 working`. Names are agent ids, which contain nothing that tmux expands.
fn segment(view: &SessionView, needs: &[Notice]) -> String {
    let is_working = |state: AgentState| matches!(state, AgentState::Working | AgentState::Starting);
    let observed = view.agents.iter().filter_map(|agent| agent.observed.as_ref());
    let working = observed.filter(|seen| is_working(seen.state)).count();
    let mut parts = Vec::new();
    if !needs.is_empty() {
        let names: Vec<_> = needs.iter().take(NAMED).map(|notice| notice.agent.as_str()).collect();
        let more = if needs.len() > NAMED { " …" } else { "" };
        let verb = if needs.len() == 1 { "needs" } else { "need" };
        parts.push(format!("{} {verb} you: {}{more}", needs.len(), names.join(" ")));
    }
    if working > 0 {
        parts.push(format!("{working} working"));
    }
    parts.join(", ")
}

/// The mark of each agent's window.
fn marks(view: &SessionView, needs: &[Notice]) -> BTreeMap<String, &'static str> {
    let mark = |agent: &paw_view::AgentView| {
        if needs.iter().any(|notice| notice.agent == agent.id) {
            return "!";
        }
        match agent.observed.as_ref().map(|seen| seen.state) {
            Some(AgentState::Working | AgentState::Starting) => "*",
            Some(AgentState::Exited) => "x",
            Some(AgentState::RateLimited) => "~",
            _ => "",
        }
    };
    view.agents.iter().map(|agent| (agent.id.to_string(), mark(agent))).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_core::{AgentId, BranchName};
    use paw_view::{Observation, SessionMember, StateSource, ViewEvent};

    use super::*;
    use crate::attention::notice;

    fn view(states: &[(&str, AgentState)]) -> SessionView {
        let mut view = SessionView::new(0);
        let member = |branch: &str| SessionMember::new(BranchName::new(branch).unwrap(), "claude");
        let id = |name: &str| AgentId::new(name).unwrap();
        view.apply(ViewEvent::Members(states.iter().map(|(name, _)| (id(name), member(name))).collect()));
        for (name, state) in states {
            let seen = Observation {
                state: *state,
                since: Timestamp::UNIX_EPOCH,
                at: Timestamp::UNIX_EPOCH,
                source: StateSource::Screen,
                reason: String::new(),
                waits_for: None,
            };
            view.apply(ViewEvent::Observed { agent: id(name), seen });
        }
        view
    }

    #[test]
    fn the_segment_counts_and_names_who_needs_the_user() {
        let text = |states: &[(&str, AgentState)]| {
            let view = view(states);
            segment(&view, &notice::find_needs(&view))
        };
        assert_eq!(text(&[("a", AgentState::Idle)]), "");
        assert_eq!(text(&[("a", AgentState::Working), ("b", AgentState::Starting)]), "2 working");
        let waits = AgentState::WaitingApproval;
        assert_eq!(text(&[("a", AgentState::Working), ("b", waits)]), "1 needs you: b, 1 working");
        assert_eq!(text(&[("a", waits), ("b", waits), ("c", AgentState::Exited)]), "3 need you: a b …");
        let view = view(&[("a", waits), ("b", AgentState::Working), ("c", AgentState::Idle)]);
        let marks = marks(&view, &notice::find_needs(&view));
        assert_eq!(marks.into_values().collect::<Vec<_>>(), ["!", "*", ""]);
    }
}
