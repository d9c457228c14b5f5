//! Does what the dashboard asks for, on threads of its own, so that the screen never waits.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc as channel;
use std::{io, thread};

use paw_broker::client::BrokerClient;
use paw_core::{AgentId, PawError, text};
use paw_host::clock;
use paw_host::files::Dirs;
use paw_host::process::{Command, Exit};
use paw_screen::dashboard::{
    AgentAction, AgentJob, DashboardRequest, DashboardUpdate, OperatorAnswer, ShownPrompt,
};
use paw_session::lifecycle::Session;
use paw_supervisor::approval::ApprovalVerdict;
use paw_supervisor::prompt_reply::{PendingPrompt, PromptReply};
use tokio::sync::mpsc;

use super::changes::{self, ChangesRequest};
use super::preview;

/// The longest output of a command that is kept.
const MOST_LINES: usize = 2_000;

/// What the requests need.
pub(super) struct RequestContext {
    pub(super) session: Option<Session>,
    pub(super) dirs: Dirs,
    pub(super) client: BrokerClient,
    /// This program.
    pub(super) program: PathBuf,
    pub(super) updates: mpsc::Sender<DashboardUpdate>,
    pub(super) answers: mpsc::Sender<OperatorAnswer>,
}

/// Handles requests until the dashboard closes.
pub(super) fn serve(context: RequestContext, requests: mpsc::Receiver<DashboardRequest>) -> io::Result<()> {
    let panes = preview::start(context.session.clone(), context.updates.clone())?;
    let changes = changes::start(context.session.clone(), context.updates.clone())?;
    let mut server = RequestServer { context, panes, changes, shown: None, last_prompt: 0 };
    let serve = move || {
        let mut requests = requests;
        while let Some(request) = requests.blocking_recv() {
            server.handle(request);
        }
    };
    thread::Builder::new().name("paw-requests".into()).spawn(serve).map(drop)
}

struct RequestServer {
    context: RequestContext,
    panes: channel::Sender<Option<AgentId>>,
    changes: channel::Sender<ChangesRequest>,
    /// The prompt that the user sees. A reply is for exactly this one.
    shown: Option<(u64, PendingPrompt)>,
    last_prompt: u64,
}

impl RequestServer {
    fn handle(&mut self, request: DashboardRequest) {
        match request {
            DashboardRequest::Answer(answer) => {
                let _ = self.context.answers.blocking_send(answer);
            }
            DashboardRequest::ReadPrompt(agent) => {
                let found = self.read_prompt(&agent).map_err(reason);
                self.send(DashboardUpdate::Prompt { agent, found });
            }
            DashboardRequest::Reply { agent, prompt, approve } => {
                let done = self.reply(prompt, approve).map_err(reason);
                self.send(DashboardUpdate::Replied { agent, done: done.map(|text| text.as_str().into()) });
            }
            DashboardRequest::Jump(agent) => {
                let focused = self.session().and_then(|session| Ok(session.focus(&agent)?));
                if let Err(error) = focused {
                    self.send(DashboardUpdate::Failed(reason(error)));
                }
            }
            DashboardRequest::Preview(agent) => drop(self.panes.send(agent)),
            DashboardRequest::ReadChanges(agent) => drop(self.changes.send(ChangesRequest::Files(agent))),
            DashboardRequest::ReadPatch { agent, file } => {
                drop(self.changes.send(ChangesRequest::Patch(agent, file)));
            }
            DashboardRequest::Run(job) => self.run(job),
        }
    }

    fn send(&self, update: DashboardUpdate) {
        let _ = self.context.updates.blocking_send(update);
    }

    /// The session as it is now.
    fn session(&self) -> Result<Session, PawError> {
        let session = self.context.session.as_ref().map(Session::reload).transpose()?.flatten();
        session.ok_or_else(|| PawError::SessionError("no session for this repository".to_owned()))
    }

    fn read_prompt(&mut self, agent: &AgentId) -> Result<ShownPrompt, PawError> {
        self.shown = None;
        let prompt = PendingPrompt::find(&self.session()?, agent.as_str(), clock::now())?;
        let (allowed, why) = match prompt.verdict(&self.context.dirs)? {
            ApprovalVerdict::Allow { reason } => (true, reason),
            ApprovalVerdict::Ask { reason } => (false, reason),
        };
        let refusal = prompt.check(PromptReply::Approve, self.context.client.agent()).err();
        self.last_prompt += 1;
        let shown = ShownPrompt {
            id: self.last_prompt,
            cli: prompt.cli().to_owned(),
            text: prompt.text(),
            allowed,
            reason: why,
            refusal: refusal.map(|error| error.to_string()),
        };
        self.shown = Some((shown.id, prompt));
        Ok(shown)
    }

    fn reply(&mut self, id: u64, approve: bool) -> Result<String, PawError> {
        let client = &self.context.client;
        client.require_privilege("answer an agent's prompt")?;
        let Some((_, prompt)) = self.shown.take().filter(|(shown, _)| *shown == id) else {
            return Err(PawError::SessionError("the prompt has changed; no key was pressed".to_owned()));
        };
        let (reply, word) =
            if approve { (PromptReply::Approve, "approved") } else { (PromptReply::Deny, "denied") };
        prompt.reply(&self.session()?, reply, client.agent(), clock::now())?;
        Ok(format!("{word} for {}: {}", prompt.agent(), text::line(&prompt.text())))
    }

    /// Runs a command of git paw in the background.
    fn run(&self, job: AgentJob) {
        let Some(session) = &self.context.session else {
            let output = vec!["no session for this repository".to_owned()];
            return self.send(DashboardUpdate::Ended { job, success: false, output });
        };
        let command = Command::new(&self.context.program).args(arguments(&job)).input(input(&job));
        let command = command.dir(&session.repo.root);
        let updates = self.context.updates.clone();
        let name = format!("dashboard-{}-{}", std::process::id(), clock::now().as_nanosecond());
        let failed = job.clone();
        let spawned = thread::Builder::new().name("paw-job".into()).spawn(move || {
            let (success, output) = follow(&command, &name, &job, &updates);
            let _ = updates.blocking_send(DashboardUpdate::Ended { job, success, output });
        });
        if let Err(error) = spawned {
            self.send(DashboardUpdate::Ended {
                job: failed,
                success: false,
                output: vec![error.to_string()],
            });
        }
    }
}

fn follow(
    command: &Command,
    mark: &str,
    job: &AgentJob,
    updates: &mpsc::Sender<DashboardUpdate>,
) -> (bool, Vec<String>) {
    let mut output = Vec::new();
    let on_line = |line: &[u8]| {
        let line = String::from_utf8_lossy(line).into_owned();
        let _ =
            updates.blocking_send(DashboardUpdate::Progress { job: job.clone(), line: line.as_str().into() });
        if output.len() < MOST_LINES {
            output.push(line);
        }
    };
    let mut on_line = on_line;
    let ended = command.start(mark).and_then(|running| {
        running.follow(|_, line| {
            on_line(line);
            ControlFlow::Continue(())
        })
    });
    match ended {
        Ok(ended) => (ended.exit == Exit::Code(0), output),
        Err(error) => {
            output.push(error.to_string());
            (false, output)
        }
    }
}

/// The command line of a job.
fn arguments(job: &AgentJob) -> Vec<String> {
    let words = match &job.action {
        AgentAction::Verify => vec!["verify", &job.name],
        AgentAction::Merge => vec!["merge", "--only", &job.name],
        AgentAction::Pause => vec!["pause"],
        AgentAction::Remove => vec!["remove", job.agent.as_str()],
        AgentAction::Tell(_) => vec!["tell", "--stdin", "--", job.agent.as_str()],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// What a job reads from stdin.
fn input(job: &AgentJob) -> Vec<u8> {
    match &job.action {
        AgentAction::Tell(text) => text.as_bytes().to_vec(),
        AgentAction::Verify | AgentAction::Merge | AgentAction::Pause | AgentAction::Remove => Vec::new(),
    }
}

/// The error with its hints, on one line.
fn reason(error: impl Into<PawError>) -> paw_screen::text::Text {
    let report = error.into().report();
    let hints = report.hints.iter().map(|hint| format!(" ({hint})"));
    paw_screen::text::Text::line(&format!("{}{}", report.message, hints.collect::<String>()))
}
