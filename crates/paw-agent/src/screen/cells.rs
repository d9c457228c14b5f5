//! A captured screen as rows of styled characters.
//!
//! Reads plain text and the output of `capture-pane -e`. Colours are kept because in some CLIs nothing else distinguishes
//! the CLI's text from the model's; every other escape sequence is dropped.

use std::iter::Peekable;
use std::str::Chars;

/// No CLI draws a sidebar if fewer columns would be left for its main column.
const NARROWEST: usize = 70;
const SIDEBAR_GAP: usize = 2;

/// A foreground or background colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Colour {
    #[default]
    Usual,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// The style of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct CellStyle {
    pub fore: Colour,
    pub back: Colour,
    pub bold: bool,
    pub dim: bool,
    pub reverse: bool,
}

/// One row, without trailing whitespace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct ScreenRow {
    text: String,
    /// One for each character of the text.
    styles: Vec<CellStyle>,
}

impl ScreenRow {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// The column of the first character that is not whitespace.
    pub fn indent(&self) -> usize {
        self.text.chars().take_while(|letter| letter.is_whitespace()).count()
    }

    /// Whether the row is a horizontal rule that starts in the first column.
    pub fn is_rule(&self) -> bool {
        self.text.chars().count() >= 10 && self.text.chars().all(|letter| letter == '─')
    }

    /// The styles of the characters from column `from` on, without whitespace.
    pub fn styles_from(&self, from: usize) -> impl Iterator<Item = CellStyle> {
        let drawn = self.text.chars().zip(&self.styles).skip(from);
        drawn.filter(|(letter, _)| !letter.is_whitespace()).map(|(_, style)| *style)
    }

    fn push(&mut self, letter: char, style: CellStyle) {
        self.text.push(letter);
        self.styles.push(style);
    }

    fn trimmed(mut self) -> Self {
        self.text.truncate(self.text.trim_end().len());
        self.styles.truncate(self.text.chars().count());
        self
    }
}

/// The content of a pane.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Screen {
    rows: Vec<ScreenRow>,
    styled: bool,
}

impl Screen {
    pub fn parse(text: &str) -> Self {
        let mut screen = Self::default();
        let mut row = ScreenRow::default();
        let mut style = CellStyle::default();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\n' => screen.rows.push(std::mem::take(&mut row).trimmed()),
                '\u{1b}' => screen.styled |= escape(&mut letters, &mut style),
                '\t' => row.push(' ', style),
                letter if letter.is_control() => {}
                letter => row.push(letter, style),
            }
        }
        screen.rows.push(row.trimmed());
        let used = screen.rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1);
        screen.rows.truncate(used);
        screen
    }

    /// From the top to the last row that is not blank.
    pub fn rows(&self) -> &[ScreenRow] {
        &self.rows
    }

    /// Whether the capture contained styles.
    pub fn is_styled(&self) -> bool {
        self.styled
    }

    pub fn is_blank(&self) -> bool {
        self.rows.is_empty()
    }

    /// The screen without a sidebar, whose column the mark in the last row shows. `None` without such a mark, or if any
    /// row extends into the sidebar: a truncated row would be a different one.
    pub(super) fn left_of(&self, mark: &str) -> Option<Self> {
        let last = self.rows.last()?.text();
        let column = last[..last.rfind(mark)?].chars().count();
        let edge = column.checked_sub(SIDEBAR_GAP).filter(|edge| *edge >= NARROWEST)?;
        let is_apart =
            |row: &ScreenRow| row.text.chars().skip(edge).take(SIDEBAR_GAP).all(|letter| letter == ' ');
        if !self.rows.iter().all(is_apart) {
            return None;
        }
        let cut = |row: &ScreenRow| {
            let text = row.text.chars().take(edge).collect();
            ScreenRow { text, styles: row.styles.iter().take(edge).copied().collect() }.trimmed()
        };
        Some(Self { rows: self.rows.iter().map(cut).collect(), styled: self.styled })
    }

    /// The last rows as plain text.
    pub fn tail(&self, rows: usize) -> String {
        let from = self.rows.len().saturating_sub(rows);
        self.rows[from..].iter().map(ScreenRow::text).collect::<Vec<_>>().join("\n")
    }

    /// All letters and digits in order, independent of wrapping and frames.
    pub fn letters(&self) -> String {
        self.rows.iter().flat_map(|row| row.text.chars()).filter(|letter| letter.is_alphanumeric()).collect()
    }
}

/// Reads an escape sequence after its ESC. Returns whether it set a style.
fn escape(letters: &mut Peekable<Chars<'_>>, style: &mut CellStyle) -> bool {
    match letters.next() {
        Some('[') => {
            let mut parameters = String::new();
            for letter in letters.by_ref() {
                match letter {
                    '\u{40}'..='\u{7e}' => {
                        if letter == 'm' {
                            style.apply(&parameters);
                        }
                        return letter == 'm';
                    }
                    letter => parameters.push(letter),
                }
            }
            false
        }
        // A string for the terminal, such as a link's target, up to BEL or ESC \.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(letter) = letters.next() {
                if letter == '\u{7}' || letter == '\u{9c}' {
                    break;
                }
                if letter == '\u{1b}' {
                    letters.next_if_eq(&'\\');
                    break;
                }
            }
            false
        }
        // A character set sequence has one more character.
        Some('(' | ')' | '*' | '+' | '#' | '%') => {
            letters.next();
            false
        }
        _ => false,
    }
}

impl CellStyle {
    fn apply(&mut self, parameters: &str) {
        let mut numbers =
            parameters.split([';', ':']).map(|number| number.parse::<u16>().unwrap_or_default());
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                7 => self.reverse = true,
                22 => (self.bold, self.dim) = (false, false),
                27 => self.reverse = false,
                30..=37 => self.fore = indexed(number - 30),
                38 => self.fore = colour(&mut numbers),
                39 => self.fore = Colour::Usual,
                40..=47 => self.back = indexed(number - 40),
                48 => self.back = colour(&mut numbers),
                49 => self.back = Colour::Usual,
                90..=97 => self.fore = indexed(number - 82),
                100..=107 => self.back = indexed(number - 92),
                _ => {}
            }
        }
    }
}

fn indexed(number: u16) -> Colour {
    Colour::Indexed(u8::try_from(number).unwrap_or(u8::MAX))
}

/// The colour after 38 or 48: an index, or red, green and blue.
fn colour(numbers: &mut impl Iterator<Item = u16>) -> Colour {
    let mut part = || u8::try_from(numbers.next().unwrap_or_default()).unwrap_or(u8::MAX);
    match part() {
        5 => Colour::Indexed(part()),
        2 => Colour::Rgb(part(), part(), part()),
        _ => Colour::Usual,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn left_of_removes_a_sidebar_unless_a_row_extends_into_it() {
        let row = |left: &str, right: &str| format!("{left:80}  {right}\n");
        let text = |rows: &[String]| {
            let left = Screen::parse(&rows.concat()).left_of("• Mark ")?;
            Some(left.rows().iter().map(|row| row.text().to_owned()).collect::<Vec<_>>())
        };
        let last = row("  footer", "• Mark 1.2");
        let rows = [row("$ ls", "Context"), row("", ""), last.clone()];
        assert_eq!(text(&rows).unwrap(), ["$ ls", "", "  footer"]);
        let over = [row(&format!("$ ls {} && rm", "x".repeat(80)), ""), last];
        assert_eq!(text(&over), None);
        assert_eq!(text(&["a • Mark 1\n".to_owned()]), None, "there is no room for a sidebar");
        assert_eq!(text(&[]), None);
    }

    #[test]
    fn styles_last_across_rows_until_they_change() {
        let screen = Screen::parse("\u{1b}[38;5;246ma\nb\u{1b}[0;1mc\u{1b}[39;48;2;1;2;3md\n\n");
        assert!(screen.is_styled());
        let styles = |row: usize| screen.rows()[row].styles_from(0).collect::<Vec<_>>();
        let grey = CellStyle { fore: Colour::Indexed(246), ..CellStyle::default() };
        let bold = CellStyle { bold: true, ..CellStyle::default() };
        assert_eq!(styles(0), [grey]);
        assert_eq!(styles(1), [grey, bold, CellStyle { back: Colour::Rgb(1, 2, 3), ..bold }]);
        assert_eq!(screen.rows().len(), 2);
    }

    #[test]
    fn other_escape_sequences_are_dropped() {
        let screen =
            Screen::parse("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7} \u{1b}(Bb\u{1b}[2Kc \t \r\n");
        assert_eq!(screen.rows()[0].text(), "link bc");
        assert!(!screen.is_styled());
    }

    #[test]
    fn letters_ignore_wrapping_and_frames() {
        assert_eq!(Screen::parse("│ fix the │\n│ parser! │").letters(), "fixtheparser");
    }

    proptest! {
        #[test]
        fn parsed_rows_contain_no_control_characters(text in "(\u{1b}|\\[|[0-9;:m]|[a-z─ \n\t]|\\PC|.){0,80}") {
            for row in Screen::parse(&text).rows() {
                prop_assert!(!row.text().contains(char::is_control));
                prop_assert_eq!(row.text().chars().count(), row.styles.len());
            }
        }
    }
}
