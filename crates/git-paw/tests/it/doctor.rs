//! `git paw doctor`

use std::net::TcpListener;

use paw_testkit::Sandbox;
use serde_json::Value;

use crate::paw::{document, paw};

fn find<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks
        .iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("no check '{name}' in {report:#}"))
}

/// Configures a free port, so that other programs on this machine do not affect the result.
fn use_free_port(sandbox: &Sandbox, more: &str) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    sandbox.write("home/.config/git-paw/config.toml", &format!("{more}[broker]\nport = {port}\n"));
}

#[test]
fn doctor_finds_no_problems_on_a_complete_machine() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    sandbox.install_program("claude", "#!/bin/sh\n");
    use_free_port(&sandbox, "[sandbox]\nruns = \"off\"\n");
    let ran = paw(&sandbox, &repo.root, &["doctor"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.ends_with("no problems found\n"), "{ran}");
    assert_eq!(document(&paw(&sandbox, &repo.root, &["doctor", "--json"]))["status"], "ok");
}

#[test]
fn doctor_says_which_nats_server_sessions_on_several_machines_need() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let report = |config: &str| {
        use_free_port(&sandbox, config);
        document(&paw(&sandbox, &repo.root, &["doctor", "--json"]))
    };
    let is_mentioned = |report: &Value| {
        report["checks"].as_array().unwrap().iter().any(|check| check["name"] == "nats-server")
    };
    assert!(!is_mentioned(&report("")), "no other machine is configured");
    let host = "[hosts.big]\nssh = \"big\"\n";
    let missing = find(&report(host), "nats-server").clone();
    assert_eq!(missing["detail"], "nats-server is not installed", "{missing}");
    sandbox.install_program("nats-server", "#!/bin/sh\necho nats-server: v2.9.10\n");
    let old = find(&report(host), "nats-server").clone();
    assert_eq!(
        (old["status"].as_str(), old["detail"].as_str()),
        (Some("warn"), Some("nats-server: v2.9.10 is too old; 2.10 or newer is needed"))
    );
    assert!(old["remedy"].as_str().unwrap().contains("does not know 'sync_interval: always'"), "{old}");
    assert!(!is_mentioned(&report(&format!("{host}[cluster]\nservers = [\"nats://a:4222\"]\n"))));
    sandbox.install_program("nats-server", "#!/bin/sh\necho nats-server: v2.15.1\n");
    assert_eq!(find(&report(host), "nats-server")["status"], "ok");
}

#[test]
fn doctor_shows_the_sandbox_level_in_force_and_why_there_is_none() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let level = |setting: &str| {
        use_free_port(&sandbox, setting);
        let report = document(&paw(&sandbox, &repo.root, &["doctor", "--json"]));
        let check = find(&report, "sandbox").clone();
        (check["status"].as_str().unwrap().to_owned(), check["detail"].as_str().unwrap().to_owned())
    };
    let ok = |detail: &str| ("ok".to_owned(), detail.to_owned());
    if paw_host::sandbox::require_engine().is_ok() {
        assert_eq!(level(""), ok("guard, by bubblewrap"));
        assert_eq!(level("[sandbox]\nruns = \"guard\"\n"), ok("guard, by bubblewrap"));
    }
    assert_eq!(level("[sandbox]\nruns = \"off\"\n").0, "ok");
    sandbox.install_program(
        "bwrap",
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
    );
    let reason = "bubblewrap does not work here: No permissions to create new namespace";
    assert_eq!(level(""), ("warn".to_owned(), format!("off: {reason}")));
    let (status, detail) = level("[sandbox]\nruns = \"guard\"\n");
    assert_eq!((status.as_str(), detail.contains(reason)), ("fail", true), "{detail}");
}

#[test]
fn doctor_fails_without_tmux_and_suggests_a_remedy() {
    let sandbox = Sandbox::new();
    sandbox.uninstall_tool("tmux");
    let ran = paw(&sandbox, &sandbox.root(), &["doctor", "--json"]);
    let report = document(&ran);
    assert_eq!((ran.code, &report["status"]), (1, &Value::from("fail")));
    assert!(find(&report, "tmux")["remedy"].as_str().unwrap().contains("apt install tmux"));
}

#[test]
fn doctor_fails_with_an_old_tmux_or_git() {
    let sandbox = Sandbox::new();
    sandbox.install_program("tmux", "#!/bin/sh\necho tmux 2.6\n");
    sandbox.install_program("git", "#!/bin/sh\necho git version 2.30.2\n");
    let ran = paw(&sandbox, &sandbox.root(), &["doctor", "--json"]);
    let report = document(&ran);
    assert_eq!((ran.code, &find(&report, "tmux")["detail"]), (1, &Value::from("2.6, older than 3.2")));
    assert_eq!(find(&report, "git")["detail"], "2.30, older than 2.38");
}

#[test]
fn doctor_warns_about_unknown_keys_with_the_nearest_name() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    use_free_port(&sandbox, "");
    repo.write(".git-paw/config.toml", "[brokr]\nport = 1\n\n[supervisor]\ntest_comand = \"x\"\n");
    let ran = paw(&sandbox, &repo.root, &["doctor"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("broker") && ran.stdout.contains("test_command"), "{ran}");
}

#[test]
fn doctor_fails_on_a_malformed_config_and_runs_the_other_checks() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.config/git-paw/config.toml", "mouse = maybe\n");
    sandbox.install_program("claude", "#!/bin/sh\n");
    let ran = paw(&sandbox, &sandbox.root(), &["doctor", "--json"]);
    let report = document(&ran);
    assert_eq!((ran.code, &find(&report, "user")["status"]), (1, &Value::from("fail")));
    assert!(find(&report, "user")["detail"].as_str().unwrap().contains("config.toml:1:"));
    assert_eq!(find(&report, "claude")["status"], "ok");
}

#[test]
fn doctor_warns_about_a_port_in_use() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    sandbox.write("home/.config/git-paw/config.toml", &format!("[broker]\nport = {port}\n"));
    let report = document(&paw(&sandbox, &sandbox.root(), &["doctor", "--json"]));
    assert_eq!(find(&report, "broker port")["detail"], format!("127.0.0.1:{port} is in use"));
    assert_eq!(find(&report, "broker port")["status"], "warn");
}

#[test]
fn doctor_names_leftovers_with_a_remedy() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let receipt = |name: &str, repo: &str, status: &str| {
        let text = format!(
            r#"{{"session_name":"{name}","repo_path":"{repo}","status":"{status}",
                "project_name":"app","created_at":"2026-01-01T00:00:00Z"}}"#
        );
        sandbox.write(&format!("home/.local/share/git-paw/sessions/{name}.json"), &text);
    };
    let here = repo.root.to_str().unwrap();
    receipt("paw-gone", "/no/such/repository", "stopped");
    receipt("paw-dead", here, "active");
    receipt("paw-kept", here, "stopped");
    sandbox.write("home/.local/share/git-paw/sessions/paw-cut.json", "{\"session_name\":");
    let lost = sandbox.root().join("lost");
    repo.git(["worktree", "add", "--quiet", "-b", "x", lost.to_str().unwrap()]);
    std::fs::remove_dir_all(&lost).unwrap();

    let report = document(&paw(&sandbox, &repo.root, &["doctor", "--json"]));
    assert!(find(&report, "paw-gone")["detail"].as_str().unwrap().contains("/no/such/repository not found"));
    assert!(find(&report, "paw-dead")["detail"].as_str().unwrap().contains("tmux has no such session"));
    let remedy = find(&report, "paw-dead")["remedy"].as_str().unwrap().to_owned();
    assert!(
        remedy.contains("in [SANDBOX]/app, restore it with 'git paw start'") && !remedy.contains("rm "),
        "{remedy}"
    );
    assert!(find(&report, "paw-gone")["remedy"].as_str().unwrap().contains("rm [SANDBOX]"));
    assert!(find(&report, "paw-cut")["detail"].as_str().unwrap().contains("cannot be used"));
    assert!(find(&report, "paw-cut")["remedy"].as_str().unwrap().contains("git paw doctor --repair"));
    assert!(find(&report, "worktree")["detail"].as_str().unwrap().contains("[SANDBOX]/lost"));
    assert!(!report["checks"].as_array().unwrap().iter().any(|check| check["name"] == "paw-kept"));
    assert_eq!(report["status"], "fail");
}

#[test]
fn doctor_looks_for_a_session_on_its_own_tmux_socket() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let socket = format!("paw-doctor-{}", std::process::id());
    let text = format!(
        r#"{{"session_name":"paw-app","repo_path":"{}","status":"active","tmux_socket":"{socket}",
            "project_name":"app","created_at":"2026-01-01T00:00:00Z"}}"#,
        repo.root.display()
    );
    sandbox.write("home/.local/share/git-paw/sessions/paw-app.json", &text);
    let dead = document(&paw(&sandbox, &repo.root, &["doctor", "--json"]));
    assert_eq!(find(&dead, "paw-app")["status"], "warn");
    let started =
        sandbox.run(&repo.root, "tmux", ["-L", &socket, "new-session", "-d", "-s", "paw-app", "cat"]);
    assert_eq!(started.code, 0, "{started}");
    let alive = document(&paw(&sandbox, &repo.root, &["doctor", "--json"]));
    sandbox.run(&repo.root, "tmux", ["-L", &socket, "kill-server"]);
    assert!(!alive["checks"].as_array().unwrap().iter().any(|check| check["name"] == "paw-app"), "{alive}");
}

#[test]
fn doctor_reports_a_configured_cli_that_is_not_installed() {
    let sandbox = Sandbox::new();
    use_free_port(&sandbox, "default_cli = \"claude\"\n");
    let report = document(&paw(&sandbox, &sandbox.root(), &["doctor", "--json"]));
    assert_eq!(find(&report, "default_cli")["detail"], "CLI 'claude' not found");
}

#[test]
fn doctor_checks_gate_programs_specs_and_what_clis_can_do() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    for cli in ["claude", "cline"] {
        sandbox.install_program(cli, "#!/bin/sh\n");
    }
    use_free_port(
        &sandbox,
        "default_cli = \"cline\"\n[supervisor]\nagent_approval = \"full-auto\"\ncli = \"claude\"\n",
    );
    repo.write(".git-paw/config.toml", "[supervisor]\ntest_command = \"sh -n x && nosuchtool test\"\n");
    for name in ["add-auth", "fix-login"] {
        repo.write(&format!("openspec/changes/{name}/tasks.md"), "- [ ] 1.1 do it\n");
    }
    let report = document(&paw(&sandbox, &repo.root, &["doctor", "--json"]));
    let seen = |name: &str| {
        let check = find(&report, name);
        (check["status"].as_str().unwrap(), check["detail"].as_str().unwrap())
    };
    assert_eq!(seen("test_command"), ("warn", "sh -n x && nosuchtool test: nosuchtool not found"));
    assert_eq!(seen("specs"), ("ok", "2 specs pending (openspec in openspec/changes)"));
    let (status, detail) = seen("supervisor.agent_approval");
    assert_eq!(status, "warn");
    assert!(detail.contains("'cline' for the level full-auto"), "{detail}");
    let remedy = find(&report, "supervisor.agent_approval")["remedy"].as_str().unwrap();
    assert!(remedy.contains("[clis.cline]"), "{remedy}");
    assert!(!report.to_string().contains("supervisor.approval"), "claude has flags for it");
}

#[test]
fn doctor_offers_the_manual_page() {
    let sandbox = Sandbox::new();
    let report = document(&paw(&sandbox, &sandbox.root(), &["doctor", "--json"]));
    let page = find(&report, "manual page");
    assert_eq!(
        (&page["status"], page["remedy"].as_str().unwrap().contains("git paw man")),
        (&Value::from("ok"), true)
    );
    let ran =
        paw(&sandbox, &sandbox.root(), &["man", sandbox.root().join("share/man/man1").to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran}");
    let report = document(&paw(&sandbox, &sandbox.root(), &["doctor", "--json"]));
    assert_eq!(find(&report, "manual page")["detail"], "installed, for 'git paw --help'");
}
