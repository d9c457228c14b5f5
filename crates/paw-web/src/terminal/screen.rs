//! Makes a new terminal show what a pane shows.

/// The size and modes of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaneShape {
    pub(super) columns: u32,
    pub(super) rows: u32,
    cursor: (u32, u32),
    is_alternate: bool,
    shows_cursor: bool,
    bracketed_paste: bool,
}

impl PaneShape {
    /// What tmux is asked for.
    pub(super) const FORMAT: &str = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{alternate_on} #{cursor_flag} \
        #{?#{bracket_paste_flag},1,0}";

    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let mut numbers = line.split_ascii_whitespace().map(|word| word.parse::<u32>().ok());
        let mut number = || numbers.next().flatten();
        Some(Self {
            columns: number()?,
            rows: number()?,
            cursor: (number()?, number()?),
            is_alternate: number() == Some(1),
            shows_cursor: number() != Some(0),
            bracketed_paste: number() == Some(1),
        })
    }

    /// The sequences that draw the captured lines.
    pub(super) fn draw(&self, lines: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = b"\x1bc".to_vec();
        if self.is_alternate {
            bytes.extend_from_slice(b"\x1b[?1049h");
        }
        bytes.extend_from_slice(b"\x1b[H");
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(line);
        }
        bytes.extend_from_slice(b"\x1b[m");
        let (x, y) = self.cursor;
        bytes.extend_from_slice(format!("\x1b[{};{}H", y + 1, x + 1).as_bytes());
        if !self.shows_cursor {
            bytes.extend_from_slice(b"\x1b[?25l");
        }
        if self.bracketed_paste {
            bytes.extend_from_slice(b"\x1b[?2004h");
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_starts_with_the_lines_and_the_cursor_of_the_pane() {
        let shape = PaneShape::parse(b"80 24 4 1 0 1 0").unwrap();
        assert_eq!((shape.columns, shape.rows), (80, 24));
        let drawn = shape.draw(&[b"one".to_vec(), b"two".to_vec()]);
        assert_eq!(String::from_utf8(drawn).unwrap(), "\x1bc\x1b[Hone\r\ntwo\x1b[m\x1b[2;5H");
    }

    #[test]
    fn damaged_reply_is_refused() {
        for line in ["", "80", "80 24 x 1 0 1", "-1 2 3 4 5 6", "80 24 99999999999 1 0 1"] {
            assert_eq!(PaneShape::parse(line.as_bytes()), None, "{line}");
        }
    }
}
