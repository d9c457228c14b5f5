//! Verifications and merges: the session's process runs them as it does for panes, and their output is on every page.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use paw_broker::http::{RunEvent, RunRequest};
use paw_broker::identity::Caller;
use paw_core::{AgentId, PawError, text};
use paw_host::clock;
use paw_supervisor::pane_request::{PaneRequest, RequestedRun};
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::feed::Feed;
use crate::response::WebRefusal;

/// Jobs that are kept to be looked at.
const KEPT: usize = 20;
/// The last lines of output that are kept per job.
const KEPT_LINES: usize = 200;
/// Output within this time is told together.
const TOGETHER: Duration = Duration::from_millis(100);
/// Events that wait to be told. A run that prints more waits, too.
const EVENTS: usize = 256;
/// The time limit of one gate, in seconds; the default of the command line.
const GATE_TIMEOUT: u64 = 1800;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum JobKind {
    Verify,
    Merge,
}

#[derive(Debug, Clone, Serialize)]
struct Job {
    id: u64,
    kind: JobKind,
    /// The branches.
    subject: String,
    started: Timestamp,
    ended: Option<Timestamp>,
    success: Option<bool>,
    lines: VecDeque<String>,
}

/// All jobs of this server.
#[derive(Debug)]
pub(crate) struct Jobs {
    feed: Arc<Feed>,
    runs: mpsc::Sender<RunRequest>,
    all: Arc<Mutex<VecDeque<Job>>>,
}

/// Reports the progress of one job.
struct JobProgress {
    id: u64,
    feed: Arc<Feed>,
    all: Arc<Mutex<VecDeque<Job>>>,
}

impl Jobs {
    pub(crate) fn new(feed: Arc<Feed>, runs: mpsc::Sender<RunRequest>) -> Self {
        Self { feed, runs, all: Arc::default() }
    }

    /// Starts a run, unless the same one is running. Returns its number.
    pub(crate) fn start(&self, what: RequestedRun) -> Result<u64, WebRefusal> {
        let (kind, subject) = match &what {
            RequestedRun::Verify { branch, .. } => (JobKind::Verify, branch.clone()),
            RequestedRun::Merge { only, .. } if only.is_empty() => {
                (JobKind::Merge, "all verified branches".to_owned())
            }
            RequestedRun::Merge { only, .. } => (JobKind::Merge, only.join(", ")),
        };
        let request = PaneRequest { what, timeout: GATE_TIMEOUT, json: false, progress: true };
        let body = serde_json::to_vec(&request).unwrap_or_default();
        let (events, output) = mpsc::channel(EVENTS);
        let id = self.add(kind, subject)?;
        let progress = JobProgress { id, feed: Arc::clone(&self.feed), all: Arc::clone(&self.all) };
        progress.show();
        let caller = Caller::Known(AgentId::operator());
        if self.runs.try_send(RunRequest { caller, body, events }).is_err() {
            progress.end(false);
            return Err(PawError::SessionError("too many runs are waiting".to_owned()).into());
        }
        tokio::spawn(follow(output, progress));
        Ok(id)
    }

    fn add(&self, kind: JobKind, subject: String) -> Result<u64, WebRefusal> {
        let mut all = lock(&self.all);
        let same = |job: &Job| {
            job.ended.is_none() && job.kind == kind && (kind == JobKind::Merge || job.subject == subject)
        };
        if all.iter().any(same) {
            return Err(PawError::SessionError(format!("{subject} is already in progress")).into());
        }
        let id = all.back().map_or(1, |job| job.id + 1);
        let (started, lines) = (clock::now(), VecDeque::new());
        all.push_back(Job { id, kind, subject, started, ended: None, success: None, lines });
        while all.len() > KEPT && all.front().is_some_and(|job| job.ended.is_some()) {
            all.pop_front();
        }
        Ok(id)
    }
}

async fn follow(mut output: mpsc::Receiver<RunEvent>, progress: JobProgress) {
    loop {
        let mut events = Vec::new();
        if output.recv_many(&mut events, EVENTS).await == 0 {
            // The run was lost.
            return progress.end(false);
        }
        let exit = events.iter().find_map(|event| match event {
            RunEvent::Exit(code) => Some(*code),
            RunEvent::Out(_) | RunEvent::Err(_) => None,
        });
        progress.add_lines(events);
        if let Some(code) = exit {
            return progress.end(code == 0);
        }
        tokio::time::sleep(TOGETHER).await;
    }
}

impl JobProgress {
    fn add_lines(&self, events: Vec<RunEvent>) {
        self.change(|job| {
            for event in events {
                let (RunEvent::Out(line) | RunEvent::Err(line)) = event else { continue };
                if job.lines.len() >= KEPT_LINES {
                    job.lines.pop_front();
                }
                job.lines.push_back(text::line(&line).into_owned());
            }
        });
    }

    fn end(&self, success: bool) {
        self.change(|job| (job.ended, job.success) = (Some(clock::now()), Some(success)));
    }

    fn change(&self, change: impl FnOnce(&mut Job)) {
        if let Some(job) = lock(&self.all).iter_mut().find(|job| job.id == self.id) {
            change(job);
        }
        self.show();
    }

    fn show(&self) {
        let shown = json!(*lock(&self.all));
        self.feed.set("jobs", shown);
        self.feed.flush(clock::now());
    }
}

fn lock(all: &Mutex<VecDeque<Job>>) -> MutexGuard<'_, VecDeque<Job>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use paw_view::SessionView;

    use super::*;

    #[tokio::test]
    async fn run_is_requested_by_the_operator_and_its_output_is_shown() {
        let feed = Feed::new(SessionView::new(10));
        let mut reader = feed.subscribe(Timestamp::UNIX_EPOCH);
        let (runs, mut taken) = mpsc::channel(1);
        let jobs = Jobs::new(Arc::clone(&feed), runs);
        let verify = RequestedRun::Verify { branch: "feat/a".to_owned(), gates: Vec::new(), rerun: false };
        let id = jobs.start(verify.clone()).unwrap();
        assert!(jobs.start(verify).is_err(), "one at a time");
        let request = taken.recv().await.unwrap();
        assert_eq!(request.caller, Caller::Known(AgentId::operator()));
        let asked: PaneRequest = serde_json::from_slice(&request.body).unwrap();
        assert_eq!((asked.json, asked.progress), (false, true));
        request.events.send(RunEvent::Err("test: \u{1b}[31mfailed".to_owned())).await.unwrap();
        request.events.send(RunEvent::Exit(1)).await.unwrap();
        loop {
            let line = reader.next(&feed, || Timestamp::UNIX_EPOCH).await.unwrap();
            let shown: serde_json::Value = serde_json::from_str(&line).unwrap();
            let Some(job) = shown["jobs"].get(0).filter(|job| job["success"] == false) else { continue };
            assert_eq!(job["id"], id);
            assert!(!job["lines"][0].as_str().unwrap().contains('\u{1b}'), "{job}");
            break;
        }
    }
}
