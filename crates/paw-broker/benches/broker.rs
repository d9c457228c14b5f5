//! The speed of the broker, compared with its budgets: `cargo bench -p paw-broker --bench broker`.
//!
//! The broker runs in its own process; this process is 25 agents on keep-alive connections. Every run has a time limit.
//! Disks are slow at times: a run that misses its budget is repeated once, and both results are shown.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark that cannot set itself up has to stop, and prints its table"
)]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paw_broker::endpoint::Endpoint;
use paw_broker::identity::{Keyring, Token};
use paw_broker::log::{self, MessageDraft};
use paw_broker::message::{ArtifactMessage, FeedbackMessage, Message, StatusMessage};
use paw_broker::{Broker, BrokerSettings, SessionId};
use paw_core::AgentId;
use paw_core::config::{BrokerConfig, Synchronous};
use paw_core::paths::PawDir;
use paw_host::clock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const AGENTS: usize = 25;
const RUN: Duration = Duration::from_secs(4);
const DIR: &str = "PAW_BENCH_DIR";
const FULL: &str = "PAW_BENCH_FULL";

fn session() -> SessionId {
    SessionId::new("paw-bench")
}

fn agent(number: usize) -> AgentId {
    AgentId::new(format!("feat-agent-{number}")).unwrap()
}

/// About 400 bytes of JSON, as agents send it.
fn message(from: usize, number: usize) -> Message {
    let files = (0..6).map(|file| format!("crates/part-{file}/src/module_{number}.rs")).collect();
    match number % 4 {
        0 => ArtifactMessage { exports: files, ..ArtifactMessage::new(agent(from), "done") }.into(),
        1 => FeedbackMessage::new(agent((from + 1) % AGENTS), agent(from), files).into(),
        _ => StatusMessage {
            modified_files: Some(files),
            message: Some("working on the next part of the task".into()),
            cli: Some("claude".into()),
            ..StatusMessage::new(agent(from), "working")
        }
        .into(),
    }
}

fn main() {
    if let Some(dir) = std::env::var_os(DIR) {
        return serve(Path::new(&dir));
    }
    println!("{:<44} {:>12} {:>12}", "what", "measured", "budget");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    publishing(&runtime, false);
    publishing(&runtime, true);
    mixed(&runtime);
    polling(&runtime);
}

/// A measurement and its budget.
struct Line {
    what: String,
    measured: String,
    budget: String,
    fine: bool,
}

fn line(what: impl Into<String>, measured: String, budget: impl Into<String>, fine: bool) -> Line {
    Line { what: what.into(), measured, budget: budget.into(), fine }
}

/// Measures, and once more if a budget was missed. Both are shown; the table of all benchmarks has the last.
fn hold(mut measure: impl FnMut() -> Vec<Line>) {
    for again in ["", ", second try"] {
        let lines = measure();
        for Line { what, measured, budget, fine } in &lines {
            println!("{what:<44} {measured:>12} {budget:>12}  {}", if *fine { "ok" } else { "MISSED" });
        }
        if !again.is_empty() || lines.iter().all(|line| line.fine) {
            for Line { what, measured, budget, fine } in &lines {
                paw_testkit::record_budget(what, &format!("{measured}{again}"), budget, *fine);
            }
            return;
        }
    }
}

fn serve(dir: &Path) {
    let synchronous = if std::env::var_os(FULL).is_some() { Synchronous::Full } else { Synchronous::Normal };
    let config = BrokerConfig { port: 0, synchronous, ..BrokerConfig::default() };
    let _broker =
        Broker::start(BrokerSettings::new(dir.join(".git"), dir.to_path_buf(), session(), config)).unwrap();
    loop {
        std::thread::park_timeout(Duration::from_mins(1));
    }
}

/// A broker in its own process, with a token for every agent.
struct Server {
    child: Child,
    address: SocketAddr,
    tokens: Vec<Token>,
    dir: tempfile::TempDir,
    start: Duration,
}

impl Server {
    fn start(full: bool, rows: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let paw_dir = PawDir::of(&dir.path().join(".git"));
        let log = log::open(&paw_dir.log()).unwrap();
        let keyring = Keyring::new(&log, paw_dir.path());
        let tokens = (0..AGENTS).map(|number| keyring.mint(&session(), &agent(number)).unwrap()).collect();
        for start in (0..rows).step_by(10_000) {
            let drafts: Vec<MessageDraft> = (start..rows.min(start + 10_000))
                .map(|number| MessageDraft::new(message(number % AGENTS, number), clock::now()))
                .collect();
            log.append(&session(), &drafts).unwrap();
        }
        if rows > 2000 {
            // A broker that stored all of these has saved its records.
            let empty = paw_broker::record::AgentRecords::default();
            log.save_snapshot(&session(), rows as u64 - 2000, &serde_json::to_string(&empty).unwrap())
                .unwrap();
        }
        drop((keyring, log));
        sync();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(DIR, dir.path()).stdin(Stdio::null()).stdout(Stdio::null());
        if full {
            command.env(FULL, "1");
        }
        let begun = Instant::now();
        let child = command.spawn().unwrap();
        let endpoint = loop {
            assert!(begun.elapsed() < Duration::from_secs(30), "the broker does not start");
            match Endpoint::load(&paw_dir).unwrap() {
                Some(endpoint) => break endpoint,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        Self { child, address: endpoint.address().unwrap(), tokens, dir, start: begun.elapsed() }
    }

    fn resident_mib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024.0
    }

    /// Processor time the broker has used so far.
    fn busy(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }

    fn head(&self) -> u64 {
        let log = log::open(&self.log()).unwrap();
        log.head().unwrap()
    }

    fn log(&self) -> PathBuf {
        PawDir::of(&self.dir.path().join(".git")).log()
    }

    fn publish(&self, from: usize, number: usize) -> Vec<u8> {
        let body = message(from, number).to_json().to_string();
        let more = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        let mut bytes = self.request("POST", "/publish", from, &more);
        bytes.extend_from_slice(body.as_bytes());
        bytes
    }

    fn request(&self, method: &str, path: &str, from: usize, more: &str) -> Vec<u8> {
        let (address, token) = (self.address, self.tokens[from].reveal());
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{more}\r\n")
            .into_bytes()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sync() {
    let _ = Command::new("sync").status();
}

/// The measurements of one connection.
#[derive(Default)]
struct Seen {
    times: Vec<Duration>,
    bytes: usize,
}

impl Seen {
    fn merge(all: Vec<Self>) -> Self {
        let mut merged = Self::default();
        for seen in all {
            merged.times.extend(seen.times);
            merged.bytes += seen.bytes;
        }
        merged.times.sort_unstable();
        merged
    }

    fn per_second(&self) -> f64 {
        self.times.len() as f64 / RUN.as_secs_f64()
    }

    fn percentile(&self, part: f64) -> f64 {
        let index = ((self.times.len() - 1) as f64 * part) as usize;
        self.times[index].as_secs_f64() * 1000.0
    }
}

/// Sends one request after the other until the time is up.
async fn talk(address: SocketAddr, mut next: impl FnMut(u64) -> Vec<u8>) -> Seen {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut seen = Seen::default();
    let mut buffer = Vec::with_capacity(64 << 10);
    let (begun, mut last_seq) = (Instant::now(), 0);
    while begun.elapsed() < RUN {
        let request = next(last_seq);
        let sent = Instant::now();
        stream.write_all(&request).await.unwrap();
        buffer.clear();
        last_seq = answer(&mut stream, &mut buffer).await;
        seen.times.push(sent.elapsed());
        seen.bytes += buffer.len();
    }
    seen
}

/// Reads one response, and returns the sequence number of the stored message or of the last polled one.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> u64 {
    loop {
        assert_ne!(stream.read_buf(buffer).await.unwrap(), 0, "the broker closed the connection");
        let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&buffer[..end]).unwrap();
        assert!(head.starts_with("HTTP/1.1 20"), "{head}");
        let number = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().parse::<usize>().unwrap())
        };
        let whole = end + 4 + number("content-length:").unwrap();
        let seq = number("x-git-paw-seq:");
        while buffer.len() < whole {
            assert_ne!(stream.read_buf(buffer).await.unwrap(), 0, "the broker closed the connection");
        }
        if let Some(seq) = seq {
            return seq as u64;
        }
        let tail = String::from_utf8_lossy(&buffer[whole.saturating_sub(60)..whole]).into_owned();
        let last =
            tail.rsplit_once("\"last_seq\":").map(|(_, rest)| rest.split(',').next().unwrap().to_owned());
        return last.and_then(|last| last.parse().ok()).unwrap_or_default();
    }
}

async fn publishers(server: &Server, agents: std::ops::Range<usize>) -> Seen {
    let mut tasks = Vec::new();
    for from in agents {
        let requests: Vec<Vec<u8>> = (0..16).map(|number| server.publish(from, number)).collect();
        let (address, mut number) = (server.address, 0);
        tasks.push(tokio::spawn(talk(address, move |_| {
            number += 1;
            requests[number % requests.len()].clone()
        })));
    }
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    Seen::merge(all)
}

fn publishing(runtime: &tokio::runtime::Runtime, full: bool) {
    let budget = if full { 20_000.0 } else { 30_000.0 };
    let name = if full { "full" } else { "normal" };
    hold(|| {
        let server = Server::start(full, 0);
        let seen = runtime.block_on(async { publishers(&server, 0..AGENTS).await });
        assert_eq!(server.head(), seen.times.len() as u64, "acknowledged and stored differ");
        let (rate, p99) = (seen.per_second(), seen.percentile(0.99));
        let each = server.busy().as_secs_f64() * 1e6 / seen.times.len() as f64;
        println!("{:<44} {each:>9.1} us", format!("  processor time of a publish, {name}"));
        let what = format!("publish, 25 agents, {name}");
        vec![
            line(what.as_str(), format!("{rate:.0}/s"), format!(">= {budget:.0}/s"), rate >= budget),
            line(format!("{what}, p99"), format!("{p99:.1} ms"), "<= 20 ms", p99 <= 20.0),
        ]
    });
}

fn mixed(runtime: &tokio::runtime::Runtime) {
    hold(|| {
        let server = Server::start(false, 0);
        let (writers, readers) = runtime.block_on(async {
            let mut tasks = Vec::new();
            for reader in 13..AGENTS {
                let path = move |since: u64| format!("/messages/{}?since={since}&limit=100", agent(reader));
                let (address, token) = (server.address, server.tokens[reader].clone());
                let request = move |since| {
                    let head = format!("GET {} HTTP/1.1\r\nHost: {address}\r\n", path(since));
                    format!("{head}Authorization: Bearer {}\r\n\r\n", token.reveal()).into_bytes()
                };
                tasks.push(tokio::spawn(talk(address, request)));
            }
            let published = publishers(&server, 0..13).await;
            let mut all = Vec::new();
            for task in tasks {
                all.push(task.await.unwrap());
            }
            (published, Seen::merge(all))
        });
        let (publishes, polls) = (writers.per_second(), readers.per_second());
        println!(
            "{:<44} {:>12.1} MB/s",
            "  of messages in the polls",
            readers.bytes as f64 / 1e6 / RUN.as_secs_f64()
        );
        vec![
            line(
                "publish beside 12 pollers",
                format!("{publishes:.0}/s"),
                ">= 15000/s",
                publishes >= 15_000.0,
            ),
            line("polls beside 13 publishers", format!("{polls:.0}/s"), ">= 40000/s", polls >= 40_000.0),
        ]
    });
}

async fn pollers(server: &Server, query: &str) -> Seen {
    let mut tasks = Vec::new();
    for reader in 0..AGENTS {
        let request = server.request("GET", &format!("/messages/{}?{query}", agent(reader)), reader, "");
        tasks.push(tokio::spawn(talk(server.address, move |_| request.clone())));
    }
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    Seen::merge(all)
}

/// 25 agents polling at both ends, `before_end` messages before the last.
fn compare(
    runtime: &tokio::runtime::Runtime,
    name: &str,
    before_end: u64,
    (few, count): (&Server, &str),
    many: &Server,
) {
    let rate = |server: &Server| {
        let (since, before) = (server.head().saturating_sub(before_end), server.busy());
        let seen = runtime.block_on(async { pollers(server, &format!("since={since}&limit=100")).await });
        let each = server.busy().saturating_sub(before).as_secs_f64() * 1e6 / seen.times.len() as f64;
        (seen.per_second(), each)
    };
    hold(|| {
        let ((few, few_each), (many, many_each)) = (rate(few), rate(many));
        println!("{:<44} {few:>10.0}/s {few_each:>9.1} us each", format!("  poll, {name}, at {count}"));
        println!("{:<44} {many:>10.0}/s {many_each:>9.1} us each", format!("  poll, {name}, at 1,000,000"));
        let ratio = few / many;
        let what = format!("poll, {name}: 1,000,000 against {count}");
        vec![line(what, format!("{ratio:.2} x"), "<= 1.2 x", ratio <= 1.2)]
    });
}

fn polling(runtime: &tokio::runtime::Runtime) {
    let (small, large) = (Server::start(false, 1000), Server::start(false, 1_000_000));
    // More than the cache holds, so that both sides read the log.
    let middle = Server::start(false, 10_000);
    for (name, server) in [("1,000", &small), ("1,000,000", &large)] {
        let start = server.start.as_secs_f64() * 1000.0;
        println!("{:<44} {start:>9.0} ms", format!("  start on {name} messages"));
    }
    compare(runtime, "nothing new", 0, (&small, "1,000"), &large);
    compare(runtime, "near the end", 20, (&small, "1,000"), &large);
    compare(runtime, "from the beginning", u64::MAX, (&middle, "10,000"), &large);
    let before = large.resident_mib();
    runtime.block_on(async { publishers(&large, 0..AGENTS).await });
    let after = large.resident_mib();
    println!("{:<44} {:>12}", "  memory at 1,000,000, before publishing", format!("{before:.1} MiB"));
    let measured = format!("{after:.1} MiB");
    hold(|| {
        vec![line("memory at 1,000,000, after publishing", measured.clone(), "<= 40 MiB", after <= 40.0)]
    });
}
