//! Finds an approval prompt at the bottom of a screen.

use super::cells::{Screen, ScreenRow};
use super::pattern::{self, choice};
use super::rules::{ApprovalKeys, ApprovalKind, Choices, PromptRule};
use super::subject;

/// A request for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    pub kind: ApprovalKind,
    pub subject: ApprovalSubject,
    /// The keys that approve this request once, if the prompt has the expected choices.
    pub keys: Option<ApprovalKeys>,
}

/// What exactly a request is about, if the screen shows all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalSubject {
    Command(String),
    File(String),
    /// Unknown, for this reason.
    Unreadable(&'static str),
}

impl ApprovalRequest {
    pub(crate) fn unreadable(kind: ApprovalKind, why: &'static str) -> Self {
        Self { kind, subject: ApprovalSubject::Unreadable(why), keys: None }
    }

    /// The exact command, if the request is about one and it is readable.
    pub fn command(&self) -> Option<&str> {
        match &self.subject {
            ApprovalSubject::Command(command) => Some(command),
            ApprovalSubject::File(_) | ApprovalSubject::Unreadable(_) => None,
        }
    }
}

/// A prompt on the screen: the rows of its question and of its first choice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) screen: &'a Screen,
    pub(super) edges: (&'static str, &'static str),
    pub(super) question: usize,
    pub(super) choices: usize,
}

impl<'a> Place<'a> {
    /// A row of the prompt without its edges, or `None` outside the prompt.
    pub(super) fn inside(&self, row: usize) -> Option<&'a str> {
        inside(self.screen.rows().get(row)?, self.edges)
    }

    pub(super) fn row(&self, row: usize) -> Option<&'a ScreenRow> {
        self.screen.rows().get(row)
    }
}

/// The prompt of this form at the bottom of the screen, if there is one.
pub(super) fn find(screen: &Screen, prompt: &PromptRule) -> Option<ApprovalRequest> {
    let rows = screen.rows();
    let mut end = rows.len();
    if end > 0 && prompt.footers.iter().any(|footer| rows[end - 1].text().starts_with(footer)) {
        end -= 1;
    }
    while end > 0 && inside(&rows[end - 1], prompt.edges).is_some_and(|text| text.trim().is_empty()) {
        end -= 1;
    }
    let chosen = choices(screen, prompt, end)?;
    let question = find_question(screen, prompt, &chosen)?;
    let place = Place { screen, edges: prompt.edges, question, choices: chosen.first_row };
    let subject = match chosen.complaint {
        Some(complaint) => ApprovalSubject::Unreadable(complaint),
        None => subject::read(&place, prompt),
    };
    let keys = chosen.yes.then_some(prompt.keys).filter(|keys| !keys.is_empty());
    Some(ApprovalRequest { kind: prompt.kind, subject, keys })
}

fn inside<'a>(row: &'a ScreenRow, edges: (&str, &str)) -> Option<&'a str> {
    let text = row.text();
    if edges.0.is_empty() {
        return Some(text);
    }
    let text = text.strip_prefix(edges.0)?;
    Some(text.strip_suffix(edges.1).unwrap_or(text).trim_end())
}

/// The choices of a prompt.
struct Chosen {
    first_row: usize,
    /// The keys of the rule approve once.
    yes: bool,
    complaint: Option<&'static str>,
}

fn choices(screen: &Screen, prompt: &PromptRule, end: usize) -> Option<Chosen> {
    let rows = screen.rows();
    match &prompt.choices {
        Choices::InQuestion => {
            let question = rows.len().checked_sub(1)?;
            Some(Chosen { first_row: question + 1, yes: true, complaint: None })
        }
        Choices::Buttons(labels) => {
            let row = end.checked_sub(1)?;
            let text = inside(&rows[row], prompt.edges)?;
            let mut rest = text.trim_start();
            for label in *labels {
                rest = rest.strip_prefix(label)?.trim_start();
            }
            Some(Chosen { first_row: row, yes: first_is_chosen(&rows[row], labels), complaint: None })
        }
        Choices::Numbered { cursor, first, count } => {
            let list = numbered(rows, prompt.edges, *cursor, end)?;
            // A CLI that offers other choices has a reason that we do not know.
            let complaint = (list.total != *count).then_some("it does not offer the expected choices");
            Some(Chosen { first_row: list.first_row, yes: list.label == *first, complaint })
        }
    }
}

/// A list of choices: the row and the label of the first, and how many there are.
struct Numbered<'a> {
    first_row: usize,
    label: &'a str,
    total: usize,
}

/// The list that ends above row `end`. The cursor has to be on one of its choices.
fn numbered<'a>(
    rows: &'a [ScreenRow],
    edges: (&str, &str),
    cursor: char,
    end: usize,
) -> Option<Numbered<'a>> {
    let (mut total, mut expected, mut pointed) = (0, None, false);
    for row in (0..end).rev() {
        let text = inside(&rows[row], edges)?;
        let Some(found) = choice(text, cursor) else {
            // A wrapped label continues with more indentation.
            if text.starts_with("     ") {
                continue;
            }
            return None;
        };
        if expected.is_some_and(|expected| expected != found.number) {
            return None;
        }
        total = total.max(found.number);
        pointed |= found.pointed;
        if found.number == 1 {
            return pointed.then_some(Numbered { first_row: row, label: found.label, total });
        }
        expected = Some(found.number - 1);
    }
    None
}

/// Whether only the first button has a different background.
fn first_is_chosen(row: &ScreenRow, labels: &[&str]) -> bool {
    let backs: Vec<_> = labels
        .iter()
        .filter_map(|label| {
            let at = row.text().find(label)?;
            let column = row.text()[..at].chars().count();
            row.styles_from(column).next().map(|style| style.back)
        })
        .collect();
    match backs.as_slice() {
        [first, others @ ..] => {
            !others.is_empty() && others.iter().all(|back| back == &others[0] && back != first)
        }
        [] => false,
    }
}

fn find_question(screen: &Screen, prompt: &PromptRule, chosen: &Chosen) -> Option<usize> {
    let rows = screen.rows();
    for row in (0..chosen.first_row).rev() {
        let text = inside(&rows[row], prompt.edges)?;
        if pattern::matches(prompt.question, text) {
            return Some(row);
        }
        if !prompt.details_below && !text.trim().is_empty() {
            return None;
        }
    }
    None
}
