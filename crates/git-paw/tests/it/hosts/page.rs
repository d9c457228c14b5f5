//! The page of the hub, for an agent on another machine.

use std::fs;
use std::net::TcpStream;

use paw_testkit::{AgentLook, FakeAgent, wait_until};
use serde_json::{Value, json};

use super::{CLI, TwoMachines, audit};
use crate::paw::document;
use crate::web::browser::{Browser, Hand};
use crate::web::client::Client;
use crate::web::terminal::Shown;

/// A session whose agent `feat/b` on the machine waits for an approval.
struct RemotePage {
    world: TwoMachines,
    agent: FakeAgent,
}

impl RemotePage {
    fn start(prompt: &str) -> Option<Self> {
        let world = TwoMachines::new()?;
        let (sandbox, machine) = (&world.machine.sandbox, &world.machine);
        let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
        fs::copy(&agent.program, machine.bin().join("claude")).unwrap();
        sandbox.install_program("claude", CLI);
        fs::write(machine.there().join(".tmux.conf"), "set -g default-command sh\n").unwrap();
        let config = "[hosts.big]\nssh = \"big\"\n[web]\nport = 0\n";
        sandbox.write("home/.config/git-paw/config.toml", config);
        world.start_alone();
        world.run(&["add", "feat/b@big", "--prompt", prompt]);
        world.wait_until_reachable(true);
        Some(Self { world, agent })
    }

    fn link(&self) -> Value {
        document(&self.world.run(&["web", "--json"]))
    }

    fn log_in(&self) -> Client {
        let link = self.link();
        Client::of_link(link["link"].as_str().unwrap()).log_in(link["code"].as_str().unwrap())
    }

    fn wait_for_event(&self, event: &str) {
        wait_until(event, || self.agent.events().iter().any(|found| found == event).then_some(()));
    }

    /// The border of the agent's pane, as people at the other machine see it.
    fn border(&self) -> String {
        let machine = &self.world.machine;
        let panes = machine.tmux(&["list-panes", "-a", "-F", "#{@paw_agent} #{pane_id}"]).stdout;
        let pane = panes.lines().find_map(|line| line.strip_prefix("feat-b ")).unwrap().to_owned();
        machine.tmux(&["display-message", "-p", "-t", &pane, "#{T:pane-border-format}"]).stdout
    }

    fn wait_for_border(&self, is_taken: bool) {
        wait_until(&format!("the border shows that it is taken: {is_taken}"), || {
            (self.border().contains("typed into from a browser") == is_taken).then_some(())
        });
    }
}

fn approval(state: &Value) -> Option<Value> {
    let needs = state["needs"].as_array()?.iter();
    needs.clone().find(|need| need["agent_id"] == "feat-b" && need["kind"] == "approval").cloned()
}

#[test]
fn the_page_answers_prompts_of_an_agent_on_another_machine_and_comments_on_its_changes() {
    let Some(mut page) = RemotePage::start("[[bash:make deploy ; bash:make clean]]") else { return };
    let browser = page.log_in();
    page.wait_for_event("asked make deploy");
    browser.wait_for("the approval", approval);
    let prompt = wait_until("the prompt can be read", || {
        let answer = browser.get("agents/feat-b/prompt");
        (answer.status == 200).then(|| answer.json())
    });
    assert_eq!(
        (&prompt["text"], &prompt["cli"], &prompt["allowed"]),
        (&json!("make deploy"), &json!("claude"), &json!(false)),
        "{prompt}"
    );
    let other = browser.post("agents/feat-b/approve", &json!({"text": "make"}));
    assert!(other.status == 409 && other.body.contains("the prompt of feat-b has changed"), "{other:?}");
    let approved = browser.post("agents/feat-b/approve", &json!({"text": "make deploy"}));
    assert_eq!(approved.status, 200, "{approved:?}");
    page.wait_for_event("allowed make deploy");
    page.wait_for_event("asked make clean");
    let denial = json!({"text": "make clean", "tell": "keep the files"});
    wait_until("it is denied", || (browser.post("agents/feat-b/deny", &denial).status == 200).then_some(()));
    page.wait_for_event("denied make clean");
    let clone = page.world.clone();
    wait_until("it is told what to do instead", || audit(&clone).contains("keep the files").then_some(()));

    // Its changes are read there.
    fs::write(page.world.worktree().join("a <b>.txt"), "one\n").unwrap();
    let diff = browser.get("agents/feat-b/diff").json();
    assert_eq!(
        (&diff["files"][0]["path"], &diff["committed"]),
        (&json!("a <b>.txt"), &json!(false)),
        "{diff}"
    );
    let patch = || browser.get("agents/feat-b/diff?file=a+%3Cb%3E.txt");
    assert!(patch().json()["patch"].as_str().unwrap().contains("\n+one\n"), "{:?}", patch());
    assert_eq!(browser.get("agents/feat-b/diff?file=none").status, 404);
    let comment = json!({"path": "a <b>.txt", "line": 1, "quote": "one", "text": "call it two"});
    let sent = browser.post("agents/feat-b/comments", &comment);
    assert_eq!(sent.status, 200, "{sent:?}");
    let text = "comment on a <b>.txt:1 (`one`): call it two";
    wait_until("the agent gets it", || {
        let is_typed = page.agent.prompts().iter().any(|prompt| prompt.contains(text));
        (is_typed || audit(&clone).contains(text)).then_some(())
    });

    // Without the machine, its last snapshot is shown, and comments wait.
    wait_until("the snapshot arrives", || {
        let shown = page.world.machine.sandbox.run(
            &page.world.repo.root,
            "git",
            ["show", "refs/paw/snapshots/big/feat-b:a <b>.txt"],
        );
        (shown.stdout == "one\n").then_some(())
    });
    page.world.machine.stop();
    page.world.machine.end_connections();
    page.world.wait_until_reachable(false);
    let diff = browser.get("agents/feat-b/diff").json();
    assert_eq!((&diff["snapshot"]["host"], &diff["files"][0]["path"]), (&json!("big"), &json!("a <b>.txt")));
    assert!(patch().json()["patch"].as_str().unwrap().contains("\n+one\n"), "{:?}", patch());
    let comment = json!({"path": "a <b>.txt", "line": 1, "quote": "one", "text": "or three"});
    let sent = browser.post("agents/feat-b/comments", &comment);
    assert_eq!((sent.status, &sent.json()["way"]), (200, &json!("inbox")), "{sent:?}");
    let prompt = browser.get("agents/feat-b/prompt");
    assert!(prompt.status == 409 && prompt.body.contains("big"), "{prompt:?}");
    page.world.machine.run();
    wait_until("the comment arrives", || audit(&clone).contains("or three").then_some(()));
}

#[test]
fn the_page_shows_the_terminal_of_an_agent_on_another_machine_and_types_into_it_after_take_over() {
    let Some(mut page) = RemotePage::start("hello") else { return };
    let browser = page.log_in();
    let mut shown = Shown::open(&browser, "feat-b");
    shown.wait_for("? for shortcuts");
    shown.type_keys("unheard");
    let holder = browser.post("agents/feat-b/take", &json!({})).json();
    assert_eq!(holder["login"], browser.login);
    page.wait_for_border(true);
    shown.type_keys("héard");
    shown.wait_for("héard");
    let text = browser.get("agents/feat-b/text").json();
    let text = text["text"].as_str().unwrap();
    assert!(text.contains("héard") && !text.contains("unheard"), "{text}");
    assert_eq!(browser.post("agents/feat-b/release", &json!({})).status, 204);
    page.wait_for_border(false);
    shown.type_keys("late");

    // A page that is gone holds nothing.
    browser.post("agents/feat-b/take", &json!({}));
    page.wait_for_border(true);
    drop(shown);
    page.wait_for_border(false);
    let text = browser.get("agents/feat-b/text").json();
    assert!(!text["text"].as_str().unwrap().contains("late"), "{text}");
    let clients = || page.world.machine.tmux(&["list-clients", "-F", "#{client_control_mode}"]).stdout;
    wait_until("no connection is left there", || (!clients().contains('1')).then_some(()));

    // Nor does one whose server was killed.
    let shown = Shown::open(&browser, "feat-b");
    browser.post("agents/feat-b/take", &json!({}));
    page.wait_for_border(true);
    page.world.kill(page.world.process_here());
    page.wait_for_border(false);
    drop(shown);
    page.world.run(&["start"]);
    page.world.wait_until_reachable(true);
    wait_until("the page is back", || TcpStream::connect(&browser.address).ok());

    // In a browser, the page says why it has to wait, and continues by itself.
    let chromium = Browser::start(&page.world.machine.sandbox, Hand::Pointer);
    if let Some(chromium) = &chromium {
        chromium.show_as(1440, 900, "light");
        chromium.open(page.link()["link"].as_str().unwrap());
        chromium.wait_for("@big");
        chromium.script("location.hash = '#/agent/feat-b/terminal'", &[]);
        chromium.wait_for("You are watching.");
        chromium.wait_for("héard");
    }
    page.world.machine.stop();
    page.world.machine.end_connections();
    page.world.wait_until_reachable(false);
    let mut lost = Shown::open(&browser, "feat-b");
    wait_until("the terminal says why", || {
        lost.read();
        lost.told
            .iter()
            .any(|told| told["lost"].as_str().is_some_and(|why| why.contains("big")))
            .then_some(())
    });
    if let Some(chromium) = &chromium {
        chromium.wait_for("big is unreachable since");
        chromium.script("location.hash = '#/agent/feat-b/diff'", &[]);
        chromium.wait_for("This is the snapshot of");
    }
    page.world.machine.run();
    page.world.wait_until_reachable(true);
    Shown::open(&browser, "feat-b").wait_for("? for shortcuts");
    if let Some(chromium) = &chromium {
        chromium.script("location.hash = '#/agent/feat-b/terminal'", &[]);
        chromium.wait_for("You are watching.");
    }
}
