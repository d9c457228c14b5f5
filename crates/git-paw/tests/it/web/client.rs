//! A small HTTP client that can do what a browser never would.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use paw_testkit::wait_until;
use serde_json::{Value, json};

/// An open page gets a heartbeat more often than this.
const LONGEST_SILENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// `127.0.0.1:9219`
    pub(crate) address: String,
    pub(crate) token: Option<String>,
    pub(crate) login: u64,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Client {
    pub(crate) fn of_link(link: &str) -> Self {
        let address = link.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        Self { address, token: None, login: 0 }
    }

    pub(crate) fn log_in(&self, code: &str) -> Self {
        let answer = self.post("login", &json!({"code": code}));
        assert_eq!(answer.status, 200, "{answer:?}");
        let login = answer.json();
        let token = Some(login["token"].as_str().unwrap().to_owned());
        Self { token, login: login["login"].as_u64().unwrap(), ..self.clone() }
    }

    /// Sends a request with exactly these headers.
    pub(crate) fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> std::io::Result<Answer> {
        let mut stream = self.open(line, headers, body)?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Ok(Answer { status, head: head.to_lowercase(), body: body.to_owned() })
    }

    fn open(&self, line: &str, headers: &[(&str, &str)], body: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address)?;
        // Without chunks.
        let headers: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("{line} HTTP/1.0\r\n{}", headers.concat());
        stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
        Ok(stream)
    }

    /// The headers that a browser sends with a request of our own page.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![
            ("Host".to_owned(), self.address.clone()),
            ("Origin".to_owned(), format!("http://{}", self.address)),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        if let Some(token) = &self.token {
            headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        headers
    }

    fn with_headers<T>(&self, work: impl FnOnce(&[(&str, &str)]) -> T) -> T {
        let headers = self.headers();
        work(&headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.with_headers(|headers| self.send(&format!("GET /api/{path}"), headers, "")).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let line = format!("POST /api/{path}");
        self.with_headers(|headers| self.send(&line, headers, &body.to_string())).unwrap()
    }

    /// The state of the session, as a page that connects now gets it.
    pub(crate) fn state(&self) -> Value {
        self.follow().next().unwrap()
    }

    /// The state of the session, and then its changes.
    pub(crate) fn follow(&self) -> impl Iterator<Item = Value> {
        let stream = self.with_headers(|headers| self.open("GET /api/events", headers, "")).unwrap();
        stream.set_read_timeout(Some(LONGEST_SILENCE)).unwrap();
        let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
        lines.by_ref().find(String::is_empty).unwrap();
        // An empty line is a heartbeat.
        lines.filter(|line| !line.is_empty()).map(|line| serde_json::from_str(&line).unwrap())
    }

    /// Waits until the state is as wanted.
    pub(crate) fn wait_for(&self, what: &str, find: impl Fn(&Value) -> Option<Value>) -> Value {
        wait_until(what, || find(&self.state()))
    }
}
