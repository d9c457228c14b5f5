//! The official client, and the program as its child.

use std::path::Path;

use paw_testkit::Sandbox;
use rmcp::model::{CallToolRequestParams, Tool};
use rmcp::service::{RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::paw::PROGRAM;

pub(super) struct Client {
    runtime: Runtime,
    service: RunningService<RoleClient, ()>,
}

impl Client {
    /// A server in a directory, and a connected client.
    pub(super) fn start(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut command = sandbox.command(PROGRAM);
        command.arg("mcp").args(args).current_dir(dir);
        let service = runtime.block_on(async {
            let child = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
            ().serve(child).await.unwrap()
        });
        Self { runtime, service }
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        self.runtime.block_on(self.service.list_all_tools()).unwrap()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.tools().into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// Calls a tool, and returns its result or its error.
    pub(super) fn call(&self, name: &str, arguments: Value) -> Result<Value, Value> {
        let Value::Object(arguments) = arguments else { panic!("{arguments} is no object") };
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        let result = self.runtime.block_on(self.service.call_tool(params)).unwrap();
        let data = result.structured_content.unwrap();
        let text = result.content[0].as_text().unwrap().text.as_str();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), data, "text and data are the same answer");
        if result.is_error == Some(true) { Err(data["error"].clone()) } else { Ok(data) }
    }

    /// Calls a tool that must fail, and returns the error code.
    pub(super) fn refusal(&self, name: &str, arguments: Value) -> String {
        let error = self.call(name, arguments).unwrap_err();
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
        error["code"].as_str().unwrap().to_owned()
    }

    /// The protocol error of a call to an unknown tool.
    pub(super) fn protocol_error(&self, name: &str) -> String {
        let params = CallToolRequestParams::new(name.to_owned());
        self.runtime.block_on(self.service.call_tool(params)).unwrap_err().to_string()
    }
}
