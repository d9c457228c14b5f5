//! The input line of the scripted agent, for typed and pasted text.

use std::io;

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyModifiers};
use crossterm::style::Print;
use crossterm::{execute, terminal};
use paw_core::PawError;

/// Reads one prompt. `None` after Ctrl+C or Ctrl+D.
pub(super) fn read_prompt() -> Result<Option<String>, PawError> {
    let failed = |error: io::Error| PawError::internal(format!("cannot read the terminal: {error}"));
    let raw = Raw::enter().map_err(failed)?;
    execute!(io::stdout(), Print("> ")).map_err(failed)?;
    let mut text = String::new();
    loop {
        match event::read().map_err(failed)? {
            Event::Paste(pasted) => {
                let lines = pasted.lines().count();
                text.push_str(&pasted);
                execute!(io::stdout(), Print(format!("[pasted {lines} lines]"))).map_err(failed)?;
            }
            Event::Key(key) => match key.code {
                KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(None),
                KeyCode::Char(letter) => {
                    text.push(letter);
                    execute!(io::stdout(), Print(letter)).map_err(failed)?;
                }
                KeyCode::Enter if !text.trim().is_empty() => break,
                _ => {}
            },
            _ => {}
        }
    }
    execute!(io::stdout(), Print("\r\n")).map_err(failed)?;
    drop(raw);
    Ok(Some(text))
}

/// Raw mode with bracketed paste, until it is dropped.
struct Raw;

impl Raw {
    fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(Self)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), DisableBracketedPaste);
        let _ = terminal::disable_raw_mode();
    }
}
