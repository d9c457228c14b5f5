use super::*;

/// Within every limit of the parser, but thousands of tables deep.
fn nested_tables(tail: &str) -> String {
    let dotted = format!("{}a", "a.".repeat(78));
    let mut value = "1".to_owned();
    for _ in 0..78 {
        value = format!("{{{dotted}={value}}}");
    }
    format!("{dotted}={value}{tail}")
}

fn message(text: &str) -> String {
    Source::new(text, "config.toml").spanned().map(|_| ()).unwrap_err().to_string()
}

#[test]
fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
    let brackets = format!("a={}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let dots = format!("{}a=1", "a.".repeat(100_000));
    let header = format!("[{}a]\nx=1", "a.".repeat(100_000));
    for text in [nested_tables(""), nested_tables("\nbroken ="), brackets, dots, header] {
        let error = message(&text);
        assert!(error.contains("nested too deeply") || error.contains("broken"), "{error}");
        assert!(Source::new(&text, "f").document().is_err());
        assert!(Source::new(&text, "f").values().is_err());
    }
}

#[test]
fn a_huge_file_is_read() {
    let text: String = (0..20_000)
        .flat_map(|n| ["[presets.p", &n.to_string(), "]\nbranches = []\n"].concat().into_bytes())
        .map(char::from)
        .collect();
    assert!(Source::new(&text, "f").spanned().is_ok());
}

#[test]
fn errors_mark_the_position_in_the_line() {
    insta::assert_snapshot!(message("a = 1\nmouse = yes\n"), @r"
    config.toml:2:9: not a value (text needs quotes; true, false and numbers do not)
      2 | mouse = yes
        |         ^^^
    ");
    insta::assert_snapshot!(message("[broker\nport = 1"), @r"
    config.toml:1:8: unclosed table, expected `]`
      1 | [broker
        |        ^
    ");
    insta::assert_snapshot!(message("x = 1\nx = 2"), @r"
    config.toml:2:1: duplicate key
      2 | x = 2
        | ^
    ");
}

#[test]
fn errors_cut_long_lines_around_the_position() {
    let long = format!("a = \"{}\" oops # {}", "x".repeat(500), "y".repeat(500));
    insta::assert_snapshot!(message(&long), @r#"
    config.toml:1:508: unexpected key or value, expected newline, `#`
      1 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" oops # yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
        |                                                 ^
    "#);
}

#[test]
fn errors_are_safe_for_a_terminal() {
    let error = message("a = \u{1b}[31m\u{202e}\t1");
    assert!(!error.contains('\u{1b}') && !error.contains('\u{202e}'), "{error:?}");
}

#[test]
fn lines_and_columns_count_from_one_and_skip_the_byte_order_mark() {
    let ConfigError::Syntax { line, column, .. } = Source::new("\u{feff}ä = ?", "f").syntax_error(8..9, "")
    else {
        panic!("expected a syntax error");
    };
    assert_eq!((line, column), (1, 5));
}
