use super::*;

const PLAIN: Page = Page { width: 40, colour: false };

#[test]
fn a_chapter_reads_as_plain_text() {
    let markdown = "# A title\n\n<!-- run:\nhidden\n-->\nSome *words* with `code` and a [link](x.md), long enough to be\nset again.\n\n\
                    - one item that is long enough to be broken\n- two\n\n1. first\n\n## Below\n\n```console\n$ git paw status\n```\n";
    let expected = "A title\n=======\n\nSome words with `code` and a link, long\nenough to be set again.\n\n\
                    - one item that is long enough to be\n  broken\n- two\n\n1. first\n\nBelow\n-----\n\n    $ git paw status\n";
    assert_eq!(render(markdown, PLAIN), expected);
}

#[test]
fn columns_of_a_table_fit_the_page() {
    let markdown =
        "| key | what |\n|---|---|\n| `a\\|b` | words that do not fit in the rest of the page at all |\n";
    let expected = "key    what\n`a|b`  words that do not fit in the rest\n       of the page at all\n";
    assert_eq!(render(markdown, PLAIN), expected);
}

#[test]
fn render_does_not_count_colour_codes_as_width() {
    let coloured = render("one two three `four` five six seven eig\n", Page { colour: true, ..PLAIN });
    assert_eq!(coloured, "one two three \x1b[1mfour\x1b[0m five six seven eig\n");
}

#[test]
fn links_that_leave_the_guide_show_where_to() {
    assert_eq!(render("see [there](https://example.com/x)\n", PLAIN), "see there (https://example.com/x)\n");
}

#[test]
fn render_keeps_unmatched_markup() {
    assert_eq!(render("a * b ` c [d] \\*e\n", PLAIN), "a * b ` c [d] *e\n");
}

mod any_text {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_word_is_lost_and_nothing_panics(text in "[a-z `*|#\\[\\]()\\\\\n-]{0,200}", width in 0_usize..200) {
            render(&text, Page { width, colour: true });
        }

        #[test]
        fn words_stay_in_their_order(words in prop::collection::vec("[a-z]{1,12}", 1..60)) {
            let text = words.join(" ");
            let shown = render(&text, PLAIN);
            prop_assert!(shown.lines().all(|line| line.len() <= 40));
            prop_assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), words);
        }
    }
}
