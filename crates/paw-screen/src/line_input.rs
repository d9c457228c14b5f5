//! A single-line text input with the keys of readline.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use paw_core::text;

use crate::text::Text;

/// The most bytes of an input.
const LIMIT: usize = 4_000;

/// The text, and the byte position of the cursor, which is always between two characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    text: String,
    cursor: usize,
}

impl LineInput {
    pub fn of(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.len() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Inserts typed or pasted text. Line breaks become spaces.
    pub fn insert(&mut self, raw: &str) {
        for c in Text::new(raw).as_str().chars() {
            if self.text.len() + c.len_utf8() > LIMIT {
                return;
            }
            let c = if c == '\n' { ' ' } else { c };
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
    }

    /// Handles a key. Returns whether the key has a meaning here.
    pub fn on_key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('u') if control => drop(self.text.drain(..std::mem::take(&mut self.cursor))),
            KeyCode::Char('k') if control => self.text.truncate(self.cursor),
            KeyCode::Char('w') if control => self.erase_word(),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char('b') if control => self.cursor = self.before(),
            KeyCode::Char('f') if control => self.cursor = self.after(),
            KeyCode::Char('d') if control && self.cursor < self.text.len() => {
                self.text.remove(self.cursor);
            }
            KeyCode::Char('h') if control && self.cursor > 0 => self.erase(),
            // Terminals send these for Alt with a letter.
            KeyCode::Char('b') if alt => self.cursor = self.word_start(),
            KeyCode::Char('f') if alt => self.cursor = self.word_end(),
            KeyCode::Char(c) if !control && !alt => {
                self.insert(c.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Backspace if alt => self.erase_word(),
            KeyCode::Backspace if self.cursor > 0 => self.erase(),
            KeyCode::Delete if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(index, _)| index)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn erase(&mut self) {
        self.cursor = self.before();
        self.text.remove(self.cursor);
    }

    fn erase_word(&mut self) {
        let start = self.word_start();
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    /// The start of the word before the cursor.
    fn word_start(&self) -> usize {
        let head = self.text[..self.cursor].trim_end();
        head.rfind(' ').map_or(0, |space| space + 1)
    }

    /// The end of the word after the cursor.
    fn word_end(&self) -> usize {
        let tail = &self.text[self.cursor..];
        let spaces = tail.len() - tail.trim_start().len();
        tail[spaces..].find(' ').map_or(self.text.len(), |space| self.cursor + spaces + space)
    }

    /// The part of the line that is visible in `room` columns, and the cursor's column in it.
    pub fn window(&self, room: usize) -> (String, usize) {
        if room == 0 {
            return (String::new(), 0);
        }
        let head = &self.text[..self.cursor];
        let mut start = 0;
        let mut used = text::width(head);
        let mut rest = head.chars();
        // Keep one column free for the cursor.
        while used >= room {
            let Some(c) = rest.next() else { break };
            used -= text::columns(c);
            start += c.len_utf8();
        }
        let mut seen = String::new();
        let mut total = 0;
        for c in self.text[start..].chars() {
            total += text::columns(c);
            if total > room {
                break;
            }
            seen.push(c);
        }
        (seen, used)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn press(input: &mut LineInput, code: KeyCode, modifiers: KeyModifiers) {
        input.on_key(KeyEvent::new(code, modifiers));
    }

    #[test]
    fn input_supports_shell_editing_keys() {
        let mut input = LineInput::of("use bcrypt now");
        press(&mut input, KeyCode::Char('w'), KeyModifiers::CONTROL);
        press(&mut input, KeyCode::Char('w'), KeyModifiers::CONTROL);
        input.insert("argon2\nplease");
        press(&mut input, KeyCode::Home, KeyModifiers::NONE);
        press(&mut input, KeyCode::Delete, KeyModifiers::NONE);
        press(&mut input, KeyCode::Char('U'), KeyModifiers::SHIFT);
        assert_eq!(input.text(), "Use argon2 please");
        press(&mut input, KeyCode::End, KeyModifiers::NONE);
        press(&mut input, KeyCode::Left, KeyModifiers::NONE);
        press(&mut input, KeyCode::Backspace, KeyModifiers::NONE);
        assert_eq!(input.text(), "Use argon2 pleae");
        press(&mut input, KeyCode::Char('b'), KeyModifiers::ALT);
        press(&mut input, KeyCode::Char('b'), KeyModifiers::ALT);
        press(&mut input, KeyCode::Char('f'), KeyModifiers::ALT);
        press(&mut input, KeyCode::Char('k'), KeyModifiers::CONTROL);
        assert_eq!(input.text(), "Use argon2");
        press(&mut input, KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!(input.text(), "");
        press(&mut input, KeyCode::Char('g'), KeyModifiers::CONTROL);
        assert_eq!(input.text(), "", "a control key is never text");
    }

    #[test]
    fn window_contains_the_cursor() {
        let input = LineInput::of("日本語 and more words than fit");
        let (seen, column) = input.window(10);
        assert_eq!((seen.as_str(), column), (" than fit", 9));
        assert_eq!(LineInput::of("ab").window(10), ("ab".to_owned(), 2));
    }

    proptest! {
        #[test]
        fn window_fits_after_any_keys(
            keys in proptest::collection::vec((0_usize..12, "\\PC"), 0..60), room in 0_usize..20,
        ) {
            let mut input = LineInput::default();
            for (choice, raw) in keys {
                let c = raw.chars().next().unwrap_or('x');
                let (code, modifiers) = match choice {
                    0 => (KeyCode::Backspace, KeyModifiers::NONE),
                    1 => (KeyCode::Delete, KeyModifiers::NONE),
                    2 => (KeyCode::Left, KeyModifiers::NONE),
                    3 => (KeyCode::Right, KeyModifiers::NONE),
                    4 => (KeyCode::Home, KeyModifiers::NONE),
                    5 => (KeyCode::Char('w'), KeyModifiers::CONTROL),
                    6 => (KeyCode::Char('k'), KeyModifiers::CONTROL),
                    _ => (KeyCode::Char(c), KeyModifiers::NONE),
                };
                press(&mut input, code, modifiers);
                let (seen, column) = input.window(room);
                prop_assert!(text::width(&seen) <= room && (column < room || room == 0));
            }
        }
    }
}
