//! The commands that build a window. Every pane gets its environment before anything is typed.

use paw_core::SessionName;
use paw_host::tmux::{Batch, TmuxCommand, session_target};

use super::{
    DASHBOARD, LABEL, Pane, SESSION_MARK, SIZE_BEFORE, STATE, SUPERVISOR, SessionWindow, TAKEN, mark, plain,
    split, title, type_and_log,
};
use crate::layout::{HEIGHT, Layout, LayoutRow, WIDTH};

impl Pane {
    /// The name of its window. Agent ids contain nothing that tmux expands.
    pub(crate) fn window_name(&self) -> &str {
        if self.mark == SUPERVISOR { DASHBOARD } else { &self.mark }
    }
}

/// Runs in the window's first pane until the window's options are set. Then the real panes replace it.
const PLACEHOLDER: &str = "cat";

impl SessionWindow {
    /// All commands, as one batch.
    pub fn batch(&self) -> Batch {
        let mut batch = Batch::default();
        let mut push = |command| batch.push(command);
        self.create(&mut push);
        self.split(&mut push);
        self.resize(&mut push);
        self.create_windows(&mut push);
        for (index, pane) in self.panes.iter().enumerate() {
            let target = self.target(index);
            push(mark(&target, &pane.mark));
            title(&target, &pane.title, &mut push);
        }
        for (index, pane) in self.panes.iter().enumerate() {
            type_and_log(&self.target(index), pane, &mut push);
        }
        batch
    }

    fn create(&self, push: &mut impl FnMut(TmuxCommand)) {
        let target = session_target(&self.session);
        let size = [WIDTH, HEIGHT].map(|size| size.to_string());
        let new = TmuxCommand::new("new-session").args([
            "-d",
            "-s",
            self.session.as_str(),
            "-x",
            &size[0],
            "-y",
            &size[1],
        ]);
        let dir = self.panes.first().map(|first| plain(&first.dir.to_string_lossy()));
        push(new.args(dir.iter().flat_map(|dir| ["-c", dir])).args([PLACEHOLDER]));
        // A session that is created with a size has its own value, which would hide the user's.
        push(TmuxCommand::new("set-option").args(["-u", "-t", &target, "default-size"]));
        let before = ["-F", "-t", &target, SIZE_BEFORE, "#{default-size}"];
        push(TmuxCommand::new("set-option").args(before));
        push(TmuxCommand::new("set-option").args(["-g", "default-size", &size.join("x")]));
        // When the session ends, its clients go back to the session they were in before.
        push(TmuxCommand::new("set-option").args(["-t", &target, "detach-on-destroy", "off"]));
        push(TmuxCommand::new("set-option").args(["-t", &target, "base-index", "0"]));
        push(TmuxCommand::new("set-option").args(["-w", "-t", &target, "pane-base-index", "0"]));
        push(TmuxCommand::new("move-window").args(["-r", "-t", &target]));
        push(TmuxCommand::new("set-option").args(["-t", &target, SESSION_MARK, &self.session_id]));
        if self.mouse {
            push(TmuxCommand::new("set-option").args(["-t", &target, "mouse", "on"]));
        }
        if self.borders {
            show_borders(&target, push);
        }
        for (name, value) in &self.environment {
            push(TmuxCommand::new("set-environment").args(["-t", &target, name, value]));
        }
        prefer_plain_shells(&target, push);
        if let Some(first) = self.panes.first() {
            push(split(&self.target(0), first));
            push(TmuxCommand::new("kill-pane").args(["-t", &self.target(0)]));
        }
    }

    /// Splits rows from top to bottom, then columns from bottom to top, so that the indices used later do not change.
    fn split(&self, push: &mut impl FnMut(TmuxCommand)) {
        let rows = &self.layout.rows;
        for (number, row) in rows.iter().enumerate().skip(1) {
            let below: u16 = rows[number..].iter().map(|row| row.lines).sum();
            let percent = percent(below, below + rows[number - 1].lines);
            push(self.split_from(number - 1, "-v", percent, row.first));
        }
        for (number, row) in rows.iter().enumerate().rev() {
            let columns = count(row);
            for column in 1..columns {
                let left = usize::from(column) - 1;
                let share = percent(columns - column, columns - column + 1);
                push(self.split_from(number + left, "-h", share, row.first + left + 1));
            }
        }
    }

    /// Splits the pane with the current index `from`. The new pane's final index is `pane`.
    fn split_from(&self, from: usize, direction: &str, percent: u16, pane: usize) -> TmuxCommand {
        let split = TmuxCommand::new("split-window").args(["-d", direction, "-t", &self.target(from)]);
        let split = split.args(["-l", &format!("{percent}%")]);
        match self.panes.get(pane) {
            Some(pane) => {
                with_environment(split, &pane.environment).args(["-c", &plain(&pane.dir.to_string_lossy())])
            }
            None => split,
        }
    }

    /// Sets exact sizes, because splits use whole percents.
    fn resize(&self, push: &mut impl FnMut(TmuxCommand)) {
        push_sizes(&self.layout, |index| self.target(index), push);
    }

    /// Creates the windows of agents that have one of their own.
    fn create_windows(&self, push: &mut impl FnMut(TmuxCommand)) {
        if self.layout.windows == 0 {
            return;
        }
        let first = format!("{}0", session_target(&self.session));
        let name = self.panes.first().map_or(DASHBOARD, |pane| pane.window_name());
        push(TmuxCommand::new("rename-window").args(["-t", &first, name]));
        for index in self.layout.panes_in_first()..self.panes.len() {
            new_window(&self.target(index), &self.panes[index], self.borders, push);
        }
    }

    fn target(&self, index: usize) -> String {
        let (session, in_first) = (session_target(&self.session), self.layout.panes_in_first());
        match index.checked_sub(in_first) {
            None => format!("{session}0.{index}"),
            // The only pane of its window, whatever its index is.
            Some(window) => format!("{session}{}", window + 1),
        }
    }
}

/// Creates the window of an agent at a free index.
pub fn new_window(target: &str, pane: &Pane, borders: bool, push: &mut impl FnMut(TmuxCommand)) {
    let new = TmuxCommand::new("new-window").args(["-d", "-t", target, "-n", pane.window_name()]);
    push(with_environment(new, &pane.environment).args(["-c", &plain(&pane.dir.to_string_lossy())]));
    if borders {
        show_borders(target, push);
    }
}

/// Panes narrower than this show first that they need the user.
const NARROW: u16 = 45;

/// Shows the label and the state of each pane of a window in its border. The end of a narrow border is cut off.
fn show_borders(target: &str, push: &mut impl FnMut(TmuxCommand)) {
    let label = format!("#{{?{LABEL},#{{{LABEL}}},#{{pane_title}}}}");
    let state = format!("#{{?{STATE},· #{{{STATE}}} ,}}");
    let calls = format!("#{{||:#{{m:needs*,#{{{STATE}}}}},#{{==:#{{{STATE}}},exited}}}}");
    let is_first = format!("#{{&&:#{{e|<:#{{pane_width}},{NARROW}}},{calls}}}");
    let taken = format!("#{{?{TAKEN},typed into from a browser · ,}}");
    let format = format!(" {taken}#{{?{is_first},#{{=14:{STATE}}} · {label} ,{label} {state}}}");
    for (option, value) in [("pane-border-status", "top"), ("pane-border-format", &format)] {
        push(TmuxCommand::new("set-option").args(["-w", "-t", target, option, value]));
    }
}

/// Gives new windows of other sessions the size that they had before this session, unless the user has set another.
pub fn restore_size(session: &SessionName) -> TmuxCommand {
    let target = session_target(session);
    let is_ours = format!("#{{&&:#{{{SIZE_BEFORE}}},#{{==:#{{default-size}},{WIDTH}x{HEIGHT}}}}}");
    let restore = format!("set-option -gF -t '{target}' default-size '#{{{SIZE_BEFORE}}}'");
    TmuxCommand::new("if-shell").args(["-F", "-t", &target, &is_ours, &restore])
}

/// Starts non-login shells, unless the user has configured `default-command`. On many systems a login shell resets PATH, and
/// then the CLI is not found in its pane.
fn prefer_plain_shells(target: &str, push: &mut impl FnMut(TmuxCommand)) {
    let prefer = format!("set-option -F -t '{target}' default-command 'exec #{{q:default-shell}}'");
    push(TmuxCommand::new("if-shell").args(["-F", "-t", target, "#{default-command}", "", &prefer]));
}

/// Sets every row and column of a window to its exact size.
pub fn push_sizes(layout: &Layout, target: impl Fn(usize) -> String, push: &mut impl FnMut(TmuxCommand)) {
    let mut resize = |pane: usize, flag: &str, size: u16| {
        push(TmuxCommand::new("resize-pane").args(["-t", &target(pane), flag, &size.to_string()]));
    };
    // The last row and column get the remaining space.
    for row in layout.rows.iter().rev().skip(1).rev() {
        resize(row.first, "-y", row.height());
    }
    for row in &layout.rows {
        for (column, width) in row.widths.iter().enumerate().rev().skip(1).rev() {
            resize(row.first + column, "-x", *width);
        }
    }
}

pub(super) fn with_environment<'a>(
    command: TmuxCommand,
    variables: impl IntoIterator<Item = &'a (&'static str, String)>,
) -> TmuxCommand {
    variables
        .into_iter()
        .fold(command, |command, (name, value)| command.args(["-e", &format!("{name}={value}")]))
}

/// `part` of `whole` in percent, rounded, between 1 and 99.
fn percent(part: u16, whole: u16) -> u16 {
    ((100 * part + whole / 2) / whole).clamp(1, 99)
}

fn count(row: &LayoutRow) -> u16 {
    u16::try_from(row.widths.len()).unwrap_or(WIDTH)
}
