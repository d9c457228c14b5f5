//! Restores the rows of panes after one was added or removed, in a window of any size.

use paw_core::config::LayoutMode;
use paw_host::tmux::TmuxCommand;

use super::{LifecycleError, Session};
use crate::layout::{HEIGHT, Layout};

impl Session {
    /// Arranges the panes as a new session with as many agents. Leaves a window alone if the user has changed its panes.
    /// Failures are only logged, because the session works without it.
    pub(super) fn rearrange_panes(&self) {
        if let Err(error) = self.try_rearrange_panes() {
            tracing::warn!(target: "paw::session", "cannot arrange the panes: {error}");
        }
    }

    fn try_rearrange_panes(&self) -> Result<(), LifecycleError> {
        const FORMAT: &str = "#{window_width}\t#{window_height}";
        let Some(receipt) = self.receipts.load(&self.receipt.session_name)? else { return Ok(()) };
        let Some(window) = self.find_window()? else { return Ok(()) };
        let target = window.session.as_str();
        let listing = self.tmux.run(&TmuxCommand::new("list-panes").args(["-t", target, "-F", FORMAT]))?;
        if receipt.layout == LayoutMode::Windows {
            return Ok(());
        }
        let Ok(layout) = Layout::of(&receipt) else { return Ok(()) };
        let size = listing.lines().next().and_then(|line| line.split_once('\t'));
        let size = size.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        if let Some((width, height)) = size
            && listing.lines().count() == layout.panes()
            && let Some(rows) = rows(&layout, width, height)
            && let Some(text) = layout_text(&rows, width, height)
        {
            self.tmux.run(&TmuxCommand::new("select-layout").args(["-t", target, &text]))?;
        }
        Ok(())
    }
}

/// Position and size of a pane, without borders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PaneCell {
    x: u16,
    y: u16,
    width: u16,
    height: u16,
}

/// The cells of each row, or `None` if the window is too small.
fn rows(layout: &Layout, width: u16, height: u16) -> Option<Vec<Vec<PaneCell>>> {
    let (mut rows, mut lines, mut below) = (Vec::new(), 0, 0);
    for row in &layout.rows {
        lines += row.lines;
        let end = share(height, lines, HEIGHT);
        // Every row except the first starts with a border line.
        let y = if rows.is_empty() { 0 } else { below + 1 };
        let height = end.checked_sub(y).filter(|height| *height > 0)?;
        rows.push(columns(row.widths.len(), width, y, height)?);
        below = end;
    }
    Some(rows)
}

fn columns(panes: usize, width: u16, y: u16, height: u16) -> Option<Vec<PaneCell>> {
    let count = u16::try_from(panes).ok()?;
    let room = width.checked_sub(count.checked_sub(1)?)?;
    let (mut cells, mut x) = (Vec::new(), 0);
    for pane in 0..count {
        let width = share(room, pane + 1, count) - share(room, pane, count);
        if width == 0 {
            return None;
        }
        cells.push(PaneCell { x, y, width, height });
        x += width + 1;
    }
    Some(cells)
}

/// `total * part / whole`, without overflow.
fn share(total: u16, part: u16, whole: u16) -> u16 {
    let share = u32::from(total) * u32::from(part) / u32::from(whole);
    u16::try_from(share).unwrap_or(total)
}

/// The layout in tmux's format, with its checksum.
fn layout_text(rows: &[Vec<PaneCell>], width: u16, height: u16) -> Option<String> {
    let row = |cells: &Vec<PaneCell>| {
        let texts: Vec<_> = cells.iter().map(|cell| format!("{},0", place(*cell))).collect();
        match (texts.as_slice(), cells.first()) {
            ([only], _) => Some(only.clone()),
            (several, Some(first)) => {
                Some(format!("{}{{{}}}", place(PaneCell { width, ..*first }), several.join(",")))
            }
            (_, None) => None,
        }
    };
    let rows: Vec<_> = rows.iter().map(row).collect::<Option<_>>()?;
    let text = match rows.as_slice() {
        [] => return None,
        [only] => only.clone(),
        several => format!("{width}x{height},0,0[{}]", several.join(",")),
    };
    Some(format!("{:04x},{text}", checksum(&text)))
}

fn place(cell: PaneCell) -> String {
    format!("{}x{},{},{}", cell.width, cell.height, cell.x, cell.y)
}

fn checksum(text: &str) -> u16 {
    text.bytes().fold(0_u16, |sum, byte| sum.rotate_right(1).wrapping_add(u16::from(byte)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::TopRow;

    #[test]
    fn layout_checksum_matches_the_example_in_tmux_manual() {
        assert_eq!(checksum("159x48,0,0{79x48,0,0,79x48,80,0}"), 0xbb62);
    }

    #[test]
    fn layout_text_has_the_format_of_tmux() {
        let text = |top, agents, width, height| {
            let rows = rows(&Layout::new(LayoutMode::Grid, top, agents).unwrap(), width, height).unwrap();
            layout_text(&rows, width, height).unwrap()[5..].to_owned()
        };
        assert_eq!(
            text(TopRow::Dashboard, 2, 200, 50),
            "200x50,0,0[200x30,0,0,0,200x19,0,31{99x19,0,31,0,100x19,100,31,0}]"
        );
        assert_eq!(text(TopRow::Nothing, 2, 80, 24), "80x24,0,0{39x24,0,0,0,40x24,40,0,0}");
        assert_eq!(text(TopRow::Nothing, 1, 80, 24), "80x24,0,0,0");
    }

    proptest! {
        #[test]
        fn pane_cells_fill_a_window_of_any_size(agents in 1..=25_usize, width: u16, height: u16) {
            let layout = Layout::new(LayoutMode::Grid, TopRow::SupervisorAndDashboard, agents).unwrap();
            let Some(rows) = rows(&layout, width, height) else {
                prop_assert!(width < 20 || height < 60);
                return Ok(());
            };
            prop_assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), agents + 2);
            let mut y = 0_u32;
            for row in &rows {
                let mut x = 0_u32;
                for cell in row {
                    prop_assert_eq!((u32::from(cell.x), u32::from(cell.y)), (x, y));
                    x += u32::from(cell.width) + 1;
                }
                prop_assert_eq!(x - 1, u32::from(width));
                y += u32::from(row[0].height) + 1;
            }
            prop_assert_eq!(y - 1, u32::from(height));
        }
    }
}
