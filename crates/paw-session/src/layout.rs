//! The layout of a session: the rows of panes in its first window, and whether agents have windows of their own. Calculated
//! without tmux.
//!
//! Panes are numbered row by row, left to right. The height of a row includes its border line.

use paw_core::config::LayoutMode;
use paw_core::{Diagnostic, ErrorCode, ErrorReport, Receipt, SessionMode};

/// The initial size of every session's window. A terminal that attaches resizes it.
pub const WIDTH: u16 = 200;
pub const HEIGHT: u16 = 50;

/// Agents per row, if all rows fit.
pub const COLUMNS: usize = 5;
/// The most agents in a session with a supervisor.
pub const MAX_SUPERVISED: usize = 25;
/// The most agents in a session without a supervisor. Panes narrower than ten columns are unusable.
pub const MAX_BARE: usize = 90;
const MAX_ROWS: usize = 5;
/// The smallest pane in which a person can read a CLI, without borders.
const READABLE: (u16, u16) = (30, 5);

/// A request for more agents than a window can show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{count} agents requested, but a session {} has at most {max}",
    if *.supervised { "with a supervisor" } else { "without a supervisor" }
)]
pub struct TooManyAgents {
    pub count: usize,
    pub max: usize,
    pub supervised: bool,
}

impl Diagnostic for TooManyAgents {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
            .hint("split the work into multiple sessions: git paw start --branches <subset>")
    }
}

/// The panes above the agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopRow {
    /// The supervisor on the left, the dashboard on the right.
    SupervisorAndDashboard,
    Dashboard,
    Nothing,
}

impl TopRow {
    pub fn of(mode: SessionMode, broker: bool) -> Self {
        match (mode, broker) {
            (SessionMode::Supervisor, _) => Self::SupervisorAndDashboard,
            (SessionMode::Bare, true) => Self::Dashboard,
            (SessionMode::Bare, false) => Self::Nothing,
        }
    }

    /// The number of panes above the agents, which is also the index of the first agent's pane.
    pub fn panes(self) -> usize {
        match self {
            Self::SupervisorAndDashboard => 2,
            Self::Dashboard => 1,
            Self::Nothing => 0,
        }
    }

    /// The index of the dashboard's pane, if there is one.
    pub fn dashboard(self) -> Option<u32> {
        match self {
            Self::SupervisorAndDashboard => Some(1),
            Self::Dashboard => Some(0),
            Self::Nothing => None,
        }
    }
}

/// One row of panes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutRow {
    /// The index of its leftmost pane.
    pub first: usize,
    /// Height in lines, including the border.
    pub lines: u16,
    /// Width of each pane in columns, without borders.
    pub widths: Vec<u16>,
}

impl LayoutRow {
    /// The height of its panes, without the border line.
    pub fn height(&self) -> u16 {
        self.lines - 1
    }
}

/// All windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The rows of the first window.
    pub rows: Vec<LayoutRow>,
    /// The number of agents with a window of their own, after the first one.
    pub windows: usize,
}

impl Layout {
    /// The layout of a session.
    pub fn of(receipt: &Receipt) -> Result<Self, TooManyAgents> {
        let top = TopRow::of(receipt.mode, receipt.has_broker());
        Self::new(receipt.layout, top, receipt.worktrees.len())
    }

    /// The layout of a session with this many agents.
    pub fn new(mode: LayoutMode, top: TopRow, agents: usize) -> Result<Self, TooManyAgents> {
        let supervised = top == TopRow::SupervisorAndDashboard;
        let max = if supervised && mode == LayoutMode::Grid { MAX_SUPERVISED } else { MAX_BARE };
        if agents > max {
            return Err(TooManyAgents { count: agents, max, supervised });
        }
        // Without anything above them, the first agent is in the first window.
        let in_first = match mode {
            LayoutMode::Grid => agents,
            LayoutMode::Windows => agents.min(usize::from(top == TopRow::Nothing)),
        };
        let grid = grid(in_first);
        let heights = heights(top, grid.len());
        let panes = (top != TopRow::Nothing).then(|| top.panes()).into_iter().chain(grid);
        let mut first = 0;
        let rows = panes.zip(heights).map(|(panes, lines)| {
            let row = LayoutRow { first, lines, widths: shares(WIDTH - (count(panes) - 1), panes) };
            first += panes;
            row
        });
        Ok(Self { rows: rows.collect(), windows: agents - in_first })
    }

    /// Whether a person can read the panes of a grid of agents in a window of this size.
    pub fn is_grid_readable(top: TopRow, agents: usize, (columns, lines): (u16, u16)) -> bool {
        let Ok(grid) = Self::new(LayoutMode::Grid, top, agents) else { return true };
        let share = |total: u16, part: u16, whole: u16| u32::from(total) * u32::from(part) / u32::from(whole);
        grid.rows.iter().skip(usize::from(top != TopRow::Nothing)).all(|row| {
            let panes = count(row.widths.len());
            let width = share(columns.saturating_sub(panes - 1), 1, panes);
            let height = share(lines, row.lines, HEIGHT).saturating_sub(1);
            width >= READABLE.0.into() && height >= READABLE.1.into()
        })
    }

    /// The number of panes in the first window.
    pub fn panes_in_first(&self) -> usize {
        self.rows.iter().map(|row| row.widths.len()).sum()
    }

    pub fn panes(&self) -> usize {
        self.panes_in_first() + self.windows
    }
}

/// The number of agents in each row: five, or more if five rows of five are not enough.
fn grid(agents: usize) -> Vec<usize> {
    let columns = COLUMNS.max(agents.div_ceil(MAX_ROWS));
    let full = agents / columns;
    let mut rows = vec![columns; full];
    rows.extend(Some(agents % columns).filter(|rest| *rest > 0));
    rows
}

/// The height of each row. The top row gets 60 % of the window above one row of agents, 40 % above two, else 28 %.
fn heights(top: TopRow, agent_rows: usize) -> Vec<u16> {
    let above = match (top, agent_rows) {
        (TopRow::Nothing, _) => return shares(HEIGHT, agent_rows),
        (_, 0) => HEIGHT,
        (_, 1) => 30,
        (_, 2) => 20,
        (_, _) => 14,
    };
    [above].into_iter().chain(shares(HEIGHT - above, agent_rows)).collect()
}

/// Splits `total` into `parts` whole numbers that differ by at most one.
fn shares(total: u16, parts: usize) -> Vec<u16> {
    let parts = count(parts);
    (0..parts).map(|part| total * (part + 1) / parts - total * part / parts).collect()
}

/// Cannot overflow: a window has fewer panes than columns.
fn count(panes: usize) -> u16 {
    u16::try_from(panes).unwrap_or(WIDTH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grid_of(top: TopRow, agents: usize) -> Result<Layout, TooManyAgents> {
        Layout::new(LayoutMode::Grid, top, agents)
    }

    fn supervised(agents: usize) -> Layout {
        grid_of(TopRow::SupervisorAndDashboard, agents).unwrap()
    }

    /// Each row's first pane, number of panes, and height in percent of the window.
    fn shape(layout: &Layout) -> Vec<(usize, usize, u16)> {
        layout.rows.iter().map(|row| (row.first, row.widths.len(), row.lines * 2)).collect()
    }

    #[test]
    fn five_agent_supervisor_layout_has_1_agent_row() {
        let layout = supervised(5);
        assert_eq!(shape(&layout), [(0, 2, 60), (2, 5, 40)]);
        assert_eq!(layout.rows[0].widths, [99, 100], "half of the top row each, and the border between them");
    }

    #[test]
    fn ten_agent_supervisor_layout_has_2_agent_rows() {
        assert_eq!(shape(&supervised(10)), [(0, 2, 40), (2, 5, 30), (7, 5, 30)]);
    }

    #[test]
    fn fifteen_agent_supervisor_layout_has_3_agent_rows() {
        assert_eq!(shape(&supervised(15)), [(0, 2, 28), (2, 5, 24), (7, 5, 24), (12, 5, 24)]);
    }

    #[test]
    fn twenty_agent_supervisor_layout_has_4_agent_rows() {
        let rows = [(0, 2, 28), (2, 5, 18), (7, 5, 18), (12, 5, 18), (17, 5, 18)];
        assert_eq!(shape(&supervised(20)), rows);
    }

    #[test]
    fn twenty_five_agent_supervisor_layout_has_5_agent_rows() {
        let rows = [(0, 2, 28), (2, 5, 14), (7, 5, 14), (12, 5, 14), (17, 5, 14), (22, 5, 16)];
        assert_eq!(shape(&supervised(25)), rows);
    }

    #[test]
    fn pane_indices_match_row_major_order() {
        let layout = supervised(7);
        assert_eq!(layout.rows[1].first, 2, "the first agent");
        assert_eq!(layout.rows[1].first + layout.rows[1].widths.len() - 1, 6, "the fifth agent");
        assert_eq!(layout.rows[2].first, 7, "the sixth agent");
    }

    #[test]
    fn twenty_six_agent_supervisor_session_is_rejected() {
        let error = grid_of(TopRow::SupervisorAndDashboard, 26).unwrap_err().report().to_string();
        for part in ["26", "25", "--branches <subset>", "split", "multiple sessions"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn layout_without_a_broker_gives_agents_the_whole_window() {
        assert_eq!(shape(&grid_of(TopRow::Nothing, 1).unwrap()), [(0, 1, 100)]);
        assert_eq!(shape(&grid_of(TopRow::Nothing, 7).unwrap()), [(0, 5, 50), (5, 2, 50)]);
    }

    #[test]
    fn windows_layout_gives_every_agent_a_window_of_its_own() {
        let windows = |top, agents| Layout::new(LayoutMode::Windows, top, agents).unwrap();
        let layout = windows(TopRow::SupervisorAndDashboard, 30);
        assert_eq!((shape(&layout), layout.windows), (vec![(0, 2, 100)], 30));
        let layout = windows(TopRow::Dashboard, 4);
        assert_eq!((shape(&layout), layout.windows, layout.panes()), (vec![(0, 1, 100)], 4, 5));
        let layout = windows(TopRow::Nothing, 4);
        assert_eq!((shape(&layout), layout.windows, layout.panes()), (vec![(0, 1, 100)], 3, 4));
    }

    #[test]
    fn grid_is_readable_at_its_own_size_and_for_few_agents_in_a_small_terminal() {
        let most_agents = |top, size| {
            let readable = |agents: &usize| Layout::is_grid_readable(top, *agents, size);
            (1..=MAX_SUPERVISED).take_while(readable).last()
        };
        for (size, supervised, bare) in [
            ((200, 50), Some(25), Some(25)),
            ((200, 49), Some(25), Some(25)),
            ((120, 39), Some(3), Some(3)),
            ((80, 23), Some(2), Some(2)),
            ((29, 50), None, None),
            ((80, 8), None, Some(2)),
        ] {
            assert_eq!(most_agents(TopRow::SupervisorAndDashboard, size), supervised, "{size:?}");
            assert_eq!(most_agents(TopRow::Nothing, size), bare, "{size:?}");
        }
    }

    #[test]
    fn layout_without_a_supervisor_fits_more_agents_in_narrower_panes() {
        assert_eq!(shape(&grid_of(TopRow::Nothing, 27).unwrap())[0].1, 6);
        assert!(
            grid_of(TopRow::Dashboard, MAX_BARE).is_ok() && grid_of(TopRow::Dashboard, MAX_BARE + 1).is_err()
        );
    }

    proptest! {
        #[test]
        fn layout_fills_the_window_with_numbered_panes(
            top in prop_oneof![Just(TopRow::SupervisorAndDashboard), Just(TopRow::Dashboard), Just(TopRow::Nothing)],
            agents in 1..=MAX_BARE,
        ) {
            let Ok(layout) = grid_of(top, agents) else {
                prop_assert!(top == TopRow::SupervisorAndDashboard && agents > MAX_SUPERVISED);
                return Ok(());
            };
            prop_assert_eq!(layout.panes(), top.panes() + agents);
            prop_assert_eq!(layout.rows.iter().map(|row| row.lines).sum::<u16>(), HEIGHT);
            let mut next = 0;
            for row in &layout.rows {
                prop_assert_eq!(row.first, next);
                next += row.widths.len();
                prop_assert_eq!(row.widths.iter().sum::<u16>() + count(row.widths.len()) - 1, WIDTH);
                prop_assert!(row.height() >= 3 && row.widths.iter().all(|width| *width >= 10), "{:?}", row);
            }
            let grid = &layout.rows[usize::from(top != TopRow::Nothing)..];
            let (lowest, highest) = grid.iter().fold((HEIGHT, 0), |(low, high), row| (low.min(row.lines), high.max(row.lines)));
            prop_assert!(highest - lowest <= 1, "rows of agents differ by at most one line");
            if agents <= MAX_SUPERVISED {
                prop_assert!(grid.iter().all(|row| row.widths.len() <= COLUMNS));
            }
        }
    }
}
