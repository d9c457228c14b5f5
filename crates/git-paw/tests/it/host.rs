//! `git paw host`, against a real ssh server.

use std::fs;

use serde_json::json;

use crate::machine::Machine;
use crate::paw::document;

#[test]
fn a_machine_is_added_when_it_is_ready_and_the_program_is_copied_on_request() {
    let Some(machine) = Machine::start() else { return };
    let missing = machine.host(&["add", "big", "big"]);
    assert_eq!(missing.code, 1, "{missing}");
    assert!(missing.stderr.contains("big is not ready: git-paw is not installed"), "{missing}");
    assert!(missing.stderr.contains("--install"), "{missing}");
    assert!(document(&machine.host(&["list", "--json"]))["hosts"].as_array().unwrap().is_empty());
    let added = machine.host(&["add", "big", "big", "--install"]);
    assert!(added.code == 0 && added.stdout.contains("added 'big' (big) to"), "{added}");
    let copy = machine.there().join(".local/bin/git-paw");
    assert_eq!(fs::metadata(&copy).unwrap().len(), fs::metadata(machine.program()).unwrap().len());
    assert_eq!(fs::read_dir(copy.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
    let listed = document(&machine.host(&["list", "--json"]));
    assert_eq!(listed["hosts"], json!([{"name": "big", "ssh": "big"}]));
    let checked = document(&machine.host(&["doctor", "--json"]));
    assert_eq!(
        (&checked["ok"], &checked["hosts"][0]["facts"]["user"]),
        (&json!(true), &json!("root")),
        "{checked}"
    );
    let removed = machine.host(&["remove", "big"]);
    assert_eq!(removed.code, 0, "{removed}");
    let again = machine.host(&["remove", "big"]);
    assert!(again.code == 1 && again.stderr.contains("no host 'big' in your configuration"), "{again}");
}

#[test]
fn doctor_names_what_is_wrong_with_a_machine() {
    let Some(mut machine) = Machine::start() else { return };
    machine.sandbox.write("home/.config/git-paw/config.toml", "# mine\n[hosts.big]\nssh = \"big\"\n");
    assert!(machine.sandbox.user_config().exists());
    let problem = |machine: &Machine| {
        let ran = machine.host(&["doctor", "big", "--json"]);
        let found = document(&ran);
        assert_eq!((ran.code, &found["ok"]), (1, &json!(false)), "{ran}");
        found["hosts"][0]["problems"][0]["message"].as_str().unwrap().to_owned()
    };
    machine.install("git-paw", "git-paw 0.0.1");
    assert!(problem(&machine).starts_with("git-paw is 0.0.1 there and "), "{}", problem(&machine));
    machine.install("git-paw", &format!("git-paw {}", env!("CARGO_PKG_VERSION")));
    machine.install("tmux", "tmux 2.8");
    assert_eq!(problem(&machine), "tmux 2.8 is too old; 3.2 or newer is needed");
    machine.install("tmux", "tmux 3.4");
    machine.install("date", "1000000000");
    let skewed = machine.host(&["doctor"]);
    assert!(skewed.code == 0 && skewed.stdout.contains("its clock is off by -"), "only a warning: {skewed}");

    machine.write_client_config("no-such-user");
    assert_eq!(problem(&machine), "big refuses this user or key");
    machine.write_client_config("root");
    fs::write(machine.key("known"), "").unwrap();
    assert_eq!(problem(&machine), "the host key of big is not known");
    let other = fs::read_to_string(machine.key("user.pub")).unwrap();
    fs::write(machine.key("known"), format!("[127.0.0.1]:{} {other}", machine.port)).unwrap();
    assert_eq!(problem(&machine), "the host key of big has changed");
    machine.know_server();
    machine.stop();
    assert!(problem(&machine).starts_with("cannot reach big: "), "{}", problem(&machine));

    let unknown = machine.host(&["doctor", "gpu"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("no host 'gpu'"), "{unknown}");
    for bad in ["-oProxyCommand=touch x", "a;b", "$(touch x)"] {
        let refused = machine.host(&["add", "big", "--", bad]);
        assert_eq!(refused.code, 2, "{refused}");
    }
}
