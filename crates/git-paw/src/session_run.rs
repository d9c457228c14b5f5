//! Commands that the session's process runs for agents, because no pane has the key that signs results.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::Args;
use paw_broker::client::{BrokerClient, ClientError};
use paw_broker::http::RunEvent;
use paw_core::{AgentId, PawError, text};
use paw_supervisor::pane_request::{PaneRequest, RequestedRun};
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::output::Output;

/// How the session's process calls a command that an agent requested.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RequesterArgs {
    /// The agent that requested it
    #[arg(long, value_name = "AGENT", hide = true)]
    requested_by: Option<String>,
    /// Print progress to a stderr that is not a terminal
    #[arg(long, hide = true)]
    progress: bool,
}

impl RequesterArgs {
    pub(crate) fn agent(&self) -> Option<AgentId> {
        self.requested_by.as_deref().and_then(|id| AgentId::new(id).ok())
    }

    pub(crate) fn show_progress(&self, output: Output, line: &str) {
        if self.progress { output.note(line) } else { output.progress(line) }
    }
}

impl Context {
    /// The request to the session's process, if an agent calls this command. The user's own commands run here.
    pub(crate) fn find_request(
        &self,
        what: RequestedRun,
        (timeout, trust): (u64, bool),
        requester: &RequesterArgs,
    ) -> Result<Option<PaneRequest>, PawError> {
        if self.caller()?.is_user() {
            return Ok(None);
        }
        if requester.requested_by.is_some() {
            let problem = "the session's process was started by an agent, so it cannot sign results";
            return Err(PawError::SessionError(problem.to_owned())
                .hint("the user can replace it with 'git paw pause' and 'git paw start'"));
        }
        if trust {
            self.approver()?;
        }
        let (json, progress) = (self.output.wants_json(), io::stderr().is_terminal());
        Ok(Some(PaneRequest { what, timeout, json, progress }))
    }

    /// Has the session's process run it, and prints its output. Returns its exit code.
    pub(crate) fn run_request(&self, request: &impl Serialize) -> Result<ExitCode, PawError> {
        let mut printed = Ok(());
        let code = self.follow_request(request, |event| match event {
            RunEvent::Out(line) if self.output.wants_json() => {
                printed = self.output.write(format!("{}\n", text::json(line)).as_bytes());
            }
            RunEvent::Out(line) => printed = self.output.say(line),
            RunEvent::Err(line) => self.output.note(line),
            RunEvent::Exit(_) => {}
        })?;
        printed.map(|()| ExitCode::from(code))
    }

    /// Has the session's process do it. Returns the document that it answers.
    pub(crate) fn answer_request(&self, request: &impl Serialize) -> Result<Value, PawError> {
        ask(&self.broker_client()?, &serialize(request)?)?.read()
    }

    /// Like [`Self::answer_request`], for a request that may be made twice: if the process ended before it answered, asks its
    /// successor.
    pub(crate) fn repeat_request(&self, request: &impl Serialize) -> Result<Value, PawError> {
        let body = serialize(request)?;
        let is_lost = |error: &ClientError| {
            matches!(error, ClientError::RunLost | ClientError::NoProcess | ClientError::Connection { .. })
        };
        match ask(&self.broker_client()?, &body) {
            Err(error) if is_lost(&error) => {
                self.ensure_process(&self.require_session()?);
                ask(&self.broker_client()?, &body)?.read()
            }
            answer => answer?.read(),
        }
    }

    fn follow_request(
        &self,
        request: &impl Serialize,
        on_event: impl FnMut(&RunEvent),
    ) -> Result<u8, PawError> {
        Ok(self.broker_client()?.run(&serialize(request)?, on_event)?)
    }
}

/// What the session's process has printed.
#[derive(Debug, Default)]
struct ProcessAnswer {
    document: String,
    /// The last line on stderr.
    said: String,
}

impl ProcessAnswer {
    fn read(self) -> Result<Value, PawError> {
        let answer: Value = serde_json::from_str(&self.document).map_err(|_| {
            PawError::SessionError(format!("the session's process gave no answer: {}", self.said))
        })?;
        let Some(message) = answer["error"]["message"].as_str() else { return Ok(answer) };
        let hints = answer["error"]["hints"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Err(hints.fold(PawError::SessionError(message.to_owned()), PawError::hint))
    }
}

fn ask(client: &BrokerClient, body: &str) -> Result<ProcessAnswer, ClientError> {
    let mut answer = ProcessAnswer::default();
    client.run(body, |event| match event {
        RunEvent::Out(line) => answer.document.push_str(line),
        RunEvent::Err(line) => answer.said.clone_from(line),
        RunEvent::Exit(_) => {}
    })?;
    Ok(answer)
}

fn serialize(request: &impl Serialize) -> Result<String, PawError> {
    serde_json::to_string(request)
        .map_err(|error| PawError::internal(format!("cannot write the request: {error}")))
}
