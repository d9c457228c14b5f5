//! `git paw add-cli`

use std::fs;

use paw_testkit::Sandbox;

use crate::paw::{document, paw};

fn config(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.user_config()).unwrap()
}

#[test]
fn add_cli_with_absolute_path() {
    let sandbox = Sandbox::new();
    let program = sandbox.install_program("my-agent", "#!/bin/sh\n");
    let ran = paw(&sandbox, &sandbox.root(), &["add-cli", "mine", program.to_str().unwrap()]);
    insta::assert_snapshot!(ran, @"
    exit 0
    --- stdout
    added 'mine' ([SANDBOX]/bin/my-agent) to [SANDBOX]/home/.config/git-paw/config.toml
    ");
    let listed = paw(&sandbox, &sandbox.root(), &["list-clis", "--json"]);
    assert_eq!(document(&listed)["clis"][0]["name"], "mine");
}

#[test]
fn add_cli_with_display_name() {
    let sandbox = Sandbox::new();
    sandbox.install_program("my-agent", "#!/bin/sh\n");
    paw(&sandbox, &sandbox.root(), &["add-cli", "mine", "my-agent", "--display-name", "My \"Agent\""]);
    let listed = paw(&sandbox, &sandbox.root(), &["list-clis", "--json"]);
    assert_eq!(document(&listed)["clis"][0]["display_name"], "My \"Agent\"");
}

#[test]
fn adding_cli_with_missing_command_fails() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(paw(&sandbox, &sandbox.root(), &["add-cli", "mine", "no-such-agent"]), @"
    exit 1
    --- stderr
    error: command 'no-such-agent' not found on PATH
    hint: install it, or give its absolute path
    ");
    assert!(!sandbox.user_config().exists());
}

#[test]
fn multiple_clis_preserved_across_adds() {
    let sandbox = Sandbox::new();
    sandbox.install_program("agent", "#!/bin/sh\n");
    for name in ["one", "two", "three", "four"] {
        assert_eq!(paw(&sandbox, &sandbox.root(), &["add-cli", name, "agent"]).code, 0);
    }
    let listed = document(&paw(&sandbox, &sandbox.root(), &["list-clis", "--json"]));
    let names: Vec<_> =
        listed["clis"].as_array().unwrap().iter().map(|cli| cli["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["four", "one", "three", "two"]);
}

#[test]
fn adds_at_the_same_time_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.install_program("agent", "#!/bin/sh\n");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (sandbox, name) = (&sandbox, format!("agent-{number}"));
            scope.spawn(move || {
                assert_eq!(paw(sandbox, &sandbox.root(), &["add-cli", &name, "agent"]).code, 0);
            });
        }
    });
    let listed = document(&paw(&sandbox, &sandbox.root(), &["list-clis", "--json"]));
    assert_eq!(listed["clis"].as_array().unwrap().len(), 8);
}

#[test]
fn comments_order_and_unknown_keys_survive_an_add() {
    let sandbox = Sandbox::new();
    sandbox.install_program("agent", "#!/bin/sh\n");
    let before = "# mine\r\nfuture_key = 1 # from a newer version\r\n\r\n[broker] # loud\r\nport = 9200\r\n";
    sandbox.write("home/.config/git-paw/config.toml", before);
    let ran = paw(&sandbox, &sandbox.root(), &["add-cli", "mine", "agent"]);
    assert_eq!(ran.code, 0, "{ran}");
    let after = config(&sandbox);
    assert!(after.starts_with(before), "{after:?}");
    assert!(after.contains("[clis.mine]"), "{after:?}");
}

#[test]
fn adding_overwrites_existing_entry() {
    let sandbox = Sandbox::new();
    sandbox.install_program("one", "#!/bin/sh\n");
    sandbox.install_program("two", "#!/bin/sh\n");
    for program in ["one", "two"] {
        paw(&sandbox, &sandbox.root(), &["add-cli", "mine", program]);
    }
    let listed = document(&paw(&sandbox, &sandbox.root(), &["list-clis", "--json"]));
    assert_eq!(listed["clis"].as_array().unwrap().len(), 1);
    assert!(listed["clis"][0]["path"].as_str().unwrap().ends_with("/two"));
}

#[test]
fn names_nobody_could_type_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.install_program("agent", "#!/bin/sh\n");
    for name in ["", "a b", "a/b", "a\nb"] {
        let ran = paw(&sandbox, &sandbox.root(), &["add-cli", name, "agent"]);
        assert_eq!(ran.code, 1, "{name:?} {ran}");
    }
    let ran = paw(&sandbox, &sandbox.root(), &["add-cli", "a.b\"c", "agent"]);
    assert_eq!(ran.code, 0, "{ran}");
    let listed = document(&paw(&sandbox, &sandbox.root(), &["list-clis", "--json"]));
    assert_eq!(listed["clis"][0]["name"], "a.b\"c");
}

#[test]
fn a_relative_path_is_stored_as_an_absolute_one_and_may_not_exist_yet() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["add-cli", "mine", "./later/agent"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("is not an executable file"), "{ran}");
    assert!(
        config(&sandbox).contains(&format!("{}/./later/agent", sandbox.root().display())),
        "{}",
        config(&sandbox)
    );
}
