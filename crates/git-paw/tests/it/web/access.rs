//! Who may use the page.

use std::fs;
use std::io::ErrorKind;

use paw_testkit::{Terminal, wait_until};
use serde_json::json;

use super::client::Client;
use super::{WebWorld, qr_code};
use crate::identity::Session;
use crate::paw::PROGRAM;

#[test]
fn code_logs_in_once_and_foreign_pages_are_refused() {
    let world = WebWorld::started("");
    let link = world.link(&[]);
    let (url, code) = (link["link"].as_str().unwrap(), link["code"].as_str().unwrap());
    assert_eq!(link["scope"], "act");
    let stranger = Client::of_link(url);
    let own = ("Host", stranger.address.as_str());
    let page = stranger.send("GET /", &[own], "").unwrap();
    assert_eq!(page.status, 200, "{page:?}");
    for header in [
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
        "x-frame-options: deny",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(page.head.contains(header), "{header}: {}", page.head);
    }
    assert!(!page.head.contains("set-cookie") && !page.head.contains("access-control"), "{}", page.head);

    // A request of another page never reaches the login, so the code stays valid.
    let origin = format!("http://{}", stranger.address);
    let other_port = format!("http://127.0.0.1:{}", 1);
    let body = json!({"code": code}).to_string();
    let is_json = ("Content-Type", "application/json");
    for headers in [
        vec![own, is_json],
        vec![own, is_json, ("Origin", "https://evil.example")],
        vec![own, is_json, ("Origin", "null")],
        vec![own, is_json, ("Origin", &other_port)],
        vec![("Host", "evil.example:80"), is_json, ("Origin", &origin)],
        vec![is_json, ("Origin", &origin)],
        vec![own, is_json, ("Origin", &origin), ("Sec-Fetch-Site", "same-site")],
    ] {
        let answer = stranger.send("POST /api/login", &headers, &body).unwrap();
        assert_eq!(answer.status, 403, "{headers:?}: {answer:?}");
    }
    let form = ("Content-Type", "text/plain");
    let answer = stranger.send("POST /api/login", &[own, form, ("Origin", &origin)], &body).unwrap();
    assert_eq!(answer.status, 415, "{answer:?}");
    for name in ["evil.example", "127.0.0.1.evil.example", "127.0.0.1"] {
        let rebound = format!("{name}:{}", stranger.address.rsplit(':').next().unwrap());
        let host = if name == "127.0.0.1" { name } else { rebound.as_str() };
        let answer = stranger.send("GET /", &[("Host", host)], "").unwrap();
        assert_eq!(answer.status, 403, "{host}: {answer:?}");
    }

    let browser = stranger.log_in(code);
    let again = stranger.post("login", &json!({"code": code}));
    assert_eq!(again.status, 401, "a stolen link is worth nothing: {again:?}");
    assert_eq!(browser.state()["whole"], true);
    for path in ["events", "messages", "timeline", "merge", "agents/feat-x/prompt", "agents/feat-x/diff"] {
        assert_eq!(stranger.get(path).status, 401, "{path}");
        let wrong = Client { token: Some("paw_0".to_owned()), ..stranger.clone() };
        assert_eq!(wrong.get(path).status, 401, "{path}");
    }
    assert_eq!(browser.get("nothing").status, 404);
    assert_eq!(browser.post("logout", &json!({})).status, 204);
    assert_eq!(browser.get("messages").status, 401);
    for file in ["web.json", "web-logins.json"] {
        let path = world.repo.root.join(".git/paw").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(browser.token.as_ref().unwrap().as_str()), "{file} holds a token");
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o077, 0, "{file}");
    }
}

#[test]
fn view_scope_only_looks_and_revoke_ends_every_login() {
    let world = WebWorld::started("");
    let viewer = world.log_in(&["--view-only"]);
    let actor = world.log_in(&[]);
    assert_eq!(viewer.state()["whole"], true);
    assert_eq!(viewer.get("agents/feat-x/diff").status, 200);
    // A page that was closed leaves its place to others at once.
    for round in 0..100 {
        let state = viewer.state();
        assert_eq!(state["whole"], true, "{round}: {state}");
    }
    for (path, body) in [
        ("agents/feat-x/approve", json!({"text": "x"})),
        ("agents/feat-x/deny", json!({"text": "x"})),
        ("agents/feat-x/tell", json!({"text": "x"})),
        ("agents/feat-x/comments", json!({"path": "a", "line": 1, "quote": "", "text": "x"})),
        ("agents/feat-x/verify", json!({})),
        ("agents/feat-x/take", json!({})),
        ("merge", json!({})),
        ("answer", json!({"question": 1, "text": "x"})),
    ] {
        let answer = viewer.post(path, &body);
        assert_eq!((answer.status, answer.json()["error"].as_str()), (403, Some("this login is view-only")));
    }
    // The session's process is killed and restarted: address and logins stay.
    world.kill_process();
    let ran = world.paw(&["inbox", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    wait_until("the page is back", || {
        let headers = actor.headers();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        actor.send("GET /api/messages", &headers, "").ok().filter(|answer| answer.status == 200)
    });
    assert_eq!(viewer.post("merge", &json!({})).status, 403, "the scope stays, too");
    // A page that may only be looked at limits logins that could act.
    let config = "[broker]\nenabled = true\nport = 0\n[web]\nport = 0\nview_only = true\n";
    world.sandbox.write("home/.config/git-paw/config.toml", config);
    assert_eq!(world.link(&[])["scope"], "view");
    assert_eq!(actor.post("merge", &json!({})).status, 403);

    let ran = world.paw(&["web", "--revoke"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ended 2 logins; the page is closed\n"), "{ran}");
    let closed = actor.send("GET /", &[("Host", &actor.address)], "").unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::ConnectionRefused);
    let fresh = Client::of_link(world.link(&[])["link"].as_str().unwrap());
    let old = Client { token: actor.token.clone(), ..fresh };
    assert_eq!(old.get("messages").status, 401, "closed logins stay closed");
}

#[test]
fn agents_get_no_link_and_other_machines_no_unencrypted_page() {
    let session = Session::with_config("[broker]\nenabled = true\nport = 0\n[web]\nport = 0\n");
    wait_until("the broker is running", || session.endpoint());
    let pane = session.pane("feat-a");
    let ran = session.run_in(&pane, "$PAW web --json");
    assert!(ran.code == 1 && ran.stdout.contains("an agent cannot open the page"), "{ran}");
    let token = session.run_in(&pane, "echo $GIT_PAW_BROKER_TOKEN").stdout.trim().to_owned();
    let url = session.endpoint().unwrap()["url"].as_str().unwrap().to_owned();
    let broker = Client { token: Some(token), ..Client::of_link(&url) };
    let body = r#"{"page":{"open":{"scope":"act","bind":null}}}"#;
    let bearer = format!("Bearer {}", broker.token.as_ref().unwrap());
    let headers =
        [("Host", broker.address.as_str()), ("Authorization", &bearer), ("Content-Type", "application/json")];
    let answer = broker.send("POST /run", &headers, body).unwrap();
    assert!(answer.body.contains("only the user may open the page"), "{answer:?}");
    assert!(!answer.body.contains("http://"), "no link: {answer:?}");

    let ran = session.world.paw(&["web", "--bind", "0.0.0.0"]);
    assert!(ran.code == 1 && ran.stderr.contains("without your own certificate"), "{ran}");
    assert!(ran.stderr.contains("ssh -L") && ran.stderr.contains("tailscale serve"), "{ran}");
    // A repository cannot open the page to others.
    session
        .world
        .repo
        .write(".git-paw/config.toml", "[web]\nbind = \"0.0.0.0\"\nhosts = [\"evil.example\"]\n");
    let ran = session.world.paw(&["web", "--json"]);
    assert!(ran.code == 0 && ran.stdout.contains("http://127.0.0.1:"), "{ran}");
    assert!(!ran.stdout.contains("evil.example"), "{ran}");
}

#[test]
fn web_prints_a_qr_code_for_phones_and_opens_the_browser_without_showing_the_code() {
    let world = WebWorld::started("enabled = true\nhosts = [\"box.example\"]\n");
    let served = world.repo.root.join(".git/paw/web.json");
    wait_until("the page is served in every session", || served.exists().then_some(()));
    let opened = world.sandbox.root().join("opened");
    let program = format!("#!/bin/sh\nprintf '%s' \"$1\" >'{}'\n", opened.display());
    world.sandbox.install_program("xdg-open", &program);
    let terminal = Terminal::run(&world.sandbox, &world.repo.root, PROGRAM, &["web", "--open"]);
    terminal.wait_for("logs in one browser; valid once, for ten minutes");
    let shown = terminal.shown();
    assert_eq!(terminal.finish(), 0);
    let remote = shown.lines().find(|line| line.starts_with("https://box.example/#")).unwrap();
    assert_eq!(qr_code::decode(&shown), remote.trim_end(), "a phone's camera reads the link");
    let file = fs::read_to_string(&opened).unwrap();
    let page = fs::read_to_string(&file).unwrap();
    let link = page.split("url=").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let (base, code) = link.split_once('#').unwrap();
    assert!(!file.contains(code), "arguments are visible to everyone: {file}");
    Client::of_link(base).log_in(code);
    // The name of a proxy on this machine is allowed, and needs its own origin.
    let browser = Client::of_link(base);
    let named = |origin| [("Host", "box.example"), ("Origin", origin), ("Content-Type", "application/json")];
    let answer = browser.send("POST /api/login", &named("https://box.example"), "{\"code\":\"\"}").unwrap();
    assert_eq!(answer.status, 401);
    let answer = browser.send("POST /api/login", &named("http://box.example"), "{\"code\":\"\"}").unwrap();
    assert_eq!(answer.status, 403);
}

#[test]
fn web_explains_what_is_missing() {
    let session = Session::with_config("[broker]\nenabled = false\n");
    let ran = session.world.paw(&["web"]);
    assert!(ran.code == 1 && ran.stderr.contains("the page needs a broker"), "{ran}");
    assert!(ran.stderr.contains("[broker] enabled = true"), "{ran}");
}
