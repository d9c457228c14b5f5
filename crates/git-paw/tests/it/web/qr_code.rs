//! The QR code of a link, as a phone's camera sees it on a terminal.

use rqrr::PreparedImage;

/// White on black.
const COLOURS: &str = "\u{1b}[97;40m";
/// Pixels per module.
const SCALE: usize = 4;

/// The rows of the picture: whether each module is light.
fn rows(shown: &str) -> Vec<Vec<bool>> {
    let lines = shown.lines().filter_map(|line| line.split(COLOURS).nth(1)?.split('\u{1b}').next());
    let halves = |line: &str, lights: [char; 2]| line.chars().map(|c| lights.contains(&c)).collect();
    lines.flat_map(|line| [halves(line, ['█', '▀']), halves(line, ['█', '▄'])]).collect()
}

/// Reads the code that a terminal shows.
pub(crate) fn decode(shown: &str) -> String {
    let rows = rows(shown);
    let (width, height) = (rows[0].len(), rows.len());
    assert!(width <= 80, "it fits a terminal: {width}");
    let grey = |x: usize, y: usize| if rows[y / SCALE][x / SCALE] { 255 } else { 0 };
    let mut image = PreparedImage::prepare_from_greyscale(width * SCALE, height * SCALE, grey);
    let found = image.detect_grids();
    assert_eq!(found.len(), 1, "{shown}");
    found[0].decode().unwrap().1
}
