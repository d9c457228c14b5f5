//! A list to choose from: typing filters it. Pure: keys in, lines out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use paw_core::text;
use paw_screen::line_input::LineInput;

/// Rows shown at once.
const PAGE: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picker {
    question: String,
    rows: Vec<String>,
    filter: LineInput,
    /// The position of the cursor among the rows that match.
    cursor: usize,
    /// The chosen rows; `None` if only one can be chosen.
    chosen: Option<Vec<bool>>,
}

/// What a key means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptStep<T> {
    Continue,
    Cancel,
    Done(T),
}

impl Picker {
    pub(super) fn one(question: &str, rows: &[String], start: usize) -> Self {
        let (question, rows) = (question.to_owned(), rows.to_vec());
        Self { question, rows, filter: LineInput::default(), cursor: start, chosen: None }
    }

    pub(super) fn many(question: &str, rows: &[String]) -> Self {
        Self { chosen: Some(vec![false; rows.len()]), ..Self::one(question, rows, 0) }
    }

    /// The indexes of the rows that match the filter: every word of it, in any case.
    fn matching(&self) -> Vec<usize> {
        let wanted = self.filter.text().to_lowercase();
        let words: Vec<_> = wanted.split_whitespace().collect();
        let matches = |row: &str| {
            let row = row.to_lowercase();
            words.iter().all(|word| row.contains(word))
        };
        (0..self.rows.len()).filter(|index| matches(&self.rows[*index])).collect()
    }

    /// The chosen indexes, or the row under the cursor.
    pub(super) fn on_key(&mut self, key: KeyEvent) -> PromptStep<Vec<usize>> {
        let matching = self.matching();
        let last = matching.len().saturating_sub(1);
        let current = matching.get(self.cursor.min(last)).copied();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, &mut self.chosen) {
            (KeyCode::Char('c'), _) if control => return PromptStep::Cancel,
            (KeyCode::Esc, _) => return PromptStep::Cancel,
            (KeyCode::Enter, Some(chosen)) => {
                return PromptStep::Done((0..chosen.len()).filter(|index| chosen[*index]).collect());
            }
            (KeyCode::Enter, None) => {
                return current.map_or(PromptStep::Continue, |index| PromptStep::Done(vec![index]));
            }
            (KeyCode::Up, _) => self.cursor = self.cursor.min(last).checked_sub(1).unwrap_or(last),
            (KeyCode::Down, _) => self.cursor = if self.cursor >= last { 0 } else { self.cursor + 1 },
            (KeyCode::PageUp, _) => self.cursor = self.cursor.min(last).saturating_sub(PAGE),
            (KeyCode::PageDown, _) => self.cursor = (self.cursor + PAGE).min(last),
            (KeyCode::Right, Some(chosen)) => matching.iter().for_each(|index| chosen[*index] = true),
            (KeyCode::Left, Some(chosen)) => matching.iter().for_each(|index| chosen[*index] = false),
            (KeyCode::Char(' '), Some(chosen)) if !control => {
                if let Some(index) = current {
                    chosen[index] = !chosen[index];
                    self.clear_filter(index);
                }
            }
            _ => {
                if self.filter.on_key(key) {
                    self.cursor = 0;
                }
            }
        }
        PromptStep::Continue
    }

    pub(super) fn paste(&mut self, raw: &str) {
        self.filter.insert(raw);
        self.cursor = 0;
    }

    /// Shows all rows again, with the cursor on this one.
    fn clear_filter(&mut self, index: usize) {
        if !self.filter.text().is_empty() {
            self.filter = LineInput::default();
            self.cursor = index;
        }
    }

    /// The lines of the question, and the column of the cursor in the first one.
    pub(super) fn lines(&self, width: usize) -> (Vec<String>, usize) {
        let head = format!("? {} ", self.question);
        let (seen, column) = self.filter.window(width.saturating_sub(text::width(&head) + 1));
        let column = text::width(&head) + column;
        let mut lines = vec![format!("{head}{seen}")];
        let matching = self.matching();
        let cursor = self.cursor.min(matching.len().saturating_sub(1));
        let first = cursor.saturating_sub(PAGE / 2).min(matching.len().saturating_sub(PAGE));
        for (place, index) in matching.iter().enumerate().skip(first).take(PAGE) {
            let marker = if place == cursor { ">" } else { " " };
            let chosen = match &self.chosen {
                Some(chosen) if chosen[*index] => "[x] ",
                Some(_) => "[ ] ",
                None => "",
            };
            lines.push(format!("{marker} {chosen}{}", self.rows[*index]));
        }
        if matching.is_empty() {
            lines.push("  nothing matches".to_owned());
        } else if matching.len() > PAGE {
            lines.push(format!("  {} of {}", cursor + 1, matching.len()));
        }
        lines.push(if self.chosen.is_some() {
            "  [↑↓ to move, space to select, → all, ← none, enter when done, type to filter]".to_owned()
        } else {
            "  [↑↓ to move, enter to choose, type to filter]".to_owned()
        });
        (lines, column)
    }

    /// What was chosen, in one line.
    pub(super) fn answer(&self, chosen: &[usize]) -> String {
        let names: Vec<_> = chosen.iter().map(|index| self.rows[*index].as_str()).collect();
        format!("? {} {}", self.question, names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(picker: &mut Picker, code: KeyCode) -> PromptStep<Vec<usize>> {
        picker.on_key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn type_text(picker: &mut Picker, text: &str) {
        for letter in text.chars() {
            press(picker, KeyCode::Char(letter));
        }
    }

    fn control(picker: &mut Picker, letter: char) -> PromptStep<Vec<usize>> {
        picker.on_key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
    }

    fn rows() -> Vec<String> {
        ["feat/auth", "feat/api", "fix/login"].map(str::to_owned).into()
    }

    #[test]
    fn typing_filters_and_enter_chooses_the_row_under_the_cursor() {
        let mut picker = Picker::one("Branch", &rows(), 1);
        assert_eq!(picker.clone().on_key(KeyEvent::from(KeyCode::Enter)), PromptStep::Done(vec![1]));
        type_text(&mut picker, "FIX");
        assert_eq!(press(&mut picker, KeyCode::Enter), PromptStep::Done(vec![2]));
        type_text(&mut picker, "nothing");
        assert_eq!(press(&mut picker, KeyCode::Enter), PromptStep::Continue);
    }

    #[test]
    fn control_u_and_control_w_edit_the_filter() {
        let mut picker = Picker::one("Branch", &rows(), 0);
        type_text(&mut picker, "fix nothing");
        control(&mut picker, 'w');
        assert_eq!(picker.matching(), [2]);
        control(&mut picker, 'u');
        assert_eq!((picker.matching().len(), picker.filter.text()), (3, ""));
        assert_eq!(control(&mut picker, 'c'), PromptStep::Cancel);
    }

    #[test]
    fn space_selects_and_shows_all_rows_again() {
        let mut picker = Picker::many("Branches", &rows());
        type_text(&mut picker, "auth ");
        assert_eq!(picker.matching().len(), 3);
        type_text(&mut picker, "login ");
        assert_eq!(press(&mut picker, KeyCode::Enter), PromptStep::Done(vec![0, 2]));
        press(&mut picker, KeyCode::Left);
        assert_eq!(press(&mut picker, KeyCode::Enter), PromptStep::Done(vec![]));
        press(&mut picker, KeyCode::Right);
        assert_eq!(picker.answer(&[0, 1]), "? Branches feat/auth, feat/api");
    }
}
