//! Commands that the session's process runs for agents, because no pane has the key that signs results.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::Args;
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
    pub(crate) fn run_request(&self, request: &PaneRequest) -> Result<ExitCode, PawError> {
        let mut printed = Ok(());
        let code = self.follow_request(request, |event| match event {
            RunEvent::Out(line) if request.json => {
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
        let (mut document, mut said) = (String::new(), String::new());
        self.follow_request(request, |event| match event {
            RunEvent::Out(line) => document.push_str(line),
            RunEvent::Err(line) => said.clone_from(line),
            RunEvent::Exit(_) => {}
        })?;
        let answer: Value = serde_json::from_str(&document)
            .map_err(|_| PawError::SessionError(format!("the session's process gave no answer: {said}")))?;
        let Some(message) = answer["error"]["message"].as_str() else { return Ok(answer) };
        let hints = answer["error"]["hints"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Err(hints.fold(PawError::SessionError(message.to_owned()), PawError::hint))
    }

    fn follow_request(
        &self,
        request: &impl Serialize,
        on_event: impl FnMut(&RunEvent),
    ) -> Result<u8, PawError> {
        let body = serde_json::to_string(request)
            .map_err(|error| PawError::internal(format!("cannot write the request: {error}")))?;
        Ok(self.broker_client()?.run(&body, on_event)?)
    }
}
