//! Divides the screen into areas.

use ratatui::layout::Rect;

/// The parts of the screen that hold rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panel {
    Agents,
    /// What waits for the user.
    Needs,
    Conflicts,
    Messages,
    /// The pane of an agent. It has no selectable rows.
    Preview,
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

/// From this size on, messages and the pane of an agent have their own column.
const TWO_COLUMNS: (u16, u16) = (150, 16);

/// Whether a screen has two columns.
pub(super) fn is_wide((columns, rows): (u16, u16)) -> bool {
    columns >= TWO_COLUMNS.0 && rows >= TWO_COLUMNS.1
}

/// Divides the screen. `reply` is the number of lines wanted for writing an answer.
pub(super) fn plan(screen: Rect, requests: &[PanelRequest], focus: Panel, reply: u16) -> ScreenLayout {
    let header_rows = u16::from(screen.height >= 4);
    let footer_rows = u16::from(screen.height >= 2 || reply > 0).min(screen.height);
    let (header, rest) = cut(screen, header_rows);
    let (rest, footer) = cut(rest, rest.height - footer_rows);
    // The answer may shrink the panels, but not hide them while there is room for both.
    let reply_rows = reply.min(rest.height).min((rest.height / 2).max(2));
    let (body, reply) = cut(rest, rest.height - reply_rows.min(rest.height));
    let (beside, others): (Vec<_>, Vec<_>) = requests
        .iter()
        .copied()
        .partition(|request| matches!(request.panel, Panel::Messages | Panel::Preview));
    let nothing = Rect { width: 0, ..body };
    if !is_wide((body.width, body.height)) || beside.is_empty() {
        return ScreenLayout {
            header,
            body,
            panels: column(body, requests, focus),
            divide: nothing,
            reply,
            footer,
        };
    }
    let left = Rect { width: body.width * 11 / 20, ..body };
    let divide = Rect { x: left.right(), width: 1, ..body };
    let right = Rect { x: divide.right(), width: body.right() - divide.right(), ..body };
    let mut panels = column(left, &others, focus);
    panels.extend(halves(right, &beside));
    ScreenLayout { header, body, panels, divide, reply, footer }
}

/// The right column: the pane above the messages, each with half of it.
fn halves(area: Rect, requests: &[PanelRequest]) -> Vec<PanelArea> {
    let is_preview = |request: &&PanelRequest| request.panel == Panel::Preview;
    let rows = if requests.len() > 1 { area.height / 2 } else { area.height };
    let mut rest = area;
    let mut areas = Vec::new();
    let ordered =
        requests.iter().filter(is_preview).chain(requests.iter().filter(|request| !is_preview(request)));
    for (index, request) in ordered.enumerate() {
        let (part, below) = cut(rest, if index + 1 == requests.len() { rest.height } else { rows });
        let (title, rows) = cut(part, 1);
        areas.push(PanelArea { panel: request.panel, title, rows });
        rest = below;
    }
    areas
}

/// The top `rows` of an area, and the rest.
fn cut(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

fn column(area: Rect, requests: &[PanelRequest], focus: Panel) -> Vec<PanelArea> {
    let requests = affordable(area.height, requests, focus);
    let rows = share(area.height, &requests, focus);
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

/// Lines of the agents, with their title, that no other panel may take: half of the column.
fn reserved_for_agents(height: u16, requests: &[PanelRequest]) -> u16 {
    let agents = requests.iter().find(|request| request.panel == Panel::Agents);
    agents.map_or(0, |agents| agents.rows.saturating_add(1).min(height.div_ceil(2)))
}

/// Drops panels, least important first, until every other one has a title and a row.
fn affordable(height: u16, requests: &[PanelRequest], focus: Panel) -> Vec<PanelRequest> {
    let mut kept = requests.to_vec();
    for panel in [Panel::Messages, Panel::Conflicts, Panel::Preview, Panel::Agents, Panel::Needs] {
        let others = kept.iter().filter(|request| request.panel != Panel::Agents).count() * 2;
        let enough = others + usize::from(reserved_for_agents(height, &kept)) <= usize::from(height);
        if !enough && panel != focus && kept.len() > 1 {
            kept.retain(|request| request.panel != panel);
        }
    }
    kept
}

/// Rows for each panel: half of the column for the agents, a row for every other panel, then what each could fill, and the
/// rest for the messages.
fn share(height: u16, requests: &[PanelRequest], focus: Panel) -> Vec<u16> {
    let titles = u16::try_from(requests.len()).unwrap_or(u16::MAX).min(height);
    let mut left = height - titles;
    let mut given = vec![0; requests.len()];
    let mut give = |panel: Panel, upto: u16, keep: u16, left: &mut u16| {
        for (request, given) in requests.iter().zip(&mut given).filter(|(request, _)| request.panel == panel)
        {
            let more = upto.min(request.rows).saturating_sub(*given).min(left.saturating_sub(keep));
            *given += more;
            *left -= more;
        }
    };
    let order = [Panel::Needs, Panel::Agents, Panel::Conflicts, Panel::Preview, Panel::Messages];
    let others = u16::try_from(requests.iter().filter(|request| request.panel != Panel::Agents).count());
    let agents = reserved_for_agents(height, requests).saturating_sub(1);
    give(focus, 1, 0, &mut left);
    give(Panel::Agents, agents, others.unwrap_or(0).min(left / 2), &mut left);
    for panel in order {
        give(panel, 1, 0, &mut left);
    }
    give(focus, 3, 0, &mut left);
    give(Panel::Messages, 2, 0, &mut left);
    give(Panel::Preview, 4, 0, &mut left);
    // What waits for the user is more important than anything below it.
    give(Panel::Needs, u16::MAX, left / 4, &mut left);
    let is_log = |request: &PanelRequest| matches!(request.panel, Panel::Messages | Panel::Preview);
    let reserved = if !requests.iter().any(is_log) {
        0
    } else if is_log(&PanelRequest { panel: focus, rows: 0 }) {
        left / 2
    } else {
        left / 3
    };
    for panel in order {
        give(
            panel,
            u16::MAX,
            if matches!(panel, Panel::Messages | Panel::Preview) { 0 } else { reserved },
            &mut left,
        );
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests(rows: [u16; 4]) -> Vec<PanelRequest> {
        let panels = [Panel::Agents, Panel::Needs, Panel::Conflicts, Panel::Messages];
        let requests = panels.into_iter().zip(rows).map(|(panel, rows)| PanelRequest { panel, rows });
        requests.filter(|request| request.rows > 0).collect()
    }

    fn heights(plan: &ScreenLayout) -> Vec<(Panel, u16)> {
        plan.panels.iter().map(|area| (area.panel, area.rows.height)).collect()
    }

    #[test]
    fn a_small_screen_shows_agents_and_what_waits_for_the_user() {
        let plan = plan(Rect::new(0, 0, 60, 12), &requests([6, 1, 1, 500]), Panel::Agents, 0);
        assert_eq!(heights(&plan), [(Panel::Agents, 5), (Panel::Needs, 1), (Panel::Conflicts, 1)]);
    }

    #[test]
    fn agents_keep_half_of_the_screen_beside_any_number_of_conflicts() {
        for (columns, rows) in [(80, 24), (120, 40), (200, 50)] {
            let plan = plan(Rect::new(0, 0, columns, rows), &requests([26, 25, 66, 500]), Panel::Agents, 0);
            let agents = plan.panels[0];
            assert_eq!(agents.panel, Panel::Agents);
            assert!((agents.rows.height + 1) * 2 >= plan.body.height, "{columns}x{rows}: {plan:?}");
        }
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
        let plan = plan(Rect::new(0, 0, 60, 12), &requests([6, 1, 0, 500]), Panel::Needs, 4);
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
            focus in 0_usize..4, reply in 0_u16..6, preview in any::<bool>(),
        ) {
            let screen = Rect::new(0, 0, width, height);
            let mut rows = rows;
            rows[0] += 1;
            let focus = [Panel::Agents, Panel::Needs, Panel::Conflicts, Panel::Messages][focus];
            let mut requests = requests(rows);
            requests.extend(preview.then_some(PanelRequest { panel: Panel::Preview, rows: 16 }));
            let plan = plan(screen, &requests, focus, reply);
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
