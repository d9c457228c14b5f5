use proptest::prelude::*;

use super::*;
use crate::config::{Layer, PawConfig, parse, resolve};

fn entry(command: &str) -> CliEntry {
    CliEntry { command: command.to_owned(), display_name: None }
}

fn named(command: &str, display_name: &str) -> CliEntry {
    CliEntry { command: command.to_owned(), display_name: Some(display_name.to_owned()) }
}

fn set(text: &str, name: &str, entry: &CliEntry) -> String {
    set_cli(text, "config.toml", name, entry).unwrap()
}

fn remove(text: &str, name: &str) -> String {
    remove_cli(text, "config.toml", name).unwrap().expect("the entry exists")
}

fn load(text: &str) -> PawConfig {
    resolve(Layer::default(), parse(text, "config.toml").unwrap(), |_| false).unwrap()
}

#[test]
fn add_cli_with_absolute_path() {
    assert_eq!(set("", "my-agent", &entry("/opt/agent")), "[clis.my-agent]\ncommand = \"/opt/agent\"\n");
}

#[test]
fn add_cli_with_display_name() {
    let text = set("mouse = true", "my-agent", &named("/opt/agent", "My Agent"));
    assert_eq!(
        text,
        "mouse = true\n\n[clis.my-agent]\ncommand = \"/opt/agent\"\ndisplay_name = \"My Agent\"\n"
    );
    assert_eq!(load(&text).clis["my-agent"].display_name.as_deref(), Some("My Agent"));
}

#[test]
fn adding_preserves_existing_entries() {
    let one = "# mine\n[clis.a] # first\ncommand = \"/a\" # here\n\n# the broker\n[broker]\nport = 1\n";
    let two = set(one, "b", &entry("/b"));
    assert_eq!(two, one.replace("# here\n", "# here\n\n[clis.b]\ncommand = \"/b\"\n"));
}

#[test]
fn multiple_clis_preserved_across_adds() {
    let text = (0..4)
        .fold(String::new(), |text, n| set(&text, &format!("agent-{n}"), &named(&format!("/{n}"), "X")));
    let clis = load(&text).clis;
    assert_eq!(clis.len(), 4);
    assert!((0..4).all(|n| clis[&format!("agent-{n}")].command == format!("/{n}")));
}

#[test]
fn adding_overwrites_existing_entry() {
    let old = "[clis.my-agent] # ours\ncommand = \"/old\"  # where it was\ndisplay_name = 'Old' # name\n\
               approval_args = { auto = \"-y\" }\nfuture = 1\n";
    let new = old.replace("\"/old\"", "\"/new\"").replace("'Old'", "\"New\"");
    assert_eq!(set(old, "my-agent", &named("/new", "New")), new);
}

#[test]
fn overwriting_an_entry_removes_a_display_name_that_is_not_given() {
    let old = "[clis.a]\ncommand = \"/old\"\ndisplay_name = \"Old\" # gone\nfuture = 1 # stays\n";
    assert_eq!(set(old, "a", &entry("/new")), "[clis.a]\ncommand = \"/new\"\nfuture = 1 # stays\n");
}

#[test]
fn overwriting_an_entry_adds_keys_in_its_style() {
    let indented = "[clis.a]\n  command = \"/old\"  # c\n  future = 1\n[broker]\n";
    let expected = "[clis.a]\n  command = \"/new\"  # c\n  display_name = \"N\"\n  future = 1\n[broker]\n";
    assert_eq!(set(indented, "a", &named("/new", "N")), expected);
    let without = "[clis.a] # h\n\n[broker]\n";
    assert_eq!(set(without, "a", &entry("/n")), "[clis.a] # h\ncommand = \"/n\"\n\n[broker]\n");
}

#[test]
fn inline_tables_stay_inline() {
    let text = "clis = { a = { command = \"/a\" }, b = {command=\"/b\"} } # all of them\nmouse = true\n";
    assert_eq!(set(text, "a", &named("/x", "A")), text.replace("\"/a\" }", "\"/x\", display_name = \"A\" }"));
    assert_eq!(set(text, "c", &entry("/c")), text.replace("} }", "}, c = { command = \"/c\" } }"));
    assert_eq!(remove(text, "a"), "clis = { b = {command=\"/b\"} } # all of them\nmouse = true\n");
    assert_eq!(remove(text, "b"), "clis = { a = { command = \"/a\" } } # all of them\nmouse = true\n");
    assert_eq!(remove("clis = { a = { command = \"/a\" } }", "a"), "clis = {}");
    assert_eq!(set("clis = {}\n", "a", &entry("/a")), "clis = { a = { command = \"/a\" } }\n");
    let named_before = "clis.a = { display_name = \"A\", command = \"/a\" }\n";
    assert_eq!(set(named_before, "a", &entry("/b")), "clis.a = { command = \"/b\" }\n");
}

#[test]
fn inline_entries_below_a_header_stay_inline() {
    let text = "[clis]\n# one\na = { command = \"/a\" } # first\nb = { command = \"/b\" }\n\n[broker]\n";
    assert_eq!(set(text, "a", &entry("/x")), text.replace("\"/a\"", "\"/x\""));
    assert_eq!(
        set(text, "c", &entry("/c")),
        text.replace("/b\" }\n", "/b\" }\n\n[clis.c]\ncommand = \"/c\"\n")
    );
    assert_eq!(remove(text, "a"), text.replace("a = { command = \"/a\" } # first\n", ""));
}

#[test]
fn dotted_keys_stay_dotted() {
    let text =
        "clis.a.command = \"/a\" # a\nmouse = true\nclis . b . command = \"/b\"\ndefault_cli = \"a\"\n";
    assert_eq!(set(text, "a", &entry("/x")), text.replace("\"/a\"", "\"/x\""));
    assert_eq!(
        set(text, "a", &named("/a", "A")),
        text.replace("# a\n", "# a\nclis.a.display_name = \"A\"\n")
    );
    assert_eq!(set(text, "c", &entry("/c")), text.replace("\"/b\"\n", "\"/b\"\nclis.c.command = \"/c\"\n"));
    assert_eq!(remove(text, "a"), text.replace("clis.a.command = \"/a\" # a\n", ""));
    assert_eq!(remove(text, "b"), text.replace("clis . b . command = \"/b\"\n", ""));

    let below_header = "[clis]\na.command = \"/a\"\na.approval_args.auto = \"-y\"\nb.command = \"/b\"\n";
    assert_eq!(remove(below_header, "a"), "[clis]\nb.command = \"/b\"\n");
    assert_eq!(
        set(below_header, "a", &named("/a", "A")),
        below_header.replace("/a\"\n", "/a\"\na.display_name = \"A\"\n")
    );

    let in_braces = "clis = { a.command = \"/a\", a.future = 1, b.command = \"/b\" }\n";
    assert_eq!(remove(in_braces, "a"), "clis = { b.command = \"/b\" }\n");
    assert_eq!(remove(in_braces, "b"), "clis = { a.command = \"/a\", a.future = 1 }\n");
    let with_name =
        "clis = { a.command = \"/a\", a.future = 1, b.command = \"/b\", a.display_name = \"A\" }\n";
    assert_eq!(set(in_braces, "a", &named("/a", "A")), with_name);
    assert_eq!(set(with_name, "a", &entry("/a")), in_braces);
}

#[test]
fn an_entry_is_inserted_above_its_lone_sub_table() {
    let text = "[broker]\n\n[clis.a.approval_args]\nauto = \"-y\"\n";
    let expected = "[broker]\n\n[clis.a]\ncommand = \"/a\"\n\n[clis.a.approval_args]\nauto = \"-y\"\n";
    assert_eq!(set(text, "a", &entry("/a")), expected);
}

#[test]
fn edits_quote_names_where_necessary() {
    for name in ["my agent", "", "a.b", "quo\"te", "it's", "näme", "new\nline", "]"] {
        let text = set("[broker]\n", name, &named("/x", name));
        assert_eq!(load(&text).clis[name].display_name.as_deref(), Some(name));
        assert_eq!(remove(&text, name), "[broker]\n");
        let inline = set("clis = {}\n", name, &entry("/x"));
        assert_eq!(load(&inline).clis[name].command, "/x");
        assert_eq!(remove(&inline, name), "clis = {}\n");
    }
}

#[test]
fn edits_keep_windows_line_endings() {
    let text = "# hi\r\nmouse = true\r\n\r\n[clis.a]\r\ncommand = \"/a\" # c\r\n\r\n[broker]\r\nport = 1\r\n";
    let added = set(text, "b", &named("/b", "B"));
    assert_eq!(
        added,
        text.replace("# c\r\n", "# c\r\n\r\n[clis.b]\r\ncommand = \"/b\"\r\ndisplay_name = \"B\"\r\n")
    );
    assert_eq!(remove(&added, "b"), text);
    assert_eq!(set(text, "a", &entry("/x")), text.replace("/a", "/x"));
    assert_eq!(remove(text, "a"), "# hi\r\nmouse = true\r\n\r\n[broker]\r\nport = 1\r\n");
}

#[test]
fn remove_existing_cli() {
    let text = "[clis.keep-me]\ncommand = \"/k\"\n\n[clis.remove-me]\ncommand = \"/r\"\n";
    assert_eq!(remove(text, "remove-me"), "[clis.keep-me]\ncommand = \"/k\"\n");
    assert_eq!(remove(text, "keep-me"), "[clis.remove-me]\ncommand = \"/r\"\n");
}

#[test]
fn remove_nonexistent_cli_returns_error() {
    assert_eq!(remove_cli("[clis.a]\ncommand = \"/a\"\n", "f", "b").unwrap(), None);
    assert_eq!(remove_cli("mouse = true\n", "f", "b").unwrap(), None);
}

#[test]
fn remove_cli_from_empty_config_returns_error() {
    assert_eq!(remove_cli("", "f", "a").unwrap(), None);
}

#[test]
fn remove_all_clis_leaves_empty_config() {
    let text = remove("[clis.a]\ncommand = \"/a\"\n", "a");
    assert_eq!(text, "");
    assert!(load(&text).clis.is_empty());
}

#[test]
fn removing_an_entry_keeps_the_comments_of_others() {
    let text = "# top\n\n# about a\n[clis.a]\n# inside\ncommand = \"/a\" # c\n# about b\n\n[clis.b]\ncommand = \"/b\"\n\
                [clis.a.approval_args]\nauto = \"-y\"\n# end\n";
    assert_eq!(remove(text, "a"), "# top\n\n# about a\n# about b\n\n[clis.b]\ncommand = \"/b\"\n# end\n");
}

#[test]
fn an_entry_that_is_not_a_table_is_an_error() {
    for text in
        ["clis = 3", "clis.a = 3", "clis = { a = 3 }", "[[clis]]\na = 1", "[[clis.a]]\ncommand = \"x\""]
    {
        let error = set_cli(text, "f", "a", &entry("/a")).unwrap_err();
        assert!(matches!(error, ConfigError::Value { line: 1, .. }), "{text}: {error}");
    }
    insta::assert_snapshot!(set_cli("clis.a = 3", "config.toml", "a", &entry("/a")).unwrap_err(), @r"
    config.toml:1:10: clis.a: expected a table
      1 | clis.a = 3
        |          ^
    ");
}

#[test]
fn editing_malformed_text_is_an_error() {
    assert!(matches!(set_cli("[clis", "f", "a", &entry("/a")), Err(ConfigError::Syntax { .. })));
    assert!(matches!(remove_cli("[clis", "f", "a"), Err(ConfigError::Syntax { .. })));
}

#[test]
fn an_edit_that_would_change_other_keys_is_rejected() {
    let commas_in_comments = "clis = { a.command = \"/a\" # x, y\n, b.command = \"/b\" }\n";
    let error = remove_cli(commas_in_comments, "config.toml", "a").unwrap_err();
    insta::assert_snapshot!(error, @"config.toml: cannot change clis.a without changing the keys around it");
}

/// A file of random pieces, with entries `a` and `b` in one of the styles.
fn some_file() -> impl Strategy<Value = String> {
    let filler = prop::sample::select(vec!["", "# a comment\n", "\n", "   # indented\n\n", "#[clis.a]\n"]);
    let root = prop::sample::select(vec![
        "",
        "mouse = true # m\n",
        "list = [\n  1, # one\n]\n",
        "text = '''\n[clis.a]\n'''\n",
    ]);
    let clis = prop::sample::select(vec![
        "",
        "[clis.a]\ncommand = \"/a\" # c\nfuture = nan\n",
        "[clis]\na = { command = \"/a\", x = 1 } # c\n",
        "[clis]\na.command = \"/a\"\na.display_name = \"A\"\nb.command = \"/b\"\n",
        "[clis.b]\ncommand = \"/b\"\n\n[clis.a]\n  command = '/a'\n  display_name = \"\"\"\nA\"\"\" # n\n\n[clis.a.approval_args]\nauto = \"y\"\n",
        "[clis.a] # h\n[clis.b] # h\n",
    ]);
    let tail = prop::sample::select(vec!["", "[broker] # b\nport = 1\n", "[unknown.table]\nx = { y = 1 }\n"]);
    let inline = prop::sample::select(vec![
        "",
        "clis = { a = { command = \"/a\" }, b = {} }\n",
        "clis.a.command = \"/a\"\nclis.b = { command = \"/b\" }\n",
    ]);
    (
        filler.clone(),
        root,
        filler.clone(),
        clis,
        filler.clone(),
        tail,
        (inline, filler, any::<bool>(), any::<bool>()),
    )
        .prop_map(|(f1, root, f2, clis, f3, tail, (inline, f4, crlf, newline_at_end))| {
            let clis = if inline.is_empty() { clis } else { "" };
            let text = [f1, inline, root, f2, clis, f3, tail, f4].concat();
            let text = if newline_at_end { text } else { text.trim_end_matches('\n').to_owned() };
            if crlf { text.replace('\n', "\r\n") } else { text }
        })
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &str, b: &str) -> usize {
    a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count()
}

fn some_entry() -> impl Strategy<Value = CliEntry> {
    (any::<String>(), prop::option::of("[a-zA-Z \"']{0,6}"))
        .prop_map(|(command, display_name)| CliEntry { command, display_name })
}

proptest! {
    #[test]
    fn a_new_entry_is_one_insertion(text in some_file(), name in "[c-z]{1,3}|[ .\"'é]{1,3}", entry in some_entry()) {
        let changed = set(&text, &name, &entry);
        prop_assert!(common_prefix(&text, &changed) + common_suffix(&text, &changed) >= text.len());
        let cli = &Source::new(&changed, "f").values().unwrap()["clis"][&name];
        prop_assert_eq!(cli["command"].as_str(), Some(entry.command.as_str()));
        prop_assert_eq!(cli.get("display_name").and_then(Plain::as_str), entry.display_name.as_deref());
        let removed = remove(&changed, &name);
        let full_lines = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(full_lines(&removed), full_lines(&text));
    }

    #[test]
    fn a_new_command_is_one_replacement(text in some_file(), command in "[a-z/]{1,8}") {
        let before = Source::new(&text, "f").values().unwrap();
        let old = before.get("clis").and_then(|clis| clis.get("a")).filter(|cli| cli.get("command").is_some());
        if let Some(old) = old {
            let display_name = old.get("display_name").and_then(Plain::as_str).map(str::to_owned);
            // The edit writes the same display name again, so compare without it.
            prop_assume!(display_name.is_none());
            let changed = set(&text, "a", &CliEntry { command, display_name });
            prop_assert!(common_prefix(&text, &changed) + common_suffix(&text, &changed) + "\"/a\"".len() >= text.len());
        }
    }

    #[test]
    fn removing_keeps_every_other_line(text in some_file()) {
        if let Some(changed) = remove_cli(&text, "f", "a").unwrap() {
            let mut old = text.lines();
            for line in changed.lines().filter(|line| !line.contains("clis = ")) {
                prop_assert!(old.any(|old| old == line), "{line:?} is new in {changed:?}");
            }
            prop_assert!(remove_cli(&changed, "f", "a").unwrap().is_none());
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "([\\[\\]{}=\"'.,#\\n\\r ab1]|clis|clis\\.a|command ?= ?\"x\"){0,30}") {
        let _ = set_cli(&text, "f", "a", &named("/x", "X"));
        let _ = remove_cli(&text, "f", "a");
    }
}

#[test]
fn a_host_is_added_changed_and_removed_without_touching_the_rest_of_the_file() {
    let big = HostName::new("big").unwrap();
    let before = "# mine\ndefault_cli = \"claude\" # usually\n\n[clis.big]\ncommand = \"/x\"\n";
    let added = set_host(before, "f", &big, "me@big").unwrap();
    assert_eq!(added, format!("{before}\n[hosts.big]\nssh = \"me@big\"\n"));
    let changed = set_host(&added, "f", &big, "ssh://me@big:2222").unwrap();
    assert_eq!(changed, format!("{before}\n[hosts.big]\nssh = \"ssh://me@big:2222\"\n"));
    assert_eq!(remove_host(&changed, "f", &big).unwrap().as_deref(), Some(before));
    assert_eq!(remove_host(before, "f", &big).unwrap(), None);
}
