//! The connection of the hub to one host: an ssh that forwards the port of the NATS server and tells the host about it. It is
//! made again, at growing intervals, whenever it is lost.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use paw_core::{ErrorReport, HostName, text};
use paw_host::clock::{self, Stopwatch};
use paw_host::git::Repo;
use paw_host::process::{Stopper, Stream};
use paw_host::ssh::{SshTarget, forwarded_port};

use crate::link::{self, HostLink, HubNews};
use crate::nats::NatsLogin;
use crate::remote::script;

const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Messages of ssh that are kept for its explanation.
const KEPT_BYTES: usize = 4096;

/// Where a tunnel leads.
#[derive(Debug, Clone)]
pub struct TunnelSettings {
    pub host: HostName,
    pub target: SshTarget,
    /// The clone there.
    pub path: PathBuf,
    /// The repository of the hub.
    pub hub: Repo,
    pub endpoint: TunnelEndpoint,
    /// The socket through which fetches share the connection.
    pub shared: PathBuf,
    pub news: HubNews,
}

/// How the host reaches the NATS server.
#[derive(Debug, Clone)]
pub enum TunnelEndpoint {
    /// Through the tunnel, to this port of the hub.
    Forwarded { port: u16, login: NatsLogin },
    /// By itself.
    Direct { servers: Vec<String>, login: Option<NatsLogin> },
}

/// What is known about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TunnelState {
    Connected,
    Lost { reason: String },
}

/// A tunnel that is kept up until it is dropped.
#[derive(Debug)]
pub struct Tunnel {
    stop: Arc<StopFlag>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct StopFlag {
    state: Mutex<(bool, Option<Stopper>)>,
    changed: Condvar,
}

impl StopFlag {
    fn is_set(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// From here on, a stop ends this program.
    fn watch(&self, stopper: Stopper) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 {
            stopper.stop();
        }
        state.1 = Some(stopper);
    }

    fn set(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        if let Some(stopper) = &state.1 {
            stopper.stop();
        }
        self.changed.notify_all();
    }

    fn pause(&self, time: Duration) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(state, time, |state| !state.0));
    }
}

impl Tunnel {
    /// Connects in the background. `on_change` is told about every connection that is made or lost.
    pub fn start(settings: TunnelSettings, on_change: impl Fn(TunnelState) + Send + 'static) -> Self {
        let stop = Arc::new(StopFlag::default());
        let flag = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut pause = SHORTEST_PAUSE;
            while !flag.is_set() {
                let started = Stopwatch::start();
                let reason = connect(&settings, &flag, &on_change);
                if flag.is_set() {
                    return;
                }
                tracing::warn!(target: "paw::cluster", "no connection to {}: {reason}", settings.host);
                on_change(TunnelState::Lost { reason });
                pause = if started.elapsed() > LONGEST_PAUSE { SHORTEST_PAUSE } else { pause };
                flag.pause(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Connects once. Returns why the connection ended.
fn connect(settings: &TunnelSettings, flag: &StopFlag, on_change: &impl Fn(TunnelState)) -> String {
    let forward = match &settings.endpoint {
        TunnelEndpoint::Forwarded { port, .. } => Some(*port),
        TunnelEndpoint::Direct { .. } => None,
    };
    // Left behind by a connection that was killed; ssh would not replace it.
    let _ = std::fs::remove_file(&settings.shared);
    let hub = link::hub_identity(&settings.hub);
    let asked = script(Some(&settings.path), &hub, &["__host", "link"]);
    let command = settings.target.keep_running(&asked, forward, Some(&settings.shared));
    let mark = format!("paw-tunnel-{}-{}", std::process::id(), settings.host);
    let mut running = match command.start(&mark) {
        Ok(running) => running,
        Err(error) => return error.to_string(),
    };
    flag.watch(running.stopper());
    let input = Arc::new(Mutex::new(running.take_stdin()));
    let (mut said, mut is_connected) = (Vec::new(), false);
    let offer = |link: HostLink| say(&input, &serde_json::to_string(&link).unwrap_or_default());
    // Dropped when this connection has ended.
    let mut news = None;
    let link_to = |servers, login| HostLink { servers, login, id: link_id(), hub: hub.clone(), pid: None };
    if let TunnelEndpoint::Direct { servers, login } = &settings.endpoint {
        offer(link_to(servers.clone(), login.clone()));
    }
    let followed = running.follow(|stream, line| match (stream, &settings.endpoint) {
        (Stream::Out, _) if link::is_linked(line) => {
            is_connected = true;
            news = Some(tell_news(settings.news.clone(), Arc::clone(&input)));
            on_change(TunnelState::Connected);
            ControlFlow::Continue(())
        }
        (Stream::Out, _) => ControlFlow::Continue(()),
        (Stream::Err, TunnelEndpoint::Forwarded { login, .. }) if forwarded_port(line).is_some() => {
            let servers = forwarded_port(line).map(|port| format!("nats://127.0.0.1:{port}"));
            let servers = servers.into_iter().collect();
            if offer(link_to(servers, Some(login.clone()))) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        }
        (Stream::Err, _) => {
            if said.len() < KEPT_BYTES {
                said.extend_from_slice(line);
                said.push(b'\n');
            }
            ControlFlow::Continue(())
        }
    });
    match followed {
        Ok(_) if is_connected && said.is_empty() => "the connection was closed".to_owned(),
        Ok(_) => match ErrorReport::find_printed(&String::from_utf8_lossy(&said)) {
            Some((refusal, _)) => text::output_line(&refusal),
            None => settings.target.explain(&said).to_string(),
        },
        Err(error) => error.to_string(),
    }
}

/// Sends a line to the host.
fn say(input: &Mutex<Option<impl Write>>, line: &str) -> bool {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    input.as_mut().is_some_and(|input| input.write_all(format!("{line}\n").as_bytes()).is_ok())
}

/// Tells the host the news, as long as the result is kept.
fn tell_news(news: HubNews, input: Arc<Mutex<Option<impl Write + Send + 'static>>>) -> Sender<()> {
    let (sender, ended) = channel();
    thread::spawn(move || link::tell_news(&news, &ended, |line| say(&input, line)));
    sender
}

fn link_id() -> String {
    format!("{}-{}", std::process::id(), clock::now().as_nanosecond())
}
