use proptest::prelude::*;

use super::*;

fn strip(bytes: impl AsRef<[u8]>) -> String {
    strip_keeping(KeptEscapes::None, bytes)
}

fn strip_keeping(keep: KeptEscapes, bytes: impl AsRef<[u8]>) -> String {
    let mut out = String::new();
    let mut strip = EscapeStripper::new(keep);
    strip.push(bytes.as_ref(), &mut out);
    strip.finish(&mut out);
    out
}

#[test]
fn stripper_removes_every_kind_of_escape_sequence() {
    for (sequence, kind) in [
        ("\x1b[1;31m", "colour"),
        ("\x1b[38:2::1:2:3m", "colour with colons"),
        ("\x1b[?25l", "private mode"),
        ("\x1b[>4;2m", "a private sequence that ends like a colour"),
        ("\x1b[!p", "intermediate bytes"),
        ("\x1b[6n", "a question"),
        ("\x1b]0;title\x07", "title, ended by a bell"),
        ("\x1b]8;;http://x\x1b\\", "link"),
        ("\x1b]52;c;c2VjcmV0\x07", "clipboard"),
        ("\x1bP1$r0m\x1b\\", "device control string"),
        ("\x1b_Ga=T;AAAA\x1b\\", "application command"),
        ("\x1bXstart of string\x1b\\", "start of string"),
        ("\x1b^privacy\x1b\\", "privacy message"),
        ("\x1bktitle\x1b\\", "the window title of screen"),
        ("\x1bPtmux;\x1b\x1b]52;c;x\x07\x1b\\", "passed through tmux"),
        ("\x1b(B", "character set"),
        ("\x1b#8", "alignment"),
        ("\x1b=", "keypad"),
        ("\x1b7", "save"),
        ("\u{9b}31m", "eight-bit control sequence"),
        ("\u{9d}0;title\u{9c}", "eight-bit title"),
        ("\u{90}q#0\u{9c}", "eight-bit device control string"),
        ("\u{9f}x\u{9c}", "eight-bit application command"),
        ("\x07\x00\x0e\x0f\x7f\u{8d}", "control characters"),
    ] {
        assert_eq!(strip(format!("a{sequence}b")), "ab", "{kind}");
    }
}

#[test]
fn stripper_removes_hidden_characters() {
    assert_eq!(strip("a\u{202e}b\u{200b}c"), "abc");
    assert_eq!(strip("\u{1f469}\u{200d}\u{1f467}"), "\u{1f469}\u{1f467}");
}

#[test]
fn stripper_keeps_plain_text() {
    let text = "ünï 日本 e\u{301} 👩👧 \u{a0}\n\n  indented\nlast without an end";
    assert_eq!(strip(text), text);
    let long = format!("{}\n", "x".repeat(100_000));
    assert_eq!(strip(&long), long);
}

#[test]
fn stripper_applies_overwriting_and_erasing() {
    assert_eq!(strip("10%\r20%\r100%\n"), "100%\n");
    assert_eq!(strip("progress 99%\rdone\x1b[K\n"), "done\n");
    assert_eq!(strip("lont\x08g\n"), "long\n");
    assert_eq!(strip("word\x08 \x08\n"), "wor \n");
    assert_eq!(strip("one\r\ntwo\r\n"), "one\ntwo\n");
    assert_eq!(strip("abcdef\x1b[4D\x1b[2P!\n"), "ab!f\n");
    assert_eq!(strip("ac\x1b[D\x1b[@b\n"), "abc\n");
    assert_eq!(strip("abc\x1b[3D\x1b[2Xd\n"), "d c\n");
    assert_eq!(strip("secret\x1b[2K\rnew\n"), "new\n");
}

#[test]
fn stripper_keeps_words_separated_by_cursor_movement_separate() {
    assert_eq!(strip("Do\x1b[1Cyou\x1b[1Cwant\n"), "Do you want\n");
    assert_eq!(strip("name\x1b[10Gvalue\n"), "name     value\n");
    assert_eq!(strip("a\tb\n"), "a       b\n");
    assert_eq!(strip("top\x1b[5;3Hbelow"), "top\n  below");
    assert_eq!(strip("one\x1b[Atwo"), "one\n   two");
    assert_eq!(strip("x\x1b[3b\n"), "xxxx\n");
    assert_eq!(strip("\x1b[2J\x1b[H\x1b[5;1H"), "");
}

#[test]
fn stripper_counts_two_columns_for_wide_letters() {
    assert_eq!(strip("日本\x1b[5Gx\n"), "日本x\n");
    assert_eq!(strip("日本\r\x1b[Cx\n"), " x本\n");
    assert_eq!(strip("日本\rab\n"), "ab本\n");
    assert_eq!(strip("日\x1b[D\x1b[K\n"), "\n");
}

#[test]
fn stripper_keeps_the_text_after_an_interrupted_sequence() {
    assert_eq!(strip("a\x1b[12\x18b"), "ab");
    assert_eq!(strip("a\x1b[1\nqb"), "a\nb");
    assert_eq!(strip("a\x1b[1;日b"), "a日b");
    assert_eq!(strip("a\x1b\x1b[1mb"), "ab");
    assert_eq!(strip("a\x1b]0;title\x1b[31mb"), "ab");
    let endless = format!("a\x1b]0;{}visible\n", "x".repeat(LONGEST_STRING + 1));
    assert!(strip(endless).ends_with("visible\n"));
    assert_eq!(strip("a\x1b]0;never ended"), "a");
}

#[test]
fn stripper_replaces_invalid_utf8() {
    assert_eq!(strip(b"a\xffb\xe6\x97"), "a\u{fffd}b\u{fffd}");
    assert_eq!(strip(b"a\x9b31mb"), "a\u{fffd}31mb");
}

#[test]
fn stripper_can_keep_colours_only() {
    let text = "\x1b]0;t\x07\x1b[1mbold\x1b[31mred\x1b[0m plain\x1b[?25l\n\x1b[32mgreen\nstill\n";
    assert_eq!(
        strip_keeping(KeptEscapes::Colour, text),
        "\x1b[0m\x1b[1mbold\x1b[0m\x1b[1;31mred\x1b[0m plain\n\
         \x1b[0m\x1b[32mgreen\x1b[0m\n\x1b[0m\x1b[32mstill\x1b[0m\n"
    );
}

#[test]
fn stripper_limits_memory_for_an_endless_line() {
    let mut out = String::new();
    let mut strip = EscapeStripper::new(KeptEscapes::None);
    for _ in 0..1000 {
        strip.push(&[b'x'; 1000], &mut out);
        strip.push(b"\x1b[9999999999C\x1b[999C\x1b[999@\r", &mut out);
        strip.push("\u{301}".repeat(100).as_bytes(), &mut out);
    }
    assert!(out.len() < 10_000, "{}", out.len());
}

/// Text, parts of escape sequences, and random bytes.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[a-z 日é\u{301}]{0,12}".prop_map(String::into_bytes),
        "\x1b[\\[\\]PX^_k(]".prop_map(String::into_bytes),
        "\x1b\\[[0-9;:?<> !]{0,6}[@-~]".prop_map(String::into_bytes),
        "[\u{80}-\u{9f}\r\n\t\u{8}\u{7}\u{18}\u{1b}\\\\]{1,3}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn stripped_text_contains_no_control_characters(bytes in stream()) {
        let text = strip(&bytes);
        prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }

    #[test]
    fn stripped_text_with_colours_contains_only_colour_sequences(bytes in stream()) {
        let text = strip_keeping(KeptEscapes::Colour, &bytes);
        for sequence in text.split('\x1b').skip(1) {
            let parameters = sequence.strip_prefix('[').and_then(|rest| rest.split_once('m'));
            let good = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
            prop_assert!(parameters.is_some_and(|(text, _)| good(text)), "{text:?}");
        }
        prop_assert!(text.chars().all(|c| c == '\n' || c == '\x1b' || !c.is_control()), "{text:?}");
        prop_assert_eq!(strip(&text), strip(&bytes));
    }

    #[test]
    fn stripped_text_does_not_depend_on_chunk_boundaries(bytes in stream(), cuts in prop::collection::vec(0..200_usize, 0..6)) {
        let mut out = String::new();
        let mut strip_pieces = EscapeStripper::new(KeptEscapes::None);
        let mut rest = bytes.as_slice();
        for cut in cuts {
            let (piece, more) = rest.split_at(cut.min(rest.len()));
            strip_pieces.push(piece, &mut out);
            rest = more;
        }
        strip_pieces.push(rest, &mut out);
        strip_pieces.finish(&mut out);
        prop_assert_eq!(out, strip(&bytes));
    }

    #[test]
    fn stripping_twice_changes_nothing(bytes in stream()) {
        let once = strip(&bytes);
        prop_assert_eq!(strip(&once), once.clone());
    }
}
