//! The input line of the scripted agent, for typed and pasted text.

use std::io;

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyModifiers};
use crossterm::style::{Print, Stylize as _};
use crossterm::{execute, terminal};
use paw_agent::cli::demo;
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

/// Asks the user whether a command may run, as an AI CLI does. The command is not run.
pub(super) fn ask(command: &str) -> Result<bool, PawError> {
    let failed = |error: io::Error| PawError::internal(format!("cannot read the terminal: {error}"));
    let raw = Raw::enter().map_err(failed)?;
    let shown = format!("{}:\r\n\r\n{}\r\n{}", demo::WANTS, command.reverse(), demo::QUESTION);
    execute!(io::stdout(), Print(shown)).map_err(failed)?;
    let answer = loop {
        match event::read().map_err(failed)? {
            Event::Key(key) if key.code == KeyCode::Char('y') => break true,
            Event::Key(key) if matches!(key.code, KeyCode::Char('n') | KeyCode::Esc) => break false,
            _ => {}
        }
    };
    execute!(io::stdout(), Print("\r\n")).map_err(failed)?;
    drop(raw);
    Ok(answer)
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
