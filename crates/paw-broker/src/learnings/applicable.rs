//! What earlier sessions still teach the next one. Pure.

use paw_core::text;

use super::entry::{LearningSection, uncounted};

/// How many sessions back a learning applies, and the most lines.
const SESSIONS: usize = 5;
const MOST_LINES: usize = 10;
const MOST_CHARS: usize = 300;

/// One learning, with the sessions in which it was noticed.
struct Learned<'a> {
    section: LearningSection,
    text: &'a str,
    sessions: usize,
    /// The number of the latest of them.
    latest: usize,
}

/// The lines of the learnings file that apply to a new session, most frequent first, then newest first. What one session's
/// agents waited for is over; a conflict applies while a file of it exists.
pub fn applicable(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let blocks: Vec<&str> = text.split("\n## ").skip(usize::from(!text.starts_with("## "))).collect();
    let first = blocks.len().saturating_sub(SESSIONS);
    let mut learned: Vec<Learned<'_>> = Vec::new();
    for (number, block) in blocks.iter().enumerate().skip(first) {
        for (section, line) in lines(block).filter(|(section, line)| applies(*section, line, &exists)) {
            let line = uncounted(line);
            match learned.iter_mut().find(|known| known.section == section && known.text == line) {
                Some(known) if known.latest == number => {}
                Some(known) => (known.sessions, known.latest) = (known.sessions + 1, number),
                None => learned.push(Learned { section, text: line, sessions: 1, latest: number }),
            }
        }
    }
    learned.sort_by_key(|learned| (std::cmp::Reverse((learned.sessions, learned.latest)), learned.section));
    let line = |learned: &Learned<'_>| {
        let often = match learned.sessions {
            1 => String::new(),
            sessions => format!(" (in {sessions} sessions)"),
        };
        let words = text::truncate_chars(learned.text, MOST_CHARS);
        format!("{}: {}{often}", learned.section.heading(), text::line(&words))
    };
    learned.iter().take(MOST_LINES).map(line).collect()
}

/// The entries of a session's block, with their sections.
fn lines(block: &str) -> impl Iterator<Item = (LearningSection, &str)> {
    let mut section = None;
    block.lines().filter_map(move |line| {
        if let Some(heading) = line.strip_prefix("### ") {
            section = LearningSection::ALL.into_iter().find(|known| known.heading() == heading);
        }
        Some((section?, line.strip_prefix("- ")?.trim()))
    })
}

fn applies(section: LearningSection, line: &str, exists: impl Fn(&str) -> bool) -> bool {
    match section {
        LearningSection::Stuck | LearningSection::Recovery | LearningSection::Permissions => false,
        LearningSection::Conflicts => line.split('`').skip(1).step_by(2).any(exists),
        _ => !line.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_next_session_is_told_what_still_applies_most_frequent_first() {
        let text = "# Mine\n\n\
            ## Session Learnings — 1\n<!-- x -->\n\n### Documentation gaps\n\n- no page about tokens\n- old\n\n\
            ### Where agents got stuck\n\n- feat-a: blocked 3s waiting on feat-b\n\n\
            ## Session Learnings — 2\n<!-- y -->\n\n### Conflict events\n\n\
            - in-flight-conflict: a and b in `src/lib.rs`, `gone.rs`\n- in-flight-conflict: a and c in `gone.rs`\n\n\
            ### Documentation gaps\n\n- no page about tokens (3 times)\n\n### Odd\n\n- skipped\n";
        let lines = applicable(text, |path| path == "src/lib.rs");
        assert_eq!(
            lines,
            [
                "Documentation gaps: no page about tokens (in 2 sessions)",
                "Conflict events: in-flight-conflict: a and b in `src/lib.rs`, `gone.rs`",
                "Documentation gaps: old",
            ]
        );
        let later = "## Session Learnings — n\n\n### Other learnings\n\n- new\n\n".repeat(5);
        let lines = applicable(&format!("{text}\n{later}"), |_| true);
        assert_eq!(lines, ["Other learnings: new (in 5 sessions)"], "only the last sessions count");
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(text in "(## |### |- |`|Conflict events|\\PC|\n){0,60}") {
            prop_assert!(applicable(&text, |_| true).len() <= MOST_LINES);
        }
    }
}
