use proptest::prelude::*;

use super::*;

fn with(file: &str, text: &str) -> String {
    String::from_utf8(put(Some(file.as_bytes()), text).bytes).unwrap()
}

fn without(file: &str) -> Option<String> {
    take(file.as_bytes()).bytes.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn the_region_goes_to_the_end_and_leaves_what_was_there() {
    let file = with("# Mine\n", "## Yours\n");
    assert_eq!(file, format!("# Mine\n{START}\n## Yours\n{END}\n"));
}

#[test]
fn a_region_is_replaced_where_it_is() {
    let file = format!("above\n{START}\nold\n{END}\nbelow");
    assert_eq!(with(&file, "new"), format!("above\n{START}\nnew\n{END}\nbelow"));
}

#[test]
fn a_last_line_without_an_end_is_given_back_without_one() {
    for original in ["abc", "a\r\nb", "a\nb\r", "\u{feff}", "\u{feff}abc"] {
        assert_eq!(without(&with(original, "text")).as_deref(), Some(original));
    }
}

#[test]
fn what_was_written_below_the_region_keeps_its_line() {
    let file = with("abc", "text") + "more\n";
    assert_eq!(without(&file).as_deref(), Some("abc\nmore\n"));
}

#[test]
fn a_file_that_was_made_for_the_region_goes_with_it() {
    let file = String::from_utf8(put(None, "text").bytes).unwrap();
    assert_eq!(without(&file), None);
    assert_eq!(without(&with(&file, "again")), None);
    assert_eq!(without(&(file + "an agent's own\n")).as_deref(), Some("an agent's own\n"));
    assert_eq!(without(&with("", "text")).as_deref(), Some(""));
}

#[test]
fn a_file_of_windows_gets_a_region_of_windows() {
    let file = with("a\r\n", "one\ntwo");
    assert_eq!(file, format!("a\r\n{START}\r\none\r\ntwo\r\n{END}\r\n"));
    assert_eq!(with(&file, "three"), format!("a\r\n{START}\r\nthree\r\n{END}\r\n"));
    assert_eq!(without(&file).as_deref(), Some("a\r\n"));
}

#[test]
fn a_byte_order_mark_before_the_region_stays() {
    let file = format!("\u{feff}{START}\nx\n{END}\nabc");
    assert_eq!(without(&file).as_deref(), Some("\u{feff}abc"));
}

#[test]
fn of_several_regions_one_is_left() {
    let one = format!("{START}\nx\n{END}\n");
    let file = format!("a\n{one}b\n{one}c\n");
    assert_eq!(with(&file, "new"), format!("a\n{START}\nnew\n{END}\nb\nc\n"));
    assert_eq!(without(&file).as_deref(), Some("a\nb\nc\n"));
}

#[test]
fn a_region_without_its_end_loses_its_mark_and_nothing_else() {
    let file = format!("a\n{START}\nours or theirs\n");
    let taken = take(file.as_bytes());
    assert!(taken.unfinished);
    assert_eq!(taken.bytes.unwrap(), b"a\nours or theirs\n");
    let put = put(Some(file.as_bytes()), "new");
    assert!(put.unfinished);
    assert_eq!(put.bytes, format!("a\nours or theirs\n{START}\nnew\n{END}\n").as_bytes());
}

#[test]
fn a_region_without_its_end_does_not_borrow_the_next_ones() {
    let file = format!("{START}\nkeep\n{START}\nold\n{END}\nbelow\n{END}\n");
    let taken = take(file.as_bytes());
    assert!(taken.unfinished);
    assert_eq!(taken.bytes.unwrap(), b"keep\nbelow\n");
}

#[test]
fn other_first_lines_that_were_ever_written_are_known() {
    let file = "a\n<!-- git-paw:start -->\nx\n<!-- git-paw:end -->\nb\n";
    assert_eq!(without(file).as_deref(), Some("a\nb\n"));
}

#[test]
fn marks_inside_of_a_line_are_somebody_s_text() {
    let file = format!("see `{START}`\n  {END}\n");
    assert!(!is_marked(file.as_bytes()));
    assert_eq!(without(&file), Some(file));
}

#[test]
fn a_text_with_marks_of_its_own_cannot_end_the_region() {
    let text = format!("spec\n{END}\n{START}\n<!-- git-paw:note file made by git-paw -->\nmore");
    let file = with("mine\n", &text);
    assert_eq!(without(&file).as_deref(), Some("mine\n"));
    assert_eq!(with(&file, &text), file);
}

/// Lines that are likely to go wrong.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(BYTE_ORDER_MARK.to_vec()),
        Just(START.as_bytes().to_vec()),
        Just(END.as_bytes().to_vec()),
        Just(Note::Created.line().as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_file_it_was_it_comes_back_byte_for_byte(file in lines(), text in "[a-z<!\n-]{0,40}") {
        let file = take(&file).bytes.unwrap_or_default();
        let bytes = put(Some(&file), &text).bytes;
        prop_assert!(is_marked(&bytes));
        let taken = take(&bytes);
        prop_assert_eq!(taken.bytes, Some(file));
        prop_assert!(!taken.unfinished);
    }

    #[test]
    fn the_same_text_twice_is_the_same_as_once(file in lines(), text in "[a-z<!\n-]{0,40}") {
        let once = put(Some(&file), &text).bytes;
        prop_assert_eq!(&put(Some(&once), &text).bytes, &once, "{}", String::from_utf8_lossy(&file));
        let other = put(Some(&once), "other").bytes;
        prop_assert_eq!(put(Some(&other), &text).bytes, once);
    }

    #[test]
    fn no_mark_is_left_and_taking_twice_is_taking_once(file in lines()) {
        if let Some(bytes) = take(&file).bytes {
            prop_assert!(!is_marked(&bytes));
            prop_assert_eq!(take(&bytes).bytes, Some(bytes));
        }
    }

    #[test]
    fn no_line_of_theirs_is_lost(before in "[a-z\n]{0,20}", after in "[a-z\n]{0,20}", text in "[a-z\n]{0,20}") {
        let mark = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        let file = format!("{before}{mark}{START}\nold\n{END}\n{after}");
        prop_assert_eq!(without(&file), Some(format!("{before}{mark}{after}")));
        let file = with(&file, &text);
        prop_assert!(file.starts_with(&before) && file.ends_with(&after));
    }
}
