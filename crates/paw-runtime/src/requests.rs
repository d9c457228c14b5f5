//! Runs the gates and merges that agents and the page request, each in a process of its own: a child of this process, not of a
//! pane. Requests about the page are answered here, too.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use paw_broker::http::{RunEvent, RunRequest};
use paw_broker::identity::Caller;
use paw_cluster::request::ClusterRequest;
use paw_core::error::EXIT_FAILURE;
use paw_core::{AgentId, PawError};
use paw_host::process::{Command, Exit, RunningCommand, Stopper, Stream, own_program};
use paw_supervisor::pane_request::{PaneRequest, SweepRequest};
use paw_web::{Page, PageRequest};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::cluster::Cluster;

/// Runs at the same time, of all agents and of one; further ones wait.
const MOST: usize = 4;
const MOST_OF_ONE: usize = 2;

/// A run that is in progress.
type ActiveRun = (Stopper, JoinHandle<()>);

/// The requested runs of a session.
#[derive(Debug, Clone)]
pub(super) struct RequestedRuns {
    root: PathBuf,
    active: Arc<Mutex<BTreeMap<u64, ActiveRun>>>,
    next: Arc<AtomicU64>,
    all_places: Arc<Semaphore>,
    /// The places of each requester, so that one agent does not keep the others waiting.
    places: Arc<Mutex<BTreeMap<AgentId, Arc<Semaphore>>>>,
}

impl RequestedRuns {
    /// Runs of the repository with this main checkout.
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            active: Arc::default(),
            next: Arc::default(),
            all_places: Arc::new(Semaphore::new(MOST)),
            places: Arc::default(),
        }
    }

    /// Serves requests until no more can arrive.
    pub(super) async fn serve(self, mut requests: mpsc::Receiver<RunRequest>, answers: RequestAnswers) {
        while let Some(request) = requests.recv().await {
            tokio::spawn(self.clone().serve_one(request, answers.clone()));
        }
    }

    async fn serve_one(self, request: RunRequest, answers: RequestAnswers) {
        if let Some(answer) = answers.find(&request).await {
            return send_answer(answer, &request).await;
        }
        let own = self.places_of(&requester_of(&request.caller));
        let all = Arc::clone(&self.all_places);
        let _places = tokio::select! {
            places = async { (own.acquire_owned().await, all.acquire_owned().await) } => places,
            () = request.events.closed() => return,
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let running = match self.start(&request, number) {
            Ok(running) => running,
            Err(error) => {
                let _ = request.events.send(RunEvent::Err(format!("error: {error}"))).await;
                let _ = request.events.send(RunEvent::Exit(error.exit_code())).await;
                return;
            }
        };
        let (stopper, events) = (running.stopper(), request.events.clone());
        let (done, mut finished) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            follow(running, &events);
            drop(done);
        });
        self.active().insert(number, (stopper.clone(), thread));
        tokio::select! {
            () = request.events.closed() => {
                stopper.stop();
                let _ = finished.await;
            }
            _ = &mut finished => {}
        }
        self.active().remove(&number);
    }

    fn start(&self, request: &RunRequest, number: u64) -> Result<RunningCommand, PawError> {
        let requester = requester_of(&request.caller);
        let sweep = serde_json::from_slice::<SweepRequest>(&request.body);
        let (is_allowed, arguments) = if let Ok(wanted) = sweep {
            (SweepRequest::is_allowed(&request.caller), wanted.arguments(&requester))
        } else {
            let wanted: PaneRequest = serde_json::from_slice(&request.body)
                .map_err(|error| PawError::ConfigError(format!("not a request that can be run: {error}")))?;
            (wanted.is_allowed(&request.caller), wanted.arguments(&requester))
        };
        if !is_allowed {
            return Err(PawError::SessionError(format!("agent '{requester}' is not allowed to do this")));
        }
        tracing::info!(target: "paw::session", "{requester} requests: git paw {}", arguments.join(" "));
        // Ending a mark ends every process that carries it, so the mark must be unique.
        let mark = format!("paw-run-{}-{number}", std::process::id());
        Ok(Command::new(own_program()?).args(arguments).dir(&self.root).start(&mark)?)
    }

    /// Stops all runs. The threads that are returned end with them, once their callers are disconnected.
    pub(super) fn stop(&self) -> Vec<JoinHandle<()>> {
        let active = std::mem::take(&mut *self.active());
        for (stopper, _) in active.values() {
            stopper.stop();
        }
        active.into_values().map(|(_, thread)| thread).collect()
    }

    fn places_of(&self, requester: &AgentId) -> Arc<Semaphore> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let own = places.entry(requester.clone()).or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_ONE)));
        Arc::clone(own)
    }

    fn active(&self) -> MutexGuard<'_, BTreeMap<u64, ActiveRun>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What answers requests that start no program: the parts of a session that the user can ask.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestAnswers {
    pub(super) page: Option<Arc<Page>>,
    pub(super) cluster: Option<Arc<Cluster>>,
}

impl RequestAnswers {
    /// `None` if the request is about something else.
    async fn find(&self, request: &RunRequest) -> Option<Result<Value, PawError>> {
        if let Ok(wanted) = serde_json::from_slice::<PageRequest>(&request.body) {
            return Some(match &self.page {
                _ if !PageRequest::is_allowed(&request.caller) => {
                    Err(refused("only the user may open the page, with the token of the user"))
                }
                None => Err(refused("there is no session to show")),
                Some(page) => page.answer(wanted.page).await.map_err(Into::into),
            });
        }
        let wanted = serde_json::from_slice::<ClusterRequest>(&request.body).ok()?;
        Some(match &self.cluster {
            _ if !ClusterRequest::is_allowed(&request.caller) => {
                Err(refused("only the user may use other machines, with the token of the user"))
            }
            None => Err(refused("there is no session")),
            Some(cluster) => cluster.answer(wanted.cluster).await,
        })
    }
}

fn refused(problem: &str) -> PawError {
    PawError::SessionError(problem.to_owned())
}

/// Sends the answer, or the error, as one document.
async fn send_answer(answer: Result<Value, PawError>, request: &RunRequest) {
    let (document, code) = match answer {
        Ok(document) => (document, 0),
        Err(error) => (error.report().document(), EXIT_FAILURE),
    };
    let _ = request.events.send(RunEvent::Out(document.to_string())).await;
    let _ = request.events.send(RunEvent::Exit(code)).await;
}

fn requester_of(caller: &Caller) -> AgentId {
    match caller {
        Caller::Known(agent) => agent.clone(),
        Caller::Unauthenticated => AgentId::operator(),
    }
}

/// Sends the output and the exit code. Ends the run when its caller is gone.
fn follow(running: RunningCommand, events: &mpsc::Sender<RunEvent>) {
    let followed = running.follow(|stream, line| {
        let line = String::from_utf8_lossy(line).into_owned();
        let event = if stream == Stream::Out { RunEvent::Out(line) } else { RunEvent::Err(line) };
        match events.blocking_send(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    let code = match followed {
        Ok(followed) => match followed.exit {
            Exit::Code(code) => u8::try_from(code).unwrap_or(EXIT_FAILURE),
            Exit::Signal(_) | Exit::TimedOut { .. } => EXIT_FAILURE,
        },
        Err(error) => {
            let _ = events.blocking_send(RunEvent::Err(format!("error: {error}")));
            EXIT_FAILURE
        }
    };
    let _ = events.blocking_send(RunEvent::Exit(code));
}
