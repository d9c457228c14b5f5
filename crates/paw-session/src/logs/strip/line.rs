//! One line of a terminal, and the cursor in it.

use unicode_width::UnicodeWidthChar as _;

use super::pen::Pen;

/// The cursor does not move further right than this, unless the line is longer.
const WIDEST: usize = 1000;
/// A longer line is flushed in parts. A flushed part cannot be overwritten.
const LONGEST: usize = 4096;
/// The most bytes of combining marks per letter; the rest is dropped.
const MARKS: usize = 8 * 4;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Cell {
    /// Not printed to. Becomes a space if a letter follows.
    #[default]
    Gap,
    /// The right half of a wide letter.
    Tail,
    Letter {
        c: char,
        marks: String,
        pen: Pen,
    },
}

#[derive(Debug, Default)]
pub(super) struct TerminalLine {
    cells: Vec<Cell>,
    column: usize,
    pub(super) pen: Pen,
    /// The pen at the end of the flushed part.
    flushed_pen: Pen,
}

impl TerminalLine {
    pub(super) fn put(&mut self, c: char, out: &mut String) {
        let width = c.width().unwrap_or(0);
        if width == 0 {
            self.mark(c);
            return;
        }
        if self.column + width > LONGEST.max(WIDEST) {
            self.flush(out);
            self.column = 0;
        }
        let end = self.column + width;
        if self.cells.len() < end {
            self.cells.resize(end, Cell::Gap);
        }
        self.split_wide_letter(self.column);
        self.split_wide_letter(end);
        self.cells[self.column] = Cell::Letter { c, marks: String::new(), pen: self.pen.clone() };
        self.cells[self.column + 1..end].fill(Cell::Tail);
        self.column = end;
    }

    /// Adds a combining mark to the letter before the cursor, if there is one.
    fn mark(&mut self, c: char) {
        let before = self.cells.get_mut(..self.column).unwrap_or_default();
        let letter = before.iter_mut().rev().find(|cell| **cell != Cell::Tail);
        if let Some(Cell::Letter { marks, .. }) = letter
            && marks.len() < MARKS
        {
            marks.push(c);
        }
    }

    /// Erases a wide letter whose right half is at this column.
    fn split_wide_letter(&mut self, column: usize) {
        if self.cells.get(column) == Some(&Cell::Tail) {
            self.cells[column] = Cell::Gap;
            if let Some(letter) = column.checked_sub(1) {
                self.cells[letter] = Cell::Gap;
            }
        }
    }

    pub(super) fn move_to(&mut self, column: usize) {
        self.column = column.min(WIDEST.max(self.cells.len()));
    }

    pub(super) fn forward(&mut self, count: usize) {
        self.move_to(self.column.saturating_add(count));
    }

    pub(super) fn back(&mut self, count: usize) {
        self.column = self.column.saturating_sub(count);
    }

    pub(super) fn tab(&mut self) {
        self.move_to((self.column / 8 + 1) * 8);
    }

    pub(super) fn erase_after(&mut self) {
        self.split_wide_letter(self.column);
        self.cells.truncate(self.column);
    }

    pub(super) fn erase_before(&mut self) {
        let end = (self.column + 1).min(self.cells.len());
        self.split_wide_letter(end);
        self.cells[..end].fill(Cell::Gap);
    }

    pub(super) fn erase(&mut self) {
        self.cells.clear();
    }

    pub(super) fn blank(&mut self, count: usize) {
        let end = self.column.saturating_add(count).min(self.cells.len());
        if self.column < end {
            self.split_wide_letter(self.column);
            self.split_wide_letter(end);
            self.cells[self.column..end].fill(Cell::Gap);
        }
    }

    pub(super) fn delete(&mut self, count: usize) {
        let end = self.column.saturating_add(count).min(self.cells.len());
        if self.column < end {
            self.split_wide_letter(self.column);
            self.split_wide_letter(end);
            self.cells.drain(self.column..end);
        }
    }

    pub(super) fn insert(&mut self, count: usize) {
        if self.column < self.cells.len() {
            self.split_wide_letter(self.column);
            let gaps = std::iter::repeat_n(Cell::Gap, count.min(WIDEST));
            self.cells.splice(self.column..self.column, gaps);
            self.cells.truncate(LONGEST);
        }
    }

    /// Ends the line with a line break.
    pub(super) fn feed(&mut self, out: &mut String) {
        self.end(out);
        out.push('\n');
    }

    /// Moves the cursor to another line, which makes this one final.
    pub(super) fn leave(&mut self, column: usize, out: &mut String) {
        if self.cells.iter().any(|cell| *cell != Cell::Gap) {
            self.feed(out);
        }
        self.cells.clear();
        self.column = column.min(WIDEST);
    }

    pub(super) fn leave_here(&mut self, out: &mut String) {
        self.leave(self.column, out);
    }

    /// Flushes the rest of the line without a line break.
    pub(super) fn end(&mut self, out: &mut String) {
        let shown = self.cells.iter().rposition(|cell| *cell != Cell::Gap).map_or(0, |last| last + 1);
        self.cells.truncate(shown);
        self.flush(out);
        if !self.flushed_pen.is_plain() {
            self.flushed_pen.switch(&Pen::default(), out);
            self.flushed_pen = Pen::default();
        }
        self.column = 0;
    }

    fn flush(&mut self, out: &mut String) {
        for cell in self.cells.drain(..) {
            let (text, marks, pen) = match &cell {
                Cell::Tail => continue,
                Cell::Gap => (' ', "", &Pen::default()),
                Cell::Letter { c, marks, pen } => (*c, marks.as_str(), pen),
            };
            self.flushed_pen.switch(pen, out);
            self.flushed_pen = pen.clone();
            out.push(text);
            out.push_str(marks);
        }
    }
}
