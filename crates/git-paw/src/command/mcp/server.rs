//! The protocol: lists and calls tools. Tools run on other threads than the one that reads messages.

use std::fmt;
use std::sync::Arc;

use paw_core::PawError;
use paw_core::text;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool as Listed, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{RwLock, Semaphore};

use super::call_log::CallLog;
use super::error;
use super::lenient_transport::LenientTransport;
use super::tool::{Effect, Tool};
use crate::context::Context;

/// A longer message is skipped.
const MAX_MESSAGE_BYTES: usize = 8 << 20;
/// Calls that run at the same time; others wait.
const MAX_PARALLEL_CALLS: usize = 16;

/// Serves until the input ends, then finishes the calls in progress.
pub(super) fn serve(tools: Vec<Tool>, log: Option<CallLog>, context: &Context) -> Result<(), PawError> {
    let runtime = runtime().map_err(|error| PawError::internal(format!("cannot start: {error}")))?;
    let server = Server {
        tools: Arc::new(tools),
        place: Arc::new(context.for_program(context.cwd.clone())),
        turns: Arc::new(Semaphore::new(MAX_PARALLEL_CALLS)),
        changing: Arc::new(RwLock::new(())),
        log: log.map(Arc::new),
    };
    let changing = Arc::clone(&server.changing);
    let outcome = runtime.block_on(async {
        let (input, output) = stdio();
        let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_MESSAGE_BYTES);
        let ended = match serve_server(server, LenientTransport::new(transport)).await {
            Ok(service) => service.waiting().await.map(drop).map_err(|error| error.to_string()),
            // The client closed the connection before its first message.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        // Calls that change something finish even after the client is gone.
        let _finished = changing.write().await;
        ended
    });
    runtime.shutdown_background();
    outcome.map_err(|error| PawError::internal(format!("lost the connection to the MCP client: {error}")))
}

/// Created only here, so that other commands do not pay for it.
fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

#[derive(Clone)]
struct Server {
    tools: Arc<Vec<Tool>>,
    place: Arc<Context>,
    turns: Arc<Semaphore>,
    /// Held for reading by every call that changes something.
    changing: Arc<RwLock<()>>,
    log: Option<Arc<CallLog>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("git-paw", env!("CARGO_PKG_VERSION")).with_title("git paw"))
            .with_instructions(instructions(&self.tools))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(listed).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        self.tools.iter().find(|tool| tool.name == name).map(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(at) = self.tools.iter().position(|tool| tool.name == request.name) else {
            return Err(unknown(&request.name, &self.tools));
        };
        let answered = self.answer(at, request.arguments.unwrap_or_default()).await;
        if let Some(log) = &self.log {
            log.add(&request.name, answered.as_ref().err());
        }
        Ok(match answered {
            Ok(answer) => complete(answer, false),
            Err(error) => complete(error::document(&error), true),
        }
        .into())
    }
}

impl Server {
    async fn answer(&self, at: usize, arguments: rmcp::model::JsonObject) -> Result<Value, PawError> {
        let name = self.tools[at].name;
        let Ok(turn) = Arc::clone(&self.turns).acquire_owned().await else {
            return Err(error::bug(name));
        };
        let changing =
            if self.tools[at].changes() { Some(Arc::clone(&self.changing).read_owned().await) } else { None };
        let (tools, place) = (Arc::clone(&self.tools), Arc::clone(&self.place));
        let work = tokio::task::spawn_blocking(move || {
            let answer = tools[at].answer(arguments, &place);
            drop((turn, changing));
            answer
        });
        // A panic fails the call, not the server.
        work.await.unwrap_or_else(|_| Err(error::bug(name)))
    }
}

/// The instructions for an agent, for the offered tools.
fn instructions(tools: &[Tool]) -> String {
    let has = |name: &str| tools.iter().any(|tool| tool.name == name);
    let mut lines = vec![
        "git paw: several AI coding CLIs on one repository, each in its own worktree. Errors have a code and a hint.",
    ];
    if has("inbox") {
        lines.push("Call inbox regularly, and call conflicts when you get a warning.");
    }
    if has("say") {
        lines.push("Announce files with say (type intent) before you change them.");
    }
    if has("autopilot_start") {
        lines.push(
            "To do a task test-first: call autopilot_start, then for each work unit autopilot_next (what to write), \
             autopilot_complete_phase (prove it) and autopilot_commit, and at the end autopilot_finalize.",
        );
    }
    lines.join(" ")
}

fn listed(tool: &Tool) -> Listed {
    let annotations = ToolAnnotations::new().read_only(!tool.changes()).open_world(false);
    let annotations = match tool.effect {
        Effect::Reads => annotations,
        Effect::Adds => annotations.destructive(false),
        Effect::Changes => annotations.destructive(true),
    };
    Listed::new(tool.name, tool.description, Arc::new(tool.schema.clone())).with_annotations(annotations)
}

/// The answer as structured content, and as text for clients that only read text.
fn complete(document: Value, is_error: bool) -> CallToolResult {
    let text = vec![ContentBlock::text(document.to_string())];
    let mut result = if is_error { CallToolResult::error(text) } else { CallToolResult::success(text) };
    result.structured_content = Some(document);
    result
}

fn unknown(name: &str, tools: &[Tool]) -> ErrorData {
    let names: Vec<_> = tools.iter().map(|tool| tool.name).collect();
    let shown = text::truncate_chars(name, 100);
    let message = format!("unknown tool '{shown}'; available tools: {}", names.join(", "));
    ErrorData::new(ErrorCode::INVALID_PARAMS, message, None)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::tool_sets::ToolSet;
    use super::super::{tool_sets, tools};
    use super::*;
    use crate::output::Output;

    fn server(tools: Vec<Tool>) -> Server {
        let dirs = paw_host::files::Dirs::from_env().unwrap();
        let context = Context::at(PathBuf::from("/"), dirs, std::ffi::OsString::new(), Output::new(true));
        Server {
            tools: Arc::new(tools),
            place: Arc::new(context),
            turns: Arc::new(Semaphore::new(1)),
            changing: Arc::new(RwLock::new(())),
            log: None,
        }
    }

    #[test]
    fn a_panicking_tool_fails_only_its_call() {
        let panics = |_: serde_json::Map<String, Value>, _: &Context| panic!("on purpose");
        let works = |_: serde_json::Map<String, Value>, _: &Context| Ok(Value::Bool(true));
        let tool = |name, call| Tool::new(ToolSet::Tasks, name, Effect::Changes, "", call);
        let server = server(vec![tool("panics", panics), tool("works", works)]);
        let answers = runtime().unwrap().block_on(async {
            let refused = server.answer(0, serde_json::Map::new()).await;
            let answered = server.answer(1, serde_json::Map::new()).await;
            let _lock_is_free = server.changing.write().await;
            (refused, answered)
        });
        assert_eq!(answers.0.unwrap_err().code().as_str(), "INTERNAL");
        assert_eq!(answers.1.unwrap(), true);
    }

    #[test]
    fn instructions_mention_only_offered_tools() {
        let text_for =
            |sets: &[ToolSet], read_only| instructions(&tool_sets::offered(tools::all(), sets, read_only));
        assert!(text_for(&ToolSet::ALL, false).contains("autopilot_start"));
        assert!(!text_for(&ToolSet::ALL, true).contains("autopilot_start"));
        assert!(!text_for(&[ToolSet::Tasks], false).contains("inbox"));
    }
}
