//! Headless Chromium, driven by WebDriver.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use paw_testkit::{Sandbox, wait_until};
use serde_json::{Value, json};

/// How WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// Longer than any command takes on a busy machine.
const LONGEST_COMMAND: Duration = Duration::from_mins(4);
const STARTS: usize = 2;
const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
/// More elements than a page of these tests has.
const MOST_STOPS: usize = 120;

/// How a person uses a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hand {
    Pointer,
    /// Tab, Enter and letters, nothing else.
    Keyboard,
}

/// A browser with one tab.
#[derive(Debug)]
pub(crate) struct Browser {
    driver: Driver,
    session: String,
    hand: Hand,
}

/// A running chromedriver.
#[derive(Debug)]
struct Driver {
    process: Child,
    address: String,
}

/// Adds a line to the output of a test.
#[expect(clippy::disallowed_macros, clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// A program of this machine.
pub(crate) fn find_program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().flat_map(|name| dirs.iter().map(move |dir| dir.join(name))).find(|file| file.is_file())
}

impl Driver {
    fn start(sandbox: &Sandbox, program: &Path) -> Option<Self> {
        let mut command = sandbox.command(program);
        // Chromium is started by a script that uses this machine's programs.
        command.arg("--port=0").env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut lines = BufReader::new(process.stdout.take()?).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let port = line.split("started successfully on port ").nth(1)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        // It must never wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let driver = Self { process, address: format!("127.0.0.1:{}", port.as_deref().unwrap_or("0")) };
        port.map(|_| driver)
    }

    /// Sends a command; fails with what WebDriver says about it.
    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let answer = self.exchange(method, path, body);
        let mut answer =
            answer.map_err(|error| json!({"error": "no answer", "message": error.to_string()}))?;
        let value = answer["value"].take();
        if value["error"].is_string() { Err(value) } else { Ok(value) }
    }

    fn exchange(&self, method: &str, path: &str, body: &Value) -> Result<Value, Error> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(LONGEST_COMMAND))?;
        let text = if method == "POST" { body.to_string() } else { String::new() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            text.len()
        );
        stream.write_all(format!("{head}{text}").as_bytes())?;
        // It may keep the connection open.
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_lowercase();
            if line.is_empty() {
                break;
            }
            length = line.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts it. `None`, and a line that says so, where it is not installed or does not run.
    pub(crate) fn start(sandbox: &Sandbox, hand: Hand) -> Option<Self> {
        let found = (find_program(&["chromedriver"]), find_program(&["chromium", "google-chrome"]));
        let (Some(driver), Some(chromium)) = found else {
            note(
                "skipped: chromium and chromedriver are not installed (scripts/install-tools installs them)",
            );
            return None;
        };
        let mut problem = json!("chromedriver does not start");
        for attempt in 0..STARTS {
            let Some(driver) = Driver::start(sandbox, &driver) else { continue };
            let profile = sandbox.root().join(format!("chromium-{attempt}"));
            match driver.send("POST", "/session", &capabilities(&chromium, &profile)) {
                Ok(opened) => {
                    let session = format!("/session/{}", opened["sessionId"].as_str().unwrap());
                    return Some(Self { driver, session, hand });
                }
                Err(error) => problem = error["message"].clone(),
            }
        }
        note(&format!("skipped: chromium does not run on this machine: {problem}"));
        None
    }

    fn try_send(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        self.driver.send(method, &format!("{}{path}", self.session), body)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_send(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    pub(crate) fn open(&self, url: &str) {
        self.send("POST", "/url", &json!({"url": url}));
    }

    /// Runs a function body in the page and returns its result.
    pub(crate) fn script(&self, script: &str, args: &[Value]) -> Value {
        self.send("POST", "/execute/sync", &json!({"script": script, "args": args}))
    }

    /// Like [`Self::script`], in a frame of the page.
    pub(crate) fn script_in_frame(&self, frame: usize, script: &str) -> Value {
        self.send("POST", "/frame", &json!({"id": frame}));
        let result = self.script(script, &[]);
        self.send("POST", "/frame", &json!({"id": null}));
        result
    }

    /// Like [`Self::script`]; `arguments[arguments.length - 1]` takes the result.
    pub(crate) fn script_async(&self, script: &str, args: &[Value]) -> Value {
        self.send("POST", "/execute/async", &json!({"script": script, "args": args}))
    }

    /// A command of the browser's own protocol.
    pub(crate) fn protocol(&self, command: &str, parameters: &Value) {
        self.send("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": parameters}));
    }

    /// The visible text of the page. A page that is being loaded has none.
    fn text(&self) -> String {
        let script = "return document.body?.innerText ?? ''";
        let text = self.try_send("POST", "/execute/sync", &json!({"script": script, "args": []}));
        text.ok().and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
    }

    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_while(&format!("the page shows {text:?}"), || self.text().contains(text));
    }

    /// Waits until a function body that runs in the page returns true.
    pub(crate) fn wait_for_script(&self, what: &str, script: &str) {
        self.wait_while(what, || self.script(script, &[]) == true);
    }

    /// Waits for a condition; if it is never met, the failure shows the page.
    fn wait_while(&self, what: &str, is_met: impl Fn() -> bool) {
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(what, || is_met().then_some(()));
        }));
        if let Err(panic) = waited {
            note(&format!("the page:\n{}", self.text()));
            std::panic::resume_unwind(panic);
        }
    }

    /// Clicks an element, or goes to it with Tab and presses Enter: it has to be visible, and nothing may cover it.
    pub(crate) fn activate(&self, selector: &str, label: &str) {
        match self.hand {
            Hand::Keyboard => {
                self.focus(selector, label);
                self.press(ENTER);
            }
            Hand::Pointer => self.wait_while(&format!("{selector} with {label:?} is clicked"), || {
                // It may have been drawn anew, or be covered for a moment.
                let Some(element) = self.find(selector, label) else { return false };
                self.try_send("POST", &format!("/element/{element}/click"), &json!({})).is_ok()
            }),
        }
    }

    /// Types into a field.
    pub(crate) fn write(&self, selector: &str, text: &str) {
        match self.hand {
            Hand::Keyboard => self.focus(selector, ""),
            Hand::Pointer => self.activate(selector, ""),
        }
        self.press(text);
    }

    /// The enabled element that a selector finds and whose name contains the text.
    fn find(&self, selector: &str, label: &str) -> Option<String> {
        let script = format!("return {FIND} ?? null");
        let found = self.script(&script, &[selector.into(), label.into()]);
        found[ELEMENT].as_str().map(str::to_owned)
    }

    /// Presses Tab until an element has the focus.
    fn focus(&self, selector: &str, label: &str) {
        let script =
            format!("const found = {FIND}; return Boolean(found) && found === document.activeElement");
        self.wait_while(&format!("Tab leads to {selector} with {label:?}"), || {
            (0..MOST_STOPS).any(|_| {
                let is_there = self.script(&script, &[selector.into(), label.into()]) == true;
                if !is_there {
                    self.press(TAB);
                }
                is_there
            })
        });
    }

    /// Types without pointing at anything.
    pub(crate) fn press(&self, keys: &str) {
        let press =
            |key: char| [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        self.press_steps(&keys.chars().flat_map(press).collect::<Vec<Value>>());
    }

    /// Presses a key while another one is held.
    pub(crate) fn press_with(&self, held: char, key: char) {
        let step = |kind, value| json!({"type": kind, "value": value});
        self.press_steps(&[
            step("keyDown", held),
            step("keyDown", key),
            step("keyUp", key),
            step("keyUp", held),
        ]);
    }

    fn press_steps(&self, steps: &[Value]) {
        self.send("POST", "/actions", &json!({"actions": [{"type": "key", "id": "keys", "actions": steps}]}));
    }

    /// A screen of this size, dark or light.
    pub(crate) fn show_as(&self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.protocol("Emulation.setDeviceMetricsOverride", &size);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.protocol("Emulation.setEmulatedMedia", &features);
    }
}

/// Finds the element of [`Browser::find`].
const FIND: &str = "[...document.querySelectorAll(arguments[0])].find((element) => !element.disabled \
    && (element.getAttribute('aria-label') ?? element.textContent).includes(arguments[1]))";

fn capabilities(chromium: &Path, profile: &Path) -> Value {
    let args = [
        "--headless=new".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--no-first-run".to_owned(),
        "--no-proxy-server".to_owned(),
        // Nothing outside of this machine is asked.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1".to_owned(),
        format!("--user-data-dir={}", profile.display()),
    ];
    let options = json!({"binary": chromium, "args": args});
    let limit = LONGEST_COMMAND.as_secs() * 1000;
    let timeouts = json!({"script": limit, "pageLoad": limit});
    json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "timeouts": timeouts}}})
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.try_send("DELETE", "", &Value::Null);
    }
}
