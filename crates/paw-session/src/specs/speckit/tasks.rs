//! Parses the `tasks.md` of a feature into phases and tasks. Pure.

use std::collections::BTreeMap;

/// The tasks below a `## Phase N` heading. Tasks above the first heading are phase 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpecKitPhase {
    pub(super) number: u32,
    /// The heading after the number, possibly empty.
    pub(super) heading: String,
    pub(super) tasks: Vec<SpecKitTask>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpecKitTask {
    /// `T009`
    pub(super) id: String,
    pub(super) text: String,
    /// Marked `[P]`: can be done in parallel.
    pub(super) parallel: bool,
    pub(super) done: bool,
}

impl SpecKitPhase {
    pub(super) fn open(&self) -> impl Iterator<Item = &SpecKitTask> {
        self.tasks.iter().filter(|task| !task.done)
    }

    pub(super) fn name(&self) -> String {
        if self.heading.is_empty() { format!("phase-{}", self.number) } else { self.heading.clone() }
    }

    pub(super) fn title(&self) -> String {
        if self.heading.is_empty() {
            format!("phase {}", self.number)
        } else {
            format!("phase {} ({})", self.number, self.heading)
        }
    }
}

/// The current phase: the lowest number with an open task.
pub(super) fn current(phases: &[SpecKitPhase]) -> Option<&SpecKitPhase> {
    phases.iter().find(|phase| phase.open().next().is_some())
}

/// All phases with tasks, sorted by number. Code blocks are ignored.
pub(super) fn parse(text: &str) -> Vec<SpecKitPhase> {
    let mut phases: BTreeMap<u32, SpecKitPhase> = BTreeMap::new();
    let (mut number, mut fence) = (0, None);
    for line in text.lines() {
        let marker = ["```", "~~~"].into_iter().find(|marker| line.trim_start().starts_with(marker));
        match (fence, marker) {
            (None, Some(_)) => fence = marker,
            (Some(open), Some(marker)) if open == marker => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                if let Some((found, heading)) = heading(line) {
                    number = found;
                    phases.entry(number).or_insert_with(|| SpecKitPhase {
                        number,
                        heading,
                        tasks: Vec::new(),
                    });
                } else if let Some(task) = task(line) {
                    let none = || SpecKitPhase { number, heading: String::new(), tasks: Vec::new() };
                    phases.entry(number).or_insert_with(none).tasks.push(task);
                }
            }
        }
    }
    phases.into_values().filter(|phase| !phase.tasks.is_empty()).collect()
}

/// Parses `## Phase 3: Core`, with a colon, any dash, or only the number.
fn heading(line: &str) -> Option<(u32, String)> {
    let rest = line.strip_prefix("## ")?.trim_start().strip_prefix("Phase ")?.trim();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest[..digits].parse().ok()?;
    let rest = rest[digits..].trim_start();
    if rest.is_empty() {
        return Some((number, String::new()));
    }
    let name = rest.strip_prefix([':', '-', '–', '—'])?;
    Some((number, name.trim().to_owned()))
}

/// Parses `- [ ] T009 [P] Create the model`.
fn task(line: &str) -> Option<SpecKitTask> {
    let line = line.trim();
    let rest = line.strip_prefix("- [").or_else(|| line.strip_prefix("* ["))?;
    let (done, rest) = match rest.strip_prefix(' ') {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix(['x', 'X'])?),
    };
    let rest = rest.strip_prefix(']')?.trim_start();
    let (id, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if !is_task_id(id) {
        return None;
    }
    let text = text.trim();
    let (parallel, text) = match text.strip_prefix("[P]") {
        Some(text) => (true, text.trim()),
        None => (false, text),
    };
    Some(SpecKitTask { id: id.to_owned(), text: text.to_owned(), parallel, done })
}

/// `T`, digits, and an optional letter for tasks inserted later.
fn is_task_id(id: &str) -> bool {
    let Some(rest) = id.strip_prefix('T') else { return false };
    let rest = rest.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest);
    !rest.is_empty() && rest.len() <= 9 && rest.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(text: &str) -> Vec<(u32, String, Vec<String>)> {
        let ids = |phase: &SpecKitPhase| phase.tasks.iter().map(|task| task.id.clone()).collect();
        parse(text).iter().map(|phase| (phase.number, phase.heading.clone(), ids(phase))).collect()
    }

    #[test]
    fn phases_are_parsed_with_any_dash_and_sorted() {
        let text = "# Tasks\n- [ ] T000 before\n## Phase 2 — Core\n- [ ] T002 b\n## Phase 1: Setup\n- [x] T001 a\n\
                    ## Phase 10 - Last\n- [ ] T100 z\n## Phase 3\n* [X] T003\n## Phase Two\n- [ ] T004 still 3\n\
                    ## Phase 4x\n## Phase 99999999999: huge\n";
        let row = |number, heading: &str, ids: &[&str]| {
            (number, heading.to_owned(), ids.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            numbers(text),
            [
                row(0, "", &["T000"]),
                row(1, "Setup", &["T001"]),
                row(2, "Core", &["T002"]),
                row(3, "", &["T003", "T004"]),
                row(10, "Last", &["T100"]),
            ]
        );
    }

    #[test]
    fn task_is_parsed_with_its_parallel_mark_and_checkbox() {
        let one = |line: &str| task(line).map(|task| (task.id, task.text, task.parallel, task.done));
        let is =
            |id: &str, text: &str, parallel, done| Some((id.to_owned(), text.to_owned(), parallel, done));
        assert_eq!(one("- [ ] T009 [P] [US1] Create model"), is("T009", "[US1] Create model", true, false));
        assert_eq!(one("  - [X] T010 [P]"), is("T010", "", true, true));
        assert_eq!(one("* [x] T9a Fix [P] later"), is("T9a", "Fix [P] later", false, true));
        for line in ["- [ ] 1.1 not ours", "- [ ] Test it", "- [y] T001 x", "- T001 x", "- [ ]", "- [ ] T"] {
            assert_eq!(one(line), None, "{line}");
        }
    }

    #[test]
    fn tasks_in_code_blocks_are_ignored() {
        let text = "```\n- [ ] T001 example\n~~~\n```\n- [ ] T002 real\n~~~text\n## Phase 7: no\n- [ ] T003 example\n";
        assert_eq!(numbers(text), [(0, String::new(), vec!["T002".to_owned()])]);
    }

    #[test]
    fn the_current_phase_is_the_lowest_with_an_open_task() {
        let phases =
            parse("## Phase 1: a\n- [x] T001 a\n## Phase 3: c\n- [ ] T003 c\n## Phase 2: b\n- [ ] T002 b\n");
        assert_eq!(current(&phases).map(|phase| phase.number), Some(2));
        assert_eq!(current(&parse("- [x] T001 a\n")), None);
    }

    proptest! {
        #[test]
        fn parsing_tasks_never_panics(text in "(## Phase |[0-9]|T[0-9]|- \\[[ xX]\\] |\\[P\\]|[:—`~ \n\u{e9}]){0,40}") {
            let phases = parse(&text);
            prop_assert!(phases.iter().all(|phase| !phase.tasks.is_empty()));
            prop_assert!(phases.is_sorted_by(|a, b| a.number < b.number));
        }

        #[test]
        fn every_written_task_is_parsed(
            written in proptest::collection::vec((0_u32..4, 0_u32..1000, any::<bool>(), any::<bool>()), 0..20)
        ) {
            let line = |(phase, id, parallel, done): &(u32, u32, bool, bool)| {
                let (mark, done) = (if *parallel { "[P] " } else { "" }, if *done { 'x' } else { ' ' });
                format!("## Phase {phase}: p\n- [{done}] T{id:03} {mark}do it\n")
            };
            let text: String = written.iter().map(line).collect();
            let phases = parse(&text);
            prop_assert_eq!(phases.iter().map(|phase| phase.tasks.len()).sum::<usize>(), written.len());
            let lowest = written.iter().filter(|(.., done)| !done).map(|(phase, ..)| *phase).min();
            prop_assert_eq!(current(&phases).map(|phase| phase.number), lowest);
        }
    }
}
