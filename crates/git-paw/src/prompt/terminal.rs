//! Questions on the real terminal: pickers that filter while typing, lines of text, and yes or no.

use std::io::{self, IsTerminal as _, Write as _};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{self, ClearType};
use crossterm::{cursor, queue};
use paw_core::{PawError, text};
use paw_screen::line_input::LineInput;

use super::picker::{Picker, PromptStep};
use super::{LineCheck, PromptQuestion, Prompter};

/// Asks on this process's terminal. Questions go to stderr; stdout is only for results.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TerminalPrompter;

impl Prompter for TerminalPrompter {
    fn is_interactive(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    fn pick_one(
        &self,
        question: &PromptQuestion<'_>,
        rows: &[String],
        start: usize,
    ) -> Result<usize, PawError> {
        let picked = self.pick(question, Picker::one(question.text, rows, start))?;
        picked.first().copied().ok_or(PawError::UserCancelled)
    }

    fn pick_many(&self, question: &PromptQuestion<'_>, rows: &[String]) -> Result<Vec<usize>, PawError> {
        self.pick(question, Picker::many(question.text, rows))
    }

    fn confirm(&self, question: &PromptQuestion<'_>, default: bool) -> Result<bool, PawError> {
        let check = |line: &str| yes_or_no(line, default).map(drop).ok_or_else(|| "type y or n".to_owned());
        let head = format!("{} ({})", question.text, if default { "Y/n" } else { "y/N" });
        let line = self.line(question, &head, "", "", &check)?;
        Ok(yes_or_no(&line, default).unwrap_or(default))
    }

    fn edit(&self, question: &PromptQuestion<'_>, text: &str) -> Result<String, PawError> {
        let line = self.line(question, question.text, text, "", &|_| Ok(()))?;
        Ok(line.trim().to_owned())
    }

    fn write(&self, question: &PromptQuestion<'_>, check: LineCheck) -> Result<String, PawError> {
        self.line(question, question.text, "", "separated by spaces, such as feat/login fix/logout", &check)
    }
}

fn yes_or_no(line: &str, default: bool) -> Option<bool> {
    match line.trim().to_lowercase().as_str() {
        "" => Some(default),
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

impl TerminalPrompter {
    fn pick(self, question: &PromptQuestion<'_>, mut picker: Picker) -> Result<Vec<usize>, PawError> {
        self.ask(question, |event, width| {
            let step = match event {
                Some(Event::Key(key)) => picker.on_key(key),
                Some(Event::Paste(text)) => {
                    picker.paste(&text);
                    PromptStep::Continue
                }
                _ => PromptStep::Continue,
            };
            match step {
                PromptStep::Done(chosen) => {
                    (picker.lines(width), PromptStep::Done((picker.answer(&chosen), chosen)))
                }
                PromptStep::Cancel => (picker.lines(width), PromptStep::Cancel),
                PromptStep::Continue => (picker.lines(width), PromptStep::Continue),
            }
        })
    }

    /// Asks for a line that passes `check`. It begins with `start`.
    fn line(
        self,
        question: &PromptQuestion<'_>,
        head: &str,
        start: &str,
        help: &str,
        check: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<String, PawError> {
        let (mut input, mut problem) = (LineInput::of(start), None);
        self.ask(question, |event, width| {
            let step = match event {
                Some(Event::Key(key)) if is_cancel(key) => PromptStep::Cancel,
                Some(Event::Key(key)) if key.code == KeyCode::Enter => match check(input.text()) {
                    Ok(()) => {
                        let line = input.text().to_owned();
                        PromptStep::Done((format!("? {head} {line}"), line))
                    }
                    Err(why) => {
                        problem = Some(why);
                        PromptStep::Continue
                    }
                },
                Some(Event::Key(key)) => {
                    input.on_key(key);
                    problem = None;
                    PromptStep::Continue
                }
                Some(Event::Paste(text)) => {
                    input.insert(&text);
                    PromptStep::Continue
                }
                _ => PromptStep::Continue,
            };
            let head = format!("? {head} ");
            let (seen, column) = input.window(width.saturating_sub(text::width(&head) + 1));
            let below = problem.as_ref().map_or_else(|| format!("  [{help}]"), |why| format!("  ! {why}"));
            let below = Some(below).filter(|_| problem.is_some() || !help.is_empty());
            let column = text::width(&head) + column;
            ((std::iter::once(format!("{head}{seen}")).chain(below).collect(), column), step)
        })
    }

    /// Draws lines and passes on events until there is an answer. The answer comes with the line that remains.
    fn ask<T>(
        self,
        question: &PromptQuestion<'_>,
        mut on_event: impl FnMut(Option<Event>, usize) -> ((Vec<String>, usize), PromptStep<(String, T)>),
    ) -> Result<T, PawError> {
        if !self.is_interactive() {
            return Err(not_a_terminal(question));
        }
        let failed = |error| PawError::internal(format!("cannot ask \"{}\": {error}", question.text));
        let _raw = RawMode::enter().map_err(failed)?;
        let mut event = None;
        loop {
            let width = usize::from(terminal::size().map_err(failed)?.0);
            let ((lines, column), step) = on_event(event.take(), width);
            match step {
                PromptStep::Continue => draw(&lines, column, width).map_err(failed)?,
                PromptStep::Cancel => {
                    leave(&lines[..lines.len().min(1)], width).map_err(failed)?;
                    return Err(PawError::UserCancelled);
                }
                PromptStep::Done((line, answer)) => {
                    leave(&[line], width).map_err(failed)?;
                    return Ok(answer);
                }
            }
            let next = event::read().map_err(failed)?;
            let is_release = matches!(next, Event::Key(key) if key.kind == KeyEventKind::Release);
            event = Some(next).filter(|_| !is_release);
        }
    }
}

/// Raw mode until it is dropped.
struct RawMode;

impl RawMode {
    fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        Ok(Self)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = terminal::disable_raw_mode();
    }
}

fn is_cancel(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Esc || (control && key.code == KeyCode::Char('c'))
}

/// Draws the lines below the start of the current one, and returns there, to `column`.
fn draw(lines: &[String], column: usize, width: usize) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    queue!(stderr, cursor::MoveToColumn(0), terminal::Clear(ClearType::FromCursorDown))?;
    let shown: Vec<_> = lines.iter().map(|line| text::truncate(line, width.saturating_sub(1))).collect();
    stderr.write_all(shown.join("\r\n").as_bytes())?;
    if let Ok(above @ 1..) = u16::try_from(shown.len().saturating_sub(1)) {
        queue!(stderr, cursor::MoveUp(above))?;
    }
    queue!(stderr, cursor::MoveToColumn(u16::try_from(column).unwrap_or(u16::MAX)))?;
    stderr.flush()
}

/// Replaces the question by the lines that remain.
fn leave(lines: &[String], width: usize) -> io::Result<()> {
    draw(lines, 0, width)?;
    let mut stderr = io::stderr().lock();
    stderr.write_all(b"\r\n")?;
    stderr.flush()
}

fn not_a_terminal(question: &PromptQuestion<'_>) -> PawError {
    let PromptQuestion { text, instead } = question;
    PawError::SessionError(format!("cannot ask \"{text}\": stdin is not a terminal")).hint(*instead)
}

#[cfg(test)]
mod tests;
