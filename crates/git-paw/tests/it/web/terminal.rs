//! The live terminal of an agent.

use std::net::TcpStream;
use std::time::Duration;

use paw_testkit::wait_until;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, HandshakeError, Message, WebSocket, client};

use super::WebWorld;
use super::client::Client;

/// Opens the terminal of `feat/x`; fails with the status of the answer.
fn open(browser: &Client, ticket: &str, origin: Option<&str>) -> Result<WebSocket<TcpStream>, u16> {
    open_of(browser, "feat-x", ticket, origin)
}

fn open_of(
    browser: &Client,
    agent: &str,
    ticket: &str,
    origin: Option<&str>,
) -> Result<WebSocket<TcpStream>, u16> {
    let url = format!("ws://{}/api/terminal?agent={agent}&ticket={ticket}", browser.address);
    let mut request = url.into_client_request().unwrap();
    if let Some(origin) = origin {
        request.headers_mut().insert("Origin", HeaderValue::from_str(origin).unwrap());
    }
    let stream = TcpStream::connect(&browser.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    client(request, stream).map(|(socket, _)| socket).map_err(|error| match error {
        HandshakeError::Failure(Error::Http(answer)) => answer.status().as_u16(),
        other => panic!("{other}"),
    })
}

/// What a terminal has shown.
pub(crate) struct Shown {
    socket: WebSocket<TcpStream>,
    bytes: Vec<u8>,
    pub(crate) told: Vec<Value>,
    pongs: usize,
}

impl Shown {
    /// Opens the terminal of an agent, as the page does.
    pub(crate) fn open(browser: &Client, agent: &str) -> Self {
        let ticket = browser.post(&format!("agents/{agent}/ticket"), &json!({})).json();
        let origin = format!("http://{}", browser.address);
        let socket = open_of(browser, agent, ticket["ticket"].as_str().unwrap(), Some(&origin)).unwrap();
        Self { socket, bytes: Vec::new(), told: Vec::new(), pongs: 0 }
    }

    pub(crate) fn read(&mut self) {
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => self.bytes.extend_from_slice(&bytes),
            Ok(Message::Text(text)) => self.told.push(serde_json::from_str(&text).unwrap()),
            Ok(Message::Pong(_)) => self.pongs += 1,
            _ => {}
        }
    }

    pub(crate) fn wait_for(&mut self, text: &str) {
        wait_until(&format!("the terminal shows {text:?}"), || {
            self.read();
            String::from_utf8_lossy(&self.bytes).contains(text).then_some(())
        });
    }

    /// Types keys, and waits until the server has read them.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.socket.send(Message::Binary(keys.as_bytes().to_vec().into())).unwrap();
        self.socket.send(Message::Ping(Vec::new().into())).unwrap();
        let before = self.pongs;
        wait_until("the server has read the keys", || {
            self.read();
            (self.pongs > before).then_some(())
        });
    }
}

#[test]
fn terminal_without_input_is_released_on_every_page_and_in_its_border() {
    let world = WebWorld::started("terminal_timeout_seconds = 2\n");
    let (holder, other) = (world.log_in(&[]), world.log_in(&[]));
    let pane = world.pane("feat-x");
    wait_until("the agent is ready", || world.shows(&pane, "? for shortcuts").then_some(()));
    let mut shown = Shown::open(&holder, "feat-x");
    shown.wait_for("? for shortcuts");
    assert_eq!(holder.post("agents/feat-x/take", &json!({})).json()["login"], holder.login);
    let border = || world.tmux(&["display-message", "-p", "-t", &pane, "#{T:pane-border-format}"]);
    let is_marked = || border().contains("typed into from a browser");
    wait_until("it is marked while someone types", || {
        shown.type_keys("x");
        let held = &other.state()["terminals"]["feat-x"]["login"];
        (*held == holder.login && is_marked()).then_some(())
    });
    // No page releases it.
    let mut changes = other.follow();
    let is_released = |change: &Value| change["terminals"].as_object().is_some_and(serde_json::Map::is_empty);
    assert!(changes.any(|change| is_released(&change)), "an open page is told");
    wait_until("the mark is removed", || (!is_marked()).then_some(()));
    shown.type_keys("late");
    assert!(!world.shows(&pane, "late"));
    assert_eq!(other.post("agents/feat-x/take", &json!({})).json()["login"], other.login, "free for others");
}

#[test]
fn terminal_needs_a_ticket_and_takes_input_only_after_take_over() {
    let world = WebWorld::started("");
    let browser = world.log_in(&[]);
    wait_until("the agent got its first prompt", || (!world.agent.prompts().is_empty()).then_some(()));
    let pane = world.pane("feat-x");
    wait_until("the agent is ready", || world.shows(&pane, "? for shortcuts").then_some(()));
    let size = world.tmux(&["display-message", "-p", "-t", &pane, "#{pane_width} #{pane_height}"]);
    let origin = format!("http://{}", browser.address);
    let ticket = || {
        let answer = browser.post("agents/feat-x/ticket", &json!({})).json();
        answer["ticket"].as_str().unwrap().to_owned()
    };
    assert_eq!(open(&browser, "", Some(&origin)).unwrap_err(), 401);
    assert_eq!(open(&browser, browser.token.as_ref().unwrap(), Some(&origin)).unwrap_err(), 401);
    assert_eq!(open(&browser, &ticket(), None).unwrap_err(), 403);
    assert_eq!(open(&browser, &ticket(), Some("http://127.0.0.1:1")).unwrap_err(), 403);
    let used = ticket();
    let socket = open(&browser, &used, Some(&origin)).unwrap();
    assert_eq!(open(&browser, &used, Some(&origin)).unwrap_err(), 401, "a ticket is used once");

    let mut shown = Shown { socket, bytes: Vec::new(), told: Vec::new(), pongs: 0 };
    shown.wait_for("? for shortcuts");
    let told = format!("{} {}", shown.told[0]["columns"], shown.told[0]["rows"]);
    assert_eq!(told, size, "the pane's own size");
    shown.type_keys("unheard");
    let holder = browser.post("agents/feat-x/take", &json!({})).json();
    assert_eq!(holder["login"], browser.login);
    let other = world.log_in(&[]);
    assert_eq!(other.post("agents/feat-x/take", &json!({})).json()["login"], browser.login);
    assert_eq!(other.state()["terminals"]["feat-x"]["login"], browser.login, "visible to everyone");
    let border = || world.tmux(&["display-message", "-p", "-t", &pane, "#{T:pane-border-format}"]);
    wait_until("visible at the terminal", || border().contains("typed into from a browser").then_some(()));
    shown.type_keys("héard");
    shown.wait_for("héard");
    assert!(!world.shows(&pane, "unheard"));
    assert_eq!(browser.post("agents/feat-x/release", &json!({})).status, 204);
    shown.type_keys("late");
    let text = browser.get("agents/feat-x/text").json();
    assert!(text["text"].as_str().unwrap().contains("héard"), "{text}");
    assert!(!world.shows(&pane, "late"));
    wait_until("the border shows that it is released", || (!border().contains("browser")).then_some(()));
    let again = world.tmux(&["display-message", "-p", "-t", &pane, "#{pane_width} #{pane_height}"]);
    assert_eq!(again, size, "the user's tmux is never resized");

    assert_eq!(world.paw(&["web", "--revoke"]).code, 0);
    wait_until("the terminal is closed", || {
        shown.read();
        (!shown.socket.can_read()).then_some(())
    });
    wait_until("no client is left", || world.tmux(&["list-clients"]).is_empty().then_some(()));
}
