//! Messages between hosts, compared with their budgets: `cargo bench -p paw-cluster --bench hosts`.
//!
//! A real `nats-server` with the settings of a session's own one, and one process per host: its log, its bus, its replicator.
//! Agents and their panes are simulated: each host publishes in the names of its agents, at a fixed rate, and reads the inboxes of its
//! agents. All hosts are on this machine and share its clock, so latency includes no network.
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

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use paw_broker::log::{self, MessageLog, StreamId};
use paw_broker::message::{ArtifactMessage, FeedbackMessage, Message};
use paw_broker::{Bus, SessionId};
use paw_cluster::nats::{NatsLogin, NatsSettings};
use paw_cluster::replicator::{ReplicationStatus, Replicator, ReplicatorSettings};
use paw_cluster::roster::Roster;
use paw_cluster::server::OwnServer;
use paw_core::paths::PawDir;
use paw_core::{AgentId, HostName};
use paw_host::clock;
use paw_host::signing::SecretKey;
use paw_testkit::{bench_dir, record_budget};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::sync::watch;

const JOB: &str = "PAW_BENCH_JOB";
const RUN: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_mins(2);

/// What a host is told.
#[derive(Serialize, Deserialize)]
struct HostJob {
    dir: PathBuf,
    number: usize,
    hosts: usize,
    agents: usize,
    /// Messages per second of this host.
    rate: f64,
    stream: String,
    url: String,
    login: NatsLogin,
    roster: Roster,
}

/// What a host has seen.
#[derive(Serialize, Deserialize)]
struct HostReport {
    sent: usize,
    /// Microseconds from the publish on another host to the inbox here.
    latencies: Vec<u64>,
    resident_kib: u64,
}

fn host(number: usize) -> HostName {
    HostName::new(if number == 0 { "hub".to_owned() } else { format!("host-{number}") }).unwrap()
}

fn agent(host: usize, number: usize) -> AgentId {
    AgentId::new(format!("feat-{host}-{number}")).unwrap()
}

fn session() -> SessionId {
    SessionId::new("paw-bench")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

fn key(dir: &Path, number: usize) -> SecretKey {
    SecretKey::open(&dir.join(host(number).as_str()).join("host.key")).unwrap()
}

/// A message of about 400 bytes for an agent of another host, with the time at which it was published.
fn message(job: &HostJob, number: usize) -> Message {
    let from = agent(job.number, number % job.agents);
    let other = (job.number + 1 + number % (job.hosts - 1)) % job.hosts;
    let to = agent(other, number % job.agents);
    let details = (0..6).map(|line| format!("crates/part-{line}/src/module_{number}.rs: tests fail"));
    FeedbackMessage::new(to, from, [now().to_string()].into_iter().chain(details).collect()).into()
}

struct Node {
    runtime: Runtime,
    bus: Arc<Bus>,
    log: Arc<dyn MessageLog>,
    status: Option<watch::Receiver<ReplicationStatus>>,
    _roster: watch::Sender<Roster>,
}

impl Node {
    fn start(job: &HostJob, with_replication: bool) -> Self {
        // As a session's broker has it.
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let dir = job.dir.join(host(job.number).as_str());
        fs::create_dir_all(&dir).unwrap();
        let log = log::open(&dir.join(format!("broker-{with_replication}.db"))).unwrap();
        log.begin(&session(), clock::now()).unwrap();
        let bus = Bus::open(Arc::clone(&log), session(), false).unwrap();
        let (sender, roster) = watch::channel(job.roster.clone());
        let status = with_replication.then(|| {
            let settings = ReplicatorSettings {
                nats: NatsSettings {
                    servers: vec![job.url.clone()],
                    login: Some(job.login.clone()),
                    stream: StreamId::parse(&job.stream).unwrap(),
                    host: host(job.number),
                    is_hub: job.number == 0,
                    replicas: 1,
                },
                bus: Arc::clone(&bus),
                log: Arc::clone(&log),
                key: key(&job.dir, job.number),
                roster,
            };
            let (replicator, status) = runtime.block_on(Replicator::open(settings)).unwrap();
            runtime.spawn(replicator.run());
            status
        });
        Self { runtime, bus, log, status, _roster: sender }
    }

    fn wait_for(&mut self, holds: impl Fn(&ReplicationStatus) -> bool) {
        let status = self.status.as_mut().unwrap();
        let waited =
            async { tokio::time::timeout(CONNECT, status.wait_for(|status| holds(status))).await.map(drop) };
        self.runtime.block_on(waited).expect("the stream answers");
    }
}

/// One host, in its own process.
fn run_host(job: &HostJob) {
    let mut node = Node::start(job, true);
    node.wait_for(|status| status.is_connected);
    println!("ready");
    let mut input = std::io::stdin().lines();
    input.next().unwrap().unwrap();
    let mut subscription = node.bus.subscribe();
    let own: std::collections::HashSet<AgentId> =
        (0..job.agents).map(|number| agent(job.number, number)).collect();
    let reading = node.runtime.spawn(async move {
        let (mut latencies, session) = (Vec::new(), session());
        while let Ok(Some(page)) = subscription.next().await {
            let read = now();
            for stored in page.iter().filter_map(|kept| kept.parse(&session)) {
                let Message::Feedback(feedback) = &stored.message else { continue };
                if own.contains(&feedback.agent_id) {
                    let sent: u64 = feedback.errors[0].parse().unwrap();
                    latencies.push(read.saturating_sub(sent));
                }
            }
        }
        latencies
    });
    let (start, mut sent) = (Instant::now(), 0);
    // The publishes of a host are spread over its second, each at its own time.
    let offset = job.number as f64 / job.hosts as f64;
    while start.elapsed() < RUN {
        let due = Duration::from_secs_f64((sent as f64 + offset) / job.rate);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        node.bus.publish_blocking(message(job, sent), clock::now()).unwrap();
        sent += 1;
    }
    println!("sent");
    input.next().unwrap().unwrap();
    node.bus.close();
    let latencies = node.runtime.block_on(reading).unwrap();
    let report = HostReport { sent, latencies, resident_kib: resident_kib(std::process::id()) };
    println!("{}", serde_json::to_string(&report).unwrap());
}

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}

struct Host {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Host {
    fn spawn(job: &HostJob) -> Self {
        let file = job.dir.join(format!("job-{}", job.number));
        fs::write(&file, serde_json::to_vec(job).unwrap()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(JOB, &file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn expect(&mut self) -> String {
        self.lines.next().expect("the host has ended").unwrap()
    }

    fn tell(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap(), "next").unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server, and the jobs of its hosts.
fn prepare(dir: &Path, hosts: usize, agents: usize, rate: f64) -> (OwnServer, Vec<HostJob>) {
    let mut roster = Roster::new(host(0), key(dir, 0).public());
    for number in 0..hosts {
        roster.add_host(host(number), key(dir, number).public());
        for one in 0..agents {
            roster.grant(&host(number), agent(number, one));
        }
    }
    let stream = StreamId::random();
    let names: Vec<HostName> = (1..hosts).map(host).collect();
    let server = OwnServer::start(&PawDir::at(dir), &stream, &host(0), &names).unwrap();
    let job = |number: usize| HostJob {
        dir: dir.to_path_buf(),
        number,
        hosts,
        agents,
        rate: rate / hosts as f64,
        stream: stream.to_string(),
        url: server.url(),
        login: server.login(&host(number)).unwrap(),
        roster: roster.clone(),
    };
    let jobs = (0..hosts).map(job).collect();
    (server, jobs)
}

fn deliver(hosts: usize, agents: usize, rate: f64, budget: f64) -> bool {
    let dir = bench_dir();
    let (server, jobs) = prepare(dir.path(), hosts, agents, rate);
    let mut all: Vec<Host> = Vec::new();
    for job in &jobs {
        all.push(Host::spawn(job));
        if job.number == 0 {
            // It creates the stream.
            assert_eq!(all[0].expect(), "ready");
        }
    }
    for host in all.iter_mut().skip(1) {
        assert_eq!(host.expect(), "ready");
    }
    all.iter_mut().for_each(Host::tell);
    for host in &mut all {
        assert_eq!(host.expect(), "sent");
    }
    // What is on its way arrives.
    std::thread::sleep(Duration::from_secs(3));
    let server_mib = resident_kib(server.pid()) as f64 / 1024.0;
    all.iter_mut().for_each(Host::tell);
    let reports: Vec<HostReport> =
        all.iter_mut().map(|host| serde_json::from_str(&host.expect()).unwrap()).collect();
    let mut latencies: Vec<u64> = reports.iter().flat_map(|report| report.latencies.clone()).collect();
    latencies.sort_unstable();
    let sent: usize = reports.iter().map(|report| report.sent).sum();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    let resident = reports.iter().map(|report| report.resident_kib).max().unwrap() as f64 / 1024.0;
    let missing = sent - latencies.len();
    let each = sent as f64 / RUN.as_secs_f64();
    println!(
        "{hosts} hosts, {} agents, {each:.0}/s: p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms, {missing} missing, host {resident:.1} MiB, server {server_mib:.1} MiB",
        hosts * agents,
        at(0.5),
        at(0.99),
        at(1.0),
    );
    let what = format!(
        "message to an inbox of another host, {hosts} brokers with {} simulated agents",
        hosts * agents
    );
    let figures = format!("{each:.0}/s, p50 {:.0} ms, p99 {:.0} ms, {missing} missing", at(0.5), at(0.99));
    let met = at(0.99) <= budget && missing == 0 && each >= rate * 0.98;
    record_budget(&what, &figures, &format!("{rate:.0}/s, p99 <= {budget:.0} ms"), met);
    let memory = format!("memory of a broker among {hosts}, without panes");
    let beside = format!("{resident:.1} MiB (nats-server {server_mib:.1} MiB)");
    record_budget(&memory, &beside, "<= 40 MiB", resident <= 40.0);
    met
}

/// Messages per second of 25 agents that publish as fast as they can, to the log of one host.
fn publish_rate(job: &HostJob, with_replication: bool) -> f64 {
    let mut node = Node::start(job, with_replication);
    if with_replication {
        node.wait_for(|status| status.is_connected);
    }
    let (count, stopping) = (AtomicU64::new(0), AtomicBool::new(false));
    let run = Duration::from_secs(4);
    std::thread::scope(|scope| {
        for number in 0..25 {
            let (node, count, stopping) = (&node, &count, &stopping);
            scope.spawn(move || {
                let files: Vec<String> =
                    (0..6).map(|part| format!("crates/part-{part}/src/lib.rs")).collect();
                while !stopping.load(Ordering::Relaxed) {
                    let message = ArtifactMessage {
                        exports: files.clone(),
                        ..ArtifactMessage::new(agent(0, number), "done")
                    };
                    node.bus.publish_blocking(message.into(), clock::now()).unwrap();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(run);
        stopping.store(true, Ordering::Relaxed);
    });
    let rate = count.load(Ordering::Relaxed) as f64 / run.as_secs_f64();
    let _ = &node.log;
    node.bus.close();
    rate
}

/// With replication and without, in turns.
fn local_publish() -> bool {
    let (mut with, mut without) = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        let dir = bench_dir();
        let (_server, jobs) = prepare(dir.path(), 2, 25, 1.0);
        without = without.max(publish_rate(&jobs[0], false));
        with = with.max(publish_rate(&jobs[0], true));
    }
    let ratio = without / with;
    println!("local publish: {without:.0}/s without replication, {with:.0}/s with it: {ratio:.2} x");
    let measured = format!("{ratio:.2} x ({with:.0}/s, {without:.0}/s without)");
    record_budget("local publish with replication", &measured, "<= 1.10 x", ratio <= 1.1);
    ratio <= 1.1
}

fn main() {
    if let Some(file) = std::env::var_os(JOB) {
        let job: HostJob = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        return run_host(&job);
    }
    // Names choose some of them: `cargo bench -p paw-cluster --bench hosts -- 50-hosts`.
    let chosen: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let is_chosen = |name: &str| chosen.is_empty() || chosen.iter().any(|chosen| chosen == name);
    let met = [
        !is_chosen("10-hosts") || deliver(10, 10, 500.0, 100.0),
        !is_chosen("50-hosts") || deliver(50, 20, 2000.0, 500.0),
        !is_chosen("publish") || local_publish(),
    ];
    std::process::exit(i32::from(met.contains(&false)));
}
