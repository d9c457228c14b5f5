//! Divides the screen into areas.

use ratatui::layout::Rect;

/// The parts of the screen that hold rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panel {
    Agents,
    Questions,
    Conflicts,
    Messages,
}

/// A panel, and how many rows it could fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PanelRequest {
    pub(super) panel: Panel,
    pub(super) rows: u16,
}

/// A panel's title line and the lines below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PanelArea {
    pub(super) panel: Panel,
    pub(super) title: Rect,
    pub(super) rows: Rect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenLayout {
    pub(super) header: Rect,
    /// Everything between header and reply.
    pub(super) body: Rect,
    pub(super) panels: Vec<PanelArea>,
    /// The line between two columns, if there are two.
    pub(super) divide: Rect,
    /// The area for writing an answer; empty unless an answer is being written.
    pub(super) reply: Rect,
    pub(super) footer: Rect,
}

/// From this size on, the messages have their own column.
const TWO_COLUMNS: (u16, u16) = (150, 16);

/// Divides the screen. `reply` is the number of lines wanted for writing an answer.
pub(super) fn plan(screen: Rect, requests: &[PanelRequest], focus: Panel, reply: u16) -> ScreenLayout {
    let header_rows = u16::from(screen.height >= 4);
    let footer_rows = u16::from(screen.height >= 2 || reply > 0).min(screen.height);
    let (header, rest) = cut(screen, header_rows);
    let (rest, footer) = cut(rest, rest.height - footer_rows);
    // The answer may shrink the panels, but not hide them while there is room for both.
    let reply_rows = reply.min(rest.height).min((rest.height / 2).max(2));
    let (body, reply) = cut(rest, rest.height - reply_rows.min(rest.height));
    let is_messages = |request: &&PanelRequest| request.panel == Panel::Messages;
    let side_by_side = body.width >= TWO_COLUMNS.0 && body.height >= TWO_COLUMNS.1;
    if side_by_side && requests.iter().any(|request| is_messages(&request)) {
        let left = Rect { width: body.width * 11 / 20, ..body };
        let divide = Rect { x: left.right(), width: 1, ..body };
        let right = Rect { x: divide.right(), width: body.right() - divide.right(), ..body };
        let others: Vec<_> = requests.iter().filter(|request| !is_messages(request)).copied().collect();
        let mut panels = column(left, &others, focus);
        panels.extend(column(right, &[PanelRequest { panel: Panel::Messages, rows: u16::MAX }], focus));
        return ScreenLayout { header, body, panels, divide, reply, footer };
    }
    let panels = column(body, requests, focus);
    ScreenLayout { header, body, panels, divide: Rect { width: 0, ..body }, reply, footer }
}

/// The top `rows` of an area, and the rest.
fn cut(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

fn column(area: Rect, requests: &[PanelRequest], focus: Panel) -> Vec<PanelArea> {
    let requests = affordable(area.height, requests, focus);
    let titles = u16::try_from(requests.len()).unwrap_or(u16::MAX).min(area.height);
    let rows = share(area.height - titles, &requests, focus);
    let mut rest = area;
    let mut areas = Vec::new();
    for (request, rows) in requests.iter().zip(rows) {
        let (title, below) = cut(rest, 1);
        let (rows, below) = cut(below, rows);
        rest = below;
        areas.push(PanelArea { panel: request.panel, title, rows });
    }
    areas
}

/// Drops panels, least important first, until the titles leave room for some rows.
fn affordable(room: u16, requests: &[PanelRequest], focus: Panel) -> Vec<PanelRequest> {
    let mut kept = requests.to_vec();
    for panel in [Panel::Messages, Panel::Conflicts, Panel::Agents, Panel::Questions] {
        let enough = kept.len() + 2 <= usize::from(room);
        if !enough && panel != focus && kept.len() > 1 {
            kept.retain(|request| request.panel != panel);
        }
    }
    kept
}

/// Rows for each panel: first a minimum for each, then what each could fill, and the rest for the messages.
fn share(room: u16, requests: &[PanelRequest], focus: Panel) -> Vec<u16> {
    let mut given = vec![0; requests.len()];
    let mut left = room;
    let mut give = |panel: Panel, upto: u16, keep: u16, left: &mut u16| {
        for (request, given) in requests.iter().zip(&mut given).filter(|(request, _)| request.panel == panel)
        {
            let more = upto.min(request.rows).saturating_sub(*given).min(left.saturating_sub(keep));
            *given += more;
            *left -= more;
        }
    };
    let order = [Panel::Questions, Panel::Agents, Panel::Conflicts, Panel::Messages];
    give(focus, 3, 0, &mut left);
    for panel in order {
        give(panel, if panel == Panel::Questions || panel == Panel::Conflicts { 1 } else { 2 }, 0, &mut left);
    }
    let reserved = if focus == Panel::Messages { room / 2 } else { room / 3 };
    let reserved =
        if requests.iter().any(|request| request.panel == Panel::Messages) { reserved.min(left) } else { 0 };
    if focus != Panel::Messages {
        give(focus, u16::MAX, reserved, &mut left);
    }
    for panel in order {
        let keep = if panel == Panel::Messages { 0 } else { reserved };
        give(panel, u16::MAX, keep, &mut left);
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests(rows: [u16; 4]) -> Vec<PanelRequest> {
        let panels = [Panel::Agents, Panel::Questions, Panel::Conflicts, Panel::Messages];
        let requests = panels.into_iter().zip(rows).map(|(panel, rows)| PanelRequest { panel, rows });
        requests.filter(|request| request.rows > 0).collect()
    }

    fn heights(plan: &ScreenLayout) -> Vec<(Panel, u16)> {
        plan.panels.iter().map(|area| (area.panel, area.rows.height)).collect()
    }

    #[test]
    fn a_small_screen_shows_something_of_every_panel() {
        let plan = plan(Rect::new(0, 0, 60, 12), &requests([6, 1, 1, 500]), Panel::Agents, 0);
        assert_eq!(
            heights(&plan),
            [(Panel::Agents, 3), (Panel::Questions, 1), (Panel::Conflicts, 1), (Panel::Messages, 1)]
        );
    }

    #[test]
    fn a_tiny_screen_shows_the_panel_in_focus() {
        let plan = plan(Rect::new(0, 0, 20, 4), &requests([6, 1, 1, 500]), Panel::Conflicts, 0);
        assert_eq!(heights(&plan), [(Panel::Conflicts, 1)]);
    }

    #[test]
    fn a_wide_screen_gives_messages_their_own_column() {
        let plan = plan(Rect::new(0, 0, 200, 50), &requests([6, 1, 1, 500]), Panel::Agents, 0);
        assert_eq!(plan.panels.last().unwrap().rows, Rect::new(111, 2, 89, 47));
        assert_eq!(plan.divide, Rect::new(110, 1, 1, 48));
    }

    #[test]
    fn writing_an_answer_keeps_the_panels_visible() {
        let plan = plan(Rect::new(0, 0, 60, 12), &requests([6, 1, 0, 500]), Panel::Questions, 4);
        assert_eq!((plan.reply.height, plan.body.height), (4, 6));
    }

    #[test]
    fn messages_are_limited_below_other_panels_and_fill_their_own_column() {
        let below = plan(Rect::new(0, 0, 100, 60), &requests([6, 1, 1, 20]), Panel::Messages, 0);
        assert_eq!(heights(&below).last(), Some(&(Panel::Messages, 20)));
        let side_by_side = plan(Rect::new(0, 0, 200, 60), &requests([6, 1, 1, 20]), Panel::Messages, 0);
        assert_eq!(heights(&side_by_side).last(), Some(&(Panel::Messages, 57)));
    }

    proptest! {
        #[test]
        fn areas_are_inside_the_screen_and_do_not_overlap(
            width in 1_u16..250, height in 1_u16..80, rows in [0_u16..40, 0_u16..9, 0_u16..9, 0_u16..600],
            focus in 0_usize..4, reply in 0_u16..6,
        ) {
            let screen = Rect::new(0, 0, width, height);
            let mut rows = rows;
            rows[0] += 1;
            let focus = [Panel::Agents, Panel::Questions, Panel::Conflicts, Panel::Messages][focus];
            let plan = plan(screen, &requests(rows), focus, reply);
            let mut parts = vec![plan.header, plan.divide, plan.reply, plan.footer];
            parts.extend(plan.panels.iter().flat_map(|area| [area.title, area.rows]));
            for (index, part) in parts.iter().enumerate() {
                prop_assert!(screen.right() >= part.right() && screen.bottom() >= part.bottom());
                for other in &parts[index + 1..] {
                    prop_assert!(part.intersection(*other).is_empty(), "{:?} {:?}", part, other);
                }
            }
        }
    }
}
