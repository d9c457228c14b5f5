//! Writes into one line of the screen, never past its end.

use paw_core::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    x: u16,
    y: u16,
    right: u16,
}

impl<'a> Pen<'a> {
    /// Starts in the first line of `area`.
    pub(super) fn new(buffer: &'a mut Buffer, area: Rect) -> Self {
        let right = if area.height == 0 { area.x } else { area.right() };
        Self { buffer, x: area.x, y: area.y, right }
    }

    /// Columns left in the line.
    pub(super) fn room(&self) -> usize {
        usize::from(self.right.saturating_sub(self.x))
    }

    /// Skips columns.
    pub(super) fn skip(&mut self, columns: usize) {
        let columns = u16::try_from(columns).unwrap_or(u16::MAX);
        self.x = self.x.saturating_add(columns).min(self.right);
    }

    /// Writes as much as fits, with `…` if the text was truncated.
    pub(super) fn put(&mut self, text: &str, style: Style) {
        let clipped = text::truncate(text, self.room());
        if self.room() > 0 {
            (self.x, _) = self.buffer.set_stringn(self.x, self.y, clipped, self.room(), style);
        }
    }

    /// Writes into a column of this width, and moves past it and the gap that follows.
    pub(super) fn column(&mut self, text: &str, columns: usize, style: Style) {
        let start = self.x;
        self.put(&text::truncate(text, columns.min(self.room())), style);
        self.x = start;
        self.skip(columns + 1);
    }

    /// Like [`Pen::column`], but right-aligned.
    pub(super) fn column_right(&mut self, text: &str, columns: usize, style: Style) {
        let text = text::truncate(text, columns);
        let pad = columns.saturating_sub(text::width(&text));
        self.skip(pad);
        self.column(&text, columns - pad, style);
    }

    /// Repeats a one-column text to the end of the line.
    pub(super) fn fill(&mut self, text: &str, style: Style) {
        let rest = text.repeat(self.room());
        self.put(&rest, style);
    }
}
