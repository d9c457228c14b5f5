//! The definition of a tool: name, description, arguments, and the function that answers.

use std::fmt;

use paw_core::PawError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::tool_sets::ToolSet;
use super::{arguments, project_root, schema};
use crate::context::Context;

/// The side effects of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    /// Adds something and removes nothing.
    Adds,
    Changes,
}

type Call = Box<dyn Fn(Map<String, Value>, &Context) -> Result<Value, PawError> + Send + Sync>;

pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) set: ToolSet,
    pub(super) effect: Effect,
    pub(super) description: &'static str,
    /// JSON Schema of the arguments.
    pub(super) schema: Map<String, Value>,
    call: Call,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tool {
    pub(super) fn new<A: DeserializeOwned + JsonSchema + 'static>(
        set: ToolSet,
        name: &'static str,
        effect: Effect,
        description: &'static str,
        call: fn(A, &Context) -> Result<Value, PawError>,
    ) -> Self {
        let schema = schema::of::<A>();
        let names = schema::names(&schema);
        let call =
            move |arguments, context: &Context| call(arguments::read(name, arguments, &names)?, context);
        Self { name, set, effect, description, schema, call: Box::new(call) }
    }

    pub(super) fn changes(&self) -> bool {
        self.effect != Effect::Reads
    }

    /// Answers one call. `server` is the server's own context.
    pub(super) fn answer(
        &self,
        mut arguments: Map<String, Value>,
        server: &Context,
    ) -> Result<Value, PawError> {
        let cwd = project_root::resolve(arguments.remove(project_root::PARAMETER), &server.cwd)?;
        if !cwd.is_dir() {
            return Err(project_root::invalid(&format!("{} is not a directory", cwd.display())));
        }
        let context = server.for_program(cwd);
        (self.call)(arguments, &context)
    }
}
