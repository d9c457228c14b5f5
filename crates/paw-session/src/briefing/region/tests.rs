use proptest::prelude::*;

use super::*;

fn with(file: &str, text: &str) -> String {
    String::from_utf8(insert(Some(file.as_bytes()), text).bytes).unwrap()
}

fn without(file: &str) -> Option<String> {
    remove(file.as_bytes()).bytes.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn region_is_appended_to_the_existing_text() {
    let file = with("# Mine\n", "## Yours\n");
    assert_eq!(file, format!("# Mine\n{START}\n## Yours\n{END}\n"));
}

#[test]
fn region_is_replaced_in_place() {
    let file = format!("above\n{START}\nold\n{END}\nbelow");
    assert_eq!(with(&file, "new"), format!("above\n{START}\nnew\n{END}\nbelow"));
}

#[test]
fn removing_a_region_restores_a_last_line_without_a_line_break() {
    for original in ["abc", "a\r\nb", "a\nb\r", "\u{feff}", "\u{feff}abc"] {
        assert_eq!(without(&with(original, "text")).as_deref(), Some(original));
    }
}

#[test]
fn removing_a_region_keeps_the_line_break_before_text_added_below_it() {
    let file = with("abc", "text") + "more\n";
    assert_eq!(without(&file).as_deref(), Some("abc\nmore\n"));
}

#[test]
fn removing_a_region_deletes_a_file_that_contains_nothing_else() {
    let file = String::from_utf8(insert(None, "text").bytes).unwrap();
    assert_eq!(without(&file), None);
    assert_eq!(without(&with(&file, "again")), None);
    assert_eq!(without(&(file + "an agent's own\n")).as_deref(), Some("an agent's own\n"));
    assert_eq!(without(&with("", "text")).as_deref(), Some(""));
}

#[test]
fn region_uses_crlf_in_a_crlf_file() {
    let file = with("a\r\n", "one\ntwo");
    assert_eq!(file, format!("a\r\n{START}\r\none\r\ntwo\r\n{END}\r\n"));
    assert_eq!(with(&file, "three"), format!("a\r\n{START}\r\nthree\r\n{END}\r\n"));
    assert_eq!(without(&file).as_deref(), Some("a\r\n"));
}

#[test]
fn removing_a_region_keeps_a_byte_order_mark_before_it() {
    let file = format!("\u{feff}{START}\nx\n{END}\nabc");
    assert_eq!(without(&file).as_deref(), Some("\u{feff}abc"));
}

#[test]
fn inserting_a_region_removes_duplicate_regions() {
    let one = format!("{START}\nx\n{END}\n");
    let file = format!("a\n{one}b\n{one}c\n");
    assert_eq!(with(&file, "new"), format!("a\n{START}\nnew\n{END}\nb\nc\n"));
    assert_eq!(without(&file).as_deref(), Some("a\nb\nc\n"));
}

#[test]
fn region_without_an_end_mark_loses_only_its_start_mark() {
    let file = format!("a\n{START}\nours or theirs\n");
    let removed = remove(file.as_bytes());
    assert!(removed.unfinished);
    assert_eq!(removed.bytes.unwrap(), b"a\nours or theirs\n");
    let put = insert(Some(file.as_bytes()), "new");
    assert!(put.unfinished);
    assert_eq!(put.bytes, format!("a\nours or theirs\n{START}\nnew\n{END}\n").as_bytes());
}

#[test]
fn region_without_an_end_mark_does_not_extend_to_the_next_end_mark() {
    let file = format!("{START}\nkeep\n{START}\nold\n{END}\nbelow\n{END}\n");
    let removed = remove(file.as_bytes());
    assert!(removed.unfinished);
    assert_eq!(removed.bytes.unwrap(), b"keep\nbelow\n");
}

#[test]
fn regions_with_the_first_line_of_older_versions_are_recognized() {
    let file = "a\n<!-- git-paw:start -->\nx\n<!-- git-paw:end -->\nb\n";
    assert_eq!(without(file).as_deref(), Some("a\nb\n"));
}

#[test]
fn marks_in_the_middle_of_a_line_are_ordinary_text() {
    let file = format!("see `{START}`\n  {END}\n");
    assert!(!is_marked(file.as_bytes()));
    assert_eq!(without(&file), Some(file));
}

#[test]
fn marks_inside_the_inserted_text_do_not_end_the_region() {
    let text = format!("spec\n{END}\n{START}\n<!-- git-paw:note file made by git-paw -->\nmore");
    let file = with("mine\n", &text);
    assert_eq!(without(&file).as_deref(), Some("mine\n"));
    assert_eq!(with(&file, &text), file);
}

/// Files with marks, odd line breaks and byte order marks.
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
    fn removing_an_inserted_region_restores_the_file_byte_for_byte(file in lines(), text in "[a-z<!\n-]{0,40}") {
        let file = remove(&file).bytes.unwrap_or_default();
        let bytes = insert(Some(&file), &text).bytes;
        prop_assert!(is_marked(&bytes));
        let removed = remove(&bytes);
        prop_assert_eq!(removed.bytes, Some(file));
        prop_assert!(!removed.unfinished);
    }

    #[test]
    fn inserting_the_same_region_twice_changes_nothing(file in lines(), text in "[a-z<!\n-]{0,40}") {
        let once = insert(Some(&file), &text).bytes;
        prop_assert_eq!(&insert(Some(&once), &text).bytes, &once, "{}", String::from_utf8_lossy(&file));
        let other = insert(Some(&once), "other").bytes;
        prop_assert_eq!(insert(Some(&other), &text).bytes, once);
    }

    #[test]
    fn removing_regions_leaves_no_mark_and_is_idempotent(file in lines()) {
        if let Some(bytes) = remove(&file).bytes {
            prop_assert!(!is_marked(&bytes));
            prop_assert_eq!(remove(&bytes).bytes, Some(bytes));
        }
    }

    #[test]
    fn inserting_and_removing_a_region_never_loses_a_users_line(before in "[a-z\n]{0,20}", after in "[a-z\n]{0,20}", text in "[a-z\n]{0,20}") {
        let mark = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        let file = format!("{before}{mark}{START}\nold\n{END}\n{after}");
        prop_assert_eq!(without(&file), Some(format!("{before}{mark}{after}")));
        let file = with(&file, &text);
        prop_assert!(file.starts_with(&before) && file.ends_with(&after));
    }
}
