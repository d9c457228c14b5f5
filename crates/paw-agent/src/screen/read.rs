//! Reads the state of an agent from its screen.

use super::cells::{Screen, ScreenRow};
use super::input;
use super::pattern::choice;
use super::prompt::{self, ApprovalRequest, ApprovalSubject};
use super::rules::{Choices, DialogKind, DialogRule, LimitRule, MarkPosition, ScreenRules};
use crate::state::AgentActivity;

/// What a screen shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenReading {
    pub state: AgentActivity,
    /// The evidence, for people.
    pub reason: String,
    /// The startup dialog, if the CLI shows one.
    pub dialog: Option<DialogKind>,
    /// The unsent text in the input, if the screen shows an input.
    pub typed: Option<String>,
}

impl ScreenReading {
    pub(super) fn new(state: AgentActivity, reason: impl Into<String>) -> Self {
        Self { state, reason: reason.into(), dialog: None, typed: None }
    }
}

/// Reads a screen by the rules of its CLI.
pub(super) fn read(rules: &ScreenRules, screen: &Screen) -> ScreenReading {
    if let Some(ask) = rules.prompts.iter().find_map(|form| prompt::find(screen, form)) {
        let ask = best(rules, screen, ask);
        let reason = reason_of(&ask);
        return ScreenReading::new(AgentActivity::WaitingApproval(ask), reason);
    }
    if let Some(dialog) = rules.dialogs.iter().find(|dialog| shows_dialog(screen, dialog)) {
        let mut reading =
            ScreenReading::new(AgentActivity::WaitingInput, format!("the CLI asks {}", dialog.kind));
        reading.dialog = Some(dialog.kind);
        return reading;
    }
    let last = screen.rows().last().map(|row| row.text().trim_start()).unwrap_or_default();
    if rules.questions.iter().any(|question| last.starts_with(question)) {
        return ScreenReading::new(AgentActivity::WaitingInput, "the agent asks a multiple-choice question");
    }
    if let Some(reading) = read_input(rules, screen) {
        return reading;
    }
    without_input(rules, screen)
}

/// Several rules may match the same choices; prefers the one whose subject is readable.
fn best(rules: &ScreenRules, screen: &Screen, first: ApprovalRequest) -> ApprovalRequest {
    let readable = |ask: &ApprovalRequest| !matches!(ask.subject, ApprovalSubject::Unreadable(_));
    if readable(&first) {
        return first;
    }
    rules.prompts.iter().filter_map(|form| prompt::find(screen, form)).find(readable).unwrap_or(first)
}

fn reason_of(ask: &ApprovalRequest) -> String {
    match &ask.subject {
        ApprovalSubject::Command(_) | ApprovalSubject::File(_) => {
            format!("the CLI asks to approve {}", ask.kind)
        }
        ApprovalSubject::Unreadable(why) => {
            format!("the CLI asks to approve {}; not readable: {why}", ask.kind)
        }
    }
}

/// Whether the screen shows the dialog's rows in order, with the last one at the bottom.
fn shows_dialog(screen: &Screen, dialog: &DialogRule) -> bool {
    let drawn = |letter: char| letter.is_whitespace() || ['❯', '›', '●', '│', '>'].contains(&letter);
    let mut rows = screen.rows().iter().rev().map(|row| row.text().trim_start_matches(drawn));
    let Some((last, before)) = dialog.rows.split_last() else { return false };
    rows.next().is_some_and(|row| row.starts_with(last))
        && before.iter().rev().all(|mark| rows.any(|row| row.starts_with(mark)))
}

fn read_input(rules: &ScreenRules, screen: &Screen) -> Option<ScreenReading> {
    let found = input::find(screen, rules)?;
    if found.last_below(screen).is_some_and(looks_like_shell) {
        return Some(ScreenReading::new(AgentActivity::Exited, "a shell prompt is below the input"));
    }
    let working = rules.working.iter().find(|mark| found.shows(screen, mark));
    let (state, reason) = if let Some(mark) = working {
        (AgentActivity::Working, format!("the screen shows '{}'", mark.text))
    } else if let Some((row, resets)) = limit(rules.limits, &found, screen) {
        (AgentActivity::RateLimited { resets }, format!("the screen shows '{row}'"))
    } else if found.typed.is_empty() {
        (AgentActivity::Idle, "the input is empty and the agent is not working".to_owned())
    } else {
        (AgentActivity::Idle, "the input contains unsent text".to_owned())
    };
    let typed = Some(found.typed);
    Some(ScreenReading { typed, ..ScreenReading::new(state, reason) })
}

/// Finds a rate limit message in the last rows above the input, only at the start of a row, where the CLI writes.
/// Messages above the last prompt are outdated.
fn limit(limits: &[LimitRule], found: &input::Found, screen: &Screen) -> Option<(String, Option<String>)> {
    let is_prompt = |row: &&ScreenRow| row.text().trim_start().starts_with(['>', '❯', '›']);
    found.above(screen).take(4).take_while(|row| !is_prompt(row)).find_map(|row| {
        let text = row.text().trim_start_matches(|c: char| !c.is_alphanumeric()).trim();
        let limit = limits.iter().find(|limit| text.starts_with(limit.row))?;
        let resets =
            text.split_once(limit.before_reset).map(|(_, time)| time.trim_end_matches('.').to_owned());
        Some((text.to_owned(), resets))
    })
}

fn without_input(rules: &ScreenRules, screen: &Screen) -> ScreenReading {
    let Some(last) = screen.rows().last() else {
        return ScreenReading::new(AgentActivity::Starting, "the screen is empty");
    };
    let shown = |words: &&&str| screen.rows().iter().any(|row| row.text().starts_with(**words));
    if let Some(words) = rules.endings.iter().find(shown) {
        return ScreenReading::new(AgentActivity::Exited, format!("the screen shows '{}'", words.trim()));
    }
    if looks_like_shell(last.text()) {
        return ScreenReading::new(AgentActivity::Exited, "the last row looks like a shell prompt");
    }
    let at_work = |text: &str| last.text().contains(text);
    if let Some(mark) =
        rules.working.iter().find(|mark| mark.place == MarkPosition::Last && at_work(mark.text))
    {
        return ScreenReading::new(
            AgentActivity::Working,
            format!("the screen shows '{}'", mark.text.trim()),
        );
    }
    let banner = |words: &&&str| screen.rows().iter().take(10).any(|row| row.text().contains(**words));
    if rules.banner.iter().any(|words| banner(&words)) && !lists_choices(screen) {
        return ScreenReading::new(AgentActivity::Starting, "the banner is shown, but no input");
    }
    ScreenReading::new(AgentActivity::Unknown, "the screen is not recognized")
}

/// Whether an unrecognized screen may show one of the CLI's prompts, wrapped or cut.
pub(super) fn may_show_prompt(rules: &ScreenRules, screen: &Screen) -> bool {
    rules.prompts.iter().any(|prompt| match &prompt.choices {
        Choices::Numbered { .. } => lists_choices(screen),
        Choices::Buttons(labels) => {
            screen.rows().iter().any(|row| shows_buttons(row.text(), prompt.edges.0, labels))
        }
        Choices::InQuestion => false,
    })
}

/// Whether a row begins with the first button and shows nothing but the buttons, or as many letters of them as fit.
fn shows_buttons(text: &str, edge: &str, labels: &[&str]) -> bool {
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    let (shown, all) = (letters(text.strip_prefix(edge).unwrap_or(text)), letters(&labels.concat()));
    let has_first = labels.first().is_some_and(|first| shown.starts_with(&letters(first)));
    has_first && (shown.starts_with(&all) || all.starts_with(&shown))
}

/// Whether the screen shows any list of choices.
pub(super) fn lists_choices(screen: &Screen) -> bool {
    screen.rows().iter().any(|row| {
        ['❯', '›', '●', '>']
            .iter()
            .any(|cursor| choice(row.text(), *cursor).is_some_and(|choice| choice.pointed))
    })
}

/// Whether a row without indentation ends in `$`, `#` or `%`, alone or after a path or a name.
pub(super) fn looks_like_shell(text: &str) -> bool {
    let Some(rest) = text.strip_suffix(['$', '#', '%']) else { return false };
    let named = rest.contains(['@', '~', '/', ':']) || rest.starts_with("sh-") || rest.starts_with("bash-");
    !text.starts_with(char::is_whitespace) && (rest.is_empty() || named)
}
